"""A disk with too little room left: the API says so and refuses what would take more, and serves what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from api.conftest import Served, bearer, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.people import accounts as people
from flitwatch_domain.data_disk import LEAST_FREE

#: MiB that no disk has.
TOO_MUCH = "1e15"


@pytest.fixture
def site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None, api_anonymous="viewer")) as made:
        yield made


def test_new_data_are_refused_with_the_reason_until_there_is_room(
    site: Served, embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(embedded_db, autocommit=True) as conn:
        people.add_account(conn, "portal", "service")
        login = bearer(people.add_token(conn, "portal", "test", ["runs", "tasks", "read"])[1])

    def ask(path: str, **body: object) -> httpx.Response:
        return httpx.post(f"{site.url}/api/v1{path}", headers=login, timeout=60, **body)  # type: ignore[arg-type]

    task = {"name": "demo.count", "args": {"to": 1, "delay_s": 0.0}}
    run = {"key": "0123456789abcdef", "application": "milc", "start": "2026-11-23T10:00:00Z"}
    assert httpx.get(f"{site.url}/readyz").json() == {"status": "ready", "read_only": None}
    monkeypatch.setenv(LEAST_FREE, TOO_MUCH)
    for refused in (ask("/tasks", json=task), ask("/tasks/files", content=b"1,2"), ask("/runs", json=run)):
        assert refused.status_code == 503, refused.text
        assert refused.json()["type"] == "urn:flitwatch:problem:disk-full"
        assert "MiB left" in refused.json()["detail"]
    ready = httpx.get(f"{site.url}/readyz")
    status = httpx.get(f"{site.url}/api/v1/ingest/status")
    assert ready.status_code == status.status_code == 200
    assert "MiB left" in ready.json()["read_only"] and "MiB left" in status.json()["read_only"]
    with connect(embedded_db, role="writer") as conn:
        # What makes room.
        assert tasks.start_task(conn, "db.maintain") > 0
    monkeypatch.setenv(LEAST_FREE, "0")
    assert ask("/tasks", json=task).status_code == 202
    assert httpx.get(f"{site.url}/readyz").json()["read_only"] is None
