"""The default rule of incidents: one alert an incident, which says who slows whom, follows it and ends with it; and none on a quiet day."""

from __future__ import annotations

from typing import Any

import pytest
from support.planted_machine import BEGIN_S, planted, run_of

from flitwatch_alerting.config import read_config
from flitwatch_alerting.evaluate import SECOND_LAG_S, evaluate_rule
from flitwatch_db import connect
from flitwatch_db.alerts import store as alerts
from flitwatch_db.incidents import shown
from flitwatch_db.incidents.update import update_incidents
from flitwatch_domain.alerts import Rule

CULPRIT_S, SLOW_END_S, CULPRIT_END_S = 360, 600, 840


@pytest.fixture
def rule() -> Rule:
    return next(one for one in read_config().rules if one.signal == "incident")


def lived(conn: Any, rule: Rule, second: float) -> list[int]:
    """What the engine does once a round; the alerts that began or ceased to fire."""
    update_incidents(conn, BEGIN_S + second)
    with conn.transaction():
        row = conn.execute("SELECT extract(epoch FROM through)::float8 FROM alert_rule WHERE name = %s", [rule.name]).fetchone()  # fmt: skip
        return evaluate_rule(conn, rule, row[0], BEGIN_S + second + SECOND_LAG_S)


def test_it_fires_once_names_the_cause_and_ends_with_the_incident(embedded_db: str, rule: Rule) -> None:
    planted(embedded_db, (60, CULPRIT_S, -3600, 420), count=18, ends_s=(SLOW_END_S, CULPRIT_END_S, None, None))
    run_of(embedded_db, "1", [(CULPRIT_S - 5, 10_000)], SLOW_END_S)
    with connect(embedded_db, role="writer", autocommit=True) as conn, connect(embedded_db, role="owner") as owner:
        with conn.transaction():
            alerts.sync_file(conn, [rule])
        owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING'")
        owner.commit()
        told = {second: lived(conn, rule, second) for second in range(300, 601, 20)}
        fired = [(second, numbers) for second, numbers in told.items() if numbers]
        assert len(fired) == 1 and CULPRIT_S < fired[0][0] <= CULPRIT_S + 120, told
        ((_, (number,)),) = fired
        made = alerts.load_alert(conn, number)
        assert made["phase"] == "firing" and made["summary"].startswith("Job 2 has been slowing job 1 since "), made
        assert made["evidence"]["causes"] == ["2"] and made["evidence"]["explanation"]["named"] == "2"
        (head,) = shown.list_heads(conn, shown.IncidentFilter(), 2)
        assert made["evidence"]["page"] == f"/incidents/{head['incident_id']}" and made["summary"] == head["title"]
        for job, end in (("1", SLOW_END_S), ("2", CULPRIT_END_S)):
            owner.execute(
                "UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED' WHERE job_id = %s", [BEGIN_S + end, job]
            )
            owner.commit()
            if job == "1":
                # It goes on while the cause does, and says so.
                assert lived(conn, rule, 760) == []
                assert "still keeps its links busy" in alerts.load_alert(conn, number)["summary"]
        assert lived(conn, rule, 1100) == [number]
        assert alerts.load_alert(conn, number)["phase"] == "resolved"
        found = shown.load_detail(conn, head["incident_id"])
        assert isinstance(found, dict) and [(one["alert_id"], one["phase"]) for one in found["alerts"]] == [(number, "resolved")]  # fmt: skip
        # What was long over when it was found is no news.
        assert lived(conn, rule, 5000) == []


def test_a_quiet_day_fires_nothing(embedded_db: str, rule: Rule) -> None:
    planted(embedded_db, (60, CULPRIT_S, -3600, 420), count=14)
    run_of(embedded_db, "1", [], 800)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        with conn.transaction():
            alerts.sync_file(conn, [rule])
        assert [lived(conn, rule, second) for second in range(300, 801, 100)] == [[]] * 6
