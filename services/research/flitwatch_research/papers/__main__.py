"""`python -m flitwatch_research.papers`: measure the fast items, draw, and write docs/papers.md and .json."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from flitwatch_research.collectives import MeanFigure
from flitwatch_research.papers.measured import MEASURED
from flitwatch_research.papers.pictures import draw_pictures
from flitwatch_research.papers.report import to_markdown
from flitwatch_research.papers_routes.report import load_rows
from flitwatch_research.studies.published import PAPERS

#: (paper, place)
Place = tuple[str, str]


def main(argv: list[str] | None = None) -> int:
    """Measure and write; with --written, only write earlier measurements."""
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
        _measure(targets, figures_file)
        if chosen.place is None:
            draw_pictures(chosen.out)
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


def _measure(wanted: Sequence[Place], kept: Path) -> None:
    """Measure each place and store it immediately, so that an interrupted run can be resumed."""
    rows = json.loads(kept.read_text()) if kept.exists() else []
    last_s = {(one["paper"], one["place"]): one.get("wall_s") for one in rows}
    begun = kept.with_name("papers-measured.json")
    done = [tuple(one) for one in json.loads(begun.read_text())] if begun.exists() else []
    left = [place for place in wanted if place not in done]
    known_s = [last_s[place] for place in left if last_s.get(place) is not None]
    _say(
        f"{len(left)} of {len(wanted)} places to measure; {len(known_s)} of them took {sum(known_s) / 60:.0f} min last time"
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    for paper, place in left:
        took_s = last_s.get((paper, place))
        _say(f"{paper}, {place}" + ("" if took_s is None else f": about {took_s:.0f} s"))
        started = time.monotonic()
        figures = MEASURED[paper, place]()
        wall_s = round(time.monotonic() - started, 1)
        rows = [one for one in rows if (one["paper"], one["place"]) != (paper, place)]
        rows += [
            {"paper": paper, "place": place, "row": row, "column": column, **_to_record(value), "wall_s": wall_s}
            for (row, column), value in figures.items()
        ]
        rows.sort(key=lambda one: list(MEASURED).index((one["paper"], one["place"])))
        kept.write_text(json.dumps(rows, indent=1) + "\n")
        done.append((paper, place))
        begun.write_text(json.dumps(done))
    begun.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _to_record(value: float | MeanFigure) -> dict[str, float | list[float] | None]:
    if isinstance(value, dict):
        return {"ours": value["mean"], "ci95": value["ci95"]}
    return {"ours": value}


if __name__ == "__main__":
    sys.exit(main())
