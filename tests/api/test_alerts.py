"""Alerts through the API: rules as data, silences, the frozen evidence, names of others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from api.conftest import Served, operating, serving
from flitwatch_alerting.tasks import HANDLERS
from flitwatch_api.settings import Settings
from flitwatch_db import alerts, connect
from flitwatch_db.tasks import get
from flitwatch_domain.alerts import Sample, Standing, read_rule

RULE = {"signal": "blamed_user", "above": 1, "for": "5m", "summary": "{user} is back with {value} nodes"}


@pytest.fixture
def served(embedded_db: str) -> Iterator[tuple[Served, str]]:
    with serving(Settings(db=embedded_db, web=None)) as made:
        made.http.headers.update(operating(embedded_db))
        yield made, embedded_db


def test_rules_are_made_changed_and_removed(served: tuple[Served, str]) -> None:
    api, url = served
    made = api.http.put("/api/v1/alerts/rules/back", json=RULE)
    assert made.status_code == 200 and made.json()["rule"]["for_s"] == 300 and made.json()["source"] == "api"
    assert [r["rule"]["name"] for r in api.get("/alerts/rules")["items"]] == ["back"]
    for wrong in (
        {**RULE, "for": "soon"},
        {**RULE, "clear": 2},
        {**RULE, "probability": 0.5},
        {**RULE, "colour": 1},
        {},
    ):
        refused = api.http.put("/api/v1/alerts/rules/back", json=wrong)
        assert refused.status_code == 422 and refused.json()["detail"]
    assert api.http.put("/api/v1/alerts/rules/Bad_name", json=RULE).status_code == 422
    tried = api.http.post(
        "/api/v1/alerts/rules/test", json={"name": "back", "from": "2026-11-14T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
    )
    assert tried.status_code == 202 and tried.json()["name"] == "alerting.test"
    with connect(url, role="writer") as conn:
        task = get(conn, tried.json()["task_id"])
    assert task is not None

    class Context:
        dsn = url

    assert HANDLERS["alerting.test"](task.args, Context())["fired"] == 0  # type: ignore[arg-type]
    assert (
        api.http.post(
            "/api/v1/alerts/rules/test",
            json={"name": "none", "from": "2026-11-14T00:00:00Z", "to": "2026-11-21T00:00:00Z"},
        ).status_code
        == 404
    )
    assert api.http.delete("/api/v1/alerts/rules/back").status_code == 204
    assert api.http.delete("/api/v1/alerts/rules/back").status_code == 404


def test_an_alert_keeps_its_evidence_and_hides_who_it_is_about(served: tuple[Served, str]) -> None:
    api, url = served
    rule = read_rule({"name": "back", **RULE})
    sample = Sample(1_790_000_000, (("exe", "milc"), ("user", "ann")), 64.0)
    with connect(url, role="writer") as conn:
        alerts.save_rule(conn, rule, "api")
        evidence = {"page": "/jobs/7", "simulated": True, "q": 0.01, "rule": rule.model_dump(mode="json")}
        number = alerts.open_alert(conn, rule, sample, Standing("firing", sample.at_s, sample.at_s, 64.0), evidence)
    (shown,) = api.get("/alerts", phase="firing")["items"]
    assert shown["labels"]["user"].startswith("user-") and "ann" not in shown["summary"] and shown["simulated"] is True
    assert shown["summary"].endswith("is back with 64 nodes") and shown["page"] == "/jobs/7"
    detail = api.get(f"/alerts/{number}")
    assert detail["evidence"]["q"] == 0.01 and detail["notices"] == [] and detail["probability"] is None
    assert api.get("/alerts", to="2020-01-01T00:00:00Z")["items"] == []
    api.refused("/alerts/999", 404)


def test_silences_begin_and_end(served: tuple[Served, str]) -> None:
    api, _ = served
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = api.http.post(
        "/api/v1/alerts/silences", json={"matchers": {"rule": "/group.*/"}, "ends": ends, "comment": "maintenance"}
    )
    assert made.status_code == 201
    (silence,) = made.json()["items"]
    assert silence["active"] and silence["created_by"] == "otto"
    for wrong in ({"matchers": {"rule": "/(/"}}, {"matchers": {}}, {"ends": "2020-01-01T00:00:00Z"}):
        body = {"matchers": {"rule": "x"}, "ends": ends, "comment": "why", **wrong}
        assert api.http.post("/api/v1/alerts/silences", json=body).status_code in (400, 422)
    assert api.http.delete(f"/api/v1/alerts/silences/{silence['silence_id']}").status_code == 204
    assert not api.get("/alerts/silences")["items"][0]["active"]
