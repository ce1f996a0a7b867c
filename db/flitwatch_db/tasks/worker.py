"""Worker: takes tasks from its queues, runs each in a separate process, and recovers the tasks of dead workers."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from flitwatch_db.core.connection import connect
from flitwatch_db.core.deadlines import STATEMENT_S, STILL_S
from flitwatch_db.tasks import table, upkeep
from flitwatch_db.tasks.process import LIMITS_BY_ROLE, Ending, Limits, TaskProcess
from flitwatch_db.tasks.record import HEARTBEAT_S, TaskRecord
from flitwatch_domain.errors import FlitwatchError, Unavailable
from flitwatch_domain.heartbeat import WAIT_S, Heartbeat
from flitwatch_domain.json_logs import request_id

log = logging.getLogger(__name__)

#: A task whose worker was silent for this long is tried once more.
STALLED_AFTER_S = 60.0
ATTEMPTS = 2
#: Time limit for writing a result while the database is unavailable.
WRITE_TIMEOUT_S = 120.0
RECONNECT_S = 1.0
#: A worker that has taken only users' tasks for this long takes a scheduled one next: under steady load these would never start.
SCHEDULED_WITHIN_S = 600.0
SHUTDOWN_S = 10.0
#: A signal to a service often reaches all its processes; if it ends a task first, the task waits this long for the worker's own signal.
SAME_SIGNAL_S = 1.0
_RECOVER = SQL("""
    UPDATE task SET state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempts < %s THEN 'queued' ELSE 'failed' END,
        finished_at = CASE WHEN cancel_requested OR attempts >= %s THEN clock_timestamp() END,
        message = %s, error = CASE WHEN NOT cancel_requested AND attempts >= %s THEN %s END
    WHERE state = 'running' AND
""")


@dataclass(frozen=True)
class _Attempt:
    """One attempt of a task, from 1, with the author's role and the request that started the task."""

    task_id: int
    name: str
    number: int
    args: dict[str, Any]
    role: str | None
    request_id: str | None


