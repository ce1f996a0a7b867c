"""One module per command; imported only when the command runs.

What happens, in order: `flitwatch.main` finds the module of a command by name and imports it; its options come from `flitwatch.console`; the work
is done by another package, imported within the function, so that `--help` loads no engine; the answer is printed by `console.emit`.

Open

- `up`, `down`, `status`, `doctor` for the platform on this machine (`flitwatch_ops` does the work);
- `api`, `writer`, `worker`, `alerting`, `collect` (with `collect_infiniband` and `following`), `sampler`, `agent` for the long processes;
- `db`, `users`, `tokens`, `task`, `alerts` for what an operator does by hand; `import_` and `imports/` for files;
- `job` for the explanation of a slow job; `blame`, `deviation`, `forecast` for estimators;
- `sim`, `sim_packet`, `study`, `twin`, `topology`, `traffic`, `routes`, `loop` for simulation and routes;
- `bench`, `bench_advice`, `bench_api`, `bench_ingest`, `scorecard`, `blame_measured`, `blame_stress` for measurements.

A command checks its input, calls one function, and prints one JSON object with `--json`; lines for people go to standard error.
"""
