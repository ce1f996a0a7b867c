"""An hour of the demo, asked as it goes on: home, `flitwatch top` and the jobs' pages say the same at every moment, and name nobody but who is planted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from api.conftest import Served, serving
from numpy.typing import NDArray

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
from flitwatch_twin.spec import SCENARIOS, TwinSpec

pytestmark = [pytest.mark.integration, pytest.mark.system("numeric")]

EPOCH_S = 1_790_000_000 // 3600 * 3600

SEED, HOUR_S, MOMENTS = 3, 3600, 50

#: How often the alerting engine looks in this test, seconds; and before which second nobody has been there for long enough to be asked about.
LOOKED_S, FIRST_S = 20, 60


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


SEED_DEMO_INCIDENT, WITHIN_S = 1, 110

#: Any, and two on which a planted job of 224 nodes found room where it disturbed nobody.
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


def test_the_first_incident_is_named_within_two_minutes_on_every_day(embedded_db: str) -> None:
    spec = TwinSpec.model_validate({**SCENARIOS["demo"], "name": "drawn"})
    planted = spec.interference[0]
    with connect(embedded_db, role="writer") as conn:
        cluster = Cluster(spec, SEED_DEMO_INCIDENT, first_job=1000, day=1000)
        fabric_id = fabrics.save_fabric(conn, cluster.fabric)
        history = Feed(conn, cluster, EPOCH_S - HISTORY_S, fabric_id, counted=False)
        history.march(HISTORY_S)
        history.close()
        rooted = 0
        for number, day in enumerate(DAYS, 1):
            cluster = Cluster(spec, SEED_DEMO_INCIDENT, first_job=10_000 * (1 + number), day=day)
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
            told = explain_by_id(conn, last["victims"][0]["job_id"], now_s=now_s)
            root = told["root"]
            assert told["root_from"] and told["root_to"]
            if root is not None:
                rooted += 1
                span = [one.timestamp() - feed.epoch_s for one in (told["root_from"], told["root_to"])]
                assert true_use(spec, 10_000 * (1 + number), day, *span)[root["link"]] > 0.7, root
                assert root["src_name"] in " ".join(one["text"] for one in told["chain"])
    assert rooted >= len(DAYS) - 1


def true_use(spec: TwinSpec, first_job: int, day: int, from_s: float, to_s: float) -> NDArray[np.float64]:
    """What the same day's flows asked of each link, over its capacity, in [from, to) of the machine's seconds."""
    cluster, seen = Cluster(spec, SEED_DEMO_INCIDENT, first_job=first_job, day=day), []
    while cluster.time_s < to_s:
        use = cluster.advance().state.link_utilisation
        if cluster.time_s > from_s:
            seen.append(use)
    return np.mean(seen, axis=0)
