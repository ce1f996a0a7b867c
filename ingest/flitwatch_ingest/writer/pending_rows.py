"""Rows of the next transaction, other than counters."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from flitwatch_db.counters.samples import Summary
from flitwatch_db.counters.store import Observation
from flitwatch_db.ingest.store import RAW_BYTES, DeadLetter, Rates
from flitwatch_domain.data_sources import TWIN, kind_of
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_stream import topics
from flitwatch_stream.log import Record

log = logging.getLogger(__name__)

REASON_LETTERS = 500
OUR_FAULT = "unexpected error while decoding"
#: Errors that a bug raises for an unexpected record, as opposed to errors of a lost database or registry.
FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError)


@dataclass
class PendingRows:
    """Rows collected for one transaction; the next one starts with a new object."""

    letters: list[DeadLetter] = field(default_factory=list)
    #: Bytes of dead letters and of raw records.
    kept_bytes: int = 0
    observations: list[Observation] = field(default_factory=list)
    rates: dict[str, Rates] = field(default_factory=lambda: defaultdict(Rates))
    #: Records by source and topic.
    arrived: Counter[tuple[str, str]] = field(default_factory=Counter)
    schema_records: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    jobs: list[tuple[Record, Job]] = field(default_factory=list)
    runs: list[tuple[Record, Run | tuple[str, RunStep]]] = field(default_factory=list)
    samples: list[tuple[Record, Summary]] = field(default_factory=list)
    #: Number of rows from the samples.
    sample_rows: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    unplaced: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: Append time of the oldest record, in milliseconds since 1970; 0: none.
    oldest_ms: int = 0
    newest_ms: int = 0

    def letter(self, record: Record, reason: str, where: str = "") -> None:
        """Add a dead letter for an unusable record."""
        letter = letter_of(record, reason, where)
        self.letters.append(letter)
        self.kept_bytes += len(letter.raw)
        self.rates[record.topic].dead += 1


def source_of(record: Record) -> str:
    """Return the source for counting a record's arrival: its source's kind, or the twin."""
    return TWIN if header_text(record, topics.SIMULATED) else kind_of(header_text(record, topics.SOURCE))


def rejection_reason(record: Record, problem: Exception) -> str:
    """Return the reason for a dead letter: the message of `BadInput`, or of an unexpected error, which is also logged."""
    if isinstance(problem, BadInput):
        return problem.reason
    log.error(
        "%s[%d] offset %d: unexpected error while decoding",
        record.topic,
        record.partition,
        record.offset,
        exc_info=problem,
    )
    return f"{OUR_FAULT} ({type(problem).__name__}): report it, with this record"


def letter_of(record: Record, reason: str, where: str = "") -> DeadLetter:
    """Return an unusable record as a dead letter, with bytes and reason truncated; the reason may contain a metric's name of any length."""
    reason = reason if len(reason) <= REASON_LETTERS else reason[: REASON_LETTERS - 1] + "…"
    return DeadLetter(
        record.topic,
        record.partition,
        record.offset,
        reason,
        record.value[:RAW_BYTES],
        source=header_text(record, topics.SOURCE),
        where=where or _locate_record(record),
        raw_bytes=len(record.value),
    )


def header_text(record: Record, name: str) -> str:
    """Return a header's text, or an empty text. NUL, which cannot be stored, becomes U+FFFD."""
    for key, value in record.headers:
        # Kafka's headers may have no value.
        if key == name and value is not None:
            return value.decode("utf-8", "replace").replace("\0", "\ufffd")
    return ""


def _locate_record(record: Record) -> str:
    sequence = header_text(record, topics.SEQUENCE)
    return f"{record.topic}[{record.partition}] offset {record.offset}" + (f", sequence {sequence}" if sequence else "")
