"""The documentation's site: built strictly, served by the API under its strict headers, asking no other host for anything."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from api.conftest import serving
from flitwatch_api.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout."""
    place = tmp_path_factory.mktemp("docs") / "site"
    build(ROOT, place)
    return place


def build(root: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does, from and to other folders."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


def test_nothing_comes_from_another_host_and_no_script_stands_in_a_page(built: Path) -> None:
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        text = page.read_text()
        assert not re.findall(r'<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//[^"]*', text), page
        assert not re.findall(
            r'<link[^>]+rel="(?:stylesheet|preconnect|icon|preload)"[^>]+href="(?:https?:)?//[^"]*', text
        ), page
        assert not re.search(r"<script(?![^>]*(?:src=|application/json))[^>]*>\s*\S", text), page


def test_search_finds_a_setting(built: Path) -> None:
    entries = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    assert any(
        "FLITWATCH_API_RATE_PER_S" in entry["text"] for entry in entries if entry["location"].startswith("settings")
    )


def test_search_has_pages_for_users_before_decisions(built: Path) -> None:
    entries = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    boost = {entry["location"].partition("/")[0]: entry.get("boost", 1) for entry in entries}
    assert boost["adr"] == boost["benchmarks"] == 0.2 and boost["tutorials"] == boost["glossary.html"] == 1


def test_the_api_serves_it(built: Path, embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, docs=built)) as api:
        assert api.http.get("/docs").headers["location"] == "/docs/"
        start = api.http.get("/docs/")
        assert start.status_code == 200 and "<h1" in start.text
        assert "script-src 'self';" in start.headers["content-security-policy"]
        (script,) = set(re.findall(r'src="(assets/javascripts/bundle[^"]+)"', start.text))
        assert api.http.get(f"/docs/{script}").headers["content-type"].startswith("text/javascript")
        assert api.http.get("/docs/tutorials/edison.html").status_code == 200
        assert api.http.get("/docs/nonsense").status_code == 404
        assert api.http.get("/docs/../settings.py").status_code == 404


def test_where_it_is_not_built_that_is_said(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, docs=None)) as api:
        assert "make docs" in api.http.get("/docs/").json()["advice"]


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "site.py", tmp_path / "docs")
    (tmp_path / "mkdocs.yml").write_text(
        re.sub(r"nav:\n(?:  .*\n)+\Z", "nav:\n  - Start: index.md\n", (ROOT / "mkdocs.yml").read_text())
    )
    start = tmp_path / "docs" / "index.md"
    for text, good in (("# A\n", True), ("[b](b.md)\n", False), ("[b](../b.py)\n", False), ("[b](#nowhere)\n", False)):
        start.write_text(text)
        assert (build(tmp_path, tmp_path / "site").returncode == 0) is good, text
