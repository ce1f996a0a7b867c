"""CSV tables of runs as arrays, for data that are not in the database; errors contain file and line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import open_text
from flitwatch_ml.folds import distinct_runs
from flitwatch_ml.measured import _check_name, _parse_amount, _parse_number, _parse_time_s

Floats = NDArray[np.float64]
#: Limit of the ratio of a step table's size to the number of its rows.
SPARSEST = 20


def _read_rows(path: Path, columns: tuple[str, ...], more: bool = False) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield (line, values, header) of a CSV file whose header begins with `columns`; with `more`, further columns are allowed."""
    try:
        with open_text(path) as file:
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
    except csv.Error as failure:
        raise BadInput(f"is not CSV: {failure}", where=str(path)) from failure


def _parse_step(text: str, where: str) -> int:
    value = _parse_number(text, where, "step")
    if value < 0 or value != int(value) or value > 1e9:
        raise BadInput(f"step is not a whole number of at least 0: {text[:40]!r}", where=where)
    return int(value)


@dataclass(frozen=True)
class PresenceTable:
    """runs, users: names;  overlap: (runs, users), 0 for missing pairs;  time_s: (runs,);  notes: remarks for the user

    Runs are ordered by time and users by their overlaps, so that neither the order of rows nor users' names matter.
    """

    runs: list[str]
    users: list[str]
    overlap: Floats
    time_s: Floats
    notes: list[str]


def read_presence(presence: Path, times: Path) -> PresenceTable:
    """Read `run,user,overlap` and `run,time`; each run must have one time, and each pair at most one overlap."""
    time_of: dict[str, float] = {}
    for line, (run, text), _ in _read_rows(times, ("run", "time")):
        where = f"{times}:{line}"
        if _check_name(run, where, "run") in time_of:
            raise BadInput(f"run {run!r} is listed twice", where=where)
        time_of[run] = _parse_time_s(text, where, "run")
    if not time_of:
        raise BadInput("contains no runs", where=str(times))
    runs = {run: index for index, run in enumerate(sorted(time_of, key=lambda run: (time_of[run], run)))}
    users: dict[str, int] = {}
    overlap_of: dict[tuple[int, int], float] = {}
    for line, (run, user, text), _ in _read_rows(presence, ("run", "user", "overlap")):
        where = f"{presence}:{line}"
        if _check_name(run, where, "run") not in runs:
            raise BadInput(f"run {run!r} has no time in {times}", where=where)
        key = runs[run], users.setdefault(_check_name(user, where, "user"), len(users))
        if key in overlap_of:
            raise BadInput(f"run {run!r} and user {user!r} are listed twice", where=where)
        overlap_of[key] = _parse_amount(text, where, "overlap")
    if not users:
        raise BadInput("contains no users", where=str(presence))
    overlap = np.zeros((len(runs), len(users)))
    for key, value in overlap_of.items():
        overlap[key] = value
    names = np.array(list(users))
    by_name = np.argsort(names, kind="stable")
    order = by_name[np.argsort(-_row_labels(overlap[::-1, by_name].T), kind="stable")]
    overlap, time_s = overlap[:, order], np.array([time_of[run] for run in runs])
    notes = list(_notes_of_runs(list(runs), overlap, time_s, {run for run, _ in overlap_of}))
    return PresenceTable(list(runs), names[order].tolist(), overlap, time_s, notes)


def _row_labels(rows: Floats) -> NDArray[np.int64]:
    """Return a label for each row, in lexicographic order; equal rows share a label."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _notes_of_runs(runs: list[str], overlap: Floats, time_s: Floats, with_users: set[int]) -> Iterator[str]:
    """Yield notes on runs without concurrent users, and on runs with equal times and users, which may be one run counted twice."""
    alone = [run for index, run in enumerate(runs) if index not in with_users]
    if alone:
        yield f"runs without a row of presence: {len(alone)} (first: {alone[0]!r}); these runs are treated as having no other users alongside"
    labels = _row_labels(np.column_stack([time_s, overlap]))
    if copies := _find_copies(labels):
        first, other = copies[0]
        yield (
            f"runs {runs[first]!r} and {runs[other]!r}{f', and {len(copies) - 1} more,' if len(copies) > 1 else ''} have the "
            f"same time and the same users; "
            "if they are the same run, leave one out, because it counts twice"
        )


def _find_copies(labels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return (first, later) for each run whose label occurred earlier."""
    first = np.unique(labels, return_index=True)[1][labels]
    return [(int(original), index) for index, original in enumerate(first) if original != index]


