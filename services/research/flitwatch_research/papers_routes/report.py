"""The report: measured rows stored as JSON and written as Markdown, which marks rows that were not measured."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import BadInput, FlitwatchError
from flitwatch_research.papers_routes.rows import CELL, TABLES, Measure, Row, Size

Kept = dict[str, dict[str, Any]]
#: Half of the last digit of the published errors, in percent.
ROUNDING = 0.05
HEAD = """# Routes, traffic matrices and the loop compared with what was published

Published: Taffet 2021 (12 minutes on 48 cores with Gurobi for routes; 6 minutes on an A100 for reconstructions). Ours: `make papers-routes`, two cores,
simulated traffic of generated patterns; for one table: `.venv/bin/python -m flitwatch_research.papers_routes --only 3.3`. Tables 4.2 and 4.3 were measured on one
NVIDIA H100 that eight cells shared (`--only 4.2 --only 4.3 --device cuda --limit 24 --at-once 8`), each in the published basis. The paper limits table 4.3 to six minutes of an A100. It gives no limit for table 4.2. Each cell has our figure, with the published one in brackets; an empty cell was not measured or does not exist.
"""


def load_rows(path: Path) -> Kept:
    """Return the stored rows."""
    if not path.exists():
        return {}
    try:
        contents = json.loads(path.read_text())
        return dict(contents["rows"])
    except (json.JSONDecodeError, KeyError, TypeError) as bad:
        raise BadInput(f"is not a report: {bad}", where=str(path), advice="Remove it and measure again") from bad


def measure_rows(
    rows: Sequence[Row],
    size: Size,
    path: Path,
    say: Callable[[str], None] = lambda text: None,
    columns: Sequence[str] = (),
    at_once: int = 1,
) -> Kept:
    """Measure rows and separately measured columns, one by one or several at once, each in its own process. Each result is stored
    immediately.

    A failed one is stored with its error. columns: the selection of separately measured columns.
    """
    rows_by_key = load_rows(path)
    tasks = [(row, "") for row in rows if row.measure is not None]
    tasks += [(row, column) for row in rows for column in row.cells if not columns or column in columns]
    for number, (row, column, result) in enumerate(_run_tasks(tasks, size, at_once), 1):
        say(f"{number} of {len(tasks)}: table {row.table}, {row.name} {column}")
        rows_by_key[row.key] = (
            _with_cell(rows_by_key.get(row.key, {}), column, result, size) if column else result | _list_sizes(size)
        )
        path.write_text(json.dumps({"rows": rows_by_key}, indent=1, sort_keys=True) + "\n")
    return rows_by_key


def _run_tasks(tasks: Sequence[tuple[Row, str]], size: Size, at_once: int) -> Iterator[tuple[Row, str, dict[str, Any]]]:
    if at_once == 1:
        for row, column in tasks:
            yield row, column, _measure_row(row.cells[column] if column else row.measure, size)
        return
    with ProcessPoolExecutor(at_once, multiprocessing.get_context("spawn")) as workers:
        running = {workers.submit(_by_key, row.key, column, size): (row, column) for row, column in tasks}
        for done in as_completed(running):
            yield *running[done], done.result()


def _by_key(key: str, column: str, size: Size) -> dict[str, Any]:
    """Measure in a separate process, which looks up the row by key: its function cannot be sent."""
    from flitwatch_research.papers_routes.catalogue import ROWS

    (row,) = [row for row in ROWS if row.key == key]
    return _measure_row(row.cells[column] if column else row.measure, size)


def _measure_row(how: Measure | None, size: Size) -> dict[str, Any]:
    assert how is not None, "a row without a measure has no task"
    started = time.monotonic()
    try:
        result: dict[str, Any] = {"ours": how(size)}
    except FlitwatchError as failure:
        result = {"error": str(failure)}
    return {**result, "wall_s": round(time.monotonic() - started, 2)}


def _list_sizes(size: Size) -> dict[str, Any]:
    return {
        "topology": size.topology,
        "quick": size.quick,
        "megabytes": size.megabytes,
        "optimise_s": size.optimise_s,
        "reconstruct_s": size.reconstruct_s,
    }


def _with_cell(held: dict[str, Any], column: str, found: dict[str, Any], size: Size) -> dict[str, Any]:
    """Return the row with this column's figure or error added to other columns; old rows measured as a whole are dropped."""
    if "cells" not in held or held.get("quick") != size.quick:
        held = {"cells": {}, "ours": {}}
    ours, cells = dict(held["ours"]), dict(held["cells"])
    ours.pop(column, None)
    if "error" in found:
        cells[column] = {"error": found["error"], "device": size.device}
    else:
        figures = dict(found["ours"])
        ours[column] = figures.pop(CELL)
        cells[column] = {**figures, "device": size.device}
    seconds = sum(cell.get("seconds", 0.0) for cell in cells.values())
    return {"ours": ours, "cells": cells, "wall_s": round(seconds, 2), "topology": size.topology, "quick": size.quick}


