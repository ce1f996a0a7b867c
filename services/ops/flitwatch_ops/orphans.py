"""What a supervisor that was killed left running: its processes go on, and nobody watches or stops them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, cast

import orjson

from flitwatch_ops.supervisor import STOP_TIMEOUT_S, running


class _Process(TypedDict, total=False):
    """What is read of a process in the state file."""

    pid: object


class KeptState(TypedDict, total=False):
    """What is read of the state file; nothing is sure of a file that somebody else may have written."""

    stack: str
    processes: Sequence[_Process]


def state_of(home: Path) -> KeptState:
    """What the last supervisor wrote of itself, whether it lives or not; empty where there is nothing that can be read."""
    try:
        state = orjson.loads((home / "run" / "state.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return cast(KeptState, state) if isinstance(state, dict) else {}


def forget(home: Path) -> None:
    """Remove what it wrote."""
    (home / "run" / "state.json").unlink(missing_ok=True)


def orphans(home: Path) -> list[int]:
    """Process ids that the state file names and that still run, while its supervisor does not."""
    if running(home) is not None:
        return []
    named = (process.get("pid") for process in state_of(home).get("processes", ()))
    return [pid for pid in named if isinstance(pid, int) and _is_ours(pid)]


def end_orphans(home: Path) -> list[int]:
    """End them, by force where they do not leave in time; return their process ids."""
    found = orphans(home)
    for pid in found:
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while any(map(_is_ours, found)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in filter(_is_ours, found):
        _signal(pid, signal.SIGKILL)
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    # Each was started in a session of its own.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _is_ours(pid: int) -> bool:
    """Whether it runs, and is not another program that was given the number since."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"flitwatch" in command  # empty for one that has ended and is not waited for
