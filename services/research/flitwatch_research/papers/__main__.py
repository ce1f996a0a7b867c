"""`python -m flitwatch_research.papers`: measure what takes seconds, draw, and write docs/papers.md and .json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from flitwatch_research.papers.measured import MEASURED
from flitwatch_research.papers.pictures import draw
from flitwatch_research.papers.report import markdown
from flitwatch_research.papers_routes.report import load
from flitwatch_research.studies.published import PAPERS
from flitwatch_simulation.collectives import MeanFigure


def main(argv: list[str] | None = None) -> int:
    """Measure and write; with --written, only write from what was measured before."""
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of papers.md and papers.json")
    parser.add_argument("--written", action="store_true", help="measure nothing: write from papers.json")
    parser.add_argument("--paper", choices=list(PAPERS), help="measure one paper's items, keep the others'")
    parser.add_argument(
        "--place", action="append", help="such as 'figure 8': measure it alone, draw nothing; repeat for several"
    )
    chosen = parser.parse_args(argv)
    kept = chosen.out / "papers.json"
    if not chosen.written:
        wanted = [
            (paper, place)
            for paper, place in MEASURED
            if chosen.paper in (None, paper) and (chosen.place is None or place in chosen.place)
        ]
        if chosen.place is None:
            draw(chosen.out)
        rows = [] if len(wanted) == len(MEASURED) else json.loads(kept.read_text())
        rows = [one for one in rows if (one["paper"], one["place"]) not in wanted]
        for paper, place in wanted:
            print(f"{paper}, {place}", file=sys.stderr, flush=True)
            rows += [
                {"paper": paper, "place": place, "row": row, "column": column, **_kept(value)}
                for (row, column), value in MEASURED[paper, place]().items()
            ]
        chosen.out.mkdir(parents=True, exist_ok=True)
        rows.sort(key=lambda one: list(MEASURED).index((one["paper"], one["place"])))
        kept.write_text(json.dumps(rows, indent=1) + "\n")
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    intervals: dict[tuple[str, str, str, str], tuple[float, float]] = {}
    for one in json.loads(kept.read_text()):
        found.setdefault((one["paper"], one["place"]), {})[one["row"], one["column"]] = one["ours"]
        if (ends := one.get("ci95")) is not None:
            intervals[one["paper"], one["place"], one["row"], one["column"]] = (ends[0], ends[1])
    (chosen.out / "papers.md").write_text(markdown(found, load(chosen.out / "papers-routes.json"), intervals))
    return 0


def _kept(value: float | MeanFigure) -> dict[str, float | list[float] | None]:
    if isinstance(value, dict):
        return {"ours": value["mean"], "ci95": value["ci95"]}
    return {"ours": value}


if __name__ == "__main__":
    sys.exit(main())