def to_markdown(rows: Sequence[Row], kept: Kept) -> str:
    """Return the report of all rows."""
    parts = [HEAD]
    for table, title in TABLES.items():
        mine = [row for row in rows if row.table == table]
        columns: list[str] = []
        for row in mine:
            for name in [*row.published, *kept.get(row.key, {}).get("ours", {})]:
                if name not in columns:
                    columns.append(name)
        parts.append(f"## Table {table}. {title}\n")
        parts.append("| | " + " | ".join(columns) + " | |\n|---|" + "---|" * len(columns) + "---|")
        parts += [_format_row(row, columns, kept.get(row.key)) for row in mine]
        parts += [_format_worse_cells(mine, kept)] if any(row.cells for row in mine) else []
        parts.append("")
    return "\n".join(parts)


def _format_worse_cells(rows: Sequence[Row], kept: Kept) -> str:
    """List cells above the published figure by more than its last printed digit; searches that reached their limit are ignored."""
    both = apart = 0
    worse = []
    for row in rows:
        held = kept.get(row.key, {})
        ours, cells = held.get("ours", {}), held.get("cells", {})
        common = [name for name in row.published if name in ours and cells[name]["converged"]]
        mine = [name for name in common if ours[name] > row.published[name] + ROUNDING]
        both, apart = both + len(common), apart + len(mine)
        worse += [f"- {row.name}: {', '.join(mine)}"] if mine else []
    sentence = f"\nOurs is worse than published in {apart} of the {both} cells that converged" + (":" if worse else ".")
    return "\n".join([sentence, "", *worse] if worse else [sentence])


def _format_row(row: Row, columns: list[str], held: dict[str, Any] | None) -> str:
    ours = (held or {}).get("ours", {})
    cells = []
    for name in columns:
        published = f"({_format_figure(row.published[name])})" if name in row.published else ""
        cells.append(f"{_format_figure(ours[name])} {published}".strip() if name in ours else published)
    notes = [row.note] if row.note else []
    if held is None:
        notes.insert(0, "not run")
    elif "error" in held:
        notes.insert(0, f"failed: {held['error']}")
    else:
        notes.insert(
            0,
            _describe_effort(held) + (f", quick form on {held['topology']}: not comparable" if held["quick"] else ""),
        )
    return f"| {row.name} | " + " | ".join(cells) + " | " + "; ".join(notes) + " |"


def _describe_effort(held: dict[str, Any]) -> str:
    """Return the time of a row's measurement; for separately measured columns, the device and the time limit."""
    cells = held.get("cells")
    if cells is None:
        return f"{held['wall_s']:.0f} s"
    ways = sorted({(cell["device"], cell["limit_s"]) for cell in cells.values() if "limit_s" in cell})
    failed = [f"{name}: {cell['error']}" for name, cell in cells.items() if "error" in cell]
    return "; ".join([*(f"{device}, at most {limit_s:.0f} s a cell" for device, limit_s in ways), *failed])


def _format_figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) >= 10 else f"{value:.3g}"
