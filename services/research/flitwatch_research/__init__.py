"""Research: reproductions of published studies, the papers' tables, the scorecard of the estimators, and benchmarks.

A separate distribution that the product never imports. Its commands and tasks are added to `flitwatch` through entry points: `commands`, `tasks`.

Open

- `studies` for published studies, `papers` and `papers_routes` for published and our own figures;
- `campaign` for months of runs of one application with their truth; `scoring` for scores of estimates, in a separate process; `scorecard` for all
  estimators, with `stress`; `blame_limit` for the recall that blame can reach;
- `advice_value` and `incidents` for the savings of advice and the rate of correctly named culprits; `planted_roots` for roots of congestion;
- `ingest_bench` for the benchmark of ingest; the others are commands;
- `formulations` for integer programs that prove routes optimal;
- `topologies` for parsing topologies (`core_topology`), `flow`, `routings`, `collectives` for collectives at flow level; `packet` for packets;
- `namespaces` for flows through network namespaces;
- `agreement` and `stall_fit` for the agreement of the twin with the packet engine; `port_counters` for port counters of a simulated tree;
- `tables` for runs as CSV files, `real_runs` for the page about measured runs.
"""
