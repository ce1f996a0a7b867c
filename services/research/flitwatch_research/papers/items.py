"""The papers' items, from `items.csv`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

#: Whether an item is here, here in part, or not.
STATES = ("yes", "part", "not")


@dataclass(frozen=True)
class Item:
    """One figure, table, equation, algorithm or section with figures of its own.

    Attributes
    ----------
    paper : key of `studies.published.PAPERS`
    item : such as `figure 3`
    what : in a few words
    where : file or folder of the repository, empty where it is not here
    command : that shows it, or the page or test
    state : one of `STATES`
    reason : what is not as published, empty for `yes` alone
    """

    paper: str
    item: str
    what: str
    where: str
    command: str
    state: str
    reason: str


def load_items() -> list[Item]:
    """All items in the order of the papers."""
    text = resources.files(__package__).joinpath("items.csv").read_text("utf-8")
    return [Item(**row) for row in csv.DictReader(text.splitlines())]
