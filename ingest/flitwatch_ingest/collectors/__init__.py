"""Collectors: follow what a producer writes and publish it to the log, exactly once as the writer counts.

A collector publishes, flushes, and only then moves its checkpoint. After a crash it publishes again from the checkpoint; the writer drops what it
knows by the records' `source` and `sequence`.
"""

from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher

__all__ = ["Checkpoint", "Publisher"]
