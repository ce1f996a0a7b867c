"""Processes that a killed supervisor left running, without supervision."""

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

from flitwatch_domain.system_calls import open_process
from flitwatch_ops.supervisor import STOP_TIMEOUT_S, read_running_state


class _Process(TypedDict, total=False):
    """Process entry in the state file."""

    pid: object


class KeptState(TypedDict, total=False):
    """Fields of the state file. Any of them can be missing or invalid, because another program can have written the file."""

    stack: str
    twin: str
    processes: Sequence[_Process]


def state_of(home: Path) -> KeptState:
    """Read the last supervisor's state file, even if the supervisor is not running. Return an empty state if it cannot be read."""
    try:
        state = orjson.loads((home / "run" / "state.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return cast(KeptState, state) if isinstance(state, dict) else {}


def remove_state(home: Path) -> None:
    (home / "run" / "state.json").unlink(missing_ok=True)


def list_orphans(home: Path) -> list[int]:
    """Return the ids of processes in the state file that still run although their supervisor does not."""
    if read_running_state(home) is not None:
        return []
    named = (process.get("pid") for process in state_of(home).get("processes", ()))
    return [pid for pid in named if isinstance(pid, int) and _is_ours(pid)]


def end_orphans(home: Path) -> list[int]:
    """End orphaned processes, with SIGKILL after a timeout. Return their ids once their ports and locks are free."""
    with contextlib.ExitStack() as stack:
        descriptors: dict[int, int] = {}
        for pid in list_orphans(home):
            with contextlib.suppress(OSError):
                descriptors[pid] = open_process(pid)
                stack.callback(os.close, descriptors[pid])
        for number in (signal.SIGTERM, signal.SIGKILL):
            running_still = [pid for pid, end in descriptors.items() if not _wait_ended([end], 0.0)]
            for pid in running_still:
                _signal_group(pid, number)
            _wait_ended([descriptors[pid] for pid in running_still], STOP_TIMEOUT_S)
        return list(descriptors)


def _wait_ended(ends: Iterable[int], timeout_s: float) -> bool:
    """Wait until processes have ended. A process that is ending has no command line any more, but can still hold its ports."""
    deadline = time.monotonic() + timeout_s
    for end in ends:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return False
    return True


def _signal_group(pid: int, number: signal.Signals) -> None:
    # Each process was started in its own session.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _is_ours(pid: int) -> bool:
    """Return whether the process is running and its id was not reused by another program."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"flitwatch" in command  # empty for an ended process that its parent has not reaped
