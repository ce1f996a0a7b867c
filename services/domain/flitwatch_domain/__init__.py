"""Fabrics, counters, jobs, runs and steps as frozen types; no I/O."""
