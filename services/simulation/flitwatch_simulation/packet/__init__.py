"""Packet-level runs: machines with their timing, patterns, placements and results.

A run is a machine (`machine`: a fabric with latencies, buffers and a routing policy) and what its endpoints send (`workload`). `run` starts the C++ engine on
both and makes its counts the answer.

Open

- `machine` for what the engine needs of a fabric, `route_files` for a tree's static routes;
- `workload` for what the options of `flitwatch sim packet` send, `jobs` for files that list jobs, `background` for the endpoints that no job uses;
- `traffic_classes` for classes with a share of each link;
- `run` for one run from its parameters to its summary, `task` for the same as a task of the queue;
- `link_counters` for counters by link, `vendor_counters` for the same under the vendor's names.

The engine is in `services/noise_core/sim/packet`.
"""
