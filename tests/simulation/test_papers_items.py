"""docs/papers.md has a row for every item of the five papers, each row leads somewhere, and the page is what the data says."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import click
import pytest

from flitwatch.main import cli
from flitwatch_research.papers.__main__ import main
from flitwatch_research.papers.items import STATES, Item, items
from flitwatch_research.studies import published
from flitwatch_research.studies.registry import STUDIES

ROOT = Path(__file__).resolve().parents[2]
#: Captions and numbered statements, as the texts were extracted: their beginnings of line.
CAPTION = re.compile(
    r"^ *(Figure|Fig\.|Table|TABLE|Algorithm|Theorem) ?([0-9A]+(?:\.[0-9]+)?|[IV]+) ?[:.](?!\d)|^ *(TABLE) ([IV]+)$",
    re.M,
)
EQUATION = re.compile(r"\(((?:[1-5]\.){2}[0-9]+)\)")


@pytest.mark.parametrize("paper", published.PAPERS)
def test_every_caption_and_equation_of_a_paper_has_a_row(shared: Path, paper: str) -> None:
    text = (shared / "papers" / f"{published.PAPERS[paper]}.txt").read_text()
    kinds = {"fig.": "figure"}
    found = {
        f"{kinds.get(kind.lower(), kind.lower())} {number}"
        for kind, number in ((m[1] or m[3], m[2] or m[4]) for m in CAPTION.finditer(text))
    }
    found |= {f"equation {number}" for number in EQUATION.findall(text)}
    assert len(found) > 5
    assert not found - {one.item for one in items() if one.paper == paper}


def test_every_place_with_published_figures_has_a_row() -> None:
    known = {(one.paper, one.item) for one in items()}
    places = {(one.paper, one.place) for one in published.figures()}
    assert places - known <= {("bhatele2020", "section V-B"), ("taffet2021", "section 2.5.2")}


def test_an_item_has_one_row_and_one_that_is_not_here_a_reason() -> None:
    every = items()
    assert max(Counter((one.paper, one.item) for one in every).values()) == 1
    for one in every:
        assert one.state in STATES and one.what
        assert bool(one.reason) == (one.state != "yes"), one
        assert one.state == "not" or (one.where and one.command), one
        assert not one.where or (ROOT / one.where).exists(), one


def commands(one: Item) -> list[list[str]]:
    return [shlex.split(part)[1:] for part in one.command.split("; ") if part.startswith("flitwatch ")]


def test_every_command_exists_with_its_options() -> None:
    called = [(one, words) for one in items() for words in commands(one)]
    assert len(called) > 60
    for one, words in called:
        at: click.Command = cli
        context = click.Context(cli)
        while words and isinstance(at, click.Group):
            found = at.get_command(context, words[0])
            assert found is not None, one
            at, words = found, words[1:]
        known = {name for parameter in at.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, one
        if at.name == "study":
            assert words[0] in STUDIES, one
    tests = [one.command for one in items() if one.command.startswith("tests/")]
    assert tests and all((ROOT / test).is_file() for test in tests)


def test_the_page_is_what_the_data_says(tmp_path: Path) -> None:
    for name in ("papers.json", "papers-routes.json"):
        (tmp_path / name).write_bytes((ROOT / "docs" / name).read_bytes())
    assert main(["--written", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "papers.md").read_text()
    assert page == (ROOT / "docs" / "papers.md").read_text(), "run: make papers"
    assert "ours are equal" in page and "tiled, SVAFP" in page
