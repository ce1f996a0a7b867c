"""Fabrics, counters, jobs, runs and steps as frozen types; no I/O.

Types and pure rules that every other package may import; the domain imports none of them and does no I/O beyond reading the files it is given.

Open

- `fabric` for routers, endpoints and links as arrays; `generators` for fabrics from sizes; `importers` for fabrics from files; `schedulers` for topologies as Slurm, Flux and PBS read them; `topology_spec` for the
  grammar that names either; `cray` and `guids` for names of places and ports;
- `counters` for the catalogue of counters: canonical name, unit, cumulative or not;
- `jobs`, `runs`, `hostlist`, `hosts` for the scheduler's jobs, instrumented runs, lists of hosts, and who a host is;
- `neighbourhood` for overlap, presence and exposure; `blame` for what counts as found; `several_sets` for names of several sets; `drivers` for what carries a deviation, in words;
  `explanation` for why a job is slow; `advice` for what to do with one that is to start; `network_noise` for what network cards say of it; `link_shares` for how much of a link each job uses;
  `routes` for the ways of a machine's traffic: of a dragonfly (`link_shares`), of a fat tree (`tree_routes`), under forwarding tables (`table_routes`);
  `link_waits` for how long flits wait for each link of a tree; `attribution` for whose traffic a slow job waits for; `incidents` for what slowed jobs as an object, for as long as it lasts;
- `alerts` for rules and the state machine that fires and clears them; `sampling` for packet marks and their estimates;
- `data_sources` for the sources of data, and which records came from which;
- `congestion` for the kinds of congestion that counters show; `outlook` for a group's in the next hour, from its usual hours; `residents` for how long running jobs stay; `run_time` for how long a job without steps takes;
- `trials` for who takes part in a randomised trial of advice, and in which half;
- `task_models` for the arguments of queued tasks;
- `access` for roles, scopes and the password policy; `logins` and `liveness` for connections to PostgreSQL; `data_disk` for the room on its disk;
- `secret_file` for a password or token in a file; `mailbox` for one mail address; `mails` for a mail's text and HTML, `timeline` for its picture; `project_report` for what a project lost in a month, `pdf` for it on paper, `table_file` for tables as CSV; `errors` for the one error tree;
  `units` for units in files; `numerals` for numbers in text; `local_text` for who may name a file: a command line's user, never a request or a task; `heartbeat` for liveness of a loop; `json_logs` for log lines;
  `http_protocol` for the limits of every HTTP listener, `addresses` for how they count a host, `shares` for what each may take;
  `build` for which build this is.
"""
