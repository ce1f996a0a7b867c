"""Stored tasks as a list shows them."""

from __future__ import annotations

from support.databases import Server

from api.conftest import serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect

TRIED = {"rule": {"name": "r", "signal": "blamed_user", "above": 0}, "from_s": 0, "to_s": 1}


def test_a_row_that_cannot_be_shown_is_listed_as_such_beside_the_others(_embedded_template: Server) -> None:
    url = _embedded_template.create()
    with serving(Settings(db=url, web=None)) as api:
        good, bad = (
            api.http.post("/api/v1/tasks", json={"name": name, "args": args}).json()["task_id"]
            for name, args in (("demo.count", {}), ("alerting.test", TRIED))
        )
        with connect(url, role="writer") as conn:
            conn.execute(
                """UPDATE task SET state = 'succeeded', result = '{"alerts": ["alice"]}' WHERE task_id = %s""", [bad]
            )
        listed = {one["task_id"]: one for one in api.get("/tasks")["items"]}
        assert listed[good]["args"] is not None and listed[good]["error"] is None
        assert "cannot be shown" in listed[bad]["error"]["message"] and listed[bad]["state"] == "succeeded"
        alone = api.get(f"/tasks/{bad}")
        assert alone == listed[bad] and "alice" not in str(alone)
    _embedded_template.drop(url)


def test_a_task_keeps_the_id_of_its_request(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None)) as api:
        asked = {"name": "demo.count", "args": {}}
        started = api.http.post("/api/v1/tasks", json=asked, headers={"X-Request-Id": "from-the-page"})
        assert started.headers["x-request-id"] == "from-the-page"
    with connect(embedded_db, role="reader") as conn:
        assert conn.execute("SELECT request_id FROM task").fetchall() == [("from-the-page",)]
