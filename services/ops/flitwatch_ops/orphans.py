"""What a supervisor that was killed left running: its processes go on, and nobody watches or stops them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Sequence
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
    twin: str
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
    """End them, by force where they do not leave in time; return their process ids once what they held (ports, locks) is free."""
    with contextlib.ExitStack() as held:
        found: dict[int, int] = {}
        for pid in orphans(home):
            with contextlib.suppress(OSError):
                found[pid] = os.pidfd_open(pid)
                held.callback(os.close, found[pid])
        for number in (signal.SIGTERM, signal.SIGKILL):
            running_still = [pid for pid, end in found.items() if not _ended([end], 0.0)]
            for pid in running_still:
                _signal(pid, number)
            _ended([found[pid] for pid in running_still], STOP_TIMEOUT_S)
        return list(found)


def _ended(ends: Iterable[int], timeout_s: float) -> bool:
    """Wait until processes have ended. One that is ending has no command line any more, and may still hold its ports."""
    deadline = time.monotonic() + timeout_s
    for end in ends:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return False
    return True


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
