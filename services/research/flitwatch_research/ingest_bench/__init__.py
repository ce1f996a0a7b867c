"""`flitwatch bench ingest`: a machine's counters through log, writer and database in real time, with a final count."""
