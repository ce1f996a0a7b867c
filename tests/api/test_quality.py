"""Ingest health, refused records, search, tasks, health."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from api.conftest import Served
from api.database import HOSTILE, SampleDatabase
from flitwatch_api.events.hub import encode_event
from flitwatch_db import connect
from flitwatch_db.core.events import Event, emit_event
from flitwatch_db.ingest import store as ingest


def test_ingest_status_counts_and_names(api: Served, database: SampleDatabase) -> None:
    # Rates are of the last two minutes, whenever this test runs.
    with connect(database.url) as conn:
        ingest.add_rates(conn, datetime.now(UTC), {"ldms.now": ingest.Rates(records=1, values=100, bytes=500)})
        ingest.add_rates(conn, datetime.now(UTC), {"ldms.nowhere": ingest.Rates(records=5, unplaced=4)})
        emit_event(
            conn, "unplaced", {"topic": "ldms.nowhere", "count": 2, "reasons": ["n9 mlx5_0 port 1 is in none of ib"]}
        )
    got = api.get("/ingest/status")
    nowhere = next(t for t in got["topics"] if t["topic"] == "ldms.nowhere")
    assert (nowhere["unplaced"], nowhere["unplaced_because"]) == (4, "n9 mlx5_0 port 1 is in none of ib")
    others = [t for t in got["topics"] if t["topic"] != "ldms.nowhere"]
    assert {(t["unplaced"], t["unplaced_because"]) for t in others} == {(0, None)}
    assert next(t for t in got["topics"] if t["topic"] == "ldms.now")["values_per_s"] > 0
    assert got["dead_letters"]["total"] == 7 and len(got["dead_letters"]["recent"]) == 7
    assert got["dead_letters"]["last_hour"] == 7
    assert got["dead_letters"]["recent"][0]["reason"] == "cut short 6"
    topic = next(t for t in got["topics"] if t["topic"] == "ldms.x")
    assert topic["records"] == 10 and topic["dead"] == 7 and topic["lag_records"] is None
    assert {gap["reason"] for gap in got["gaps"]} == {"silence", "reset"}
    assert got["schemas"][0]["columns"] == 2 and got["position_age_s"] is None
    assert datetime.fromisoformat(got["now"]).tzinfo is not None


def test_coverage_counts_records_by_kind_of_data_and_step(api: Served, database: SampleDatabase) -> None:
    now = datetime.now(UTC)
    rates = {"flitwatch.samples.v1": ingest.Rates(records=3, dead=1), "ldms.never_seen": ingest.Rates(records=2)}
    with connect(database.url) as conn:
        ingest.add_rates(conn, now, rates)
        for minutes, records in ((30, 5), (90, 7)):
            ingest.add_rates(conn, now - timedelta(minutes=minutes), {"flitwatch.samples.v1": ingest.Rates(records)})
    try:
        got = api.get("/ingest/coverage")
        assert (got["step_s"], len(got["ts"])) == (60, 60)
        sources = {one["source"]: one for one in got["sources"]}
        samples = sources["Packet samples"]
        assert samples["topics"] == ["flitwatch.samples.v1"] and len(samples["records"]) == 60
        assert (sum(samples["records"]), sum(samples["dead"]), samples["records"].count(0)) == (8, 1, 58)
        assert "ldms.never_seen" in sources["Other counters"]["topics"]
        longer = api.get("/ingest/coverage", span="1d", steps=100)
        assert (longer["step_s"], len(longer["ts"])) == (900, 96)
        assert sum({one["source"]: one for one in longer["sources"]}["Packet samples"]["records"]) == 15
        api.refused("/ingest/coverage", 400, span="60d")
    finally:
        with connect(database.url) as conn:
            conn.execute("DELETE FROM ingest_minute WHERE topic IN ('flitwatch.samples.v1', 'ldms.never_seen')")
            conn.commit()


def test_all_that_is_silent_or_refused_is_counted_however_little_is_listed(
    api: Served, database: SampleDatabase
) -> None:
    """5,007 devices fell silent a minute and a half ago, seven of them with a second schema; others came back long ago."""
    now = datetime.now(UTC)
    since, ended = now - timedelta(seconds=90), now - timedelta(hours=2)
    gaps = [ingest.Gap(f"switch {n}", "ports", since, now, "silence") for n in range(5007)]
    gaps += [ingest.Gap(f"switch {n}", "lanes", since, now, "silence") for n in range(7)]
    letters = [ingest.DeadLetter("many", 0, n, "cut short", b"", "host", "line 1") for n in range(70)]
    gaps += [ingest.Gap(f"switch {n}", "ports", ended, now - timedelta(hours=1), "silence") for n in range(300)]
    before = api.get("/ingest/status")
    assert before["silent_devices"] == 0 and before["silent"] == []
    with connect(database.url) as conn:
        ingest.add_gaps(conn, gaps)
        ingest.add_dead_letters(conn, letters)
        conn.execute("UPDATE dead_letter SET at = at - interval '2 hours' WHERE topic = 'many' AND offset_ < 10")
        conn.commit()
    try:
        got = api.get("/ingest/status")
        assert got["silent_devices"] == 5007 and got["gap_total"] == before["gap_total"] + len(gaps)
        minute = since.replace(second=0, microsecond=0)
        assert [(one["schema"], one["devices"]) for one in got["silent"]] == [("ports", 5007), ("lanes", 7)]
        assert {datetime.fromisoformat(one["from"]) for one in got["silent"]} == {minute}
        assert got["dead_letters"]["total"] == before["dead_letters"]["total"] + len(letters)
        assert got["dead_letters"]["last_hour"] == before["dead_letters"]["last_hour"] + 60
        assert len(got["gaps"]) == 50 and all(gap["open"] for gap in got["gaps"])
    finally:
        with connect(database.url) as conn:
            conn.execute("DELETE FROM gap WHERE device LIKE 'switch %'")
            conn.execute("DELETE FROM dead_letter WHERE topic = 'many'")
            conn.commit()
    assert not any(gap["open"] for gap in api.get("/ingest/status")["gaps"])


def test_refused_records_page_and_their_bytes_are_only_saved(api: Served) -> None:
    first = api.get("/ingest/dead-letters", limit=5)
    rest = api.get("/ingest/dead-letters", limit=5, cursor=first["next_cursor"])
    numbers = [item["id"] for item in first["items"] + rest["items"]]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) == 7 and rest["next_cursor"] is None
    raw = api.http.get(f"/api/v1/ingest/dead-letters/{numbers[0]}/raw")
    assert raw.content == b"<script>" + bytes([6, 0, 255])
    assert (
        raw.headers["content-type"] == "application/octet-stream" and raw.headers["x-content-type-options"] == "nosniff"
    )
    assert raw.headers["content-disposition"].startswith("attachment")
    api.refused("/ingest/dead-letters/999999/raw", 404)


def test_search_finds_every_kind_exact_first(api: Served, database: SampleDatabase) -> None:
    assert api.get("/search", q="100")["items"][0] | {"detail": ""} == {
        "kind": "job",
        "id": "100",
        "title": f"100 {HOSTILE}",
        "detail": "",
        "href": "/jobs/100",
    }
    assert {"kind": "user", "id": "eve", "title": "eve", "detail": "2 jobs", "href": "/jobs?user=eve"} in api.get(
        "/search", q="eve"
    )["items"]
    name = str(database.small.routers.name[9])
    routers = [hit for hit in api.get("/search", q=name)["items"] if hit["kind"] == "router"]
    assert routers[0]["title"] == name and routers[0]["href"] == f"/fabric/{database.small_id}?router=9"
    node = next(hit for hit in api.get("/search", q="nid00005")["items"] if hit["kind"] == "node")
    assert node["href"].endswith("?router=1")
    assert api.get("/search", q="small")["items"][0]["kind"] == "fabric"
    assert api.get("/search", q="%_%")["items"] == []
    hostile = api.get("/search", q="onerror=alert")["items"][0]
    assert hostile["href"] == "/jobs/100"
    for words in ("10 0", "onerror=alert 00"):
        assert any(hit["href"] == "/jobs/100" for hit in api.get("/search", q=words)["items"]), words


def test_tasks_are_started_followed_and_cancelled(api: Served) -> None:
    made = api.http.post("/api/v1/tasks", json={"name": "demo.count", "args": {"to": 3, "delay_s": 0}})
    assert made.status_code == 202 and made.json()["state"] == "queued"
    number = made.json()["task_id"]
    assert made.headers["location"] == f"/api/v1/tasks/{number}"
    assert api.get(f"/tasks/{number}")["args"] == {"to": 3, "delay_s": 0}
    assert number in [task["task_id"] for task in api.get("/tasks", name="demo.count")["items"]]
    stopped = api.http.post(f"/api/v1/tasks/{number}/cancel")
    assert stopped.status_code == 202 and (stopped.json()["state"] == "cancelled" or stopped.json()["cancel_requested"])
    api.refused("/tasks/999999", 404)
    assert api.http.post("/api/v1/tasks/999999/cancel").status_code == 404


def test_tasks_that_may_not_be_started_are_refused(api: Served) -> None:
    for body, status in (
        ({"name": "db.maintain"}, 422),
        ({"name": "x"}, 422),
        ({"name": "demo.count", "args": {"a": "x" * 70_000}}, 422),
        ({"name": "demo.count", "args": {"a": 10**30}}, 422),
        ({"name": "demo.count", "args": {"n": 1e308}}, 422),
        ({"name": "ml.blame", "args": {"exe": "x", "nodes": -1e99}}, 422),
        ({"name": "sim.study", "args": {"parameters": {"grid": [1, {"x": 2**63}]}}}, 422),
        ({"name": "demo.count", "more": 1}, 422),
        ([], 422),
    ):
        answer = api.http.post("/api/v1/tasks", json=body)
        assert answer.status_code == status and answer.json()["advice"], answer.text
    for number in (b"NaN", b"-Infinity", b"1e999", b"9" * 400):
        answer = api.http.post(
            "/api/v1/tasks",
            content=b'{"name": "demo.count", "args": {"to": %s}}' % number,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 422 and "args." in answer.json()["detail"], answer.text
    deep = b'{"name": "demo.count", "args": {"a": %s2%s}}' % (b"[" * 900, b"]" * 900)
    answer = api.http.post("/api/v1/tasks", content=deep, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    surrogate = api.http.post(
        "/api/v1/tasks",
        content=b'{"name": "demo.count", "args": {"a": "\\ud800"}}',
        headers={"content-type": "application/json"},
    )
    assert surrogate.status_code in (400, 422)
    nul = api.http.post("/api/v1/tasks", json={"name": "demo.count", "args": {"a": "\0"}})
    assert nul.status_code == 422


def test_a_number_beyond_64_bits_spoils_no_list(api: Served, database: SampleDatabase) -> None:
    """Rows that an older version, or another path, let in."""
    with connect(database.url, role="writer") as conn:
        made = conn.execute(
            """INSERT INTO task (name, args, state, result) VALUES ('demo.count', '{"n": 1e308, "m": [-1e99, {"k": 18446744073709551616}]}',
            'succeeded', %s) RETURNING task_id""",
            ['{"whole": 1' + "0" * 400 + "}"],
        ).fetchone()
        conn.commit()
    assert made is not None
    try:
        shown = api.get(f"/tasks/{made[0]}")
        assert shown["args"] == {"n": 1e308, "m": [-1e99, {"k": 2.0**64}]} and shown["result"] == {"whole": None}
        assert shown in api.get("/tasks")["items"]
        event = Event(7, datetime.now(UTC), "task", {"done": 10**308})
        assert json.loads(encode_event(event).split(b"data: ")[1]) == {"done": 1e308}
    finally:
        with connect(database.url, role="owner") as conn:
            conn.execute("DELETE FROM task WHERE task_id = %s", [made[0]])


def test_health_and_metrics(api: Served) -> None:
    assert api.http.get("/healthz").json() == {"status": "up"}
    assert api.http.get("/readyz").json() == {"status": "ready", "read_only": None}
    api.get("/fabrics")
    answer = api.http.get("/metrics")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    routes = {sample.labels["route"] for sample in families["flitwatch_api_requests"].samples}
    assert "/api/v1/fabrics" in routes
    assert families["flitwatch_database_up"].samples[0].value == 1
    assert families["flitwatch_ingest_dead_letters"].samples[0].value == 7
