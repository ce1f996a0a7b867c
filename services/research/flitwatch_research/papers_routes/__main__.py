"""`python -m flitwatch_research.papers_routes`: measure rows and write docs/papers-routes.md and .json."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from flitwatch_research.papers_routes import report
from flitwatch_research.papers_routes.catalogue import ROWS
from flitwatch_research.papers_routes.rows import FULL, QUICK, TABLES


def main(argv: list[str] | None = None) -> int:
    """Measure the requested rows; earlier measurements of other rows are kept."""
    parser = argparse.ArgumentParser(prog="papers-routes", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("docs"), help="folder of papers-routes.md and papers-routes.json"
    )
    parser.add_argument(
        "--only", action="append", choices=[*TABLES], help="tables to measure; repeat for several; default all"
    )
    parser.add_argument("--name", help="of those, rows whose name contains this")
    parser.add_argument("--column", action="append", default=[], help="columns of tables 4.2 and 4.3; default all")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where tables 4.2 and 4.3 are solved")
    parser.add_argument("--limit", type=float, help="seconds of a reconstruction, half of table 4.2's (default 60)")
    parser.add_argument(
        "--traces",
        type=Path,
        help="folder of traces, each (a folder of DUMPI text, OTF2 or a DAG) named as our pattern: lulesh-512, partisn-168, amg-1728, boxlib-mg-1024, multigrid-1000, nekbone-1024, boxlib-cns-1024",
    )
    parser.add_argument("--at-once", type=int, default=1, help="rows and cells measured at once (default 1)")
    parser.add_argument(
        "--quick", action="store_true", help="a small tree and short limits: a check that everything runs"
    )
    chosen = parser.parse_args(argv)
    rows = [row for row in ROWS if (not chosen.only or row.table in chosen.only) and (chosen.name or "") in row.name]
    chosen.out.mkdir(parents=True, exist_ok=True)
    size = replace(QUICK if chosen.quick else FULL, device=chosen.device, traces=chosen.traces)
    rows_by_key = report.measure_rows(
        rows,
        size if chosen.limit is None else replace(size, reconstruct_s=chosen.limit),
        chosen.out / "papers-routes.json",
        lambda text: print(text, file=sys.stderr, flush=True),
        chosen.column,
        chosen.at_once,
    )
    (chosen.out / "papers-routes.md").write_text(report.to_markdown(ROWS, rows_by_key))
    return 1 if any("error" in entry for key, entry in rows_by_key.items() if key in {row.key for row in rows}) else 0


if __name__ == "__main__":
    sys.exit(main())
