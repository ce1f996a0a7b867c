"""Slowdown of collectives by network noise: measured and simulated."""
