"""Topics and record shapes as code; one log interface with two backends.

What happens, in order: `backends.open_log` chooses a backend by URL; a producer appends records to topics (`topics`) in the shapes of `shapes`; a
consumer of a group reads partitions from positions that the reader keeps itself, with its rows.

Open

- `log` for the interface: append, flush, offsets, groups, errors;
- `topics` for names, keys and partitions; `shapes` for what a record may hold (docs/contracts/log.md);
- `kafka` for the Kafka log, `kafka_client` for settings and errors of every client, `kafka_site` for what a site sets of them,
  `kafka_producer` and `kafka_consumer` for both directions;
- `table` for the log as a PostgreSQL table, `table_connection` for its connections, `table_producer` and `table_consumer` for both directions;
- `frames` for how the table packs records into a batch.

Both backends pass the same tests (tests/stream). The table's statements stand here, because the log is the stream's own; all other SQL is in
`flitwatch_db`.
"""
