"""Advice about a job that is to start: `basis` is what is known, `decision` the answer, `findings` what each of `parts` says, `pattern` the placement, `schemas` the models."""
