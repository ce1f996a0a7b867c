"""Sequence numbers of collectors, so that no record is written twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from flitwatch_db.ingest import store as ingest
from flitwatch_ingest.writer.pending_rows import header_text
from flitwatch_stream import topics
from flitwatch_stream.log import Record
from flitwatch_stream.shapes import INDEXED_BYTES


class Sequences:
    """The last sequence of each source that this writer has processed."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def learn(self, conn: psycopg.Connection[Any], records: Sequence[Record]) -> None:
        """Load the stored sequences of new sources in `records`."""
        unknown = {source for record in records if record.headers and (source := _source_of(record)) not in self._last}
        unknown.discard("")
        if unknown:
            stored = ingest.source_positions(conn, sorted(unknown))
            self._last |= {source: stored.get(source, -1) for source in unknown}

    def repeats(self, record: Record, moved: dict[str, int]) -> bool:
        """Return whether the record was written before. If not, make it the source's last one and add it to `moved`."""
        source, sequence = _source_of(record), header_text(record, topics.SEQUENCE)
        if not source or not sequence.isascii() or not sequence.isdigit() or len(sequence) > 18:
            return False
        number = int(sequence)
        if number <= self._last.get(source, -1):
            return True
        self._last[source] = moved[source] = number
        return False


def _source_of(record: Record) -> str:
    """Return the source of a record; empty if the name is too long for a collector."""
    source = header_text(record, topics.SOURCE)
    return source if len(source.encode()) <= INDEXED_BYTES else ""
