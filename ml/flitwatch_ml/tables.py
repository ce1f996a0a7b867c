"""CSV tables of runs as arrays, for data that did not come through the database; errors name file and line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput

Floats = NDArray[np.float64]


def _rows(path: Path, columns: tuple[str, ...], more: bool = False) -> Iterator[tuple[int, list[str], list[str]]]:
    """(line, values, header) of a CSV whose header begins with `columns`; with `more`, further columns follow."""
    try:
        with open(path, newline="", encoding="utf-8-sig", errors="strict") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            fits = header[: len(columns)] == list(columns) and (more or len(header) == len(columns))
            if not fits:
                raise BadInput(f"the header must be {','.join(columns)}{',...' if more else ''}", where=f"{path}:1")
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    raise BadInput(
                        f"{len(row)} fields where the header has {len(header)}", where=f"{path}:{reader.line_num}"
                    )
                yield reader.line_num, [value.strip() for value in row], header
    except OSError as failure:
        raise BadInput(f"cannot be read: {failure.strerror}", where=str(path)) from failure
    except UnicodeDecodeError as failure:
        raise BadInput(f"is not UTF-8 text (byte {failure.start})", where=str(path)) from failure
    except csv.Error as failure:
        raise BadInput(f"is not CSV: {failure}", where=str(path)) from failure


def _number(text: str, where: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"{name} is not a number: {text[:40]!r}", where=where) from None
    if not math.isfinite(value):
        raise BadInput(f"{name} is not a finite number: {text[:40]!r}", where=where)
    return value


def _step(text: str, where: str) -> int:
    value = _number(text, where, "step")
    if value < 0 or value != int(value) or value > 1e6:
        raise BadInput(f"step is not a whole number from 0: {text[:40]!r}", where=where)
    return int(value)


@dataclass(frozen=True)
class PresenceTable:
    """runs, users: names;  overlap: (runs, users), 0 where the file says nothing;  time_s: (runs,)"""

    runs: list[str]
    users: list[str]
    overlap: Floats
    time_s: Floats


def read_presence(presence: Path, times: Path) -> PresenceTable:
    """Read `run,user,overlap` and `run,time`; each run must have one time, each pair at most one overlap."""
    time_of: dict[str, float] = {}
    for line, (run, text), _ in _rows(times, ("run", "time")):
        if run in time_of:
            raise BadInput(f"run {run!r} stands here twice", where=f"{times}:{line}")
        time_of[run] = _number(text, f"{times}:{line}", "time")
    runs = {run: index for index, run in enumerate(time_of)}
    users: dict[str, int] = {}
    seen: dict[tuple[int, int], float] = {}
    for line, (run, user, text), _ in _rows(presence, ("run", "user", "overlap")):
        where = f"{presence}:{line}"
        if run not in runs:
            raise BadInput(f"run {run!r} has no time in {times}", where=where)
        key = runs[run], users.setdefault(user, len(users))
        if key in seen:
            raise BadInput(f"run {run!r} and user {user!r} stand here twice", where=where)
        seen[key] = _number(text, where, "overlap")
    overlap = np.zeros((len(runs), len(users)))
    for key, value in seen.items():
        overlap[key] = value
    return PresenceTable(list(runs), list(users), overlap, np.array(list(time_of.values())))


@dataclass(frozen=True)
class StepTable:
    """runs, counters: names;  time_s: (runs, steps);  counts: (runs, steps, counters); NaN where a run lacks a step"""

    runs: list[str]
    counters: list[str]
    time_s: Floats
    counts: Floats


def read_steps(path: Path) -> StepTable:
    """Read `run,step,time,counter...`; rows may stand in any order, each run and step once."""
    runs: dict[str, int] = {}
    rows: dict[tuple[int, int], list[float]] = {}
    counters: list[str] = []
    for line, values, header in _rows(path, ("run", "step", "time"), more=True):
        where = f"{path}:{line}"
        counters = header[3:]
        if len(set(counters)) != len(counters):
            raise BadInput("a counter's name stands twice in the header", where=f"{path}:1")
        key = runs.setdefault(values[0], len(runs)), _step(values[1], where)
        if key in rows:
            raise BadInput(f"run {values[0]!r}, step {key[1]} stands here twice", where=where)
        rows[key] = [_number(text, where, name) for name, text in zip(header[2:], values[2:], strict=True)]
    if not rows:
        raise BadInput("holds no steps", where=str(path))
    table = np.full((len(runs), max(step for _, step in rows) + 1, 1 + len(counters)), np.nan)
    for key, numbers in rows.items():
        table[key] = numbers
    return StepTable(list(runs), counters, table[:, :, 0], table[:, :, 1:])
