"""Roots of congestion, and the links that wait behind them."""
