"""The writer: docs/contracts/deltas.md and log.md, from the log into the tables.

What happens, in order:

1. `assigned_topics` leases topics and subscribes to them; `loop` polls records and hands them to `batch`.
2. `topic_feed` decodes LDMS records in the C++ core (`flitwatch_core.codec`), `accounts` decodes jobs, runs, samples and refused input.
3. `places` and `ports` say which router or port a record counts; `gaps` turns the feed's gap notes into rows; `clock` follows the feeds' own time.
4. `pending_rows` holds what one transaction will write; `sources` drops what a collector sent before.
5. `commit_pipeline` writes that transaction, with the stream positions (`marks`), on a thread, while the next one is gathered; `database` repeats it after a
   lost connection.

Open

- `loop` for the order of all this, restarts and the stop; `drain` for one-shot imports;
- `settings` for limits and intervals; `measures` and `metrics` for what a writer reports of itself;
- `memory` for what is held between transactions, and how it is rebuilt from the log;
- `merging` for one order over a topic's partitions while a backlog is read.

Rows and positions are in one transaction: a writer that dies repeats nothing and loses nothing. The arithmetic of counters (resets, wraps, gaps) is in
`services/noise_core/codec`, and its contract is docs/contracts/deltas.md.
"""

from flitwatch_ingest.writer.drain import Drain, drain_log
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.settings import WriterSettings

__all__ = ["Drain", "Measures", "Writer", "WriterSettings", "drain_log"]
