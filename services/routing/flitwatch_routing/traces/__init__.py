"""Traces of applications by one way: DUMPI text, an OTF2 archive, or a message DAG (ours, GOAL) to operations, a matrix, and an account of what was left out."""
