"""`flitwatch status`: what runs on this machine for this checkout."""

from __future__ import annotations

import click

from flitwatch.console import emit, json_option
from flitwatch.home import home
from flitwatch.supervisor import running


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Say what runs here: URL, stack, processes and how often each was started again."""
    state = running(home())
    if state is None:
        emit({"running": False, "home": str(home())}, as_json)
        return
    shown = {key: state[key] for key in ("url", "stack", "pid", "twin", "processes")}
    emit({"running": True, "home": str(home()), **shown}, as_json)
