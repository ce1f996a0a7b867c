"""Foundations of all database packages: connections, service logins, COPY packing, additive sums, events, retention.

A write has three steps. `connection` opens a connection with the least role that the caller needs (`logins` defines the roles). A store packs its
columns (`packing`), adds them up (`additive`) and sends them. In the same transaction `events` notifies all listeners.

Modules

- `connection` for the settings of connections: role, search path, time zone, limits, advisory locks, and the available TimescaleDB features; `deadlines` for servers that freeze;
- `logins` for the services' logins and their rights;
- `packing` for the binary COPY format of a column's type;
- `additive` for the upsert that adds, and for chunks that must exist first;
- `columns` for large answers of the API as numpy arrays;
- `events` to emit an event, and to read them by number;
- `maintenance` for retention, `log_keep` for the retention of the embedded stack's log, the free space on its disk, and the archiving of the
  server's write-ahead log, which backups need.

All other folders of `flitwatch_db` import this one. It imports none of them except the archive's policy, during maintenance.
"""
