"""The demo started by `flitwatch up`: its first incident is complete, and its pages have data from the start.

On an idle host the chain is complete within two minutes. A test next to others is not timed; its limits only end a failed wait."""

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
import numpy as np
import pytest
from api.conftest import Served, serving
from numpy.typing import NDArray
from support.databases import PLACE

from flitwatch.hottest import load_hot_lists
from flitwatch_api.settings import Settings
from flitwatch_client import Client
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.incidents.update import update_incidents
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.jobs.incident import find_incident
from flitwatch_research.incidents.site import APART_S, HISTORY_S, Feed
from flitwatch_research.incidents.truth import planted_users
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import SCENARIOS, TwinSpec, load_spec

#: So long after `up` gave the prompt back nothing more is waited for.
GIVEN_UP_S = 600.0
#: The part of the past whose steps and network cards are stored, and what is left out at each end: jobs that it holds in part.
PAST_S, EDGE_S = 4 * 3600, 600


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
    series = answers(url, "fabrics/demo/timeseries", routers="all", counters="rt_flits", points="48", **span)
    ends = [int(datetime.fromisoformat(at).timestamp()) // 3600 for at in series["ts"]]
    known = [any(value is not None for value in column) for column in zip(*series["values"]["rt_flits"], strict=True)]
    return len({hour for hour, there in zip(ends, known, strict=True) if there})


def whole_chain(url: str, seen: dict[str, str]) -> tuple[Any, Any] | None:
    """The incident and the explanation of a victim, once both say who, on which links, and with how many minutes to save.

    A victim whose own links stall as before says so; then another's carry the incident. `seen` gets what home said until then.
    """
    incident = answers(url, "incident", fabric="demo")
    seen.setdefault(f"{incident['title']}. {incident['detail']}", incident["as_of"])
    if not (incident["links"] and any(one["minutes_saved"] for one in incident["remedies"])):
        return None
    explanations = [answers(url, f"jobs/{one['job_id']}/explanation") for one in incident["victims"]]
    who = incident["aggressor"] and incident["aggressor"]["job_id"]
    return next(((incident, one) for one in explanations if one["named"] == who and one["links"]), None)


@pytest.mark.integration
@pytest.mark.system("processes")
@pytest.mark.timeout(900)
def test_a_whole_chain_is_reported(demo: tuple[str, Path, float]) -> None:
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


@pytest.mark.integration
@pytest.mark.system("processes")
@pytest.mark.timeout(900)
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


@pytest.mark.integration
@pytest.mark.system("processes")
@pytest.mark.timeout(900)
def test_the_incidents_of_the_four_hours_before_it_name_the_planted_jobs_and_no_other(
    demo: tuple[str, Path, float],
) -> None:
    url, home, up_s = demo
    spec = load_spec("demo")
    began_s = time.time() - (time.monotonic() - up_s)
    span = {name: datetime.fromtimestamp(at, UTC).isoformat() for name, at in (("from", began_s - PAST_S + EDGE_S), ("to", began_s - EDGE_S))}  # fmt: skip
    while True:
        jobs = answers(url, "jobs", fabric="demo", sort="-nodes", limit="100", **span)["items"]
        incidents = answers(url, "incidents", fabric="demo", limit="100", **span)
        planted = {one["job_id"] for one in jobs if one["nodes"] == spec.interference[0].nodes}
        named = {
            cause["job_id"] for one in incidents["items"] if one["state"] != "withdrawn" for cause in one["causes"]
        }
        # A planted job without a run next to it slows none that can tell.
        if len(planted) >= (PAST_S - 2 * EDGE_S) // spec.interference[0].every_s and len(named) >= 0.9 * len(planted) and incidents["unexamined"] == 0:  # fmt: skip
            break
        assert time.monotonic() - up_s < GIVEN_UP_S, f"{planted} {named} {incidents['unexamined']}\n{logs(home)}"
        time.sleep(3)
    assert named <= planted


@pytest.mark.integration
@pytest.mark.system("processes")
@pytest.mark.timeout(900)
def test_no_alert_is_wrong_about_the_recorded_tree(demo: tuple[str, Path, float]) -> None:
    """The tree's counters end when the demo starts. Silence of the machine would be reported after two minutes; of a recording never."""
    url, _, up_s = demo
    rules = (one["rule"] for one in answers(url, "alerts/rules")["items"])
    rule = next(one for one in rules if one["signal"] == "counter_silence")
    time.sleep(max(0.0, 2 * rule["above"] - (time.monotonic() - up_s)))
    assert [one["summary"] for one in answers(url, "alerts", rule=rule["name"])["items"]] == []


# An hour of the demo, asked as it goes on: home, `flitwatch top` and the jobs' pages say the same at every moment, and name nobody but who is planted.


EPOCH_S = 1_790_000_000 // 3600 * 3600

SEED, HOUR_S, MOMENTS = 3, 3600, 50

#: How often the alerting engine looks in this test, seconds; and before which second nobody has been there for long enough to be asked about.
LOOKED_S, FIRST_S = 20, 60


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_home_top_and_the_jobs_pages_agree_at_fifty_moments_of_an_hour(embedded_db: str) -> None:
    spec = TwinSpec.model_validate({**SCENARIOS["demo"], "name": "drawn"})
    moments = np.sort(np.random.default_rng(SEED).choice(np.arange(FIRST_S, HOUR_S), MOMENTS, replace=False))
    named = 0
    with (
        connect(embedded_db, role="writer") as conn,
        connect(embedded_db, role="writer", autocommit=True) as keeper,
        serving(Settings(db=embedded_db)) as served,
        Client(served.url) as client,
    ):
        past = Cluster(spec, SEED, first_job=1000, day=1000)
        fabric_id = fabrics.save_fabric(conn, past.fabric)
        history = Feed(conn, past, EPOCH_S - HISTORY_S, fabric_id, counted=False)
        history.march(HISTORY_S)
        history.close()
        cluster = Cluster(spec, SEED, first_job=10_000, day=1)
        planted = planted_users(cluster)
        feed = Feed(conn, cluster, EPOCH_S, fabric_id)
        for moment in moments.tolist():
            while cluster.time_s < moment:
                feed.march(min(LOOKED_S, int(moment - cluster.time_s)))
                feed.flush()
                update_incidents(keeper, float(EPOCH_S + cluster.time_s))
            ours = conn.execute("SELECT job_id FROM job WHERE user_name = ANY(%s)", [planted]).fetchall()
            conn.rollback()
            named += _agree(served, client, {job for (job,) in ours})
        feed.close()
    assert named >= MOMENTS // 5, f"an incident was named at {named} of {MOMENTS} moments"


def _agree(served: Served, client: Client, planted: set[str]) -> bool:
    """Ask everywhere about the newest moment that is counted; return whether an incident is named. `planted` are jobs' ids."""
    top = load_hot_lists(client, None, "ratio", 100)
    at = top["at"]
    home = served.get("/incident", fabric=top["fabric"], at=at)
    assert top["incident"] == home["title"]
    running = {job["job_pk"]: job for job in served.get(f"/fabrics/{top['fabric']}/occupancy", at=at)["jobs"]}
    pages = {pk: served.get(f"/jobs/{job['job_id']}/explanation", at=at) for pk, job in running.items()}
    slow = {pk for pk, page in pages.items() if page["slowdown"] is not None and page["slowdown"]["until"] is None}
    roles = {one["job_id"]: one["role"] for one in top["jobs"] if one["role"] is not None}
    if home["verdict"] != "incident":
        assert not {pk for pk in slow if pages[pk]["named"] is not None}, (at, home["title"])
        assert "causes it" not in roles.values()
        return False
    who: dict[str, Any] = home["aggressor"]
    assert who["job_id"] in planted and (who["job_pk"] in running) != ("ended" in home["title"]), (at, home["title"])
    wanted = {who["job_id"]: "causes it", **{one["job_id"]: "slowed" for one in home["victims"]}}
    assert roles == {job: role for job, role in wanted.items() if job in {one["job_id"] for one in running.values()}}
    for pk in slow & {one["job_pk"] for one in home["victims"]}:
        assert pages[pk]["named"] in (who["job_id"], None) and pages[pk]["incident_id"] == home["incident_id"], (at, pages[pk]["named"])  # fmt: skip
    for pk in slow:
        assert pages[pk]["named"] is None or pages[pk]["named"] in planted, (at, pages[pk]["named"])
    return True


# The demo of `flitwatch up`: within two minutes of the machine's time its first incident is named, with its links, a true root and what to do, on any day.


INCIDENT_SEED, WITHIN_S = 1, 110

#: Any, and two on which a planted job of 224 nodes found nodes where it disturbed nobody.
DAYS = (1, 29929041, 29929409)


def seen(conn: Any, feed: Feed, fabric_id: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Answers of every ten seconds of one day's first two minutes, and the last of them."""
    answers = []
    while feed.cluster.time_s < WITHIN_S:
        feed.march(10)
        feed.flush()
        answers.append(find_incident(conn, fabric_id, float(feed.epoch_s + feed.cluster.time_s)))
        conn.rollback()
    return answers, answers[-1]


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_the_first_incident_is_named_within_two_minutes_on_every_day(embedded_db: str) -> None:
    spec = TwinSpec.model_validate({**SCENARIOS["demo"], "name": "drawn"})
    planted = spec.interference[0]
    with connect(embedded_db, role="writer") as conn:
        cluster = Cluster(spec, INCIDENT_SEED, first_job=1000, day=1000)
        fabric_id = fabrics.save_fabric(conn, cluster.fabric)
        history = Feed(conn, cluster, EPOCH_S - HISTORY_S, fabric_id, counted=False)
        history.march(HISTORY_S)
        history.close()
        rooted = 0
        for number, day in enumerate(DAYS, 1):
            cluster = Cluster(spec, INCIDENT_SEED, first_job=10_000 * (1 + number), day=day)
            feed = Feed(conn, cluster, EPOCH_S + number * APART_S, fabric_id)
            answers, last = seen(conn, feed, fabric_id)
            feed.close()
            who = set(planted_users(cluster))
            assert all(one["aggressor"] is None for one in answers[: int(planted.first_s) // 10])
            assert {one["aggressor"]["user"] for one in answers if one["aggressor"]} <= who
            assert last["aggressor"] is not None and last["links"] and last["victims"] and last["remedies"], last
            since: datetime = last["since"]
            assert abs(since.timestamp() - feed.epoch_s - planted.first_s) < 20
            now_s = float(feed.epoch_s + feed.cluster.time_s)
            explanation = explain_by_id(conn, last["victims"][0]["job_id"], now_s=now_s)
            root = explanation["root"]
            assert explanation["root_from"] and explanation["root_to"]
            if root is not None:
                rooted += 1
                span = [one.timestamp() - feed.epoch_s for one in (explanation["root_from"], explanation["root_to"])]
                assert true_use(spec, 10_000 * (1 + number), day, *span)[root["link"]] > 0.7, root
                assert root["src_name"] in " ".join(one["text"] for one in explanation["chain"])
    assert rooted >= len(DAYS) - 1


def true_use(spec: TwinSpec, first_job: int, day: int, from_s: float, to_s: float) -> NDArray[np.float64]:
    """What the same day's flows asked of each link, over its capacity, in [from, to) of the machine's seconds."""
    cluster, seen = Cluster(spec, INCIDENT_SEED, first_job=first_job, day=day), []
    while cluster.time_s < to_s:
        use = cluster.advance().state.link_utilisation
        if cluster.time_s > from_s:
            seen.append(use)
    return np.mean(seen, axis=0)
