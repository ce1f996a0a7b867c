"""One module per command; imported only when the command runs.

`flitwatch.command_line` finds the module of a command by name and imports it. Its options come from `flitwatch.console`. Another package does the work; it is
imported within the function, so that `--help` loads no engine. `console.print_result` prints the result.

Modules:

- `up`, `down`, `status`, `doctor` for the platform on this machine (`flitwatch_ops` does the work);
- `api`, `writer`, `worker`, `alerting`, `collect` (with `collect_ethernet`, `collect_infiniband`, `collect_prometheus`, `collect_slingshot`,
  `collect_ufm` and `following`), `sampler`, `agent` for the long processes; `mail` for Slurm's mail at the end of a job;
- `db` (with `backup`), `users`, `tokens`, `task`, `alerts` for operators' manual work; `import_` and `imports/` for files;
- `top` for the hottest groups, links and jobs, `open` for the address of a job's page, `drivers` for counters of a stored estimate, `noise` for two
  sets of runs: all through the API;
- `completion` for shells;
- `run` for a program with reported steps;
- `incidents` for causes of slow jobs; `project` for a project's monthly losses; `job` for the explanation of a slow job; `trial` for the result of a
  randomised trial of advice; `blamed` for names that several applications share; `blame` (with `blame_measured`), `forecast` for estimators;
- `twin`, `topology`, `traffic`, `routes`, `loop` (with `loop_staging` for OpenSM) for simulation and routes;

A command checks its input, calls one function, and prints one JSON object with `--json`; messages for people go to standard error.
"""
