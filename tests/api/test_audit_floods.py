"""The audit log under callers without a login: it counts what they repeat, cuts what is long, and keeps entries as long as is set."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from api.conftest import guess_passwords, serving
from flitwatch_api.people import anonymous_trail
from flitwatch_api.people.anonymous_trail import MINUTE_S, OTHERS, SINGLY, SOURCES, AnonymousTrail
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.people import accounts as people
from flitwatch_db.people import audit
from flitwatch_db.people.audit import Entry
from flitwatch_domain.errors import BadRequest

FLOOD = 200


def entries(url: str, **where: object) -> list[audit.AuditEntry]:
    with connect(url, role="gate") as conn:
        return [e for e in audit.list_entries(conn, 10_000) if all(e[k] == v for k, v in where.items())]  # type: ignore[literal-required]


def tried(address: str, action: str = "PUT put_alert_rule", status: int = 401) -> Entry:
    return Entry("nobody", None, "anonymous", action, "/x", status, address)


def test_refusals_without_a_login_are_counted(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator", "correct horse battery")
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        for number in range(FLOOD):
            assert api.http.put(f"/api/v1/alerts/rules/r{number}", json={}).status_code == 401
        assert guess_passwords(api, 1, "127.0.0.2", "eve") == [401]
        # Who logs in is told, whatever else came from there.
        right = {"name": "otto", "password": "correct horse battery"}
        assert httpx.post(f"{api.url}/api/v1/session", json=right).status_code == 200
    ours = entries(embedded_db, address="127.0.0.1")
    assert sum(e["action"] == "PUT put_alert_rule" for e in ours) == SINGLY
    (counted,) = [e["details"] for e in ours if e["action"] == "counted"]
    assert counted["actions"] == {"PUT put_alert_rule 401": FLOOD - SINGLY} and counted["times"] == FLOOD - SINGLY
    assert counted["names"] == ["nobody"] and counted["since"] < counted["until"]
    assert [(e["actor"], e["status"]) for e in ours if e["action"] == "POST log_in"] == [("otto", 200)]
    assert [e["actor"] for e in entries(embedded_db, address="127.0.0.2")] == ["eve"]


def test_changes_without_a_login_are_counted_too(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_anonymous="user")) as api:
        for _ in range(SINGLY):
            assert api.http.post("/api/v1/tasks/999/cancel").status_code == 404
        for _ in range(SINGLY):
            made = api.http.post("/api/v1/tasks/files", content=b"x").json()["file"]
            assert api.http.delete(f"/api/v1/tasks/files/{made}").status_code == 204
    assert len(entries(embedded_db)) == SINGLY + 1


def test_many_sources_write_no_more_than_some(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(anonymous_trail.time, "monotonic", lambda: now[0])
    trail = AnonymousTrail()
    written = [trail.is_single(tried(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")) for n in range(FLOOD * SOURCES)]
    assert sum(written) == SOURCES and trail.sums() == []
    # All addresses of a /64 are one source.
    assert sum(trail.is_single(tried(f"2001:db8::{n:x}", f"action {n}")) for n in range(FLOOD)) == 0
    now[0] = MINUTE_S
    (others,) = trail.sums()
    assert others.address == OTHERS and others.details["times"] == FLOOD * SOURCES - SOURCES + FLOOD
    assert len(others.details["actions"]) <= anonymous_trail.MOST_TOLD + 1
    # The next minute begins anew.
    assert sum(trail.is_single(tried("192.0.2.1")) for _ in range(FLOOD)) == SINGLY
    assert [e.details["times"] for e in trail.sums(everything=True)] == [FLOOD - SINGLY]


def test_long_fields_are_cut(embedded_db: str) -> None:
    long: Any = "x" * (1 << 20)
    entry = Entry(long, long, "command", long, long, 200, long, long, {"a": long, "b\0": "\0"})
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        audit.add_entries(conn, [entry, Entry("a\0", None, "command", "b", details={"c": "d\0"})])
        row = conn.execute("SELECT max(pg_column_size(a)), max(length(a::text)) FROM audit a").fetchone()
    assert row is not None and row[1] < 12_000
    short, cut = entries(embedded_db)
    assert (short["actor"], short["details"]) == ("a\u2400", {"c": "d\u2400"})
    assert cut["actor"] == "x" * 200 and cut["details"].keys() == {"cut_off"}


def test_entries_are_kept_as_long_as_is_set_and_thirty_days_at_least(embedded_db: str) -> None:
    def age(days: int) -> None:
        with connect(embedded_db, role="owner", autocommit=True) as conn:
            conn.execute(
                "INSERT INTO audit (at, actor, via, action) VALUES (now() - make_interval(days => %s), 'otto', 'command', %s)",
                [days, f"{days} days"],
            )

    def left() -> set[str]:
        return {e["action"] for e in entries(embedded_db, actor="otto")}

    for days in (29, 31, 99, 101, 4000):
        age(days)
    maintain_database(embedded_db)
    assert len(left()) == 5
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        with pytest.raises(BadRequest, match="30 days"):
            audit.set_kept(conn, 29)
        audit.set_kept(conn, 100)
    assert maintain_database(embedded_db)["dropped"]["audit"] == 2 and left() == {"29 days", "31 days", "99 days"}
    (noted,) = entries(embedded_db, action="audit retention")
    assert (noted["actor"], noted["details"]["deleted"], noted["details"]["keep_days"]) == ("maintenance", 2, 100)
    # Whoever may write settings cannot have the newest entries deleted.
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        conn.execute("UPDATE setting SET value = '0' WHERE key = 'audit_keep_days'")
    assert maintain_database(embedded_db)["dropped"]["audit"] == 2 and left() == {"29 days"}
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        audit.set_kept(conn, None)
    assert maintain_database(embedded_db)["dropped"]["audit"] == 0
