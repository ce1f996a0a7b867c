"""Traces of applications: DUMPI text, OTF2 archives, or message DAGs (ours, GOAL) to operations, a matrix, and a list of omitted calls."""
