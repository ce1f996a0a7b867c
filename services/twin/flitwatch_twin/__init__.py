"""Cluster twin: a simulated machine (dragonfly or fat tree) with known users, jobs and interference.

It simulates every link of a machine second by second and emits the producers' wire formats.

No code between flows and counters or step times knows the owner of a flow. The planted interference and each user's counterfactual effect on each run
are in a truth file that only research reads.

In each second, `workload` submits jobs of `users` and `scheduler` places them. `traffic` and `flows` determine the senders, `paths` (`tree_paths` on
a tree) and `static_model` load the links, and `stall` converts load to waiting. Then `counters` count, `applications` and `progress` advance,
`samplers` and `ldms_sets` encode, `sinks` write.

Modules:

- `spec` for scenarios (services/twin/README.md), `run` for speed and time, `cluster` for the order of a second;
- `machine` for nodes and routers; `calendar` for weeks; `planted` for planted interference;
- `minutes` for the counters of a simulated past;
- `feel` for the waiting that slows a run; `pattern_table` for sums of patterns;
- `accounting`, `ldms_sets`, `ncl_files`, `runs`, `registry` for the formats of real producers;
- `truth` for counterfactuals.
"""
