"""Tasks of the queue, and waiting for them in tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from support.waiting import eventually

from flitwatch_db.tasks import Task, get_task


def wait_for(
    conn: psycopg.Connection[Any], task_id: int, condition: Callable[[Task], object], timeout_s: float = 150.0
) -> Task:
    """Wait until the task meets the condition, and return it."""

    def met() -> Task | None:
        task = get_task(conn, task_id)
        return task if condition(task) else None

    return eventually(met, timeout_s, what="the task to meet the condition", detail=lambda: get_task(conn, task_id))


# Calls that tests send to executors; a worker imports them by name.


def drawn(seed: int) -> tuple[bytes, int]:
    """Return bits that depend only on the seed, and the id of the process that drew them."""
    return np.random.default_rng(seed).standard_normal(1000).cumsum().tobytes(), os.getpid()


def endless(folder: Path, number: int) -> None:
    """Touch a file repeatedly, so that others can see whether this call is still running."""
    while True:
        (folder / str(number)).write_text(str(time.monotonic_ns()))
        time.sleep(0.01)


def once_fatal(marker: Path, seed: int) -> bytes:
    """End the whole process on the first call over all processes; later return the result of `drawn`."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return drawn(seed)[0]
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def refused(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def running_calls() -> int:
    """Return the number of calls running in this process, counted by their watcher threads."""
    return sum(thread.name == "flitwatch stop" for thread in threading.enumerate())


# A worker of the queue with the estimators.


@contextlib.contextmanager
def worker(url: str) -> Iterator[None]:
    """Run a worker of the estimators as on a site."""
    argv = [sys.executable, "-m", "flitwatch.main", "worker", "--db", url, "--queue", "ml"]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.kill()
        running.wait()
