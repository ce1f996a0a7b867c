"""Studies, the cluster twin, and the worker that runs simulation tasks."""
