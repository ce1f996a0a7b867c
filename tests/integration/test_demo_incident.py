"""The demo of `flitwatch up`: within two minutes of the machine's time its first incident is named, with its links, a true root and what to do, on any day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.jobs.incident import find_incident
from flitwatch_research.incidents.site import APART_S, HISTORY_S, Feed
from flitwatch_research.incidents.truth import planted_users
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import SCENARIOS, TwinSpec

pytestmark = [pytest.mark.integration, pytest.mark.system("numeric")]
EPOCH_S = 1_790_000_000 // 3600 * 3600
SEED, WITHIN_S = 1, 110
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
        cluster = Cluster(spec, SEED, first_job=1000, day=1000)
        fabric_id = fabrics.save_fabric(conn, cluster.fabric)
        history = Feed(conn, cluster, EPOCH_S - HISTORY_S, fabric_id, counted=False)
        history.march(HISTORY_S)
        history.close()
        rooted = 0
        for number, day in enumerate(DAYS, 1):
            cluster = Cluster(spec, SEED, first_job=10_000 * (1 + number), day=day)
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
    cluster, seen = Cluster(spec, SEED, first_job=first_job, day=day), []
    while cluster.time_s < to_s:
        use = cluster.advance().state.link_utilisation
        if cluster.time_s > from_s:
            seen.append(use)
    return np.mean(seen, axis=0)
