"""A database that is stopped while the API runs: probes and requests are answered all the same."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from support.databases import server_processes, stopped
from support.waiting import eventually

from api.conftest import Served, serving
from flitwatch_api.settings import Settings
from flitwatch_db.core import connection, deadlines
from flitwatch_ops.embedded import Embedded


@pytest.fixture
def site(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(deadlines, "CHECK_S", 0.5)
    monkeypatch.setattr(connection, "GRACE_S", 0.5)
    with serving(Settings(db=embedded_db, web=None, api_statement_timeout_ms=500, api_connect_timeout_s=0.5)) as made:
        yield made


def get(site: Served, path: str) -> httpx.Response:
    # How soon is not what is asked here; before, there was no answer at all.
    return httpx.get(site.url + path, timeout=60)


def test_a_frozen_server_is_told_and_answered_for(site: Served, embedded_server: Embedded) -> None:
    assert get(site, "/readyz").status_code == 200
    with stopped(*server_processes(embedded_server)):
        unready = get(site, "/readyz")
        assert (unready.status_code, unready.headers["content-type"]) == (503, "application/problem+json")
        assert unready.json()["detail"] == "the database does not answer"
        assert get(site, "/healthz").status_code == 200
        assert get(site, "/metrics").status_code == 200
        assert get(site, "/api/v1/fabrics").status_code == 503
        login = httpx.post(f"{site.url}/api/v1/session", json={"name": "ann", "password": "wrong"}, timeout=60)
        assert login.status_code == 503
    eventually(lambda: get(site, "/readyz").status_code == 200, what="the API to be ready again")
    assert get(site, "/api/v1/fabrics").status_code == 200


def test_a_probe_waits_two_seconds_for_a_server_that_is_slow(
    embedded_db: str, embedded_server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "CHECK_S", 3600.0)
    with serving(Settings(db=embedded_db, web=None)) as site:
        assert get(site, "/readyz").status_code == 200
        with stopped(*server_processes(embedded_server)):
            assert get(site, "/readyz").json()["detail"] == "the database has not answered for 2 s"
        eventually(lambda: get(site, "/readyz").status_code == 200, what="the API to be ready again")
