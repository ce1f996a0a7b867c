"""Hostile clients against a platform of their own, and what others feel of it: `make hostile`, or `python -m hostile` from tests/.

`attacks` has the clients, `bystanders` those who ask as usual, `__main__` the platform and the measurement.
"""
