"""Alerting: rules, their evaluation, delivery of notifications, and the webhook for ended jobs."""
