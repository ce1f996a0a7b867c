"""What the documentation shows runs as it is shown, and its links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api.conftest import Served
from flitwatch_api.people import login_limiter as limiter

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
    from flitwatch.main import list_installed_commands

    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for block in re.findall(r"^```\n(.*?)^```|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL):
        for line in "".join(block).splitlines():
            if found := re.match(r"\s*flitwatch ([a-z]+)", line):
                assert found.group(1) in list_installed_commands(), line
            if found := re.match(r"\s*make ([a-z-]+)", line):
                assert found.group(1) in targets, line