@dataclass(frozen=True)
class StepTable:
    """runs, counters: names;  time_s: (runs, steps);  counts: (runs, steps, counters); NaN for missing steps or readings;  notes: remarks for
    the user

    Runs are ordered by their times, regardless of the order of rows; steps begin with the file's first step.
    """

    runs: list[str]
    counters: list[str]
    time_s: Floats
    counts: Floats
    notes: list[str]


def read_steps(path: Path) -> StepTable:
    """Read `run,step,time,counter...`; rows can be in any order, but each run and step must be unique."""
    runs: dict[str, int] = {}
    rows: dict[tuple[int, int], list[float]] = {}
    counters: list[str] = []
    for line, values, header in _read_rows(path, ("run", "step", "time"), more=True):
        where = f"{path}:{line}"
        if not counters:
            counters = _counter_names(header, f"{path}:1")
        key = runs.setdefault(_check_name(values[0], where, "run"), len(runs)), _parse_step(values[1], where)
        if key in rows:
            raise BadInput(f"run {values[0]!r}, step {key[1]} is listed twice", where=where)
        counts = [_parse_reading(text, where, name) for name, text in zip(counters, values[3:], strict=True)]
        rows[key] = [_parse_time_s(values[2], where, "step"), *counts]
    if not rows:
        raise BadInput("contains no steps", where=str(path))
    table = _build_table(path, len(runs), rows, 1 + len(counters))
    order = np.argsort(_row_labels(np.nan_to_num(table, nan=-1.0).reshape(len(runs), -1)), kind="stable")
    names, table = [list(runs)[index] for index in order], table[order]
    times = table[:, :, 0]
    return StepTable(names, counters, times, table[:, :, 1:], list(_notes_of_steps(names, times)))


def _parse_reading(text: str, where: str, name: str) -> float:
    """Return a counter's increment; an empty cell is a lost reading."""
    return _parse_amount(text, where, name) if text.strip() else float("nan")


def _counter_names(header: list[str], where: str) -> list[str]:
    if len(set(header)) != len(header):
        raise BadInput("a counter's name is in the header twice", where=where)
    return [_check_name(name, where, "a counter's name") for name in header[3:]]


def _build_table(path: Path, runs: int, rows: dict[tuple[int, int], list[float]], width: int) -> Floats:
    """Return (runs, steps, time and counters), NaN for missing steps."""
    numbers = [step for _, step in rows]
    first, steps = min(numbers), max(numbers) - min(numbers) + 1
    if runs * steps > SPARSEST * len(rows) + 10_000:
        raise BadInput(
            f"steps range from {first} to {max(numbers)}, but there are only {len(rows)} rows of {runs} runs",
            where=str(path),
            advice="Number the steps of each run consecutively from 0",
        )
    table = np.full((runs, steps, width), np.nan)
    for (run, step), values in rows.items():
        table[run, step - first] = values
    return table


def _notes_of_steps(runs: list[str], time_s: Floats) -> Iterator[str]:
    missing = np.argwhere(np.isnan(time_s))
    if len(missing):
        run, step = missing[0]
        yield f"{len(missing)} of {time_s.size} steps are missing (first: run {runs[run]!r}, step number {step + 1}); windows that need them are left out"
    if copies := _find_copies(distinct_runs(time_s)):
        first, other = copies[0]
        yield (
            f"{len(copies)} of {len(runs)} runs have the same times as another (first: {runs[other]!r} as {runs[first]!r}): "
            f"these are treated as copies, which count as one run and are held out together"
        )
