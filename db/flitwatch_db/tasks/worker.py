"""The worker: takes tasks from their queues, runs each in a process of its own, and picks up what dead workers left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from flitwatch_db.core.connection import build_conninfo, connect
from flitwatch_db.core.deadlines import STILL_S
from flitwatch_db.tasks import table, upkeep
from flitwatch_db.tasks.process import LIMITS_BY_ROLE, Ending, Limits, TaskProcess
from flitwatch_db.tasks.record import TaskRecord
from flitwatch_domain.errors import FlitwatchError, Unavailable
from flitwatch_domain.heartbeat import WAIT_S, Heartbeat
from flitwatch_domain.json_logs import request_id

log = logging.getLogger(__name__)

#: A worker that was silent for so long is dead; its tasks are tried once more.
STALLED_AFTER_S = 60.0
ATTEMPTS = 2
#: How long an ending is tried to be written while the database is away.
WRITE_TIMEOUT_S = 120.0
RECONNECT_S = 1.0
SHUTDOWN_S = 10.0
#: A signal to a service often goes to all its processes; a task that it ended first waits so long for the worker's own.
SAME_SIGNAL_S = 1.0
_RECOVERY_LOCK = 7205759403792800


class Interrupted(Exception):
    """The worker is being shut down, or the task's process died; the task goes back to the queue."""


@dataclass(frozen=True)
class _Begun:
    """A task that begins: its attempt, from 1, its arguments, the role of who asked for it, and the request that did."""

    attempt: int
    args: dict[str, Any]
    role: str | None
    request_id: str | None


