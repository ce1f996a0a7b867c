"""A supervisor that lacks room on the disk, files or memory: it watches on, and starts what ended once it can."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from support import disks
from support.waiting import eventually

from flitwatch_ops import supervisor as supervising
from flitwatch_ops.supervisor import Process, Supervisor

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@contextlib.contextmanager
def watched(home: Path) -> Iterator[tuple[Supervisor, threading.Thread]]:
    """A supervisor of two sleepers, and the thread in which it watches them."""
    supervisor = Supervisor(home, [], [Process("one", SLEEPER), Process("two", SLEEPER)])
    supervisor._heed_signals = lambda: None  # type: ignore[method-assign]  # signals belong to the main thread
    supervisor.start(lambda line: None)
    thread = threading.Thread(target=supervisor.run, args=({},))
    thread.start()
    try:
        eventually(lambda: b'"state":"running"' in supervisor.state_file.read_bytes())
        yield supervisor, thread
    finally:
        supervisor._stopping.set()
        thread.join()
        supervisor.stop()


def kill_one(supervisor: Supervisor) -> int:
    handle = supervisor.children[0].handle
    assert handle is not None
    handle.send_signal(signal.SIGKILL)
    return handle.pid


def runs_anew(supervisor: Supervisor, killed: int) -> bool:
    handle = supervisor.children[0].handle
    return handle is not None and handle.pid != killed and handle.poll() is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    with disks.small_disk(tmp_path / "disk", "1m") as disk:
        yield disk


def test_on_a_full_disk_what_ends_is_started_and_the_state_is_written_later(small_disk: Path) -> None:
    with watched(small_disk / "home") as (supervisor, thread):
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again on the full disk")
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed), what="it to run once more")
        assert thread.is_alive()
        ballast.unlink()
        new = supervisor.children[0].handle
        assert new is not None
        eventually(
            lambda: orjson.loads(supervisor.state_file.read_bytes())["processes"][0]["pid"] == new.pid,
            what="the state to be written",
        )


def test_without_files_what_ends_is_started_once_there_are_some(tmp_path: Path) -> None:
    with watched(tmp_path) as (supervisor, thread):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            killed = kill_one(supervisor)
            child = supervisor.children[0]
            # Tried at least twice.
            eventually(lambda: child.handle is None and child.start_after > child.started_at, what="a first try")
            first = child.start_after
            eventually(lambda: child.start_after > first or not thread.is_alive(), what="a second try")
            assert thread.is_alive() and child.restarts == 0
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again")
        held = len(os.listdir("/proc/self/fd"))
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed))
        assert len(os.listdir("/proc/self/fd")) == held


@pytest.mark.parametrize("lack", [OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError()])
def test_without_memory_what_ends_is_started_once_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: Exception
) -> None:
    """Memory cannot be made short for one thread: the start of a process fails here as it fails then."""
    tries: list[object] = []

    def refuse(*_: object, **__: object) -> None:
        tries.append(1)
        raise lack

    with watched(tmp_path) as (supervisor, thread):
        with monkeypatch.context() as without:
            without.setattr(supervising.subprocess, "Popen", refuse)
            killed = kill_one(supervisor)
            eventually(lambda: len(tries) > 1 or not thread.is_alive(), what="a second try")
            assert thread.is_alive()
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again")
