"""State of the writer, stored in the same database as its rows: positions, dead letters, gaps, imports, and topic leases."""
