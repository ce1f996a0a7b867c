"""Packet-level runs of a fabric with latencies, buffers and a routing policy.

- `machine` for converting a fabric to the engine's form, `route_files` for a tree's static routes;
- `engine` for running a workload.

The engine is in `services/noise_core/sim/packet`.
"""
