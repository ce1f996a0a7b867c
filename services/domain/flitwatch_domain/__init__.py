"""Fabrics, counters, jobs, runs and steps as frozen types; no I/O.

Every other package may import these types and pure rules. The domain imports no other package, and its only I/O is reading the files it is given.

Modules

- `fabric` for routers, endpoints and links as arrays; `generators` for fabrics from sizes; `importers` for fabrics from files;
  `schedulers` for topology files of Slurm, Flux and PBS; `topology_spec` for the syntax of fabric specifications; `cray` for names of places and ports;
- `counters` for the catalogue of counters: canonical name, unit, cumulative or not;
- `jobs`, `runs`, `hostlist`, `hosts` for the scheduler's jobs, instrumented runs, lists of hosts, and host names;
- `neighbourhood` for overlap, presence and exposure; `blame` for the criteria of blame, and for names of several sets;
  `explanation` for why a job is slow; `advice` for placing a job before it starts; `network_noise` for a job's noise in its network cards' counters; `link_shares` for each job's share of a link;
  `routes` for the paths of a machine's traffic: with forwarding tables, in a dragonfly (`link_shares`), in a fat tree (`tree_routes`);
  `link_waits` for how long flits wait for each link of a tree; `attribution` for the jobs whose traffic a slow job waits for; `incidents` for slowdowns as objects with a start and an end;
- `alerts` for rules and the state machine that fires and clears them; `sampling` for packet marks and their estimates;
- `data_sources` for the sources of data and the records of each;
- `outlook` for the kinds of congestion that counters show, and a group's congestion in the next hour, from its usual hours;
  `run_time` for the expected time of a job without steps, and how long running jobs stay;
  `estimates` for the results that estimators store;
- `trials` for the participants of a randomised trial of advice, and the half of each;
- `task_models` for the arguments of queued tasks;
- `access` for roles, scopes and the password policy; `logins` for connections to PostgreSQL; `data_disk` for the free space on its disk;
- `secret_file` for a password or token in a file, and files that only a command line's user can name; `mails` for a mail's address, text, HTML and picture;
  `project_report` for a project's losses in a month, also as PDF; `table_file` for tables as CSV; `errors` for the one error tree;
  `kept` for values kept for the next request; `units` for units and numbers in text; `heartbeat` for liveness of a loop; `json_logs` for log lines;
  `http_protocol` for the limits of every HTTP listener, `shares` for the limit of each host or group of hosts;
  `peer_answers` for the limits of other servers' answers;
  `system_calls` for calls of Linux that a Python may lack;
  `build` for the build stamp.
"""
