"""Misbehaving tasks, loaded by a test's worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from flitwatch_db.tasks import TaskContext


def _deaf(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Looks at no flag, ignores SIGTERM, and has a child that does the same."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    context.report(1, 2, f"{os.getpid()} {child.pid}")
    while True:
        time.sleep(3600)


def _greedy(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Its child takes the memory."""
    code = "held = [bytearray(b'x' * 2**24) for _ in range(40)]; import time; time.sleep(3600)"
    subprocess.run([sys.executable, "-c", code], check=True)
    return {}


def _slow(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    time.sleep(3600)
    return {}


def _wordy(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    with Path(args["path"]).open("wb") as file:
        for _ in range(64):
            file.write(b"x" * 2**20)
    return {}


def _dying(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


HANDLERS = {"odd.deaf": _deaf, "odd.greedy": _greedy, "odd.slow": _slow, "odd.wordy": _wordy, "odd.dying": _dying}
