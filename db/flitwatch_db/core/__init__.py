"""Foundations of all database packages: connections, service logins, COPY packing, additive sums, events, retention.

What happens, in order: `connection` opens a connection with the least role that the caller needs (`logins` says which roles there are), a store
packs its columns (`packing`), adds them up (`additive`) and sends them; in the same transaction `events` tells every listener.

Open

- `connection` to change how anything connects: role, search path, time zone, limits, advisory locks; `deadlines` for servers that freeze; `disk` for the room on
  its disk;
- `logins` to add a service login, or to change what one may do;
- `editions` to find out which TimescaleDB features there are;
- `packing` for the binary COPY format of a column's type;
- `additive` for the upsert that adds, and for chunks that must exist first;
- `columns` for big answers of the API as numpy arrays;
- `events` to emit an event, `event_reads` to read them by number;
- `maintenance` for retention, `log_keep` for how long the embedded stack's log keeps its batches;
- `server_log` for whether the server's write-ahead log is kept, as backups need it.

Every other room of `flitwatch_db` imports this one; this one imports none of them but the archive's policy, when maintenance runs.
"""
