"""Counters over time and congestion in a window."""
