"""`flitwatch down`: stop what `up` started."""

from __future__ import annotations

import os
import signal
import time

import click

from flitwatch.console import emit, fail, json_option
from flitwatch_ops.home import home
from flitwatch_ops.orphans import end_orphans, forget, state_of
from flitwatch_ops.supervisor import running

STOP_TIMEOUT_S = 60.0


@click.command()
@json_option
def down(as_json: bool) -> None:
    """Stop the platform that runs for this checkout (or for FLITWATCH_HOME)."""
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


def _end_what_is_left(as_json: bool) -> None:
    """Where the supervisor was killed: its processes, and the servers that it started."""
    from flitwatch.commands.up import servers

    left = end_orphans(home())
    if not left:
        emit({"stopped": False, "message": "nothing runs here"}, as_json)
        return
    for server in reversed(servers(state_of(home())["stack"])):
        # Whoever stops a server must hold it.
        server.ensure()
        server.stop()
    forget(home())
    emit({"stopped": True, "left_running": left}, as_json)
