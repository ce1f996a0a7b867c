"""Packet-level runs of a fabric with latencies, buffers and a routing policy.

- `machine` for what the engine needs of a fabric, `route_files` for a tree's static routes;
- `engine` for a run of what the endpoints send.

The engine is in `services/noise_core/sim/packet`.
"""
