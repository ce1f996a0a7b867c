"""Runs of instrumented applications and measurements of the MPI microbenchmark: reads and writes."""
