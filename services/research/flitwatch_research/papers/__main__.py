"""`python -m flitwatch_research.papers`: measure what takes seconds, draw, and write docs/papers.md and .json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from flitwatch_research.papers.measured import MEASURED
from flitwatch_research.papers.pictures import draw_pictures
from flitwatch_research.papers.report import to_markdown
from flitwatch_research.papers_routes.report import load_rows
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
    figures_file = chosen.out / "papers.json"
    if not chosen.written:
        targets = [
            (paper, place)
            for paper, place in MEASURED
            if chosen.paper in (None, paper) and (chosen.place is None or place in chosen.place)
        ]
        if chosen.place is None:
            draw_pictures(chosen.out)
        rows = [] if len(targets) == len(MEASURED) else json.loads(figures_file.read_text())
        rows = [entry for entry in rows if (entry["paper"], entry["place"]) not in targets]
        for paper, place in targets:
            print(f"{paper}, {place}", file=sys.stderr, flush=True)
            rows += [
                {"paper": paper, "place": place, "row": row, "column": column, **_to_record(value)}
                for (row, column), value in MEASURED[paper, place]().items()
            ]
        chosen.out.mkdir(parents=True, exist_ok=True)
        rows.sort(key=lambda entry: list(MEASURED).index((entry["paper"], entry["place"])))
        figures_file.write_text(json.dumps(rows, indent=1) + "\n")
    figures_by_place: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    intervals: dict[tuple[str, str, str, str], tuple[float, float]] = {}
    for entry in json.loads(figures_file.read_text()):
        figures_by_place.setdefault((entry["paper"], entry["place"]), {})[entry["row"], entry["column"]] = entry["ours"]
        if (ends := entry.get("ci95")) is not None:
            intervals[entry["paper"], entry["place"], entry["row"], entry["column"]] = (ends[0], ends[1])
    (chosen.out / "papers.md").write_text(
        to_markdown(figures_by_place, load_rows(chosen.out / "papers-routes.json"), intervals)
    )
    return 0


def _to_record(value: float | MeanFigure) -> dict[str, float | list[float] | None]:
    if isinstance(value, dict):
        return {"ours": value["mean"], "ci95": value["ci95"]}
    return {"ours": value}


if __name__ == "__main__":
    sys.exit(main())
