"""`flitwatch down`: stop what `up` started."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import click

from flitwatch.console import emit, fail, json_option, stderr
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.home import home
from flitwatch_ops.orphans import end_orphans, forget, state_of
from flitwatch_ops.supervisor import running

STOP_TIMEOUT_S = 60.0


@click.command()
@json_option
def down(as_json: bool) -> None:
    """Stop the platform that runs for this checkout (or for FLITWATCH_HOME).

    A database that another process uses, such as a collector, runs until the last of them ends.
    """
    state = running(home())
    if state is None:
        _end_what_is_left(as_json)
        return
    os.kill(state["pid"], signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while running(home()) is not None:
        if time.monotonic() > deadline:
            fail(f"process {state['pid']} did not stop in {STOP_TIMEOUT_S:.0f} s; see {home() / 'log'}")
        time.sleep(0.1)
    emit({"stopped": True, "pid": state["pid"]}, as_json)
    _say_what_goes_on(state.get("stack", "embedded"))


def _say_what_goes_on(stack: str) -> None:
    """Name the processes for which the database runs on."""
    server = Embedded(home() / ("pg" if stack == "embedded" else "timescale"))
    if server.pid() is not None and (users := server.users()):
        stderr().print(f"The database still runs because these processes use it: {', '.join(map(_named, users))}.")


def _named(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return str(pid)
    names = [Path(word).name for word in words]
    begin = next((at for at, name in enumerate(names) if name in ("flitwatch", "flitwatch.main")), None)
    # No more than the command's name: arguments may hold passwords.
    shown = names[:1] if begin is None else [word for word in names[begin : begin + 3] if not word.startswith("-")]
    return f"{pid} ({' '.join(shown)})"


def _end_what_is_left(as_json: bool) -> None:
    """Where the supervisor was killed: its processes, and the servers that it started."""
    from flitwatch.commands.up import servers

    left = end_orphans(home())
    if not left:
        emit({"stopped": False, "message": "nothing runs here"}, as_json)
        _say_what_goes_on("embedded")
        return
    state = state_of(home())
    stack = state["stack"]
    for server in reversed(servers(stack, state.get("twin", "none"))):
        # Whoever stops a server must hold it.
        server.ensure()
        server.stop()
    forget(home())
    emit({"stopped": True, "left_running": left}, as_json)
    _say_what_goes_on(stack)
