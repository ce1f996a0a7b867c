"""Explanation of a slow job."""
