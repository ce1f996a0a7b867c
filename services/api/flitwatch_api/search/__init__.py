"""Search over all kinds of data."""
