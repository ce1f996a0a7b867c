"""A task can be ended whatever it does, and says which limit ended it; a real worker runs tasks that resist."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.tasks import wait_for

from flitwatch_db.tasks import Limits, cancel_task, get_task, start_task
from flitwatch_db.tasks.process import LIMITS_BY_ROLE

pytestmark = pytest.mark.integration

TESTS = Path(__file__).parents[1]
WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from db.stubborn import HANDLERS
from flitwatch_db.tasks import Limits, Worker
limits = Limits(*map(float, sys.argv[3:]))
small = {"user": Limits(memory_gib=0.3)}
Worker(sys.argv[2], dict.fromkeys(HANDLERS, "db.stubborn"), limits=limits, limits_by_role=small).run()
"""


@contextlib.contextmanager
def worker(
    url: str, memory_gib: float = 8, hours: float = 24, file_gib: float = 8
) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", WORKER, str(TESTS), url, str(memory_gib), str(hours), str(file_gib)]
    process = subprocess.Popen(argv)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.system("processes")
def test_a_task_that_does_not_listen_is_killed_with_its_children(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    deaf, after = start_task(conn, "odd.deaf"), start_task(conn, "odd.wordy", {"path": "/dev/null"})
    with worker(embedded_db):
        pids = wait_for(conn, deaf, lambda t: t.done == 1).message.split()
        assert all(map(is_running, pids))
        cancel_task(conn, deaf)
        assert wait_for(conn, deaf, lambda t: not t.is_open).state == "cancelled"
        assert not any(map(is_running, pids))
        # The next one has its turn.
        assert wait_for(conn, after, lambda t: not t.is_open).state == "succeeded"


@pytest.mark.system("processes")
def test_a_worker_ends_although_its_task_does_not_listen(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    deaf = start_task(conn, "odd.deaf")
    with worker(embedded_db) as process:
        pids = wait_for(conn, deaf, lambda t: t.done == 1).message.split()
        process.terminate()
        assert process.wait(60) == 0
    assert (get_task(conn, deaf).state, get_task(conn, deaf).attempts) == ("queued", 0)
    assert not any(map(is_running, pids))


@pytest.mark.parametrize(
    ("name", "limits", "words"),
    [
        ("odd.greedy", (0.3, 24, 8), "ended: it used more than 0.3 GiB of memory; your limit is 0.3 GiB"),
        ("odd.slow", (8, 0.0005, 8), "ended: it ran longer than 0.0005 hours; your limit is 0.0005 hours"),
        ("odd.wordy", (8, 24, 0.01), "ended: it wrote a file larger than 0.01 GiB; your limit is 0.01 GiB"),
    ],
)
def test_a_task_beyond_a_limit_ends_and_says_which(
    embedded_db: str, conn: psycopg.Connection[Any], tmp_path: Path, name: str, limits: Any, words: str
) -> None:
    task_id = start_task(conn, name, {"path": str(tmp_path / "file")})
    with worker(embedded_db, *limits):
        failed = wait_for(conn, task_id, lambda t: not t.is_open)
    assert failed.state == "failed" and failed.error is not None
    assert failed.error["kind"] == "too-costly" and words in failed.error["message"]
    assert failed.attempts == 1


def test_the_role_of_who_asked_limits_the_process_too(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    users = start_task(conn, "odd.greedy", role="user")
    with worker(embedded_db, 64):
        failed = wait_for(conn, users, lambda t: not t.is_open)
    assert failed.error is not None and "your limit is 0.3 GiB" in failed.error["message"]


def test_the_smaller_limit_holds_and_nobody_who_may_less_gets_more() -> None:
    assert Limits(1, 100, 1).within(Limits(2, 3, 4)) == Limits(1, 3, 1)
    assert Limits(1, 2, 3).within(None) == Limits(1, 2, 3)
    user, operator = LIMITS_BY_ROLE["user"], LIMITS_BY_ROLE["operator"]
    assert operator.within(user) == user and "admin" not in LIMITS_BY_ROLE


@pytest.mark.system("processes")
def test_a_task_whose_process_dies_is_tried_once_more_and_the_worker_lives(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    dying, after = start_task(conn, "odd.dying"), start_task(conn, "odd.wordy", {"path": "/dev/null"})
    with worker(embedded_db) as process:
        failed = wait_for(conn, dying, lambda t: not t.is_open)
        assert (failed.state, failed.attempts) == ("failed", 2)
        assert failed.error == {"kind": "internal", "message": "its process died 2 times"}
        assert wait_for(conn, after, lambda t: not t.is_open).state == "succeeded"
        assert process.poll() is None
