"""Operations: the embedded database server, the stacks, the supervisor of the platform's processes, and the checks of `flitwatch doctor`.

What happens on `flitwatch up`, in order: `home` says where files lie, `site` checks the machine, `embedded` or `stack` starts the servers, `platform`
migrates the database, `first_admin` makes an account, `supervisor` starts the processes and restarts what dies.

Open

- `platform` for which database and log a command works on;
- `embedded` for the embedded PostgreSQL: its folder, its rules of access, start and stop; `embedded_host` for its user, binaries and settings;
- `abandoned` for the end of a throw-away one whose process was killed;
- `backups` for base backups and the way back to any second; `backup_files` for what is in their folder; `kept_log` for where the log is kept;
- `stack` for Kafka and TimescaleDB on this machine (`stack.kafka`, `stack.timescale`, `stack.daemon`);
- `supervisor` for order, restarts and the stop; `watched` for the heartbeat by which a hanging process is found; `orphans` for what a killed supervisor left;
- `site` for the checks of `flitwatch doctor`; `log_limits` for how much a log keeps; `sizing` for what a site will take, and `sizing_page` for docs/sizing.md;
- `first_admin` for the first password.

Statements of all this are in `flitwatch_db.core.logins` and `flitwatch_db.core.connection`.
"""
