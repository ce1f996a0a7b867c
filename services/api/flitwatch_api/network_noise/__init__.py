"""Network noise of jobs and of two sets of runs."""
