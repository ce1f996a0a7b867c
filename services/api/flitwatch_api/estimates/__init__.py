"""Estimates: blame, drivers and forecasts."""
