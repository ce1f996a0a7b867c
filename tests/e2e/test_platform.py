"""The embedded platform as a user meets it: `flitwatch up`, live counters, a culprit on the page, over REST, and an alert."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fixtures.databases import PLACE

from e2e.site import PAGE, ROOT
from flitwatch_twin.spec import SCENARIOS

pytestmark = [pytest.mark.integration, pytest.mark.system("browser"), pytest.mark.smoke, pytest.mark.timeout(900)]
#: A bound on a hang: an idle machine needs a minute and a half.
GIVEN_UP_S = 600.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def command(home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the product on a platform of its own."""
    environment = {**os.environ, "FLITWATCH_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *argv], env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def platform() -> Iterator[str]:
    """The URL of a platform with the demo's machine, where the aggressor runs for as long as a busy test machine may need."""
    (aggressor,) = SCENARIOS["demo"]["interference"]
    spec = {**SCENARIOS["demo"], "interference": [{**aggressor, "lasts_s": 900, "every_s": 2000}]}
    with tempfile.TemporaryDirectory(prefix="flitwatch-platform-", dir=PLACE) as place:
        home = Path(place)
        (home / "machine.yaml").write_text(json.dumps(spec))
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        try:
            up = command(home, "up", "--port", str(port), "--twin", str(home / "machine.yaml"), "--json")
            assert up.returncode == 0, up.stderr[-2000:]
            yield json.loads(up.stdout)["url"]
        finally:
            command(home, "down")


def answer(url: str, path: str, **query: str) -> Any:
    """Return a JSON answer that must be 200."""
    got = httpx.get(f"{url}api/v1{path}", params=query, timeout=30)
    assert got.status_code == 200, f"{path}: {got.status_code} {got.text[:300]}"
    return got.json()


def test_a_new_platform_names_the_culprit_everywhere(platform: str) -> None:
    chromium = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if chromium is None or shutil.which("node") is None or not (PAGE / "index.html").exists():
        pytest.skip("needs Chromium, Node.js and the built page: apt-get install chromium, make web")
    (planted,) = {entry["nodes"] for entry in SCENARIOS["demo"]["interference"]}
    end_s = time.monotonic() + GIVEN_UP_S
    while True:
        incident = answer(platform, "/incident", fabric="demo")
        firing = answer(platform, "/alerts", phase="firing")["items"]
        if incident["aggressor"] and incident["victims"] and firing:
            break
        assert time.monotonic() < end_s, f"{incident}\n{firing}"
        time.sleep(1)
    aggressor = answer(platform, f"/jobs/{incident['aggressor']['job_id']}")
    assert aggressor["nodes"] == planted, incident
    assert {alert["rule"] for alert in firing} & {"black-stalls", "group-stalls", "group-congested"}, firing
    script = ROOT / "web" / "tests" / "e2e" / "culprit.mjs"
    names = {"CHROMIUM": chromium, "FLITWATCH_URL": platform.rstrip("/"), "FLITWATCH_PLANTED": aggressor["job_id"]}
    done = subprocess.run(
        ["node", script], env={**os.environ, **names}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
