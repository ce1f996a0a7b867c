"""Topics and record shapes as code; one log interface with two backends."""
