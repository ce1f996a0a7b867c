"""docs/papers.md from items, published figures and measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from flitwatch_research.papers.items import CRITERIA, STATES, Item, load_items
from flitwatch_research.papers.measured import RATIOS, as_ratios, combination_of
from flitwatch_research.papers.pictures import place_of
from flitwatch_research.studies import published
from flitwatch_research.studies.wang import BACKGROUNDS, PLACEMENTS, ROUTINGS

TITLES = {
    "bhatele2020": "Bhatele 2020, performance variability",
    "desensi2019": "De Sensi 2019, application-aware routing",
    "hoefler2009": "Hoefler 2009, network noise and collectives",
    "taffet2021": "Taffet 2021, communication performance",
    "wang2018": "Wang 2018, placement on dragonflies",
}
HEAD = """# The papers, item by item

Every figure, table, equation and algorithm of the five papers: where it is in the program, the command, page or test that shows it, and whether it is as published
(yes), in part, or not, with the reason.

All of our figures are simulated. Published figures are data (`services/research/flitwatch_research/studies/published.csv`),
found in the papers' texts by a test.

Generated with `make papers`. The tables marked with "routes" are measured by `make papers-routes` ([papers-routes.md](papers-routes.md)).

Pictures show our traffic, bases and hash. Rows are senders, and darker means more, on a logarithmic scale.
The brackets after our figures have the 95 % interval over draws.

