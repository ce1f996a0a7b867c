"""What the writer keeps beside its rows: positions, dead letters, gaps, imports, and who works on which topic."""
