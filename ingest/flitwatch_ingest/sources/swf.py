"""The Standard Workload Format of the Parallel Workloads Archive: a header of `; Label: value`, then 18 numbers per job.

Source: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", JSSPP 1999, version 2.2 of the format. -1 is
unknown. The additional lines of a checkpointed job (status 2, 3, 4) repeat parts of its first line and are skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO

from flitwatch_domain import units
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_domain.units import EARLIEST_S, LATEST_S
from flitwatch_ingest.sources.incarnations import Found
from flitwatch_ingest.sources.rejection import Rejection

_LABEL = re.compile(r";\s*(\w+)\s*:\s*(.*)")
_FIELDS = 18
_LARGEST = 1e12
_LONGEST_LINE = 10_000
_STATES = {-1: "UNKNOWN", 0: "FAILED", 1: "COMPLETED", 5: "CANCELLED"}
#: Statuses of the additional lines of a checkpointed job.
PARTS = (2, 3, 4)


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a log: epoch seconds of its start (0: its times are epoch seconds), and the machine's size. None: not given."""

    begin_s: int
    nodes: int | None
    processors: int | None


def read_header(lines: IO[bytes], where: str) -> tuple[Header, Iterator[tuple[int, bytes]]]:
    """Return the header and the numbered lines after it; raise BadInput if it has no start time."""
    labels: dict[str, int] = {}
    first: list[tuple[int, bytes]] = []
    numbered = enumerate(lines, start=1)
    for number, raw in numbered:
        label = _LABEL.fullmatch(raw.decode("utf-8", errors="replace").strip())
        value = units.parse_whole(label.group(2).strip(), most=10**18) if label else None
        if label and value is not None:
            labels[label.group(1)] = value
        if raw.strip() and not raw.lstrip().startswith(b";"):
            first = [(number, raw)]
            break
    begin_s = labels.get("UnixStartTime")
    if begin_s is None:
        raise BadInput(
            "has no header with UnixStartTime",
            where=where,
            advice="Expected a log in the Standard Workload Format.",
        )
    return Header(begin_s, labels.get("MaxNodes"), labels.get("MaxProcs")), chain(first, numbered)


def parse_values(raw: bytes) -> list[float]:
    """Return the 18 numbers of a line; raise BadInput if it has others."""
    cells = raw[:_LONGEST_LINE].decode("ascii", errors="replace").split()
    if len(cells) != _FIELDS:
        raise BadInput(f"has {len(cells)} field{'s' * (len(cells) != 1)}, the format {_FIELDS}")
    values = [units.parse_real(cell) for cell in cells]
    numbers = [value for value in values if value is not None and abs(value) < _LARGEST]
    if len(numbers) != len(values):
        bad = next(cell for cell, value in zip(cells, values, strict=True) if value is None or abs(value) >= _LARGEST)
        raise BadInput(f"{bad[:40]!r} is not a number")
    return numbers


class SwfReader:
    """Decoder of workload logs.

    Parameters
    ----------
    cluster : str
        Name of the cluster, which the format lacks. Users and queues are numbers.
    """

    def __init__(self, cluster: str = "default") -> None:
        self._cluster = cluster

    def read(self, lines: IO[bytes], where: str) -> Iterator[Found | Rejection]:
        """Yield jobs and rejected lines as they are read. Raise BadInput if the header has no start time, or one before 2000; raised at once."""
        header, rows = read_header(lines, where)
        # Some logs count from 1970: each time is then checked separately.
        if header.begin_s and not EARLIEST_S <= header.begin_s <= LATEST_S:
            raise BadInput("begins outside 2000 to 2100, the range of stored times", where=where)
        whole_nodes = header.nodes is not None and header.nodes == header.processors
        return self._read_jobs(rows, where, header.begin_s, whole_nodes)

    def rest(self) -> Iterator[Found | Rejection]:
        """Yield nothing: each line is a complete job."""
        return iter(())

    def _read_jobs(
        self, rows: Iterator[tuple[int, bytes]], where: str, begin_s: int, whole_nodes: bool
    ) -> Iterator[Found | Rejection]:
        for number, raw in rows:
            if not raw.strip() or raw.lstrip().startswith(b";"):
                continue
            try:
                job = self._parse_job(raw, begin_s, whole_nodes)
            except BadInput as bad:
                yield Rejection(f"{where}:{number}", bad.reason, raw)
                continue
            if job is not None:
                yield job, True

    def _parse_job(self, raw: bytes, begin_s: int, whole_nodes: bool) -> Job | None:
        values = parse_values(raw)
        number, submit, wait, run, processors = values[:5]
        status, user, group, executable, queue = (math.floor(value) for value in values[10:15])
        if status in PARTS:
            return None
        if status not in _STATES:
            raise BadInput(f"{status} is not a status")
        if number < 0 or submit < 0:
            raise BadInput("has no number or no time of submission")
        submit_s = _check_time(begin_s + submit)
        # A job cancelled while waiting has no run time.
        started = wait >= 0 and not (status == 5 and run <= 0)
        start_s = _check_time(submit_s + wait) if started else None
        return Job(
            self._cluster,
            str(math.floor(number)),
            _STATES[status],
            user=_text_or_none(user),
            account=_text_or_none(group),
            name=None if executable < 0 else f"executable {executable}",
            partition=_text_or_none(queue),
            submit_s=submit_s,
            start_s=start_s,
            end_s=_check_time(start_s + run) if start_s is not None and run >= 0 else None,
            nodes=math.floor(processors) if whole_nodes and processors > 0 else None,
        )


def _text_or_none(value: int) -> str | None:
    return None if value < 0 else str(value)


def _check_time(seconds: float) -> float:
    if not EARLIEST_S <= seconds <= LATEST_S:
        raise BadInput("a time is outside 2000 to 2100")
    return seconds
