"""Foundations of all database packages: connections, service logins, COPY packing, additive sums, events, retention.

A write has three steps. `connection` opens a connection with the least role that the caller needs (`logins` defines the roles). A store packs its
columns (`packing`), adds them up (`additive`) and sends them. In the same transaction `events` notifies all listeners.

Modules

- `connection` for the settings of connections: role, search path, time zone, limits, advisory locks; `deadlines` for servers that freeze; `disk` for the free
space on its disk;
- `logins` for the services' logins and their rights;
- `editions` for the available TimescaleDB features;
- `packing` for the binary COPY format of a column's type;
- `additive` for the upsert that adds, and for chunks that must exist first;
- `columns` for large answers of the API as numpy arrays;
- `events` to emit an event, `event_reads` to read them by number;
- `maintenance` for retention, `log_keep` for the retention of the embedded stack's log;
- `server_log` for the archiving of the server's write-ahead log, which backups need.

All other folders of `flitwatch_db` import this one. It imports none of them except the archive's policy, during maintenance.
"""
