"""State of the writer next to its rows: positions, dead letters, gaps, imports, and topic leases."""
