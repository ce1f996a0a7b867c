"""Reports of projects: what their jobs lost."""
