"""The writer: docs/contracts/deltas.md and log.md, from the log into the tables."""

from flitwatch_ingest.writer.drain import drain
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.measures import Measures
from flitwatch_ingest.writer.settings import WriterSettings

__all__ = ["Measures", "Writer", "WriterSettings", "drain"]
