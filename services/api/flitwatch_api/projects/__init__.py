"""Reports of projects: losses of their jobs."""
