"""Published figures as data: `published.csv` is the only file with the papers' numbers.

Each row contains paper, place (table, figure or section), row and column, and the position of the value in the paper's text: the line, a part of that
line, and the index of the number in that part.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from flitwatch_domain.errors import NotFound

#: Papers, and the prefixes of their texts' file names.
PAPERS = {
    "bhatele2020": "bhatele2020-performance-variability",
    "desensi2019": "desensi2019-application-aware-routing",
    "hoefler2009": "hoefler2009-network-noise-collectives",
    "taffet2021": "taffet2021-communication-performance",
    "wang2018": "wang2018-placement-tradeoff-dragonfly",
}
_NUMBER = re.compile(r"(?<![\w.])[0-9][0-9,]*(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Figure:
    """One published number.

    Attributes
    ----------
    paper : a key of `PAPERS`
    place : table, figure or section
    row, column : the paper's names, possibly shortened
    value : value in `unit`, which is empty for counts and ratios
    line : line of the paper's text, from 1
    number : index of the number in `quote`, from 1
    quote : a part of that line
    """

    paper: str
    place: str
    row: str
    column: str
    value: float
    unit: str
    line: int
    number: int
    quote: str


def parse_numbers(text: str) -> list[float]:
    """Return the numbers in a text, ignoring commas between thousands."""
    return [float(match.replace(",", "")) for match in _NUMBER.findall(text)]


@lru_cache(maxsize=1)
def load_figures() -> tuple[Figure, ...]:
    """Return all published figures in order of the file."""
    text = resources.files(__package__).joinpath("published.csv").read_text("utf-8")
    return tuple(
        Figure(**{**row, "value": float(row["value"]), "line": int(row["line"]), "number": int(row["number"])})  # type: ignore[arg-type]
        for row in csv.DictReader(text.splitlines())
    )


@lru_cache(maxsize=1)
def _by_place() -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    tables: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for figure in load_figures():
        tables.setdefault((figure.paper, figure.place), {}).setdefault(figure.row, {})[figure.column] = figure.value
    return tables


def published_rows(paper: str, place: str) -> dict[str, dict[str, float]]:
    """Return a published table: values by row and column.

    Raises
    ------
    NotFound
    """
    try:
        return _by_place()[paper, place]
    except KeyError:
        raise NotFound(f"published.csv has no {place} of {paper}") from None


def published_row(paper: str, place: str, name: str, **columns: str) -> dict[str, float]:
    """Return a row of a published table; with `columns`, only these, with the given names (ours=theirs).

    Raises
    ------
    NotFound
    """
    try:
        cells = published_rows(paper, place)[name]
        return {ours: cells[theirs] for ours, theirs in columns.items()} if columns else dict(cells)
    except KeyError as missing:
        raise NotFound(f"published.csv has no {missing} in {place} of {paper}") from None


def published_value(paper: str, place: str, name: str, column: str) -> float:
    """Return one published figure. Raises the errors of `published_row`."""
    return published_row(paper, place, name, found=column)["found"]
