"""docs/pages.md shows every page, in both themes, by pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "pages.md").read_text()
PICTURES = re.findall(r'(?:\]\(|src=")screenshots/([^)"]+)', PAGES)


def test_every_picture_is_there_and_every_file_is_shown() -> None:
    assert set(PICTURES) == {file.name for file in (ROOT / "docs" / "screenshots").iterdir()}


def test_every_picture_stands_in_both_themes() -> None:
    themes = {
        theme: {name.removesuffix(f"-{theme}.png") for name in PICTURES if name.endswith(f"-{theme}.png")}
        for theme in ("light", "dark")
    }
    assert len(PICTURES) == len(themes["light"]) + len(themes["dark"])
    assert themes["light"] == themes["dark"]


def test_every_page_of_the_router_has_a_picture() -> None:
    router = (ROOT / "web" / "src" / "app" / "router.tsx").read_text()
    routes = set(re.findall(r'path: "(/[^"]*)"', router)) - {"/index.html"}
    described = {re.sub(r":\w+", "*", path) for path in re.findall(r"`(/[^`? ]*)[^`]*`", PAGES)}
    # `/fabric` alone leads on to the fabric seen last.
    assert {re.sub(r"\$\w+", "*", route) for route in routes} - {"/fabric"} <= described
