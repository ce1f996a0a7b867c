"""A server whose process is stopped: every wait for it ends."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest
from support.databases import server_processes, stopped

from flitwatch_db import async_pool, connect, connect_async
from flitwatch_db.core import deadlines
from flitwatch_ops.embedded import Embedded


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "CHECK_S", 0.3)
    monkeypatch.setattr("flitwatch_db.core.connection.GRACE_S", 0.2)


def test_a_statement_ends_although_its_server_is_stopped(embedded_db: str) -> None:
    with connect(embedded_db, role="reader", statement_s=0.2) as conn, stopped(conn.info.backend_pid):
        with pytest.raises(psycopg.OperationalError, match="not answered"):
            conn.execute("SELECT 1")
        assert conn.broken


async def test_so_does_an_asynchronous_one(embedded_db: str) -> None:
    async with await connect_async(embedded_db, "reader", statement_s=0.2) as conn:
        with stopped(conn.info.backend_pid), pytest.raises(psycopg.OperationalError, match="not answered"):
            await conn.execute("SELECT 1")


async def test_the_server_ends_a_slow_statement_first(embedded_db: str) -> None:
    async with await connect_async(embedded_db, "reader", statement_s=0.2) as conn:
        with pytest.raises(psycopg.errors.QueryCanceled):
            await conn.execute("SELECT pg_sleep(60)")
        assert not conn.broken


async def test_a_pool_replaces_a_connection_whose_server_is_stopped(embedded_db: str) -> None:
    async with async_pool(embedded_db, role="reader", max_size=1, statement_s=5) as pool:
        async with pool.connection() as conn:
            pid = conn.info.backend_pid
        with stopped(pid):
            async with pool.connection() as conn:
                assert conn.info.backend_pid != pid
                await conn.execute("SELECT 1")


#: One failed attempt in a process of its own, where no other thread opens anything; it prints how many files the attempt left open.
ATTEMPT = """
import asyncio, gc, os, sys
import psycopg
from flitwatch_db import connect, connect_async
from flitwatch_domain.errors import Unavailable
from flitwatch_stream.table_connection import open_connection
attempts = {
    "connect": connect,
    "log": lambda url: open_connection(url, application="test"),
    "async": lambda url: runner.run(connect_async(url, "reader")),
}
with asyncio.Runner() as runner:
    runner.get_loop()
    gc.disable()
    before = len(os.listdir("/proc/self/fd"))
    try:
        attempts[sys.argv[1]](sys.argv[2])
    except (Unavailable, psycopg.OperationalError) as refused:
        assert "expired" in str(refused), refused
        print(len(os.listdir("/proc/self/fd")) - before)
"""


@pytest.mark.parametrize("attempt", ["connect", "log", "async"])
def test_a_failed_attempt_to_connect_leaves_no_socket(
    attempt: str, embedded_db: str, embedded_server: Embedded
) -> None:
    with stopped(*server_processes(embedded_server)):
        done = subprocess.run(
            [sys.executable, "-c", ATTEMPT, attempt, f"{embedded_db}&connect_timeout=1"], capture_output=True, text=True
        )
    assert done.stdout == "0\n", done.stderr
