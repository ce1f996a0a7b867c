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


def main(argv: list[str] | None = None) -> int:
    """Measure and write; with --written, only write from what was measured before."""
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of papers.md and papers.json")
    parser.add_argument("--written", action="store_true", help="measure nothing: write from papers.json")
    parser.add_argument("--paper", choices=list(PAPERS), help="measure one paper's items, keep the others'")
    chosen = parser.parse_args(argv)
    kept = chosen.out / "papers.json"
    if not chosen.written:
        draw(chosen.out)
        rows = [] if chosen.paper is None else [x for x in json.loads(kept.read_text()) if x["paper"] != chosen.paper]
        for (paper, place), measure in MEASURED.items():
            if chosen.paper not in (None, paper):
                continue
            print(f"{paper}, {place}", file=sys.stderr, flush=True)
            rows += [
                {"paper": paper, "place": place, "row": row, "column": column, "ours": value}
                for (row, column), value in measure().items()
            ]
        chosen.out.mkdir(parents=True, exist_ok=True)
        rows.sort(key=lambda one: list(MEASURED).index((one["paper"], one["place"])))
        kept.write_text(json.dumps(rows, indent=1) + "\n")
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for one in json.loads(kept.read_text()):
        found.setdefault((one["paper"], one["place"]), {})[one["row"], one["column"]] = one["ours"]
    (chosen.out / "papers.md").write_text(markdown(found, load(chosen.out / "papers-routes.json")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
