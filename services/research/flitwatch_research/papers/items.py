"""The papers' items, from `items.csv`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

from flitwatch_research.studies.published import load_figures

#: States of an item: reproduced, reproduced in part, or not.
STATES = ("yes", "part", "not")

#: Kind of an item -> criterion for "as published".
CRITERIA = {
    "exact": "an equation, algorithm or theorem: as written; a table of sizes: every count is equal, or equals what the row's name defines where the printed count contradicts it; a test holds it",
    "numbers": "every printed number is within 25 %, and all are in the printed order (1 % counts as equal); times on another scale are compared as ratios to the first",
    "matrix": "a picture of a trace's matrix: ours, approximated, has as many non-zeros per node within 25 % (table 4.1); `--traces` draws on the trace itself",
    "statements": "a drawing or figure whose values are not in the text: the statements of the text about it (order, sign, place of congestion) hold in ours",
}
#: Tables of sizes and definitions.
_EXACT = {
    ("bhatele2020", "table II"),
    ("hoefler2009", "table 1"),
    ("hoefler2009", "table 2"),
    ("wang2018", "table I"),
    ("wang2018", "table II"),
}
_MATRICES = {f"figure 4.{number}" for number in (2, 3, 5, 6, 7)}


@dataclass(frozen=True)
class Item:
    """One figure, table, equation, algorithm, or section with figures.

    Attributes
    ----------
    paper : key of `studies.published.PAPERS`
    item : such as `figure 3`
    what : short description
    where : file or folder of the repository, empty if there is none
    command : command, page or test that shows it
    state : one of `STATES`
    reason : differences from the publication, empty only for `yes`
    """

    paper: str
    item: str
    what: str
    where: str
    command: str
    state: str
    reason: str

    @property
    def kind(self) -> str:
        """The key of its criterion in `CRITERIA`."""
        if (self.paper, self.item) in _EXACT or self.item.split()[0] in ("equation", "algorithm", "theorem"):
            return "exact"
        if self.item in _MATRICES or self.item.startswith("figure A."):
            return "matrix"
        printed = any((one.paper, one.place) == (self.paper, self.item) for one in load_figures())
        return "numbers" if printed else "statements"


def load_items() -> list[Item]:
    """Return all items in order of the papers."""
    text = resources.files(__package__).joinpath("items.csv").read_text("utf-8")
    return [Item(**row) for row in csv.DictReader(text.splitlines())]