class Worker:
    """Worker that runs tasks until it is stopped.

    Parameters
    ----------
    dsn : str
        URL of the database.
    handlers : mapping
        Supported tasks: by task name, the module whose table HANDLERS has the handler.
    concurrency : int
        Number of concurrent tasks, each in a process.
    stalled_after_s : float
        Time without a heartbeat after which a worker counts as dead.
    periodic : mapping, optional
        By name: a period in seconds, and a function that one of the queue's workers then calls with the database's URL.
    services : mapping, optional
        By name: a function that runs in a thread alongside the tasks until the worker stops.
    heartbeat : Heartbeat, optional
        Updated in each iteration of the loop that takes tasks; tasks have separate processes.
    limits : Limits, optional
        Limits of each task.
    limits_by_role : mapping, optional
        Limits of a task by its author's role; LIMITS_BY_ROLE by default.
    prepare : callable, optional
        Called first in each task's process, for instance to set up logging.
    executor : str
        Executor of a task's independent parts; see `flitwatch_db.tasks.executors`.
    """

    def __init__(
        self,
        dsn: str,
        handlers: Mapping[str, str],
        concurrency: int = 1,
        stalled_after_s: float = STALLED_AFTER_S,
        periodic: Mapping[str, tuple[float, Callable[[str], object]]] | None = None,
        services: Mapping[str, Callable[[str, threading.Event], None]] | None = None,
        heartbeat: Heartbeat | None = None,
        limits: Limits | None = None,
        limits_by_role: Mapping[str, Limits] | None = None,
        prepare: Callable[[], None] | None = None,
        executor: str = "local:1",
    ) -> None:
        self.dsn = dsn
        self.handlers = dict(handlers)
        self.queues = sorted({table.queue_of(name) for name in handlers})
        self.concurrency = concurrency
        self.stalled_after_s = stalled_after_s
        self.services = dict(services or {})
        if periodic:
            self.services["periodic"] = functools.partial(upkeep.run_periodic, dict(periodic))
        if table.MAINTENANCE in self.handlers:
            self.services["upkeep"] = upkeep.run_upkeep
        self.heartbeat = heartbeat or Heartbeat()
        self.limits = limits or Limits()
        self.limits_by_role = LIMITS_BY_ROLE if limits_by_role is None else limits_by_role
        self.prepare = prepare
        self.executor = executor
        self.heartbeat_s = min(HEARTBEAT_S, stalled_after_s / 4)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._stopping = threading.Event()
        self._slots: list[threading.Thread] = []
        self._scheduled_s = time.monotonic()

    def run(self) -> None:
        """Run tasks until `stop` is called or the process gets SIGTERM or SIGINT."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        threads = [
            threading.Thread(target=serve, args=(self.dsn, self._stopping), name=name, daemon=True)
            for name, serve in self.services.items()
        ]
        for thread in threads:
            thread.start()
        while not self._stopping.is_set():
            try:
                with self._open_connection("flitwatch worker") as conn:
                    self._serve_queues(conn)
            except (psycopg.Error, OSError, FlitwatchError) as problem:
                log.warning("the queue is not reachable: %s", problem)
                self.heartbeat.wait(self._stopping, RECONNECT_S)
        for slot in self._slots:
            slot.join()
        for thread in threads:
            thread.join(SHUTDOWN_S)

    def stop(self) -> None:
        """Stop soon: running tasks are asked to stop and return to the queue. Can be called from any thread."""
        self._stopping.set()

    def _serve_queues(self, conn: psycopg.Connection[Any]) -> None:
        """Start queued tasks, register this worker and recover tasks of dead workers, until stopped or until the database is unavailable."""
        conn.execute(f"LISTEN {table.CHANNEL}".encode())
        signed_s = looked_s = -math.inf
        try:
            while not self._stopping.is_set():
                self.heartbeat.beat()
                now_s = time.monotonic()
                if now_s - signed_s >= self.heartbeat_s:
                    self._sign_in(conn)
                    signed_s = now_s
                if now_s - looked_s >= self.stalled_after_s / 4:
                    self._recover_stalled(conn)
                    looked_s = now_s
                self._fill_slots(conn)
                for _ in conn.notifies(timeout=WAIT_S, stop_after=1):
                    pass
        finally:
            with contextlib.suppress(psycopg.Error):
                conn.execute("DELETE FROM worker WHERE name = %s", [self.name])

    def _open_connection(self, application: str) -> psycopg.Connection[Any]:
        return connect(
            self.dsn, role="writer", application=application, autocommit=True, statement_s=STATEMENT_S, still_s=STILL_S
        )

    def _sign_in(self, conn: psycopg.Connection[Any]) -> None:
        """Register this worker with its queues, and remove workers without a heartbeat."""
        conn.execute(
            "INSERT INTO worker (name, queues) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET queues = excluded.queues, seen_at = excluded.seen_at",
            [self.name, self.queues],
        )
        conn.execute(
            "DELETE FROM worker WHERE seen_at < clock_timestamp() - make_interval(secs => %s)", [self.stalled_after_s]
        )

    def _fill_slots(self, conn: psycopg.Connection[Any]) -> None:
        self._slots = [slot for slot in self._slots if slot.is_alive()]
        while len(self._slots) < self.concurrency and not self._stopping.is_set():
            attempt = self._take_task(conn)
            if attempt is None:
                return
            slot = threading.Thread(target=self._work_slot, args=(attempt,), name=f"task {attempt.task_id}")
            self._slots.append(slot)
            slot.start()

    def _work_slot(self, attempt: _Attempt | None) -> None:
        """Run a task, and further ones as long as there are any."""
        try:
            while attempt is not None:
                self._perform_task(attempt)
                if self._stopping.is_set():
                    return
                with self._open_connection("flitwatch worker") as conn:
                    attempt = self._take_task(conn)
        except (psycopg.Error, OSError, FlitwatchError) as problem:
            log.warning("the worker lost touch with a task: %s", problem)

    def _take_task(self, conn: psycopg.Connection[Any]) -> _Attempt | None:
        """Mark a queued task as running; return None if the queue is empty. Users' tasks come first, then the schedule's in the order of the handlers; but
        after SCHEDULED_WITHIN_S, the oldest of the schedule's comes first."""
        users_last = time.monotonic() - self._scheduled_s >= SCHEDULED_WITHIN_S
        with conn.transaction():
            row = conn.execute(
                "UPDATE task SET state = 'running', attempts = attempts + 1, started_at = coalesce(started_at, clock_timestamp()),"
                " heartbeat_at = clock_timestamp(), worker = %s, done = 0, message = ''"
                " WHERE task_id = (SELECT task_id FROM task WHERE state = 'queued' AND name = ANY(%s)"
                " ORDER BY CASE WHEN created_by IS DISTINCT FROM %s THEN %s WHEN %s THEN 0 ELSE array_position(%s::text[], name) END, task_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                " RETURNING task_id, name, attempts, args, role, request_id, created_by",
                [
                    self.name,
                    list(self.handlers),
                    table.SCHEDULE,
                    int(users_last),
                    users_last,
                    list(self.handlers),
                ],
            ).fetchone()
            if row is None:
                return None
            table.emit_task_event(conn, row[0])
        *attempt, created_by = row
        if created_by == table.SCHEDULE:
            self._scheduled_s = time.monotonic()
        return _Attempt(*attempt)

    def _perform_task(self, attempt: _Attempt) -> None:
        """Run one attempt of a task to its end."""
        request_id.set(attempt.request_id)
        log.info("task %d (%s) begins", attempt.task_id, attempt.name)
        limits = self.limits.within(self.limits_by_role.get(attempt.role or ""))
        process = TaskProcess(
            self.handlers[attempt.name],
            attempt.name,
            sorted(set(self.handlers.values())),
            limits,
            self.prepare,
            self.executor,
        )
        with TaskRecord(self.dsn, attempt.task_id, attempt.number, self.heartbeat_s) as record:
            ending = process.run(attempt.args, record, self._stopping.is_set)
            if ending.state == "lost" and not self._stopping.wait(SAME_SIGNAL_S) and not record.cancelled():
                with self._open_connection("flitwatch worker") as conn:
                    self._recover_tasks(
                        conn, "its process died", "task_id = %s AND attempts = %s", [attempt.task_id, attempt.number]
                    )
                return
            stopped = self._stopping.is_set() and not record.cancelled()
        if stopped and ending.state in ("cancelled", "lost"):
            self._give_back(attempt)
        else:
            self._end(attempt, Ending("cancelled") if ending.state == "lost" else ending)

    def _end(self, attempt: _Attempt, ending: Ending) -> None:
        log.info("task %d %s", attempt.task_id, ending.state)
        self._write_ending(
            attempt,
            "state = %s, result = %s, error = %s, finished_at = clock_timestamp()",
            [
                ending.state,
                None if ending.result is None else Jsonb(ending.result),
                None if ending.error is None else Jsonb(ending.error),
            ],
        )

    def _give_back(self, attempt: _Attempt) -> None:
        # The attempt does not count: the task did not fail.
        self._write_ending(attempt, "state = 'queued', attempts = attempts - 1, message = 'its worker was stopped'", [])

    def _write_ending(self, attempt: _Attempt, assignments: LiteralString, parameters: list[Any]) -> None:
        """Write the result of an attempt, retrying while the database is unavailable."""
        query = SQL("UPDATE task SET {} WHERE task_id = %s AND attempts = %s AND state = 'running'").format(
            SQL(assignments)
        )
        deadline = time.monotonic() + WRITE_TIMEOUT_S
        while True:
            try:
                with self._open_connection(f"flitwatch task {attempt.task_id}") as conn, conn.transaction():
                    conn.execute(query, [*parameters, attempt.task_id, attempt.number])
                    table.emit_task_event(conn, attempt.task_id)
                return
            except (psycopg.OperationalError, Unavailable):
                if time.monotonic() > deadline:
                    raise
                time.sleep(RECONNECT_S)

    def _recover_stalled(self, conn: psycopg.Connection[Any]) -> None:
        self._recover_tasks(
            conn,
            "its worker died",
            "split_part(name, '.', 1) = ANY(%s) AND heartbeat_at < clock_timestamp() - make_interval(secs => %s)",
            [self.queues, self.stalled_after_s],
        )

    def _recover_tasks(
        self, conn: psycopg.Connection[Any], why: str, condition: LiteralString, parameters: list[Any]
    ) -> None:
        """Return running tasks to the queue, or mark them as failed after too many attempts."""
        failure = Jsonb({"kind": "internal", "message": f"{why} {ATTEMPTS} times"})
        with conn.transaction():
            rows = conn.execute(
                _RECOVER + SQL(condition) + SQL(" RETURNING task_id, state"),
                [ATTEMPTS, ATTEMPTS, why, ATTEMPTS, failure, *parameters],
            ).fetchall()
            for task_id, state in rows:
                log.warning("task %d: %s; it is now %s", task_id, why, state)
                table.emit_task_event(conn, task_id)
