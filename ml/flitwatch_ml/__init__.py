"""Blame, deviation and forecast: estimators first, workers last."""
