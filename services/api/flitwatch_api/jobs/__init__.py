"""Jobs, their nodes and their neighbours."""
