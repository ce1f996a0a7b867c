"""Accounts, sessions, tokens, the audit log, and the deletion of what is kept about one user."""
