"""Tasks of the queue, as a test follows them."""

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
    """Return the task, once it meets the condition."""

    def met() -> Task | None:
        task = get_task(conn, task_id)
        return task if condition(task) else None

    return eventually(met, timeout_s, what="the task to meet the condition", detail=lambda: get_task(conn, task_id))


# Calls that tests send to executors: a worker imports them by name.


def drawn(seed: int) -> tuple[bytes, int]:
    """Return bits that depend on the seed alone, and the process that drew them."""
    return np.random.default_rng(seed).standard_normal(1000).cumsum().tobytes(), os.getpid()


def endless(folder: Path, number: int) -> None:
    """Touch a file again and again, so that others see whether this still runs."""
    while True:
        (folder / str(number)).write_text(str(time.monotonic_ns()))
        time.sleep(0.01)


def once_fatal(marker: Path, seed: int) -> bytes:
    """Return end the whole process the first time that anybody runs this; later return what `drawn` does."""
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
    """Calls that run in this process: beside each a thread looks whether to stop."""
    return sum(thread.name == "flitwatch stop" for thread in threading.enumerate())


# A worker of the queue that estimates.


@contextlib.contextmanager
def worker(url: str) -> Iterator[None]:
    """A worker of the estimators, as a site runs it."""
    argv = [sys.executable, "-m", "flitwatch.main", "worker", "--db", url, "--queue", "ml"]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.kill()
        running.wait()
