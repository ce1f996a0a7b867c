"""Advice about a job before it starts: `basis` is the known state, `decision` the answer, `findings` the result of each of `parts`, `pattern` the placement, `schemas` the models."""
