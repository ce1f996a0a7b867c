"""Operations: the embedded database server, the stacks, the supervisor of the platform's processes, and the checks of `flitwatch doctor`.

`flitwatch up` uses them in this order: `home` locates the folders, `site` checks the machine, `embedded` or `stack` starts the servers, `platform`
migrates the database, `first_admin` creates an account, `supervisor` starts the processes and restarts failed ones.

Modules:

- `platform` for the database and log of a command;
- `embedded` for the embedded PostgreSQL: its folder, access rules, start and stop; `embedded_host` for its user, binaries and settings;
- `abandoned` for stopping a temporary server whose process was killed;
- `backups` for base backups and point-in-time recovery; `backup_files` for the contents of their folder; `kept_log` for log archiving;
- `stack` for Kafka and TimescaleDB on this machine (`stack.kafka`, `stack.timescale`, `stack.daemon`);
- `supervisor` for start order, restarts and the stop; `watched` for the heartbeat that detects hanging processes; `orphans` for processes that a
  killed supervisor left running;
- `site` for the checks of `flitwatch doctor`; `log_limits` for a log's retention limits; `sizing` for the resources that a site needs, and
  `sizing_page` for docs/sizing.md;
- `first_admin` for the first password.

Their SQL is in `flitwatch_db.core.logins` and `flitwatch_db.core.connection`.
"""
