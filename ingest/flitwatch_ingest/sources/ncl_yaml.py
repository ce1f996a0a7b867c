"""The layout of AriesNCL before 2019: `<exe>.nettiles.<n>.yaml` and `<exe>.proctiles.<n>.yaml`, one pair per step.

A file's head lists the times of the reporting ranks and all possible counters of a tile. A row contains `rank x y` and the values of those
counters of tile (x, y) that counters.txt requested, in its order. Counters without a tile are in a row of a nonexistent tile.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flitwatch_domain import cray
from flitwatch_domain.errors import BadInput
from flitwatch_domain.runs import RunStep
from flitwatch_ingest.sources.ncl_run import RunFacts
from flitwatch_ingest.sources.rejection import Rejection

if TYPE_CHECKING:
    from flitwatch_ingest.sources.ncl_run import NclRun

_FILE = re.compile(r"(.+)\.(nettiles|proctiles)\.([0-9]{1,9})\.yaml")
_RUNTIME = re.compile(r"- runtime rank ([0-9]{1,7}) \(ns\): ([0-9]{1,18})")
_COLUMN = re.compile(r'- \[\s*"?([^",\]]+)"?\s*,\s*int(?:32|64|128)\s*\]')
_TILE_COUNTER = re.compile(r"AR_RTR_(PT_)?([0-9])_([0-9])_(.+)")
_MOST_BYTES = 2**28


@dataclass
class _Step:
    """One step: times by reporting index, values by (rank, counter)."""

    time_ns: dict[int, int] = field(default_factory=dict)
    values: dict[tuple[int, str], int] = field(default_factory=dict)
    ranks: set[int] = field(default_factory=set)


def find_yaml_heads(folder: Path) -> dict[str, Path]:
    """Return the first file of each application with this layout."""
    first_files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.nettiles.*.yaml")):
        match = _FILE.fullmatch(path.name)
        if match:
            first_files.setdefault(match.group(1), path)
    return first_files


def read_yaml_run(head: Path, facts: RunFacts) -> NclRun:
    """Read all steps of the application of `head`."""
    from flitwatch_ingest.sources.ncl_run import NclRun

    match = _FILE.fullmatch(head.name)
    assert match is not None
    exe = match.group(1)
    requested = _requested_counters(head.parent)
    rejected: list[Rejection] = []
    steps: dict[int, _Step] = {}
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(head.parent.glob("*.yaml")):
        named = _FILE.fullmatch(path.name)
        if named and named.group(1) == exe:
            _read_file(
                path,
                named.group(2) == "proctiles",
                steps.setdefault(int(named.group(3)), _Step()),
                requested,
                digest,
                rejected,
            )
    ranks = sorted({rank for step in steps.values() for rank in step.ranks})
    counters = sorted({name for step in steps.values() for _, name in step.values}, key=_sort_key(requested))
    run = facts.run(exe, digest.hexdigest(), ranks, counters)
    run_steps = [
        run_step
        for number in sorted(steps)
        if (run_step := _build_step(number, steps[number], ranks, counters, head, rejected))
    ]
    return NclRun(run, tuple(run_steps), tuple(rejected))


def _sort_key(asked: list[str] | None) -> Callable[[str], tuple[int, str]]:
    places = {name: at for at, name in enumerate(asked or ())}
    return lambda name: (places.get(name, len(places)), name)


def _requested_counters(folder: Path) -> list[str] | None:
    file = folder / "counters.txt"
    if not file.is_file():
        return None
    return [line.strip() for line in file.read_text(errors="replace").splitlines() if line.strip()]


def _read_file(
    path: Path, processor: bool, step: _Step, asked: list[str] | None, digest: object, rejected: list[Rejection]
) -> None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BadInput("is larger than 256 MiB")
        data = path.read_bytes()
    except OSError as problem:
        rejected.append(Rejection(str(path), problem.strerror or str(problem)))
        return
    except BadInput as bad:
        rejected.append(Rejection(str(path), bad.reason))
        return
    digest.update(data)  # type: ignore[attr-defined]
    columns: list[str] = []
    in_rows = False
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
        text = line.strip()
        if in_rows and text:
            try:
                _take_row(text, columns, processor, asked, step)
            except BadInput as bad:
                rejected.append(Rejection(f"{path}:{number}", bad.reason, line.encode()))
        elif match := _RUNTIME.fullmatch(text):
            step.time_ns[int(match.group(1))] = int(match.group(2))
        elif match := _COLUMN.fullmatch(text):
            columns.append(match.group(1))
        elif text == "...":
            in_rows = True
    if not in_rows:
        rejected.append(Rejection(str(path), "ends before its values: the file is incomplete", data[:65536]))


def _take_row(text: str, columns: list[str], processor: bool, asked: list[str] | None, step: _Step) -> None:
    cells = text.split()
    if len(cells) < 4 or not all(cell.isascii() and cell.isdigit() and len(cell) < 20 for cell in cells):
        raise BadInput("is not a row of rank, tile and counts")
    rank, x, y, *counts = (int(cell) for cell in cells)
    rows = (5,) if processor else range(5)
    if x not in rows or y >= cray.TILE_COLUMNS:
        raise BadInput(
            f"tile ({x},{y}) does not exist: AriesNCL misread the name of a counter that does not belong to a tile"
        )
    names = _select_names(columns, x, y, processor, asked)
    if len(names) != len(counts):
        raise BadInput(f"has {len(counts)} counts, counters.txt asks for {len(names)} of tile ({x},{y})")
    if any(count >= 2**63 for count in counts) or rank >= 10**7:
        raise BadInput("has a count beyond 2^63")
    step.ranks.add(rank)
    for name, count in zip(names, counts, strict=True):
        step.values[rank, name] = count


def _select_names(columns: list[str], x: int, y: int, processor: bool, asked: list[str] | None) -> list[str]:
    """Return the counters in a row of tile (x, y)."""
    part = "PT_" if processor else ""
    if asked is None:
        return [f"AR_RTR_{part}{x}_{y}_{column}" for column in columns if column not in ("mpirank", "tilex", "tiley")]
    names = []
    for name in asked:
        match = _TILE_COUNTER.fullmatch(name)
        if match and bool(match.group(1)) == processor and (int(match.group(2)), int(match.group(3))) == (x, y):
            names.append(name)
    return names


def _build_step(
    number: int, step: _Step, ranks: list[int], counters: list[str], head: Path, rejected: list[Rejection]
) -> RunStep | None:
    """Return a step with a value for every rank and counter. Missing values make the step's counters unknown, never zero."""
    where = f"{head.parent}: step {number}"
    if sorted(step.time_ns) != list(range(len(ranks))):
        rejected.append(Rejection(where, f"has times of {len(step.time_ns)} ranks, counts of {len(ranks)}"))
        return None
    time_ns = np.array([step.time_ns[at] for at in range(len(ranks))], np.int64)
    complete = all((rank, name) in step.values for rank in ranks for name in counters)
    if not complete:
        rejected.append(Rejection(where, "lacks counts of some rank: the step's counters are unknown"))
        return RunStep(number, time_ns, None)
    values = np.array([[step.values[rank, name] for name in counters] for rank in ranks], np.int64)
    return RunStep(number, time_ns, values.reshape(len(ranks), len(counters)) if counters else None)
