"""Supervisor of the platform's servers and processes: starts them in order, restarts failed ones, stops them in reverse order.

A *server* (database, broker) is an independent daemon with an idempotent `ensure`; a *process* is a child of the
supervisor. The supervisor writes its state to `<home>/run/state.json` before it starts anything, so that other commands can see and stop it.
A full disk or a lack of memory or file descriptors only delays it: failed starts and writes are retried.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

import orjson

from flitwatch_domain.errors import Cancelled, Unavailable
from flitwatch_domain.heartbeat import HANGS_AFTER_S
from flitwatch_ops.home import open_log, shorten_log
from flitwatch_ops.watched import PULSE_FD

log = logging.getLogger(__name__)

#: A child that lived this long restarts at once. One that dies earlier is delayed, up to the longest pause.
STEADY_S = 10.0
LONGEST_PAUSE_S = 15.0
STOP_TIMEOUT_S = 15.0
#: Interval of checks whether a server still runs.
KEEP_EVERY_S = 1.0
#: Delay before retrying after a lack of disk space, memory or file descriptors.
AGAIN_S = 1.0
#: Interval of checks whether a child has ended.
WATCH_EVERY_S = 0.2
#: Longest silence that one check of a child counts.
MOST_SILENCE_S = 1.0


@dataclass(frozen=True)
class Server:
    """Daemon that outlives its starter. `ensure` starts it if necessary and returns its URL; `title` is its display name.

    `fetch` downloads its dependencies. The first time takes minutes and can be interrupted.
    """

    name: str
    ensure: Callable[[], str]
    stop: Callable[[], None]
    title: str = ""
    fetch: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Process:
    """Child process. `ready`, if given, returns whether it serves requests. `metrics_port` is the port on which it must serve its metrics.

    A process whose loop reports heartbeats (`flitwatch_ops.watched`) is killed if they stop.
    """

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: Callable[[], bool] | None = None
    hangs_after_s: float = HANGS_AFTER_S
    metrics_port: int | None = None


class _StopRequested(BaseException):
    """Stop signal during an interruptible section. It is not an Exception, so failure handlers do not catch it."""


@dataclass
class _Child:
    process: Process
    handle: subprocess.Popen[bytes] | None = None
    output: IO[bytes] | None = None
    started_at: float = 0.0
    restarts: int = 0
    quick_deaths: int = 0
    start_after: float = 0.0
    #: Time when its end was noticed, and the seconds until its restart.
    ended_at: float | None = None
    down_s: float | None = None
    #: Read end of its heartbeat pipe, and the seconds since the last beat; None before the first beat.
    heartbeat: int | None = None
    silent_s: float | None = None

    def let_go(self) -> None:
        """Close the resources of a process that has ended or could not be started."""
        output, self.output = self.output, None
        heartbeat, self.heartbeat = self.heartbeat, None
        if output is not None:
            output.close()
        if heartbeat is not None:
            os.close(heartbeat)


class Supervisor:
    """Runs servers and processes until `stop` is called or a signal arrives."""

    def __init__(self, home: Path, servers: Sequence[Server], processes: Sequence[Process]) -> None:
        self.home = home
        self.servers = list(servers)
        self.children = [_Child(process) for process in processes]
        self._stopping = threading.Event()
        self._stop_requested = False
        self._breaks_off = False
        self._known: dict[str, object] = {}
        self._state: Literal["starting", "running"] = "starting"
        self._state_is_due = False
        self._keepers: list[threading.Thread] = []
        (home / "log").mkdir(parents=True, exist_ok=True)
        (home / "run").mkdir(parents=True, exist_ok=True)

    @property
    def state_file(self) -> Path:
        return self.home / "run" / "state.json"

    def begin(self, known: Mapping[str, object]) -> None:
        """Handle signals, and write a state file with state `starting` and the fields `known`. Call this before anything is started."""
        self._known.update(known)
        self._heed_signals()
        self._write_state()

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a stop signal interrupt a section that can take minutes, such as a download or a migration. Raise Cancelled if stopped before or during
        the section."""
        try:
            self._breaks_off = True
            if self._stop_requested:
                raise _StopRequested
            yield
        except _StopRequested:
            raise Cancelled("stopped while it started") from None
        finally:
            self._breaks_off = False

    def add(self, processes: Sequence[Process], known: Mapping[str, object]) -> None:
        """Add processes to start; `known` is added to the state file."""
        self.children += [_Child(process) for process in processes]
        self._known.update(known)

    def start(self, report: Callable[[str], None], timeout_s: float = 120.0) -> None:
        """Start every process in order and wait until each is ready. `report` receives one line per step. Raise Unavailable if a process is not ready
        in time. Raise Cancelled if stopped."""
        for child in self.children:
            report(f"starting {child.process.name}")
            self._spawn_child(child)
            self._write_state()
        deadline = time.monotonic() + timeout_s
        for child in self.children:
            ready = child.process.ready
            while ready is not None and not ready():
                if self._stop_requested:
                    raise Cancelled("stopped while it started")
                if time.monotonic() > deadline:
                    raise Unavailable(
                        f"{child.process.name} did not answer in {timeout_s:.0f} s", advice=f"See {self._log_of(child)}"
                    )
                for other in self.children:
                    if other.handle is None or other.handle.poll() is not None:
                        self._revive_child(other)
                        self._try_to_write_state()
                time.sleep(0.1)

    def run(self, extra: Mapping[str, object]) -> None:
        """Supervise until stopped; `extra` is added to the state file."""
        self._heed_signals()
        self._known.update(extra)
        self._state = "running"
        self._try_to_write_state()
        # Each server has its own keeper thread, so that a slow start does not delay other servers or the processes.
        self._keepers = [
            threading.Thread(target=self._keep_server, args=(server,), daemon=True) for server in self.servers
        ]
        for keeper in self._keepers:
            keeper.start()
        at = time.monotonic()
        while not (self._stop_requested or self._stopping.wait(WATCH_EVERY_S)):
            at, before = time.monotonic(), at
            for child in self.children:
                # A time during which this process was suspended says nothing about the others.
                _check_heartbeat(child, min(at - before, MOST_SILENCE_S))
                if child.output is not None:
                    shorten_log(self._log_of(child), child.output)
            ended = any(child.handle is None or child.handle.poll() is not None for child in self.children)
            if ended:
                for child in self.children:
                    self._revive_child(child)
            if ended or self._state_is_due:
                self._try_to_write_state()
        self.stop()

    def _heed_signals(self) -> None:
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, self._request_stop)

    def _request_stop(self, *_: object) -> None:
        # A flag, not the event: a signal handler can interrupt code that holds the event's lock.
        was_requested, self._stop_requested = self._stop_requested, True
        if self._breaks_off and not was_requested:
            raise _StopRequested

    def stop(self) -> None:
        """Stop processes in reverse order, then servers. Kill those that do not stop in time."""
        self._stopping.set()
        for child in reversed(self.children):
            _terminate_child(child)
        for keeper in self._keepers:
            # A keeper that is starting its server would restart it after its stop.
            keeper.join(STOP_TIMEOUT_S)
        for server in reversed(self.servers):
            with contextlib.suppress(Exception):
                server.stop()
        self.state_file.unlink(missing_ok=True)

    def _keep_server(self, server: Server) -> None:
        while not self._stopping.wait(KEEP_EVERY_S):
            try:
                server.ensure()
            except Exception as failure:
                log.warning("%s is down: %s", server.name, failure)

    def _log_of(self, child: _Child) -> Path:
        return self.home / "log" / f"{child.process.name}.log"

    def _spawn_child(self, child: _Child) -> None:
        child.silent_s = None
        try:
            child.output = open_log(self._log_of(child))
            child.heartbeat, beats = os.pipe()
            try:
                os.set_blocking(child.heartbeat, False)
                child.handle = subprocess.Popen(
                    list(child.process.argv),
                    env={**os.environ, **child.process.environment, PULSE_FD: str(beats)},
                    pass_fds=(beats,),
                    stdin=subprocess.DEVNULL,
                    stdout=child.output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            finally:
                os.close(beats)
        except BaseException:
            child.let_go()
            raise
        child.started_at = time.monotonic()

    def _revive_child(self, child: _Child) -> None:
        now = time.monotonic()
        if child.handle is not None and child.handle.poll() is not None:
            steady = now - child.started_at > STEADY_S
            child.quick_deaths = 0 if steady else child.quick_deaths + 1
            child.start_after = now + min(LONGEST_PAUSE_S, 0.2 * 2.0**child.quick_deaths)
            log.warning("%s exited with %s; restarting it", child.process.name, child.handle.returncode)
            child.handle = None
            child.ended_at = now
            child.let_go()
        if child.handle is None and now >= child.start_after:
            try:
                self._spawn_child(child)
            except (OSError, MemoryError) as lack:
                log.warning("%s cannot be started now: %s; trying again", child.process.name, lack)
                child.start_after = now + AGAIN_S
                return
            child.restarts += 1
            if child.ended_at is not None:
                child.down_s = round(time.monotonic() - child.ended_at, 1)
                log.info("%s was started again after %.1f s", child.process.name, child.down_s)

    def _try_to_write_state(self) -> None:
        try:
            self._write_state()
        except (OSError, MemoryError) as lack:
            if not self._state_is_due:
                log.warning("its state cannot be written now: %s; trying again", lack)
            self._state_is_due = True
        else:
            self._state_is_due = False

    def _write_state(self) -> None:
        state = {
            "pid": os.getpid(),
            "state": self._state,
            **self._known,
            "processes": [
                {
                    "name": c.process.name,
                    "pid": c.handle.pid if c.handle else None,
                    "restarts": c.restarts,
                    **({} if c.down_s is None else {"last_down_s": c.down_s}),
                    **({} if c.process.metrics_port is None else {"metrics_port": c.process.metrics_port}),
                }
                for c in self.children
            ],
        }
        temporary = self.state_file.with_suffix(".tmp")
        temporary.write_bytes(orjson.dumps(state))
        temporary.replace(self.state_file)


def _check_heartbeat(child: _Child, passed_s: float) -> None:
    """Record a child's heartbeats. Kill it if its main loop has stalled; it is then restarted like a crashed one."""
    if child.handle is None or child.heartbeat is None:
        return
    with contextlib.suppress(BlockingIOError):
        if os.read(child.heartbeat, 1 << 16):
            child.silent_s = 0.0
            return
    if child.silent_s is None:
        return
    child.silent_s += passed_s
    if child.silent_s > child.process.hangs_after_s and child.handle.poll() is None:
        log.warning("%s hangs: its loop was silent for %.0f s", child.process.name, child.silent_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.handle.pid, signal.SIGKILL)


def _terminate_child(child: _Child) -> None:
    handle = child.handle
    if handle is None or handle.poll() is not None:
        return
    handle.terminate()
    try:
        handle.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(handle.pid, signal.SIGKILL)
        handle.wait()


def read_running_state(home: Path) -> dict | None:
    """Return the state of the supervisor that runs or starts for `home`, or None if there is none. Its field `state` distinguishes the two."""
    path = home / "run" / "state.json"
    try:
        state = orjson.loads(path.read_bytes())
        os.kill(int(state["pid"]), 0)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    command = Path(f"/proc/{state['pid']}/cmdline")
    if command.exists() and b"flitwatch" not in command.read_bytes():
        return None  # the process id was reused by another program
    # An older version has no field `state`: it wrote the file only after all processes ran.
    return {"state": "running", **state}
