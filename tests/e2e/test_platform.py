"""The embedded platform from a user's view: `flitwatch up`, live counters, a culprit on the page and over REST, and an alert."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browser import run
from support.databases import PLACE
from support.waiting import eventually, free_port

from flitwatch_ops.supervisor import read_running_state
from flitwatch_twin.spec import SCENARIOS

pytestmark = [pytest.mark.integration, pytest.mark.system("browser"), pytest.mark.smoke, pytest.mark.timeout(900)]
(AGGRESSOR,) = SCENARIOS["demo"]["interference"]
#: The demo's machine. Its aggressor begins once a victim has made its usual steps, and runs for longer than the test waits.
MACHINE = {**SCENARIOS["demo"], "interference": [{**AGGRESSOR, "first_s": 90, "lasts_s": 900, "every_s": 2000}]}


class Platform:
    """An embedded platform in a folder of its own, and a twin that feeds its log."""

    def __init__(self, home: Path) -> None:
        self.home, self.environment = home, {**os.environ, "FLITWATCH_HOME": str(home)}
        self.url = ""

    def command(self, *words: str) -> list[str]:
        """Return the command line of a command of the product."""
        return [sys.executable, "-m", "flitwatch.main", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the product to its end."""
        return subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )

    def answer(self, path: str, **query: str) -> Any:
        """Return a JSON answer of the API, which must be 200."""
        got = httpx.get(f"{self.url}/api/v1{path}", params=query, timeout=30)
        assert got.status_code == 200, f"{path}: {got.status_code} {got.text[:300]}"
        return got.json()


@pytest.fixture
def platform() -> Iterator[Platform]:
    """A platform that a twin feeds: the same machine, users and incident in each run."""
    with tempfile.TemporaryDirectory(prefix="flitwatch-platform-", dir=PLACE) as place:
        platform = Platform(Path(place))
        spec = platform.home / "machine.json"
        spec.write_text(json.dumps(MACHINE))
        twin = None
        try:
            up = platform.run("up", "--port", str(free_port()), "--twin", "none", "--anonymous", "user", "--json")
            assert up.returncode == 0, up.stderr[-2000:]
            platform.url = json.loads(up.stdout)["url"].rstrip("/")
            state = read_running_state(platform.home)
            assert state is not None
            feed = ["--log", state["log"], "--db", state["database"]]
            when = ["--day", "1", "--history", "3600", "--seconds", "0"]
            with (platform.home / "twin.log").open("wb") as log:
                twin = subprocess.Popen(
                    platform.command("twin", "run", str(spec), *feed, *when),
                    env=platform.environment,
                    stdout=log,
                    stderr=log,
                )
            yield platform
        finally:
            if twin is not None:
                twin.terminate()
                twin.wait(60)
            platform.run("down")


def test_a_new_platform_names_the_culprit_everywhere(platform: Platform, browser: dict[str, str]) -> None:
    def named() -> Any:
        incident = platform.answer("/incident", fabric="demo")
        firing = platform.answer("/alerts", phase="firing")["items"]
        incident_alerts = [alert for alert in firing if alert["rule"] == "incident"]
        return (
            incident["incident_id"] and incident["victims"] and incident_alerts and (incident, firing, incident_alerts)
        )

    eventually(lambda: platform.answer("/fabrics")["items"], timeout_s=300, what="the machine's fabric")
    incident, firing, incident_alerts = eventually(
        named,
        timeout_s=600,
        every_s=1,
        what="an incident with its culprit, and its alert",
        detail=lambda: f"{platform.answer('/incident', fabric='demo')}\n{platform.answer('/alerts')}",
    )
    aggressor = platform.answer(f"/jobs/{incident['aggressor']['job_id']}")
    assert aggressor["nodes"] == AGGRESSOR["nodes"], incident
    expected = {"incident", "black-stalls", "group-stalls", "group-congested", "blamed-user-back"}
    assert {alert["rule"] for alert in firing} <= expected, firing
    # Blame of the stored past may be ready by now: it names the same user.
    blamed = {alert["labels"]["user"] for alert in firing if alert["rule"] == "blamed-user-back"}
    assert blamed <= {aggressor["user"]}, firing
    # One alert, which names the culprit and leads to the incident that home shows.
    assert len(incident_alerts) == 1 and aggressor["job_id"] in incident_alerts[0]["summary"], json.dumps(
        [incident_alerts, platform.answer("/incidents", fabric="demo")]
    )
    assert incident_alerts[0]["page"] == f"/incidents/{incident['incident_id']}"
    names = {"FLITWATCH_URL": platform.url, "FLITWATCH_PLANTED": aggressor["job_id"]}
    run("culprit.mjs", {**browser, **names}, timeout_s=300)
