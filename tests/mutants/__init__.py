"""Mutation testing: whether a suite's tests detect a change of one token in the tested code."""
