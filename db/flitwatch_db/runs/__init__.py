"""Runs of instrumented applications and measurements of the MPI microbenchmark: in and out."""
