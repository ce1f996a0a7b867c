"""The demo of `flitwatch up`: within two minutes of the machine's time its first incident is named, with its links and what to do, on any day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from integration.incidents import DAY_S, EPOCH_S, HISTORY_S, Feed, planted_users

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs.incident import incident
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import SCENARIOS, TwinSpec

pytestmark = [pytest.mark.integration, pytest.mark.slow]
DAYS, WITHIN_S = 3, 110


def seen(conn: Any, feed: Feed, fabric_id: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Answers of every ten seconds of one day's first two minutes, and the last of them."""
    answers = []
    while feed.cluster.time_s < WITHIN_S:
        feed.march(10)
        feed.flush()
        answers.append(incident(conn, fabric_id, float(feed.epoch_s + feed.cluster.time_s)))
        conn.rollback()
    return answers, answers[-1]


def test_the_first_incident_is_named_within_two_minutes_on_every_day(embedded_db: str) -> None:
    spec = TwinSpec.model_validate({**SCENARIOS["demo"], "name": "drawn"})
    planted = spec.interference[0]
    with connect(embedded_db, role="writer") as conn:
        cluster = Cluster(spec, 5, first_job=1000, day=1000)
        fabric_id = fabrics.save(conn, cluster.fabric)
        history = Feed(conn, cluster, EPOCH_S - HISTORY_S, fabric_id, counted=False)
        history.march(HISTORY_S)
        history.close()
        for day in range(1, DAYS + 1):
            cluster = Cluster(spec, 5, first_job=10_000 * (1 + day), day=day)
            feed = Feed(conn, cluster, EPOCH_S + day * DAY_S, fabric_id)
            answers, last = seen(conn, feed, fabric_id)
            feed.close()
            who = planted_users(cluster)
            assert all(one["aggressor"] is None for one in answers[: int(planted.first_s) // 10])
            assert {one["aggressor"]["user"] for one in answers if one["aggressor"]} <= who
            assert last["aggressor"] is not None and last["links"] and last["victims"] and last["remedies"], last
            since: datetime = last["since"]
            assert abs(since.timestamp() - feed.epoch_s - planted.first_s) < 20
