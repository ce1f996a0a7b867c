"""Recommendations of the loop and of the routing advice."""
