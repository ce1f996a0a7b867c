"""Topics and record formats as code; one log interface with two backends.

`backends.open_log` chooses a backend from the URL. A producer appends records to topics (`topics`) in the formats of `shapes`. A consumer of a group
reads partitions from positions that the reader stores together with its rows.

Modules:

- `log` for the interface: append, flush, offsets, groups, errors;
- `topics` for names, keys and partitions; `shapes` for record formats (docs/contracts/log.md);
- `kafka` for the Kafka log, `kafka_client` for settings and errors of every client, `kafka_site` for the site's settings,
  `kafka_producer` and `kafka_consumer` for both directions;
- `table` for the log as a PostgreSQL table, `table_connection` for its connections, `table_producer` and `table_consumer` for both directions;
- `frames` for the table's batch format.

Both backends pass the same tests (tests/stream). This package contains the table's SQL because the log belongs to it; all other SQL is in
`flitwatch_db`.
"""
