"""Packet-level runs: machines with their timing, patterns, placements and results."""
