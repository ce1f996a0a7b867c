"""Published figures are data: each is in its paper's text at the given place, and nowhere else in the program."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flitwatch_domain.errors import NotFound
from flitwatch_research import papers_routes, studies
from flitwatch_research.studies import published

ROOT = Path(__file__).resolve().parents[2]
#: Where the program prints its own figures alongside published ones.
COMPARING = [Path(package.__path__[0]) for package in (studies, papers_routes)]


def test_every_figure_stands_in_its_paper_where_the_table_says(shared: Path) -> None:
    texts = {
        name: (shared / "papers" / f"{file}.txt").read_text().split("\n") for name, file in published.PAPERS.items()
    }
    found = published.load_figures()
    assert {one.paper for one in found} == set(texts) and len(found) > 600
    wrong = [
        one
        for one in found
        if one.quote not in texts[one.paper][one.line - 1]
        or published.parse_numbers(one.quote)[one.number - 1 : one.number] != [one.value]
    ]
    assert not wrong


def test_a_figure_has_one_row_and_an_unknown_one_is_named() -> None:
    counted = Counter((one.paper, one.place, one.row, one.column) for one in published.load_figures())
    assert counted and max(counted.values()) == 1
    with pytest.raises(NotFound, match=r"table 9\.9 of taffet2021"):
        published.published_rows("taffet2021", "table 9.9")
    with pytest.raises(NotFound, match=r"no 'Odin'.*table 5\.1"):
        published.published_value("taffet2021", "table 5.1", "Odin", "Bisection Shift")


def distinctive(text: str) -> bool:
    """Whether a number has a point and three digits that count: others coincide with sizes and shares."""
    return float(text) % 1 != 0 and len(text.replace(".", "").lstrip("0")) >= 3


def typed(source: str) -> Iterator[str]:
    """Every number of a module's code, texts and comments."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NUMBER, tokenize.STRING, tokenize.COMMENT):
            yield from re.findall(r"(?<![\w.])\d+(?:\.\d+)?", token.string)


def test_the_search_for_typed_figures_finds_one() -> None:
    assert list(typed('TABLE = {"ftree": 1.688}  # 1.75 ms\n')) == ["1.688", "1.75"]
    assert distinctive("1.688") and not distinctive("0.16") and not distinctive("30.0")


def test_no_published_figure_is_typed_where_comparisons_are_made() -> None:
    known = {one.value for one in published.load_figures()}
    modules = [path for folder in COMPARING for path in folder.rglob("*.py")]
    assert len(modules) > 15
    again = {
        f"{path.name}: {number}"
        for path in modules
        for number in typed(path.read_text())
        if distinctive(number) and float(number) in known
    }
    assert not again


@pytest.mark.system("numeric")
def test_nothing_called_published_holds_typed_numbers() -> None:
    wrong = []
    for path in [*(ROOT / "services").rglob("*.py"), *(ROOT / "ml").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        if "publish" not in (source := path.read_text()).lower():
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.keyword(arg=str(name), value=value):
                    pass
                case ast.For(target=target, iter=value):
                    name = ast.unparse(target)
                case _:
                    continue
            numbers = [one for one in ast.walk(value) if isinstance(one, ast.Constant) and isinstance(one.value, float)]
            if "published" in name.lower() and numbers:
                wrong.append(f"{path.name}:{node.lineno if hasattr(node, 'lineno') else value.lineno}: {name}")
    assert not wrong
