"""A worker of the queue that estimates."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator


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