If you have the papers' traces, `make papers-routes TRACES=DIR` and
`flitwatch study wang-fig3 --trace PATH` use them in place of generated patterns.
"""
#: Largest number of figures listed per item.
MOST = 8
Ours = Mapping[tuple[str, str], Mapping[tuple[str, str], float]]
#: (paper, place, row, column) -> the ends of a figure's 95 % interval over draws.
Intervals = Mapping[tuple[str, str, str, str], tuple[float, float]]


def to_markdown(measured: Ours, routes: Mapping[str, Any], intervals: Intervals) -> str:
    """Return the page. routes: rows of papers-routes.json."""
    every = load_items()
    counted = Counter((item.paper, item.state) for item in every)
    parts = [HEAD, "| paper | " + " | ".join(STATES) + " |\n|---|" + "---|" * len(STATES)]
    parts += [
        f"| {title} | " + " | ".join(str(counted[paper, state]) for state in STATES) + " |"
        for paper, title in TITLES.items()
    ]
    of_kind = Counter((item.kind, item.state) for item in every)
    parts.append("\n| criterion | as published means | yes | part | not |\n|---|---|---|---|---|")
    parts += [
        f"| {kind} | {asks} | " + " | ".join(str(of_kind[kind, state]) for state in STATES) + " |"
        for kind, asks in CRITERIA.items()
    ]
    for paper, title in TITLES.items():
        parts.append(
            f"\n## {title}\n\n| item | what | where | shown by | published; ours | criterion | as published | reason |\n|---|---|---|---|---|---|---|---|"
        )
        parts += [_format_item(item, measured, routes, intervals) for item in every if item.paper == paper]
        parts += _format_combinations(measured, intervals) if paper == "wang2018" else []
    return "\n".join(parts) + "\n"


def _format_combinations(measured: Ours, intervals: Intervals) -> list[str]:
    """Return figures 8 to 10: all combinations of placement and routing with both kinds of traffic."""
    columns = [
        (f"figure {number}", short, kind)
        for number, short in ((8, "AMG"), (9, "CR"), (10, "FB"))
        for kind in BACKGROUNDS[1:]
    ]
    measured_columns = {column for place, *_ in columns for _, column in measured.get(("wang2018", place), {})}
    if combination_of(PLACEMENTS[0], ROUTINGS[0], BACKGROUNDS[1]) not in measured_columns:
        return []
    lines = [
        "\nFigures 8 to 10: the slowest rank alongside background traffic, in % of its time without it, in one draw; an empty cell was not measured. AMG alongside uniform traffic on Theta, the others on a dragonfly of 512 nodes.\n",
        "| | " + " | ".join(f"{short}, {kind}" for _, short, kind in columns) + " |\n|---|" + "---|" * len(columns),
    ]
    for placement in PLACEMENTS:
        for routing in ROUTINGS:
            cells = []
            for place, short, kind in columns:
                column = combination_of(placement, routing, kind)
                mean = measured.get(("wang2018", place), {}).get((short, column))
                cells.append(
                    "" if mean is None else f"{mean:.4g}{_format_interval(intervals, 'wang2018', place, short, column)}"
                )
            lines.append(f"| {placement}, {routing} | " + " | ".join(cells) + " |")
    return lines


def _format_interval(intervals: Intervals, *place: str) -> str:
    paper, item, row, column = place
    ends = intervals.get((paper, item, row, column))
    return "" if ends is None else f" ({ends[0]:.3g} to {ends[1]:.3g})"


def _format_item(one: Item, measured: Ours, routes: Mapping[str, Any], intervals: Intervals) -> str:
    where = f"`{one.where}`" if one.where else ""
    command = f"`{one.command}`" if one.command else ""
    if (picture := place_of(one.paper, one.item)) is not None:
        command += f"; [picture]({picture})"
    return f"| {one.item} | {one.what} | {where} | {command} | {_format_figures(one, measured, routes, intervals)} | {one.kind} | {one.state} | {one.reason} |"


def _format_figures(one: Item, measured: Ours, routes: Mapping[str, Any], intervals: Intervals) -> str:
    place = (one.paper, one.item)
    printed = [figure for figure in published.load_figures() if (figure.paper, figure.place) == place]
    if not printed:
        return ""
    if place not in measured:
        table = one.item.removeprefix("table ")
        rows = sum(key.startswith(f"{table} ") for key in routes) if one.paper == "taffet2021" else 0
        return (
            f"{len(printed)} published; {rows} rows of ours: routes, table {table}"
            if rows
            else f"{len(printed)} published"
        )
    ours = measured[place]
    if place in RATIOS:
        printed = [figure for figure in printed if (figure.row, figure.column) in ours]
        first = ours[printed[0].row, printed[0].column]
        scaled = {key: (low / first, high / first) for key, (low, high) in intervals.items() if key[:2] == place}
        return "over the first row: " + _list_figures(printed, *as_ratios(printed, dict(ours)), "", scaled)
    mine = [ours.get((figure.row, figure.column)) for figure in printed]
    if all(x == figure.value for x, figure in zip(mine, printed, strict=True)):
        return f"{len(printed)} published; ours are equal"
    pairs = [(figure, x) for figure, x in zip(printed, mine, strict=True) if x is not None]
    # The same figure with another rule: its column has the same beginning as the published one.
    also = [
        f"<br>{column}: {x:.3g}"
        for (_, column), x in ours.items()
        if any(column.startswith(f"{figure.column}, ") for figure in printed)
    ]
    listed = _list_figures(
        [figure for figure, _ in pairs],
        [figure.value for figure, _ in pairs],
        [x for _, x in pairs],
        unit=pairs[0][0].unit,
        intervals=intervals,
    )
    return listed + "".join(also)


def _list_figures(
    printed: list[published.Figure], theirs: list[float], ours: list[Any], unit: str, intervals: Intervals
) -> str:
    unique = len({figure.row for figure in printed}) == len(printed)
    cells = [
        f"{figure.row if unique else f'{figure.row}, {figure.column}'}: {value:.3g}; "
        + ("–" if x is None else f"{x:.3g}")
        + (f" {unit}" if unit else "")
        + _format_interval(intervals, figure.paper, figure.place, figure.row, figure.column)
        for figure, value, x in zip(printed[:MOST], theirs, ours, strict=False)
    ]
    return "<br>".join(cells) + (f"<br>and {len(printed) - MOST} more" if len(printed) > MOST else "")
