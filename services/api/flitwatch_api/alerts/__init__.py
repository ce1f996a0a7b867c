"""Alerts: what fires, rules, silences."""
