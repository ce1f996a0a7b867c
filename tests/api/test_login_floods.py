"""Floods of logins: they do not block other requests, and no caller escapes a limit."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from support.waiting import eventually

from api.conftest import guess_passwords, serving
from flitwatch_api import platform
from flitwatch_api.people import trail
from flitwatch_api.people.login_limiter import PAIR_BURST, Buckets, LoginLimiter
from flitwatch_api.people.trail import MINUTE_S, OTHERS, SINGLY, SOURCES, AnonymousTrail
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.core.maintenance import maintain_database
from flitwatch_db.people import accounts as people
from flitwatch_db.people import audit
from flitwatch_db.people.audit import Entry
from flitwatch_domain.errors import BadRequest, TooMany
from flitwatch_domain.shares import to_network

#: Names that took a limited one's place before, and log-ins beyond those that may wait.
RANDOM_NAMES, TOO_MANY = 12_000, 5


def waiting_statements(url: str) -> int:
    with connect(url) as conn:
        row = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        assert row is not None
        return int(row[0])


@pytest.mark.system("processes")
def test_a_flood_of_passwords_is_refused_soon_and_stops_nothing_else(embedded_db: str) -> None:
    threads, waiting = platform.PASSWORD_THREADS
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator", "correct horse battery")
    right = {"name": "otto", "password": "correct horse battery"}
    with serving(Settings(db=embedded_db, web=None)) as api:
        cookie = httpx.post(f"{api.url}/api/v1/session", json=right).cookies["flitwatch-known"]
        # Checks of passwords take as long as the table is locked.
        with psycopg.connect(embedded_db) as slow, ThreadPoolExecutor(threads + waiting + TOO_MANY + 1) as clients:
            slow.execute("LOCK TABLE flitwatch.account IN ACCESS EXCLUSIVE MODE")
            flood = [
                clients.submit(guess_passwords, api, 1, f"127.0.1.{number + 1}", f"name {number}")
                for number in range(threads + waiting + TOO_MANY)
            ]
            eventually(lambda: sum(one.done() for one in flood) == TOO_MANY, what="the refusals")
            refused = api.http.post("/api/v1/session", json=right)
            assert (refused.status_code, int(refused.headers["retry-after"])) == (429, 5)
            # Tasks start, and a browser that was logged in before has threads of its own.
            assert api.http.post("/api/v1/tasks", json={"name": "demo.count", "args": {"to": 1}}).status_code == 202
            headers = {"Cookie": f"flitwatch-known={cookie}"}
            again = clients.submit(httpx.post, f"{api.url}/api/v1/session", json=right, headers=headers, timeout=60)
            eventually(lambda: waiting_statements(embedded_db) == threads + 1, what="the known browser's check")
            slow.rollback()
            assert again.result(60).status_code == 200
            statuses = [status for one in flood for status in one.result(60)]
            assert sorted(statuses) == [401] * (threads + waiting) + [429] * TOO_MANY


def test_a_refused_flood_uses_up_nobodys_tries() -> None:
    held = LoginLimiter()
    for _ in range(10 * PAIR_BURST):
        held.take("otto", "127.0.0.1")
        held.give_back("otto", "127.0.0.1")


def test_random_names_free_no_limited_one(no_second_chance: None) -> None:
    held, draw = LoginLimiter(), random.Random(1)
    for _ in range(PAIR_BURST):
        held.take("otto", "guesser")
    for number in range(RANDOM_NAMES):
        held.take(f"{draw.random()}", f"address {number // 10}")
    with pytest.raises(TooMany):
        held.take("otto", "guesser")


def test_limited_keys_hardly_limit_others() -> None:
    buckets = Buckets(1e-6, 1)
    for number in range(100):
        assert buckets.take(f"limited {number}", 0) == 0
    assert all(buckets.take(f"limited {number}", 0) > 0 for number in range(100))
    assert sum(buckets.take(f"other {number}", 0, 0) > 0 for number in range(10_000)) <= 1


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("x" * 5000, "x" * 64),
    ],
)
def test_a_host_is_counted_by_its_network(address: str, counted: str) -> None:
    assert to_network(address) == counted


# The audit log under callers without a login: it counts what they repeat, cuts what is long, and keeps entries as long as is set.


FLOOD = 200


def entries(url: str, **where: object) -> list[audit.AuditEntry]:
    with connect(url, role="gate") as conn:
        return [e for e in audit.list_entries(conn, 10_000) if all(e[k] == v for k, v in where.items())]  # type: ignore[literal-required]


def tried(address: str, action: str = "PUT put_alert_rule", status: int = 401) -> Entry:
    return Entry("nobody", None, "anonymous", action, "/x", status, address)


@pytest.mark.system("processes")
def test_refusals_without_a_login_are_counted(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator", "correct horse battery")
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        for number in range(FLOOD):
            assert api.http.put(f"/api/v1/alerts/rules/r{number}", json={}).status_code == 401
        assert guess_passwords(api, 1, "127.0.0.2", "eve") == [401]
        # Each login is reported, with any other requests from there.
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
    monkeypatch.setattr(trail.time, "monotonic", lambda: now[0])
    counted = AnonymousTrail()
    written = [counted.is_single(tried(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}")) for n in range(FLOOD * SOURCES)]
    assert sum(written) == SOURCES and counted.sums() == []
    # All addresses of a /64 are one source.
    assert sum(counted.is_single(tried(f"2001:db8::{n:x}", f"action {n}")) for n in range(FLOOD)) == 0
    now[0] = MINUTE_S
    (others,) = counted.sums()
    assert others.address == OTHERS and others.details["times"] == FLOOD * SOURCES - SOURCES + FLOOD
    assert len(others.details["actions"]) <= trail.MOST_REPORTED + 1
    # The next minute begins anew.
    assert sum(counted.is_single(tried("192.0.2.1")) for _ in range(FLOOD)) == SINGLY
    assert [e.details["times"] for e in counted.sums(everything=True)] == [FLOOD - SINGLY]


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
