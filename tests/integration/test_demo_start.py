"""The demo as `flitwatch up` starts it: its first incident is told whole, and its pages begin full.

On an idle machine the chain is whole within two minutes; a test beside others is not timed, and its limits only end a wait that is in vain.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.databases import PLACE

from flitwatch_twin.spec import load_spec

pytestmark = [pytest.mark.integration, pytest.mark.system("processes"), pytest.mark.timeout(900)]

#: So long after `up` gave the prompt back nothing more is waited for.
GIVEN_UP_S = 600.0


def command(home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """A command on a platform of its own."""
    environment = {**os.environ, "FLITWATCH_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *argv], env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def demo() -> Iterator[tuple[str, Path, float]]:
    """URL, home and the moment at which it was up."""
    with tempfile.TemporaryDirectory(prefix="flitwatch-demo-", dir=PLACE) as place:
        home = Path(place)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        try:
            up = command(home, "up", "--port", str(port), "--json")
            assert up.returncode == 0, up.stderr[-2000:]
            yield f"{json.loads(up.stdout)['url']}api/v1/", home, time.monotonic()
        finally:
            command(home, "down")


def answers(url: str, path: str, **query: str) -> Any:
    """An answer that must be one."""
    got = httpx.get(url + path, params=query, timeout=30)
    assert got.status_code == 200, f"{path}: {got.status_code} {got.text[:300]}"
    return got.json()


def logs(home: Path) -> str:
    """The ends of the twin's and the writer's logs, for a failure's message."""
    return "\n".join((home / "log" / f"{name}.log").read_text()[-1500:] for name in ("twin", "writer"))


def hours_known(url: str) -> int:
    """Of the last 24 hours, how many the machine's routers counted flits in."""
    now_s = int(time.time())
    span = {name: datetime.fromtimestamp(at, UTC).isoformat() for name, at in (("from", now_s - 86_400), ("to", now_s))}
    told = answers(url, "fabrics/demo/timeseries", routers="all", counters="rt_flits", points="48", **span)
    ends = [int(datetime.fromisoformat(at).timestamp()) // 3600 for at in told["ts"]]
    known = [any(value is not None for value in column) for column in zip(*told["values"]["rt_flits"], strict=True)]
    return len({hour for hour, there in zip(ends, known, strict=True) if there})


def whole_chain(url: str, seen: dict[str, str]) -> tuple[Any, Any] | None:
    """The incident and the explanation of a victim, once both say who, on which links, and with how many minutes to save.

    A victim whose own links stall as before says so; then another's carry the incident. `seen` gets what home said until then.
    """
    incident = answers(url, "incident", fabric="demo")
    seen.setdefault(f"{incident['title']}. {incident['detail']}", incident["as_of"])
    if not (incident["links"] and any(one["minutes_saved"] for one in incident["remedies"])):
        return None
    told = [answers(url, f"jobs/{one['job_id']}/explanation") for one in incident["victims"]]
    who = incident["aggressor"] and incident["aggressor"]["job_id"]
    return next(((incident, one) for one in told if one["named"] == who and one["links"]), None)


def test_a_whole_chain_is_told(demo: tuple[str, Path, float]) -> None:
    """A job slows down; home and the job's page say who, where, since when and what to do, with minutes."""
    url, home, up_s = demo
    seen: dict[str, str] = {}
    while (chain := whole_chain(url, seen)) is None:
        assert time.monotonic() - up_s < GIVEN_UP_S, f"{json.dumps(seen, indent=1)}\n{logs(home)}"
        time.sleep(2)
    incident, job = chain
    who = incident["aggressor"]["job_id"]
    assert job["slowdown"]["factor"] > 1
    kinds = {one["kind"]: one for one in job["remedies"]}
    assert {"hold", "tell", "move", "re-route"} <= kinds.keys() and kinds["hold"]["minutes_saved"] > 0
    assert [one["part"] for one in job["chain"]][:5] == ["steps", "links", "jobs", "since", "certainty"]
    # The planted user's job, and since it started: its start is in accounting.
    aggressor = answers(url, f"jobs/{who}")
    started_s, since_s = (datetime.fromisoformat(at).timestamp() for at in (aggressor["start"], incident["since"]))
    assert abs(since_s - started_s) < 30
    # Users are pseudonyms here; no ordinary job of the demo is as large as the planted one.
    spec = load_spec("demo")
    assert aggressor["nodes"] == spec.interference[0].nodes > spec.users.most_nodes


def test_it_begins_full(demo: tuple[str, Path, float]) -> None:
    """A day of counters, runs of two applications, and a tree with a finished loop; everything says that it is simulated."""
    url, home, up_s = demo
    fabrics: dict[str, Any] = {}
    while True:
        fabrics = {one["name"]: one for one in answers(url, "fabrics")["items"]}
        routes = answers(url, "recommendations")["items"]
        estimates = {one["exe"]: one["runs"] for one in answers(url, "estimates")["items"]}
        hours = hours_known(url) if "demo" in fabrics else 0
        if routes and len(estimates) == 2 and min(estimates.values()) >= 15 and hours >= 23:
            break
        assert time.monotonic() - up_s < GIVEN_UP_S, f"{fabrics.keys()} {routes} {estimates} {hours}\n{logs(home)}"
        time.sleep(3)
    assert set(fabrics) == {"demo", "demo-tree"} and all(one["simulated"] for one in fabrics.values())
    assert routes[0]["state"] == "recommended", routes[0]["reason"]
    assert routes[0]["simulated"] and routes[0]["fabric"] == "demo-tree"
    assert sum(estimates.values()) >= 30
    recorded = {name: one["recorded"] for name, one in fabrics.items()}
    assert recorded == {"demo": False, "demo-tree": True}


def test_no_alert_is_wrong_about_the_recorded_tree(demo: tuple[str, Path, float]) -> None:
    """The tree's counters end when the demo starts. Silence of the machine would be told after two minutes; of a recording never."""
    url, _, up_s = demo
    rules = (one["rule"] for one in answers(url, "alerts/rules")["items"])
    rule = next(one for one in rules if one["signal"] == "counter_silence")
    time.sleep(max(0.0, 2 * rule["above"] - (time.monotonic() - up_s)))
    assert [one["summary"] for one in answers(url, "alerts", rule=rule["name"])["items"]] == []
