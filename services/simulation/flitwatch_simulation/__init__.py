"""Packet and flow runs, workloads, what-if, the routing loop, and the worker that runs simulation tasks."""
