"""Packet and flow runs, workloads, what-if, the routing loop, and the simulation worker."""
