"""A newcomer's first hour, from the README's first screen: a fresh clone, `make up`, and a named culprit. It prints the seconds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.databases import PLACE
from support.waiting import eventually, free_port

from packages.conftest import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.system("packages"), pytest.mark.timeout(1800)]
README = (ROOT / "README.md").read_text()


def read_commands(heading: str) -> list[str]:
    """Commands of the first block after some words of the README."""
    block = re.search(r"```\n(.*?)```", README[README.index(heading) :], re.DOTALL)
    assert block is not None
    return [line.split("#")[0].strip() for line in block[1].splitlines()]


def test_the_first_screen_leads_from_nothing_to_a_named_culprit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "flitwatch"
    subprocess.run(["git", "clone", "-q", "--shared", ROOT, clone], check=True)
    home = Path(PLACE or tmp_path) / f"flitwatch-newcomer-{os.getpid()}"
    environment = os.environ | {"FLITWATCH_HOME": str(home), "PORT": str(free_port())}

    def run(command: str) -> str:
        done = subprocess.run(["bash", "-c", command], cwd=clone, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    (start, *_) = read_commands("## Two commands")
    path, *asked = read_commands("You get the same answers in a terminal")
    (incidents,) = [command for command in asked if command.startswith("flitwatch incidents")]
    (blame,) = [command for command in asked if command.startswith("flitwatch blame")]
    took_s: dict[str, float] = {}
    begun_s = time.monotonic()
    try:
        assert start == "make up"
        run(f"make up PORT={environment['PORT']}")
        took_s["up"] = time.monotonic() - begun_s

        def find_causes() -> list[Any]:
            items = json.loads(run(f"{path} && {incidents} --json"))["items"]
            return [cause for item in items for cause in item["causes"]]

        eventually(find_causes, 600, 2, what="an incident with a named job")
        took_s["incident"] = time.monotonic() - begun_s

        def find_users() -> list[Any]:
            entries = json.loads(run(f"{path} && {blame} --json")).get("entries", [])
            return [entry for entry in entries if entry["verdict"] == "named"]

        eventually(find_users, 600, 2, what="a named user")
        took_s["blame"] = time.monotonic() - begun_s
    finally:
        subprocess.run(["make", "down"], cwd=clone, env=environment, capture_output=True)
        subprocess.run(["rm", "-rf", home])
    with capfd.disabled():
        print(json.dumps({f"{name}_s": round(seconds, 1) for name, seconds in took_s.items()}))
