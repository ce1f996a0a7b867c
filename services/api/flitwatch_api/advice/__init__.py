"""Advice to schedulers: start, delay or prefer."""
