"""Rows other than counters that the next transaction will write."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from flitwatch_db.counters.observations import Observation
from flitwatch_db.counters.samples import Summary
from flitwatch_db.ingest.store import RAW_BYTES, DeadLetter
from flitwatch_domain.data_sources import TWIN, kind_of
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_stream import topics
from flitwatch_stream.log import Record

log = logging.getLogger(__name__)

REASON_LETTERS = 500
OUR_FAULT = "unexpected error while decoding"
#: What a fault of ours raises when a record comes that nobody thought of; not what a lost database or registry raises.
FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError)


@dataclass
class Rates:
    """Counts for one topic since the last transaction."""

    records: int = 0
    values: int = 0
    bytes: int = 0
    duplicates: int = 0
    late: int = 0
    dead: int = 0
    #: Records of counters that no fabric has a place for.
    unplaced: int = 0


@dataclass
class PendingRows:
    """Collects until the transaction; then a new one begins."""

    letters: list[DeadLetter] = field(default_factory=list)
    #: Of dead letters and of records kept as they came.
    kept_bytes: int = 0
    observations: list[Observation] = field(default_factory=list)
    rates: dict[str, Rates] = field(default_factory=lambda: defaultdict(Rates))
    #: Records by what they come from, and topic.
    arrived: Counter[tuple[str, str]] = field(default_factory=Counter)
    schema_records: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    jobs: list[tuple[Record, Job]] = field(default_factory=list)
    runs: list[tuple[Record, Run | tuple[str, RunStep]]] = field(default_factory=list)
    samples: list[tuple[Record, Summary]] = field(default_factory=list)
    #: Rows that the samples will make.
    sample_rows: int = 0
    sequences: dict[str, int] = field(default_factory=dict)
    unplaced: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: When the oldest record was appended to the log, in milliseconds since 1970; 0: none.
    oldest_ms: int = 0
    newest_ms: int = 0

    def letter(self, record: Record, reason: str, where: str = "") -> None:
        """Keep a record that cannot be used."""
        letter = letter_of(record, reason, where)
        self.letters.append(letter)
        self.kept_bytes += len(letter.raw)
        self.rates[record.topic].dead += 1


def source_of(record: Record) -> str:
    """Return the source under which the arrival of a record is counted: its source's kind, or the twin."""
    return TWIN if header_text(record, topics.SIMULATED) else kind_of(header_text(record, topics.SOURCE))


def rejection_reason(record: Record, problem: Exception) -> str:
    """Return the reason of a dead letter: what `BadInput` says, or an unexpected error, which is logged; the records behind it are read."""
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
    """Return a record that cannot be used, with the first of its bytes and of its reason, which may name a metric of any length."""
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
    """Return a header's text, or nothing; NUL, which cannot be stored, is U+FFFD."""
    for key, value in record.headers:
        # Kafka's headers may have no value.
        if key == name and value is not None:
            return value.decode("utf-8", "replace").replace("\0", "\ufffd")
    return ""


def _locate_record(record: Record) -> str:
    sequence = header_text(record, topics.SEQUENCE)
    return f"{record.topic}[{record.partition}] offset {record.offset}" + (f", sequence {sequence}" if sequence else "")
