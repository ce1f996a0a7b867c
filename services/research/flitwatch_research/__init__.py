"""Research: published studies again, the papers' tables, the scorecard of the estimators, and benchmarks.

A distribution of its own that the product never imports. Its commands and tasks join `flitwatch` by entry points: `commands`, `tasks`.

Open

- `studies` for published studies (`study_tasks` as tasks), `papers` and `papers_routes` for what was published against what we measure;
- `campaign` for months of runs of one application with their truth; `scoring` for estimates against it, in a process of its own; `scorecard` for all
  estimators, with `stress`;
- `advice_value` and `incidents` for what advice saves and how often culprits are named; `planted_roots` for roots of congestion;
- `ingest_bench` for the benchmark of ingest; the others are commands;
- `formulations` for integer programs that prove routes, `baselines` for routings that routes are compared with;
- `topologies` by their text (`core_topology`), `flow`, `routings`, `collectives` and `collective_task` for collectives at flow level; `packet` for packets;
- `namespaces` for flows through network namespaces;
- `agreement` and `stall_fit` for how well the twin agrees with the packet engine; `port_counters` for those of a simulated tree;
- `tables` for runs as CSV files, `real_runs` for the page about measured runs.
"""
