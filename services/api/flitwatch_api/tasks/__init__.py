"""Tasks in the queue."""
