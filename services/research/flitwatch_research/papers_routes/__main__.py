"""`python -m flitwatch_research.papers_routes`: measure rows and write docs/papers-routes.md and .json."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flitwatch_research.papers_routes import beyond, loops, report, routes_and_bases
from flitwatch_research.papers_routes.rows import FULL, QUICK, TABLES

ROWS = [*routes_and_bases.ROWS, *loops.ROWS, *beyond.ROWS]


def main(argv: list[str] | None = None) -> int:
    """Measure what was asked for; rows measured before stay."""
    parser = argparse.ArgumentParser(prog="papers-routes", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("docs"), help="folder of papers-routes.md and papers-routes.json"
    )
    parser.add_argument(
        "--only", action="append", choices=[*TABLES], help="tables to measure; repeat for several; default all"
    )
    parser.add_argument("--name", help="of those, rows whose name contains this")
    parser.add_argument(
        "--quick", action="store_true", help="a small tree and short limits: a check that everything runs"
    )
    chosen = parser.parse_args(argv)
    rows = [row for row in ROWS if (not chosen.only or row.table in chosen.only) and (chosen.name or "") in row.name]
    chosen.out.mkdir(parents=True, exist_ok=True)
    kept = report.measure(
        rows,
        QUICK if chosen.quick else FULL,
        chosen.out / "papers-routes.json",
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    (chosen.out / "papers-routes.md").write_text(report.markdown(ROWS, kept))
    return 1 if any("error" in held for key, held in kept.items() if key in {row.key for row in rows}) else 0


if __name__ == "__main__":
    sys.exit(main())
