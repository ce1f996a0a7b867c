"""The report: measured rows kept as JSON, written out as Markdown; a row that was not measured says so."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import BadInput, FlitwatchError
from flitwatch_research.papers_routes.rows import TABLES, Row, Size

Kept = dict[str, dict[str, Any]]
HEAD = """# Routes, traffic matrices and the loop beside what was published

Published: Taffet 2021 (12 minutes on 48 cores with Gurobi for routes; 6 minutes on an A100 for reconstructions). Ours: `make papers-routes`, two cores,
simulated traffic of generated patterns; one table alone: `.venv/bin/python -m flitwatch_research.papers_routes --only 3.3`. A cell is ours, the published figure in brackets; an empty cell was not measured or does not exist.
"""


def load(path: Path) -> Kept:
    """Rows that were measured before."""
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text())
        return dict(kept["rows"])
    except (json.JSONDecodeError, KeyError, TypeError) as bad:
        raise BadInput(f"is no report: {bad}", where=str(path), advice="Remove it and measure anew") from bad


def measure(rows: Sequence[Row], size: Size, path: Path, say: Callable[[str], None] = lambda text: None) -> Kept:
    """Measure rows one by one; each is kept as soon as it is there. A row that fails is kept with its error."""
    kept = load(path)
    for number, row in enumerate(rows, 1):
        say(f"{number} of {len(rows)}: table {row.table}, {row.name}")
        started = time.monotonic()
        try:
            found: dict[str, Any] = {"ours": row.measure(size)}
        except FlitwatchError as failure:
            found = {"error": str(failure)}
        kept[row.key] = {
            **found,
            "wall_s": round(time.monotonic() - started, 2),
            "topology": size.topology,
            "quick": size.quick,
            "megabytes": size.megabytes,
            "optimise_s": size.optimise_s,
            "reconstruct_s": size.reconstruct_s,
        }
        path.write_text(json.dumps({"rows": kept}, indent=1, sort_keys=True) + "\n")
    return kept


def markdown(rows: Sequence[Row], kept: Kept) -> str:
    """The report of all rows."""
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
        parts += [_line(row, columns, kept.get(row.key)) for row in mine]
        parts.append("")
    return "\n".join(parts)


def _line(row: Row, columns: list[str], held: dict[str, Any] | None) -> str:
    ours = (held or {}).get("ours", {})
    cells = []
    for name in columns:
        published = f"({_figure(row.published[name])})" if name in row.published else ""
        cells.append(f"{_figure(ours[name])} {published}".strip() if name in ours else published)
    notes = [row.note] if row.note else []
    if held is None:
        notes.insert(0, "not run")
    elif "error" in held:
        notes.insert(0, f"failed: {held['error']}")
    else:
        notes.insert(
            0,
            f"{held['wall_s']:.0f} s"
            + (f", quick form on {held['topology']}: not comparable" if held["quick"] else ""),
        )
    return f"| {row.name} | " + " | ".join(cells) + " | " + "; ".join(notes) + " |"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) >= 10 else f"{value:.3g}"
