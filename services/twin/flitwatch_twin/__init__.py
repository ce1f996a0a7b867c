"""The cluster twin: a simulated machine, a dragonfly or a fat tree, whose users, jobs and interference are known.

It simulates a whole machine second by second on its links and speaks the producers' wire formats.

Between flows and counters or step times nothing knows who owns a flow; what was planted, and what each user did to each
run by counterfactual, is in a truth that only research reads.

What happens in a second: `workload` submits jobs of `users`, `scheduler` places them, `traffic` and `flows` say who sends, `paths` (`tree_paths` on a tree) and `static_model` load
the links, `stall` turns load into waiting, `counters` count, `applications` and `progress` advance, `samplers` and `ldms_sets` encode, `sinks` write.

Open

- `spec` for scenarios (services/twin/README.md), `run` for speed and time, `cluster` for the order of a second;
- `machine` for nodes and routers; `calendar` for weeks; `planted` for interference on purpose;
- `minutes` for the counters of a past that is written at once;
- `feel` for what a run feels; `pattern_table` for sums of patterns;
- `accounting`, `ldms_sets`, `ncl_files`, `runs`, `avro`, `registry` for the formats of real producers;
- `truth` for counterfactuals.
"""
