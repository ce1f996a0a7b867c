"""Hostile clients against a separate platform, and their effect on other clients: `make hostile`, or `python -m hostile` from tests/.

`attacks` contains the hostile clients, `bystanders` the normal ones, `__main__` the platform and the measurement.
"""
