"""One module per command; imported only when the command runs.

What happens, in order: `flitwatch.main` finds the module of a command by name and imports it; its options come from `flitwatch.console`; the work
is done by another package, imported within the function, so that `--help` loads no engine; the answer is printed by `console.emit`.

Open

- `up`, `down`, `status`, `doctor` for the platform on this machine (`flitwatch_ops` does the work);
- `api`, `writer`, `worker`, `alerting`, `collect` (with `collect_ethernet`, `collect_infiniband`, `collect_prometheus`, `collect_slingshot`, `collect_ufm` and `following`), `sampler`, `agent` for the long processes; `mail` for Slurm's mail at the end of a job;
- `db` (with `backup`), `users`, `tokens`, `task`, `alerts` for what an operator does by hand; `import_` and `imports/` for files;
- `top` for the hottest groups, links and jobs, `open` for the address of a job's page, `drivers` for counters of a stored estimate, `noise` for two sets of runs: all over REST;
- `completion` for shells;
- `run` for a program whose steps are reported;
- `incidents` for what slowed jobs; `project` for what that cost a project in a month; `job` for the explanation of a slow job; `trial` for what a randomised trial of advice shows; `blamed` for names of several applications; `blame` (with `blame_measured`), `forecast` for estimators;
- `twin`, `topology`, `traffic`, `routes`, `loop` (with `loop_staging` for OpenSM) for simulation and routes;

A command checks its input, calls one function, and prints one JSON object with `--json`; lines for people go to standard error.
"""
