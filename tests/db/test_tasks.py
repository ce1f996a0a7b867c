"""Tasks end to end, with a real worker in a separate process."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest
from support.databases import list_events_since
from support.tasks import wait_for
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.estimates.advice import load_basis
from flitwatch_db.tasks import Limits, cancel_task, get_task, list_tasks, start_task
from flitwatch_db.tasks.process import LIMITS_BY_ROLE
from flitwatch_db.tasks.record import TaskRecord
from flitwatch_db.tasks.table import SCHEDULE
from flitwatch_db.tasks.upkeep import run_periodic
from flitwatch_db.tasks.worker import Worker
from flitwatch_domain.errors import BadRequest, Conflict, NotFound
from flitwatch_domain.json_logs import request_id

pytestmark = pytest.mark.integration

PATIENCE_S = 90.0


@contextlib.contextmanager
def worker(url: str, *options: str, log: int | IO[bytes] = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "worker",
        "--db",
        url,
        "--queue",
        "demo",
        "--stalled-after",
        "2",
        *options,
    ]
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=log)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.system("processes")
def test_a_task_runs_to_its_end(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start_task(conn, "demo.count", {"to": 8, "delay_s": 0.1}, created_by="a user")
    assert get_task(conn, task_id).state == "queued"
    with worker(embedded_db):
        running = wait_for(conn, task_id, lambda t: t.done > 0)
        assert (running.state, running.total) == ("running", 8)
        done = wait_for(conn, task_id, lambda t: not t.is_open)
    assert (done.state, done.result, done.done, done.attempts, done.error) == ("succeeded", {"counted": 8}, 8, 1, None)
    assert done.created_by == "a user"
    assert done.created_at <= done.started_at <= done.finished_at  # type: ignore[operator]
    payloads = [e.payload for e in list_events_since(conn, 0) if e.kind == "task"]
    assert [e["state"] for e in payloads][:2] == ["queued", "running"]
    assert payloads[-1]["state"] == "succeeded"
    counts = [e["done"] for e in payloads]
    assert counts == sorted(counts)
    assert len(payloads) < 4 + 8, "progress is written at most four times a second"


def test_a_running_and_a_waiting_task_are_cancelled(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    running = start_task(conn, "demo.count", {"to": 1000, "delay_s": 1})
    waiting = start_task(conn, "demo.count", {"to": 1})
    with worker(embedded_db):
        wait_for(conn, running, lambda t: t.state == "running")
        assert cancel_task(conn, waiting).state == "cancelled"
        assert cancel_task(conn, running).cancel_requested
        ended = wait_for(conn, running, lambda t: not t.is_open)
        assert (ended.state, ended.result) == ("cancelled", None)
        after = start_task(conn, "demo.count", {"to": 1, "delay_s": 0})
        assert wait_for(conn, after, lambda t: not t.is_open).state == "succeeded"
    assert get_task(conn, waiting).started_at is None
    with pytest.raises(Conflict, match="cancelled already"):
        cancel_task(conn, running)


@pytest.mark.system("processes")
def test_what_a_killed_worker_left_is_tried_once_more(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start_task(conn, "demo.count", {"to": 3, "delay_s": 3})
    with worker(embedded_db) as first:
        wait_for(conn, task_id, lambda t: t.state == "running")
        first.send_signal(signal.SIGKILL)
        first.wait()
    with worker(embedded_db):
        done = wait_for(conn, task_id, lambda t: not t.is_open)
    assert (done.state, done.attempts, done.result) == ("succeeded", 2, {"counted": 3})


@pytest.mark.system("processes")
def test_advice_counts_the_workers_that_make_its_basis(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    def living() -> tuple[int, int]:
        row = conn.execute("SELECT count(*) FROM worker").fetchone()
        return row[0], load_basis(conn).workers  # type: ignore[index]

    def until(wanted: tuple[int, int]) -> None:
        eventually(lambda: living() == wanted, PATIENCE_S, what=f"{wanted} workers", detail=living)

    task_id = start_task(conn, "demo.count", {"to": 1})
    with worker(embedded_db):
        wait_for(conn, task_id, lambda t: not t.is_open)
        assert living() == (1, 0)
        with worker(embedded_db, "--queue", "ml") as estimating:
            until((2, 1))
            estimating.terminate()
            estimating.wait()
            until((1, 0))


def test_a_worker_that_was_taken_for_dead_signs_in_again(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    """Frozen for longer than its heartbeats may be late, it is forgotten; it is known again without a restart."""

    def is_listed() -> bool:
        return conn.execute("SELECT FROM worker WHERE queues = '{demo}'").rowcount == 1

    with worker(embedded_db) as child:
        eventually(is_listed, PATIENCE_S, what="a worker to sign in")
        child.send_signal(signal.SIGSTOP)
        conn.execute("DELETE FROM worker")
        child.send_signal(signal.SIGCONT)
        eventually(is_listed, PATIENCE_S, what="the worker to sign in again")
        task_id = start_task(conn, "demo.count", {"to": 2, "delay_s": 0})
        assert wait_for(conn, task_id, lambda t: t.state == "succeeded").attempts == 1


def test_a_waiting_worker_takes_a_task_at_its_notice(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as other, connect(embedded_db, autocommit=True) as listener:
        listener.execute("LISTEN flitwatch_task")
        start_task(other, "demo.count", {"to": 1})
        assert list(listener.notifies(timeout=0)) == []
        other.commit()
        assert [notice.channel for notice in listener.notifies(timeout=PATIENCE_S, stop_after=1)] == ["flitwatch_task"]


@pytest.mark.system("processes")
def test_a_frozen_workers_task_is_run_by_another_and_its_own_result_is_refused(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    """The first worker's row is fenced by the number of the attempt."""
    task_id = start_task(conn, "demo.count", {"to": 3, "delay_s": 1})
    with worker(embedded_db) as frozen:
        wait_for(conn, task_id, lambda t: t.state == "running")
        frozen.send_signal(signal.SIGSTOP)
        with worker(embedded_db):
            wait_for(conn, task_id, lambda t: t.attempts == 2)
            frozen.send_signal(signal.SIGCONT)
            ended = wait_for(conn, task_id, lambda t: not t.is_open)
    assert (ended.state, ended.attempts, ended.result) == ("succeeded", 2, {"counted": 3})
    assert ended.worker is not None and not ended.worker.endswith(f":{frozen.pid}")


