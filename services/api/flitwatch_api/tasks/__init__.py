"""Work in the queue."""
