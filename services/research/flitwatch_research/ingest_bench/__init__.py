"""`flitwatch bench ingest`: a machine's counters through log, writer and database, at the pace of its clocks, counted at the end."""