class Worker:
    """Runs tasks until it is stopped.

    Parameters
    ----------
    dsn : str
        The database.
    handlers : mapping
        What it can do: by task name, the module whose table HANDLERS has the handler.
    queues : sequence of str, optional
        Only tasks of these queues (a name's first word); all that it has handlers for by default.
    concurrency : int
        Tasks at a time, each in a process.
    stalled_after_s : float
        After how much silence a worker counts as dead.
    periodic : mapping, optional
        By task name: a cron line, and what is called with the database then, on one of the workers of its queue.
    services : mapping, optional
        By name: what runs in a thread alongside the tasks until the worker stops.
    heartbeat : Heartbeat, optional
        Beats as long as the loop that takes tasks comes round; tasks have processes of their own.
    limits : Limits, optional
        What each task may use.
    limits_by_role : mapping, optional
        What a task may use at most by the role of who asked for it; LIMITS_BY_ROLE without one.
    prepare : callable, optional
        Called first in each task's process, for instance to set up the log.
    executor : str
        Where the independent parts of a task run; see `flitwatch_db.tasks.executors`.
    """

    def __init__(
        self,
        dsn: str,
        handlers: Mapping[str, str],
        queues: Sequence[str] | None = None,
        concurrency: int = 1,
        stalled_after_s: float = STALLED_AFTER_S,
        periodic: Mapping[str, tuple[str, Callable[[str], object]]] | None = None,
        services: Mapping[str, Callable[[str, threading.Event], None]] | None = None,
        heartbeat: Heartbeat | None = None,
        limits: Limits | None = None,
        limits_by_role: Mapping[str, Limits] | None = None,
        prepare: Callable[[], None] | None = None,
        executor: str = "local:1",
    ) -> None:
        self.dsn = dsn
        self.handlers = dict(handlers)
        self.queues = sorted(set(queues) if queues else {table.queue_of(name) for name in handlers})
        self.concurrency = concurrency
        self.stalled_after_s = stalled_after_s
        self.periodic = dict(periodic or {})
        self.services = dict(services or {})
        if table.MAINTENANCE in self.handlers:
            self.services["upkeep"] = upkeep.run_upkeep
        self.heartbeat = heartbeat or Heartbeat()
        self.limits = limits or Limits()
        self.limits_by_role = LIMITS_BY_ROLE if limits_by_role is None else limits_by_role
        self.prepare = prepare
        self.executor = executor
        self.heartbeat_s = min(10.0, stalled_after_s / 4)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._stopping = threading.Event()
        self._procrastinate: Any = None

    def run(self) -> None:
        """Work until `stop` is called or the process gets SIGTERM or SIGINT."""
        beside = [
            threading.Thread(target=serve, args=(self.dsn, self._stopping), name=name, daemon=True)
            for name, serve in self.services.items()
        ]
        for thread in beside:
            thread.start()
        asyncio.run(self._run_loop())
        for thread in beside:
            thread.join(SHUTDOWN_S)

    def stop(self) -> None:
        """Stop soon: running tasks are asked to stop and go back to the queue. May be called from any thread."""
        self._stopping.set()
        worker = self._procrastinate
        if worker is not None:
            worker.stop()

    async def _run_loop(self) -> None:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
        beating = asyncio.create_task(self._send_heartbeats())
        while not self._stopping.is_set():
            try:
                await self._serve_queue()
            except (psycopg.Error, OSError, FlitwatchError, _connector_errors()) as problem:
                log.warning("the queue is not reachable: %s", problem)
            if not self._stopping.is_set():
                await asyncio.sleep(RECONNECT_S)
        beating.cancel()

    async def _send_heartbeats(self) -> None:
        while True:
            self.heartbeat.beat()
            await asyncio.sleep(WAIT_S)

    async def _serve_queue(self) -> None:
        """Work until stopped or until the database goes away."""
        from procrastinate import App, PsycopgConnector
        from procrastinate.worker import Worker as Taker

        info = build_conninfo(self.dsn, role="writer", application="flitwatch worker", schema="queue")
        app = App(connector=PsycopgConnector(conninfo=info, min_size=1, max_size=self.concurrency + 3, timeout=10))
        self._register_handlers(app)
        async with app.open_async():
            taker = Taker(
                app,
                queues=self.queues,
                name=self.name,
                concurrency=self.concurrency,
                install_signal_handlers=False,
                update_heartbeat_interval=self.heartbeat_s,
                stalled_worker_timeout=self.stalled_after_s,
                shutdown_graceful_timeout=SHUTDOWN_S,
            )
            self._procrastinate = taker
            recovery = asyncio.gather(self._recover_forever(app), self._stay_known(app, taker))
            try:
                if not self._stopping.is_set():
                    await taker.run()
            finally:
                self._procrastinate = None
                recovery.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await recovery

    async def _stay_known(self, app: Any, taker: Any) -> None:
        """Write down which queues this worker serves; register it again where another took it for dead while it was frozen."""

        def known(number: int) -> bool:
            with self._open_connection("flitwatch worker") as conn:
                conn.execute(
                    "DELETE FROM worker_queue WHERE worker_id NOT IN (SELECT id FROM queue.procrastinate_workers)"
                )
                conn.execute(
                    "INSERT INTO worker_queue SELECT id, unnest(%s::text[]) FROM queue.procrastinate_workers WHERE id = %s"
                    " ON CONFLICT DO NOTHING",
                    [self.queues, number],
                )
                return conn.execute("SELECT FROM queue.procrastinate_workers WHERE id = %s", [number]).rowcount == 1

        while taker.worker_id is None:
            await asyncio.sleep(0.05)
        while (number := taker.worker_id) is not None and not self._stopping.is_set():
            pause_s = self.heartbeat_s
            try:
                if not await asyncio.to_thread(known, number) and not self._stopping.is_set():
                    log.warning("this worker missed its heartbeats; re-registering")
                    # Its tasks are others' by now, as those of a dead worker; the queue's heartbeats name the new number from here on.
                    taker.worker_id = await app.job_manager.register_worker()
                    pause_s = 0.0
            except (psycopg.Error, OSError, FlitwatchError, _connector_errors()) as problem:
                log.warning("this worker's queues are not recorded yet: %s", problem)
                pause_s = RECONNECT_S
            await asyncio.sleep(pause_s)

    def _open_connection(self, application: str) -> psycopg.Connection[Any]:
        return connect(self.dsn, role="writer", application=application, still_s=STILL_S)

    def _register_handlers(self, app: Any) -> None:
        from procrastinate import RetryStrategy

        again = RetryStrategy(retry_exceptions={Interrupted})
        for name in self.handlers:
            app.task(name=name, queue=table.queue_of(name), retry=again)(self._build_task_job(name))
        for name, (cron, call) in self.periodic.items():
            regular = app.task(name=f"{name}.periodic", queue=table.queue_of(name), queueing_lock=f"{name}.periodic")
            app.periodic(cron=cron)(regular(self._build_periodic_job(name, call)))

    def _build_periodic_job(self, name: str, call: Callable[[str], object]) -> Any:
        def job(timestamp: int) -> None:
            try:
                call(self.dsn)
            except (psycopg.Error, FlitwatchError) as problem:
                log.warning("%s: %s", name, problem)

        return job

    def _build_task_job(self, name: str) -> Any:
        def job(task_id: int) -> None:
            self._perform_task(task_id, name)

        return job

    def _perform_task(self, task_id: int, name: str) -> None:
        """Run one task from its row to its end."""
        begun = self._begin(task_id)
        if begun is None:
            return
        request_id.set(begun.request_id)
        log.info("task %d (%s) begins", task_id, name)
        limits = self.limits.within(self.limits_by_role.get(begun.role or ""))
        process = TaskProcess(
            self.handlers[name], name, sorted(set(self.handlers.values())), limits, self.prepare, self.executor
        )
        with TaskRecord(self.dsn, task_id, begun.attempt) as record:
            ending = process.run(begun.args, record, self._stopping.is_set)
            if ending.state == "lost" and not self._stopping.wait(SAME_SIGNAL_S) and not record.cancelled():
                if self._recover_row(task_id, "its process died"):
                    raise Interrupted
                return
            stopped = self._stopping.is_set() and not record.cancelled()
        if stopped and ending.state in ("cancelled", "lost"):
            self._give_back(task_id, begun.attempt)
            raise Interrupted
        self._end(task_id, begun.attempt, Ending("cancelled") if ending.state == "lost" else ending)

    def _begin(self, task_id: int) -> _Begun | None:
        """Mark a task as running; None if it was cancelled or has ended meanwhile."""
        with self._open_connection(f"flitwatch task {task_id}") as conn:
            row = conn.execute(
                "UPDATE task SET state = 'running', attempts = attempts + 1, started_at = coalesce(started_at, clock_timestamp()),"
                " heartbeat_at = clock_timestamp(), worker = %s, done = 0, message = ''"
                " WHERE task_id = %s AND state IN ('queued', 'running') RETURNING attempts, args, role, request_id",
                [self.name, task_id],
            ).fetchone()
            table.emit_task_event(conn, task_id)
        return None if row is None else _Begun(*row)

    def _end(self, task_id: int, attempt: int, ending: Ending) -> None:
        log.info("task %d %s", task_id, ending.state)
        self._write_ending(
            task_id,
            "UPDATE task SET state = %s, result = %s, error = %s, finished_at = clock_timestamp()"
            " WHERE task_id = %s AND attempts = %s AND state = 'running'",
            [
                ending.state,
                None if ending.result is None else Jsonb(ending.result),
                None if ending.error is None else Jsonb(ending.error),
                task_id,
                attempt,
            ],
        )

    def _give_back(self, task_id: int, attempt: int) -> None:
        # The attempt does not count: the task did not fail.
        self._write_ending(
            task_id,
            "UPDATE task SET state = 'queued', attempts = attempts - 1, message = 'its worker was stopped'"
            " WHERE task_id = %s AND attempts = %s AND state = 'running'",
            [task_id, attempt],
        )

    def _write_ending(self, task_id: int, query: str, parameters: list[Any]) -> None:
        """Write an ending, also if the database is unavailable for a while."""
        deadline = time.monotonic() + WRITE_TIMEOUT_S
        while True:
            try:
                with self._open_connection(f"flitwatch task {task_id}") as conn:
                    conn.execute(query.encode(), parameters)
                    table.emit_task_event(conn, task_id)
                return
            except (psycopg.OperationalError, Unavailable):
                if time.monotonic() > deadline:
                    raise
                time.sleep(RECONNECT_S)

    async def _recover_forever(self, app: Any) -> None:
        # One that is stopping beats no more; it must not take its own tasks, which it gives back, for a dead worker's.
        while not self._stopping.is_set():
            try:
                await self._recover_stalled(app)
            except (psycopg.Error, FlitwatchError, _connector_errors()) as problem:
                log.warning("not searching for dead workers: %s", problem)
            await asyncio.sleep(self.stalled_after_s / 4)

    async def _recover_stalled(self, app: Any) -> None:
        """Give the tasks of dead workers back to the queue once; fail them the second time."""
        from procrastinate.jobs import Status

        stalled = [
            job
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=self.stalled_after_s)
            if job.queue in self.queues
        ]
        for job in stalled:
            task_id = job.task_kwargs.get("task_id")
            again = task_id is not None and await asyncio.to_thread(self._recover_row, int(task_id))
            with contextlib.suppress(_connector_errors()):
                # Another worker may have been quicker.
                if again:
                    await app.job_manager.retry_job(job)
                else:
                    await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)

    def _recover_row(self, task_id: int, why: str = "its worker died") -> bool:
        """Put a running task back into the queue, or fail it after too many attempts; return whether it is to be tried again."""
        with self._open_connection("flitwatch worker") as conn:
            conn.execute("SELECT pg_advisory_xact_lock(%s)", [_RECOVERY_LOCK])
            row = conn.execute(
                "UPDATE task SET state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempts < %s THEN 'queued' ELSE 'failed' END,"
                " finished_at = CASE WHEN cancel_requested OR attempts >= %s THEN clock_timestamp() END,"
                " message = %s, error = CASE WHEN NOT cancel_requested AND attempts >= %s THEN %s END"
                " WHERE task_id = %s AND state = 'running' RETURNING state",
                [
                    ATTEMPTS,
                    ATTEMPTS,
                    why,
                    ATTEMPTS,
                    Jsonb({"kind": "internal", "message": f"{why} {ATTEMPTS} times"}),
                    task_id,
                ],
            ).fetchone()
            if row is not None:
                log.warning("task %d: %s; it is now %s", task_id, why, row[0])
                table.emit_task_event(conn, task_id)
                return bool(row[0] == "queued")
            queued = conn.execute("SELECT state = 'queued' FROM task WHERE task_id = %s", [task_id]).fetchone()
        return queued is not None and queued[0]


def _connector_errors() -> type[Exception]:
    from procrastinate.exceptions import ConnectorException

    return ConnectorException
