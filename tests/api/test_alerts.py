"""Alerts through the API: rules as data, silences, frozen evidence, names of other users."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.types.json import Jsonb

from api.conftest import Served, bearer, operating, serving
from flitwatch_alerting.tasks import HANDLERS
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.alerts import contacts
from flitwatch_db.alerts import store as alerts
from flitwatch_db.people import accounts as people
from flitwatch_db.people.erasure import list_remaining
from flitwatch_db.tasks import get_task
from flitwatch_domain.alerts import Sample, SeriesState, read_rule

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
        task = get_task(conn, tried.json()["task_id"])
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


@pytest.mark.parametrize("text", ["\\ud800", "\\u0000"])
def test_text_that_no_database_holds_is_refused(served: tuple[Served, str], text: str) -> None:
    api, _ = served
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for field in ("where", "labels"):
        for body in ({"user": text}, {text: "ann"}):
            _refused(api, "PUT", "/rules/odd", {**RULE, field: body})
    for field in ("summary", "for", "every", "absent", "severity", "by"):
        _refused(api, "PUT", "/rules/odd", {**RULE, field: text})
    span = {"from": "2026-11-14T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
    _refused(api, "POST", "/rules/test", {"name": text, **span})
    _refused(api, "POST", "/rules/test", {"rule": {**RULE, "labels": {"team": text}}, **span})
    silence = {"matchers": {"rule": "x"}, "ends": ends, "comment": "why"}
    for wrong in ({"matchers": {"rule": text}}, {"matchers": {text: "x"}}, {"comment": text}):
        _refused(api, "POST", "/silences", {**silence, **wrong})
    _refused(api, "POST", "/silences", {**silence, "matchers": {"rule": "/a{9999}/"}})
    assert api.get("/alerts/rules")["items"] == [] and api.get("/alerts/silences")["items"] == []


def _refused(api: Served, method: str, path: str, body: dict[str, object]) -> None:
    # The text stands in the body as JSON's own escape, which is valid UTF-8.
    content = json.dumps(body).replace("\\\\u", "\\u")
    answer = api.http.request(
        method, f"/api/v1/alerts{path}", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 404, 422), (path, content, answer.text)
    assert answer.json()["detail"]


def test_a_rule_names_only_labels_that_its_signal_has(served: tuple[Served, str]) -> None:
    api, _ = served
    wrong = api.http.put("/api/v1/alerts/rules/odd", json={**RULE, "where": {"grup": "3"}})
    assert wrong.status_code == 422 and "grup; the labels of blamed_user are user, exe" in wrong.json()["detail"]
    taken = api.http.put("/api/v1/alerts/rules/odd", json={**RULE, "labels": {"user": "ann"}})
    assert taken.status_code == 422 and "already has" in taken.json()["detail"]
    made = api.http.put("/api/v1/alerts/rules/odd", json={**RULE, "where": {"exe": "milc"}, "labels": {"team": "net"}})
    assert made.status_code == 200 and made.json()["rule"]["labels"] == {"team": "net"}


def test_an_alert_keeps_its_evidence_and_hides_who_it_is_about(served: tuple[Served, str]) -> None:
    api, url = served
    rule = read_rule({"name": "back", **RULE})
    sample = Sample(1_790_000_000, (("exe", "milc"), ("user", "ann")), 64.0)
    with connect(url, role="writer") as conn:
        alerts.save_rule(conn, rule, "api")
        evidence = {"page": "/jobs/7", "simulated": True, "q": 0.01, "rule": rule.model_dump(mode="json")}
        number = alerts.open_alert(conn, rule, sample, SeriesState("firing", sample.at_s, sample.at_s, 64.0), evidence)
    (shown,) = api.get("/alerts", phase="firing")["items"]
    assert shown["labels"]["user"].startswith("user-") and "ann" not in shown["summary"] and shown["simulated"] is True
    assert shown["summary"].endswith("is back with 64 nodes") and shown["page"] == "/jobs/7"
    detail = api.get(f"/alerts/{number}")
    assert detail["evidence"]["q"] == 0.01 and detail["notices"] == [] and detail["probability"] is None
    assert api.get("/alerts", to="2020-01-01T00:00:00Z")["items"] == []
    api.refused("/alerts/999", 404)


@pytest.mark.parametrize(
    ("role", "scopes", "reads"),
    [
        ("viewer", ["read"], False),
        ("user", ["read", "tasks"], False),
        ("operator", ["read", "names"], False),
        ("operator", ["read", "operate"], True),
    ],
)
def test_why_a_receiver_could_not_be_notified_is_for_operators(
    embedded_db: str, role: str, scopes: list[str], reads: bool
) -> None:
    why = "receiver pager: https://hooks.site.example/T0/secret answers 500"
    sample = Sample(1_790_000_000, (("fabric", "demo"),), 4.0)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "carl", role)
        headers = bearer(people.add_token(conn, "carl", "test", scopes)[1])
    with connect(embedded_db, role="writer") as conn:
        rule = read_rule({"name": "stalls", "signal": "stall_ratio", "above": 1})
        alerts.save_rule(conn, rule, "api")
        number = alerts.open_alert(conn, rule, sample, SeriesState("firing", sample.at_s, sample.at_s, 4.0), {})
        for name in ("pager", "mail"):
            alerts.queue_notice(conn, number, name, "rule=stalls", 0.0, 60.0)
        notices = dict(conn.execute("SELECT receiver, notice_id FROM alert_notice").fetchall())
        alerts.postpone_notices(conn, [notices["pager"]], why, 5.0)
    with serving(Settings(db=embedded_db, web=None)) as api:
        answer = api.http.get(f"/api/v1/alerts/{number}", headers=headers)
    by_receiver = {one["receiver"]: one for one in answer.json()["notices"]}
    assert (by_receiver["pager"]["error"] == why) is reads and (why in answer.text) is reads
    assert by_receiver["pager"]["error"] and by_receiver["pager"]["tried"] and by_receiver["pager"]["attempts"] == 1
    assert by_receiver["mail"]["error"] is None and by_receiver["mail"]["tried"] is None


def _watching(url: str) -> int:
    """A rule about ann, whom its text names, its alert, and a silence about her."""
    watch = {**RULE, "name": "watch-ann", "where": {"user": "ann"}, "summary": "ann is back with {value} nodes"}
    rule = read_rule(watch)
    sample = Sample(1_790_000_000, (("exe", "/home/ann/bin/milc"), ("user", "ann")), 9.0)
    with connect(url, role="writer") as conn:
        alerts.save_rule(conn, rule, "api")
        evidence = {"page": "/jobs/7", "simulated": True, "rule": rule.model_dump(mode="json")}
        number = alerts.open_alert(conn, rule, sample, SeriesState("firing", sample.at_s, sample.at_s, 9.0), evidence)
        begin, end = datetime.now(UTC), datetime.now(UTC) + timedelta(hours=1)
        matchers = {"user": "ann", "rule": "watch-ann", "fabric": "f1", "exe": "/home/ann/.*/"}
        alerts.add_silence(conn, matchers, begin, end, "ann knows", "ann")
    return number


@pytest.mark.system("processes")
def test_rules_silences_and_evidence_name_nobody_below_operator(served: tuple[Served, str]) -> None:
    api, url = served
    number = _watching(url)
    everything = [api.get(path) for path in ("/alerts/rules", "/alerts/silences", "/alerts", f"/alerts/{number}")]
    assert "ann" not in str(everything)
    (rule,), (silence,) = (made["items"] for made in everything[:2])
    pseudonym = rule["rule"]["where"]["user"]
    assert pseudonym.startswith("user-") and everything[3]["summary"] == f"{pseudonym} is back with 9 nodes"
    assert everything[3]["labels"] == {"exe": "milc", "user": pseudonym}
    assert everything[3]["evidence"]["rule"]["where"] == {"user": pseudonym}
    assert silence["matchers"]["user"] == silence["created_by"] == pseudonym and silence["matchers"]["fabric"] == "f1"
    assert silence["comment"] is None
    assert api.get("/alerts", rule="watch-ann")["items"] == []
    with serving(Settings(db=url, web=None, api_anonymous="operator")) as seeing:
        (shown,) = seeing.get("/alerts", rule="watch-ann")["items"]
        assert shown["labels"]["user"] == "ann" and shown["labels"]["exe"] == "/home/ann/bin/milc"
        assert seeing.get("/alerts/silences")["items"][0]["comment"] == "ann knows"


@pytest.mark.system("processes")
def test_a_dry_run_names_nobody_below_operator(embedded_db: str) -> None:
    _watching(embedded_db)
    span = {"from": "2026-11-14T00:00:00Z", "to": "2026-11-21T00:00:00Z"}
    tried = {"signal": "blamed_user", "above": 0, "summary": "{user} runs {value}"}
    with serving(Settings(db=embedded_db, web=None)) as api:
        number = api.http.post("/api/v1/alerts/rules/test", json={"rule": tried, **span}).json()["task_id"]
        fired = {"labels": {"exe": "/home/ann/bin/milc", "user": "ann"}, "summary": "ann runs 9", "value": 9.0}
        with connect(embedded_db, role="writer") as conn:
            result = Jsonb({"rule": "tried", "fired": 1, "alerts": [fired]})
            conn.execute("UPDATE task SET state = 'succeeded', result = %s WHERE task_id = %s", [result, number])
        made = api.get(f"/tasks/{number}")
        (alert,) = made["result"]["alerts"]
        assert "ann" not in str(made["result"]) and alert["summary"] == f"{alert['labels']['user']} runs 9"
        assert alert["labels"]["exe"] == "milc" and made["args"]["rule"]["summary"] == tried["summary"]
        # Whoever could try a rule about a name would learn its pseudonym.
        about = {**tried, "where": {"user": "ann"}}
        folder = {**tried, "where": {"exe": "/home/ann/bin/milc"}}
        for rule in (about, folder):
            assert api.http.post("/api/v1/alerts/rules/test", json={"rule": rule, **span}).status_code == 403
            args = {"rule": {"name": "tried", **rule}, "from_s": 0, "to_s": 1}
            assert api.http.post("/api/v1/tasks", json={"name": "alerting.test", "args": args}).status_code == 403
        assert api.http.post("/api/v1/alerts/rules/test", json={"name": "watch-ann", **span}).status_code == 404
        with serving(Settings(db=embedded_db, web=None, api_anonymous="operator")) as seeing:
            assert seeing.get(f"/tasks/{number}")["result"]["alerts"][0]["summary"] == "ann runs 9"


def test_silences_begin_and_end(served: tuple[Served, str]) -> None:
    api, _ = served
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = api.http.post(
        "/api/v1/alerts/silences", json={"matchers": {"rule": "/group.*/"}, "ends": ends, "comment": "maintenance"}
    )
    assert made.status_code == 201
    (silence,) = made.json()["items"]
    assert silence["active"] and silence["created_by"] == "otto"
    for wrong in (
        {"matchers": {"rule": "/(/"}},
        {"matchers": {"rule": r"/(.)\1/"}},
        {"matchers": {}},
        {"ends": "2020-01-01T00:00:00Z"},
    ):
        body = {"matchers": {"rule": "x"}, "ends": ends, "comment": "why", **wrong}
        assert api.http.post("/api/v1/alerts/silences", json=body).status_code in (400, 422)
    body = {"matchers": {"rule": "/(?=a).*/"}, "ends": ends, "comment": "why"}
    refused = api.http.post("/api/v1/alerts/silences", json=body)
    assert refused.status_code == 422 and "match the whole value" in refused.text
    past = {"starts": "2020-01-01T00:00:00Z", "ends": "2020-01-02T00:00:00Z"}
    for wrong, said in (
        ({"matchers": {"nosuchlabel": ""}}, "silence everything"),
        ({"matchers": {"rule": "/.*/", "user": ""}}, "write /.+/ for any"),
        (past, "the silence is in the past"),
        ({"ends": "2020-01-02T00:00:00Z"}, "the silence is in the past"),
    ):
        body = {"matchers": {"rule": "x"}, "ends": ends, "comment": "why", **wrong}
        refused = api.http.post("/api/v1/alerts/silences", json=body)
        assert refused.status_code == 422 and said in refused.text
    assert api.http.delete(f"/api/v1/alerts/silences/{silence['silence_id']}").status_code == 204
    assert not api.get("/alerts/silences")["items"][0]["active"]


@pytest.mark.system("processes")
def test_contact_points_are_made_tested_and_removed_and_their_addresses_are_for_operators(
    served: tuple[Served, str],
) -> None:
    api, url = served
    place = "/api/v1/alerts/contacts/ops"
    made = api.http.put(place, json={"addresses": ["ann@site.example"], "least_severity": "warning"})
    assert made.status_code == 200 and made.json()["addresses"] == ["ann@site.example"]
    asked = api.http.post(f"{place}/test")
    assert asked.status_code == 202 and asked.json()["test_asked_at"] and asked.json()["test_tried_at"] is None
    with connect(url, role="writer", autocommit=True) as conn:
        contacts.record_test_result(conn, "ops", "receiver contact:ops refuses")
        assert list_remaining(conn, "ann") == [
            "contact point ops is kept: its mail address contains the name; remove it on the page"
        ]
    for wrong in ([], ["ops@"], ["a@b.example\r\nBcc: c@d.example"], ["x" * 300 + "@b.example"]):
        assert api.http.put(place, json={"addresses": wrong}).status_code == 422, wrong
    with serving(Settings(db=url, web=None, api_anonymous="viewer")) as viewing:
        (shown,) = viewing.get("/alerts/contacts")["items"]
        assert shown["addresses"] is None and "ops" not in shown["test_error"]
        for method, path in (("PUT", place), ("DELETE", place), ("POST", f"{place}/test")):
            assert viewing.http.request(method, path, json={"addresses": ["e@f.example"]}).status_code == 401
    # What a test of other addresses said is no news of these.
    again = api.http.put(place, json={"addresses": ["bo@site.example"]}).json()
    assert (again["test_asked_at"], again["test_error"], again["least_severity"]) == (None, None, "info")
    assert api.http.delete(place).status_code == 204
    assert api.http.delete(place).status_code == 404 and api.http.post(f"{place}/test").status_code == 404
    assert api.get("/alerts/contacts")["items"] == []
