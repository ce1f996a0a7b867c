"""docs/pages.md shows every page with existing pictures."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "pages.md").read_text()
PICTURES = re.findall(r'(?:\]\(|src=")screenshots/([^)"]+)', PAGES)


EXPLANATIONS = sorted((ROOT / "docs" / "explanation").glob("*.md"))


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.stem)
def test_an_explanation_has_a_picture_formulas_papers_and_its_limits(page: Path) -> None:
    text = page.read_text()
    (alternative, picture), *_ = re.findall(r"^!\[([^\]]+)\]\((pictures/[^)]+\.svg)\)", text, re.MULTILINE)
    drawn = ElementTree.parse(page.parent / picture).getroot()
    assert drawn.find("{http://www.w3.org/2000/svg}title").text == alternative
    assert "```\n" in text
    assert re.search(r"^## What (it|they) cannot tell\n\n(?:- \*\*.+\n(?:  .+\n)*){4,}", text, re.MULTILINE)
    sources = text.partition("## Sources")[2]
    assert re.search(r"\b(19|20)\d\d\b", sources) and "../adr/" in sources


def test_every_explanation_and_its_picture_is_used() -> None:
    used = set(re.findall(r"explanation/(\w+)\.md", (ROOT / "mkdocs.yml").read_text()))
    assert used == {page.stem for page in EXPLANATIONS} == {"blame", "forecast", "routes", "simulations"}
    assert {picture.stem for picture in (ROOT / "docs/explanation/pictures").iterdir()} == used


def test_every_picture_is_there_and_every_file_is_shown() -> None:
    assert set(PICTURES) == {file.name for file in (ROOT / "docs" / "screenshots").iterdir()}


def test_every_page_of_the_router_has_a_picture() -> None:
    router = (ROOT / "web" / "src" / "app" / "router.tsx").read_text()
    routes = set(re.findall(r'path: "(/[^"]*)"', router)) - {"/index.html"}
    described = {re.sub(r":\w+", "*", path) for path in re.findall(r"`(/[^`? ]*)[^`]*`", PAGES)}
    # `/fabric` alone leads on to the fabric seen last.
    assert {re.sub(r"\$\w+", "*", route) for route in routes} - {"/fabric"} <= described
