"""Accounts, sessions, tokens, the audit log, and the deletion of a user's data."""
