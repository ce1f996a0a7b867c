"""Estimates: who, what and what next."""
