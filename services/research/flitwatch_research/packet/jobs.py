"""Files with the jobs of one run: CSV `pattern,ranks,bytes,placement[,class]`."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_utf8
from flitwatch_simulation.workloads.patterns import PATTERNS
from flitwatch_simulation.workloads.placement import POLICIES

_HEADER = ["pattern", "ranks", "bytes", "placement"]
#: An optional fifth column.
_CLASS = "class"


@dataclass(frozen=True)
class JobLine:
    """One job: pattern, ranks, bytes per rank, placement policy, name of its traffic class."""

    pattern: str
    ranks: int
    bytes_per_rank: int
    placement: str
    traffic_class: str | None = None


def read_jobs(path: Path) -> list[JobLine]:
    """Read a file of jobs.

    Raises
    ------
    BadInput
        The file is invalid; the message contains file and line.
    """
    try:
        rows = list(csv.reader(read_utf8(path).splitlines()))
    except csv.Error as bad:
        raise BadInput(f"cannot read the jobs: {bad}", where=str(path)) from bad
    lines = [(n, [c.strip() for c in row]) for n, row in enumerate(rows, 1) if row and not row[0].startswith("#")]
    header = lines[0][1] if lines else []
    if header not in (_HEADER, [*_HEADER, _CLASS]):
        raise BadInput(
            f"expected the header {','.join(_HEADER)} or the same with ,{_CLASS}",
            where=f"{path}:{lines[0][0] if lines else 1}",
        )
    jobs = []
    for number, row in lines[1:]:
        where = f"{path}:{number}"
        if len(row) != len(header):
            raise BadInput(f"expected {len(header)} fields, got {len(row)}", where=where)
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in row[1:3]):
            raise BadInput(
                f"ranks {row[1]!r} and bytes {row[2]!r} must be whole numbers of at least 2 and 1", where=where
            )
        fields = {"pattern": row[0], "ranks": int(row[1]), "bytes": int(row[2]), "placement": row[3]}
        traffic_class = row[4] if len(row) > len(_HEADER) and row[4] else None
        jobs.append(replace(job_of(fields, where), traffic_class=traffic_class))
    if not jobs:
        raise BadInput("there are no jobs", where=str(path))
    return jobs


def job_of(fields: Any, where: str) -> JobLine:
    """Return one job from its named fields.

    Raises
    ------
    BadInput
        A field is invalid; the message contains the place.
    """
    if not isinstance(fields, dict) or set(fields) != set(_HEADER):
        raise BadInput(f"expected the fields {', '.join(_HEADER)}", where=where)
    pattern, ranks, size, placement = (fields[name] for name in _HEADER)
    if pattern not in PATTERNS:
        raise BadInput(f"unknown pattern {pattern!r}", where=where, advice=f"Use one of {', '.join(sorted(PATTERNS))}.")
    if not (_is_whole(ranks) and _is_whole(size) and ranks >= 2 and size >= 1):
        raise BadInput(f"ranks {ranks!r} and bytes {size!r} must be whole numbers of at least 2 and 1", where=where)
    if placement not in POLICIES:
        raise BadInput(f"unknown placement {placement!r}", where=where, advice=f"Use one of {', '.join(POLICIES)}.")
    return JobLine(pattern, ranks, size, placement)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18