def test_progress_that_is_held_up_is_written_when_it_can_be(
    embedded_db: str, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flitwatch_db.tasks.record.STATEMENT_S", 0.1)
    task_id = start_task(conn, "demo.count", {"to": 8})
    conn.execute("UPDATE task SET state = 'running', attempts = 1 WHERE task_id = %s", [task_id])
    conn.commit()
    with TaskRecord(embedded_db, task_id, 1, heartbeat_s=0.1) as record:
        with connect(embedded_db, role="writer") as other:
            other.execute("SELECT FROM task WHERE task_id = %s FOR UPDATE", [task_id])
            record.report(3, 8, "")
            eventually(lambda: "statement timeout" in caplog.text)
        record.report(4, 8, "")
        wait_for(conn, task_id, lambda task: task.done == 4)
    with Worker(embedded_db, {})._open_connection("flitwatch worker") as own:
        assert own.execute("SHOW statement_timeout").fetchone() == ("30s",)


def test_one_worker_calls_periodic_work_once_per_period(embedded_db: str) -> None:
    calls: list[str] = []
    periodic = {
        "demo.often": (0.2, lambda url: calls.append("often")),
        "demo.hourly": (3600.0, lambda url: calls.append("hourly")),
    }
    stop = threading.Event()
    threads = [threading.Thread(target=run_periodic, args=(periodic, embedded_db, stop)) for _ in range(3)]
    for thread in threads:
        thread.start()
    eventually(lambda: calls.count("often") >= 3, PATIENCE_S, what="three periods")
    stop.set()
    for thread in threads:
        thread.join()
    assert calls.count("hourly") == 1


@pytest.mark.system("processes")
def test_a_task_that_kills_two_workers_fails(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start_task(conn, "demo.count", {"to": 1000, "delay_s": 1})
    for attempt in (1, 2):
        with worker(embedded_db) as child:
            wait_for(conn, task_id, lambda t, n=attempt: t.state == "running" and t.attempts == n)
            child.send_signal(signal.SIGKILL)
            child.wait()
    with worker(embedded_db):
        failed = wait_for(conn, task_id, lambda t: not t.is_open)
    assert failed.state == "failed"
    assert failed.error == {"kind": "internal", "message": "its worker died 2 times"}


@pytest.mark.system("processes")
def test_a_stopped_worker_gives_its_task_back(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start_task(conn, "demo.count", {"to": 4, "delay_s": 1})
    with worker(embedded_db) as first:
        wait_for(conn, task_id, lambda t: t.state == "running")
        first.terminate()
        assert first.wait(150) == 0
    assert get_task(conn, task_id).state == "queued"
    with worker(embedded_db):
        done = wait_for(conn, task_id, lambda t: not t.is_open)
    assert (done.state, done.attempts) == ("succeeded", 1)


@pytest.mark.system("processes")
def test_a_task_however_long_does_not_hold_up_maintenance(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    with connect(embedded_db, role="owner", autocommit=True) as owner:

        def grow_old() -> None:
            events.emit_event(owner, "old", {})
            owner.execute("UPDATE event SET at = now() - interval '8 days' WHERE kind = 'old'")

        def wait_until_dropped() -> None:
            old = "SELECT FROM event WHERE kind = 'old'"
            eventually(lambda: not owner.execute(old).rowcount, PATIENCE_S, 0.2, what="old events to be dropped")

        grow_old()
        long = start_task(conn, "demo.count", {"to": 3000, "delay_s": 1})
        with worker(embedded_db, "--queue", "db", "--concurrency", "1"):
            wait_for(conn, long, lambda t: t.done > 0)
            wait_until_dropped()
            # And again when it is time.
            owner.execute(
                "UPDATE setting SET value = to_jsonb(now() - interval '11 minutes') WHERE key = 'maintained_at'"
            )
            grow_old()
            wait_until_dropped()
            assert get_task(conn, long).state == "running"


def test_a_bad_argument_fails_with_a_reason(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start_task(conn, "demo.count", {"to": "many"})
    with worker(embedded_db):
        failed = wait_for(conn, task_id, lambda t: not t.is_open)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error["kind"] == "bad-input"


def test_what_a_user_asks_comes_first_and_the_schedule_follows_the_handlers_order(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    made = [
        ("demo.wait", SCHEDULE),
        ("demo.count", SCHEDULE),
        ("demo.wait", "a user"),
        ("demo.count", None),
        ("demo.count", SCHEDULE),
    ]
    tasks = [start_task(conn, name, created_by=author) for name, author in made]
    conn.commit()
    worker = Worker(embedded_db, {"demo.count": "unused", "demo.wait": "unused"})
    taken = [worker._take_task(conn) for _ in range(len(made) + 1)]
    assert [one and one.task_id for one in taken] == [*(tasks[place] for place in (2, 3, 1, 4, 0)), None]


def test_a_scheduled_task_starts_now_and_then_although_users_ask_for_more(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    made = [("demo.count", "a user"), ("demo.wait", SCHEDULE), ("demo.count", SCHEDULE), ("demo.count", "a user")]
    tasks = [start_task(conn, name, created_by=author) for name, author in made]
    conn.commit()
    # The oldest one starts, whatever the order of the handlers, so that no kind waits for ever.
    worker = Worker(embedded_db, {"demo.count": "unused", "demo.wait": "unused"})
    # It has taken no scheduled task for a long time.
    worker._scheduled_s = -math.inf
    taken = [worker._take_task(conn) for _ in tasks]
    assert [one and one.task_id for one in taken] == [tasks[place] for place in (1, 0, 3, 2)]


def test_a_task_starts_with_its_transaction(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    with connect(embedded_db, role="writer") as other:
        task_id = start_task(other, "demo.count")
        assert other.execute("SHOW search_path").fetchone() == ("flitwatch,public",)
        with pytest.raises(NotFound):
            get_task(conn, task_id)
        other.rollback()
    assert list_tasks(conn) == []


@pytest.mark.parametrize("name", ["count", "Demo.count", "demo.", "demo.count; drop table task", "a." + "b" * 200])
def test_names_are_checked(conn: psycopg.Connection[Any], name: str) -> None:
    with pytest.raises(BadRequest):
        start_task(conn, name)


@pytest.mark.system("processes")
def test_the_lines_of_a_task_carry_the_request_that_asked_for_it(
    embedded_db: str, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    held = request_id.set("asked-for-it")
    try:
        asked = start_task(conn, "demo.count", {"to": 1})
    finally:
        request_id.reset(held)
    alone = start_task(conn, "demo.count", {"to": 1})
    with (tmp_path / "log").open("wb") as log, worker(embedded_db, log=log):
        for task_id in (asked, alone):
            wait_for(conn, task_id, lambda t: not t.is_open)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    said = {line["message"]: line.get("request_id") for line in lines if line["message"].startswith("task ")}
    assert said == {
        f"task {asked} (demo.count) begins": "asked-for-it",
        f"task {asked} succeeded": "asked-for-it",
        f"task {alone} (demo.count) begins": None,
        f"task {alone} succeeded": None,
    }


# A task can be ended whatever it does, and says which limit ended it; a real worker runs tasks that resist.


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
def worker_of_processes(
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
    with worker_of_processes(embedded_db):
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
    with worker_of_processes(embedded_db) as process:
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
    with worker_of_processes(embedded_db, *limits):
        failed = wait_for(conn, task_id, lambda t: not t.is_open)
    assert failed.state == "failed" and failed.error is not None
    assert failed.error["kind"] == "too-costly" and words in failed.error["message"]
    assert failed.attempts == 1


def test_the_role_of_who_asked_limits_the_process_too(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    users = start_task(conn, "odd.greedy", role="user")
    with worker_of_processes(embedded_db, 64):
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
    with worker_of_processes(embedded_db) as process:
        failed = wait_for(conn, dying, lambda t: not t.is_open)
        assert (failed.state, failed.attempts) == ("failed", 2)
        assert failed.error == {"kind": "internal", "message": "its process died 2 times"}
        assert wait_for(conn, after, lambda t: not t.is_open).state == "succeeded"
        assert process.poll() is None
