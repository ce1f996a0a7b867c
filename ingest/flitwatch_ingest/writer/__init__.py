"""The writer, from the log to the tables: docs/contracts/deltas.md and log.md.

What happens, in order:

1. `assigned_topics` leases topics and subscribes to them; `loop` polls records and hands them to `batch`.
2. `topic_feed` decodes LDMS records in the C++ core (`flitwatch_core.codec`), `accounts` decodes jobs, runs, samples and refused input.
3. `places` and `ports` find the router or port of a record; `gaps` turns the feed's gap notes into rows.
4. `pending_rows` collects the rows of one transaction; `memory` tracks the feeds' own time and drops records that a collector sent before.
5. `commit_pipeline` writes that transaction, with the stream positions (`marks`), on a thread, while the next one is collected; `database` repeats it
   after a lost connection.

Open

- `loop` for the order of these steps, restarts and stopping; `drain` for one-shot imports;
- `settings` for limits and intervals; `measures` and `metrics` for a writer's own metrics;
- `memory` for the state between transactions, and rebuilding it from the log;
- `merging` for ordering records over a topic's partitions while a backlog is read.

Rows and positions are in one transaction, so a crashed writer repeats nothing and loses nothing. The arithmetic of counters (resets, wraps, gaps) is in
`services/noise_core/codec`, and its contract is docs/contracts/deltas.md.
"""

from flitwatch_ingest.writer.drain import Drain
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.settings import WriterSettings

__all__ = ["Drain", "Measures", "Writer", "WriterSettings"]
