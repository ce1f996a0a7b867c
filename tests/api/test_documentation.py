"""Examples in the documentation run as shown, and its links are valid."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from api.conftest import Served, serving
from flitwatch_api.people import login_limiter as limiter
from flitwatch_api.settings import Settings

ROOT = Path(__file__).resolve().parents[2]

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])

PLATFORM = "http://127.0.0.1:8765"


def test_the_limits_of_logins_are_those_of_the_program() -> None:
    said = (ROOT / "docs" / "accounts.md").read_text()
    pair = f"{limiter.PAIR_BURST} at once, then one every {limiter.PAIR_EVERY_S:g} s"
    each = f"{limiter.ADDRESS_BURST}; {limiter.NAME_BURST} at once, then one every {limiter.ADDRESS_EVERY_S:g} s"
    known = f"{limiter.KNOWN_BURST} at once, then one every {limiter.KNOWN_EVERY_S:g} s"
    assert f"| log-ins for a name from an address | {pair} |" in said
    assert f"| log-ins from an address; for a name | {each} |" in said
    assert f"| log-ins from a browser that the account used before | {known} |" in said
    assert limiter.NAME_EVERY_S == limiter.ADDRESS_EVERY_S


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", blocks(ROOT / "docs" / "scheduler.md", "python"))
def test_the_schedulers_python_runs(api: Served, code: str) -> None:
    assert PLATFORM in code
    # The documented client waits two seconds; the first question after a start pays for reading what is stored.
    first = {"user": "ann", "application": "amg", "nodes": 64, "candidates": [["nid00004"]]}
    assert api.http.post("/api/v1/advice", json=first).status_code == 200
    done = subprocess.run(
        [sys.executable, "-c", code.replace(PLATFORM, api.url)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] in ("start", "delay", "prefer")


def test_the_schedulers_curl_is_a_question_that_is_answered(api: Served) -> None:
    shown = next(block for block in blocks(ROOT / "docs" / "scheduler.md", "") if "curl" in block)
    question = json.loads(re.search(r"'\s*(\{.*\})'", shown, re.DOTALL).group(1))  # type: ignore[union-attr]
    answer = api.http.post("/api/v1/advice", json=question)
    assert answer.status_code == 200 and len(answer.json()["candidates"]) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_targets_exist(page: Path) -> None:
    from flitwatch.catalogue import list_installed_commands

    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for block in re.findall(r"^```\n(.*?)^```|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL):
        for line in "".join(block).splitlines():
            if found := re.match(r"\s*flitwatch ([a-z]+)", line):
                assert found.group(1) in list_installed_commands(), line
            if found := re.match(r"\s*make ([a-z-]+)", line):
                assert found.group(1) in targets, line


# The documentation's site: built strictly, served by the API under its strict headers, asking no other host for anything.


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


@pytest.mark.system("processes")
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
