"""Collectors number their records: what was written once is not written again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from flitwatch_db.ingest import slices
from flitwatch_db.ingest import store as ingest
from flitwatch_ingest.writer.pending_rows import PendingRows, header
from flitwatch_stream import topics
from flitwatch_stream.log import Record
from flitwatch_stream.shapes import INDEXED_BYTES


class Sequences:
    """The last sequence of each source, as far as this writer has taken it; of a divided topic, of each source in each slice."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], int] = {}

    def learn(self, conn: psycopg.Connection[Any], records: Sequence[Record], parts: Sequence[int]) -> None:
        """Read what is stored of the sources of `records` that are new here; `parts` are the records' slices."""
        unknown = {
            (source, part)
            for record, part in zip(records, parts, strict=True)
            if record.headers and (source := _source(record)) and (source, part) not in self._last
        }
        if not unknown:
            return
        names = sorted({source for source, _ in unknown})
        stored = ingest.source_positions(conn, names)
        sliced = {}
        if any(part != slices.WHOLE for _, part in unknown):
            sliced = slices.source_positions(conn, records[0].topic, names)
        # What was written before the topic was divided is written in every slice.
        self._last |= {key: max(stored.get(key[0], -1), sliced.get(key, -1)) for key in unknown}

    def repeats(self, record: Record, part: int, found: PendingRows) -> bool:
        """Whether the record was written before; else it is its source's last now, and stands in `found`."""
        source, sequence = _source(record), header(record, topics.SEQUENCE)
        if not source or not sequence.isascii() or not sequence.isdigit() or len(sequence) > 18:
            return False
        number = int(sequence)
        if number <= self._last.get((source, part), -1):
            return True
        self._last[source, part] = number
        if part == slices.WHOLE:
            found.sequences[source] = number
        else:
            found.slice_sequences[record.topic, part, source] = number
        return False


def _source(record: Record) -> str:
    """Who sent a record; nobody where the name is none of a collector's."""
    source = header(record, topics.SOURCE)
    return source if len(source.encode()) <= INDEXED_BYTES else ""
