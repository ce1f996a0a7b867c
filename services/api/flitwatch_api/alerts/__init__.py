"""Alerts, rules and silences."""
