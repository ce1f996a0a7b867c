"""The HTTP API: one folder per domain word."""
