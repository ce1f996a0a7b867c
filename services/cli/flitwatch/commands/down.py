"""`flitwatch down`: stop the platform that `up` started."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import click

from flitwatch.console import exit_with_error, json_option, print_result, stderr_console
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.home import home_folder
from flitwatch_ops.orphans import end_orphans, remove_state, state_of
from flitwatch_ops.supervisor import read_running_state

STOP_TIMEOUT_S = 60.0


@click.command()
@json_option
def down(as_json: bool) -> None:
    """Stop the platform of this checkout (or of FLITWATCH_HOME). The database keeps running while another process, such as a collector, uses it."""
    state = read_running_state(home_folder())
    if state is None:
        _end_what_is_left(as_json)
        return
    os.kill(state["pid"], signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while read_running_state(home_folder()) is not None:
        if time.monotonic() > deadline:
            exit_with_error(
                f"process {state['pid']} did not stop in {STOP_TIMEOUT_S:.0f} s; see {home_folder() / 'log'}"
            )
        time.sleep(0.1)
    print_result({"stopped": True, "pid": state["pid"]}, as_json)
    _say_what_goes_on(state.get("stack", "embedded"))


def _say_what_goes_on(stack: str) -> None:
    """Name the processes that keep the database running."""
    server = Embedded(home_folder() / ("pg" if stack == "embedded" else "timescale"))
    if server.pid() is not None and (users := server.users()):
        stderr_console().print(
            f"The database still runs because these processes use it: {', '.join(map(_describe_process, users))}."
        )


def _describe_process(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return str(pid)
    names = [Path(word).name for word in words]
    begin = next((at for at, name in enumerate(names) if name in ("flitwatch", "flitwatch.main")), None)
    # Show only the command's name: arguments can contain passwords.
    shown = names[:1] if begin is None else [word for word in names[begin : begin + 3] if not word.startswith("-")]
    return f"{pid} ({' '.join(shown)})"


def _end_what_is_left(as_json: bool) -> None:
    """End processes and servers that a killed supervisor left running."""
    from flitwatch.commands.up import list_servers

    process_ids = end_orphans(home_folder())
    if not process_ids:
        print_result({"stopped": False, "message": "nothing runs here"}, as_json)
        _say_what_goes_on("embedded")
        return
    state = state_of(home_folder())
    stack = state["stack"]
    for server in reversed(list_servers(stack, state.get("twin", "none"))):
        # Only a user of the server can stop it.
        server.ensure()
        server.stop()
    remove_state(home_folder())
    print_result({"stopped": True, "left_running": process_ids}, as_json)
    _say_what_goes_on(stack)
