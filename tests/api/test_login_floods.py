"""Floods of log-ins: they stop nothing else, and free nobody from a limit."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest
from support.waiting import eventually

from api.conftest import guess_passwords, serving
from flitwatch_api import platform
from flitwatch_api.people.buckets import Buckets
from flitwatch_api.people.login_limiter import PAIR_BURST, LoginLimiter
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.addresses import to_network
from flitwatch_domain.errors import TooMany

#: Names that took a limited one's place before, and log-ins beyond those that may wait.
RANDOM_NAMES, TOO_MANY = 12_000, 5


def waiting_statements(url: str) -> int:
    with connect(url) as conn:
        row = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        assert row is not None
        return int(row[0])


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
