"""Runs of instrumented applications and their steps."""
