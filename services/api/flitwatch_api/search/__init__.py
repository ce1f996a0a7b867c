"""One box for everything."""
