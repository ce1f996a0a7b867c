"""A server whose process is stopped: no wait for it goes on for ever."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from support.databases import server_processes, stopped

from flitwatch_db import async_pool, connect, connect_async
from flitwatch_db.core import deadlines
from flitwatch_domain.errors import Unavailable
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.table_connection import open_connection as connect_to_log


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


@contextmanager
def no_file_left_open() -> Iterator[None]:
    """Check that the block leaves no file or socket open, even before the next garbage collection."""
    gc.disable()
    try:
        count = len(os.listdir("/proc/self/fd"))
        yield
        assert len(os.listdir("/proc/self/fd")) == count
    finally:
        gc.enable()


@pytest.mark.parametrize("attempt", [connect, partial(connect_to_log, application="test")])
def test_a_failed_attempt_to_connect_leaves_no_socket(
    attempt: Callable[[str], Any], embedded_db: str, embedded_server: Embedded
) -> None:
    with stopped(*server_processes(embedded_server)), no_file_left_open(), pytest.raises(Unavailable, match="expired"):
        attempt(f"{embedded_db}&connect_timeout=1")


async def test_nor_does_an_asynchronous_one(embedded_db: str, embedded_server: Embedded) -> None:
    refused = pytest.raises(psycopg.OperationalError, match="expired")
    with stopped(*server_processes(embedded_server)), no_file_left_open(), refused:
        await connect_async(f"{embedded_db}&connect_timeout=1", "reader")
