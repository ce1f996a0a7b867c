"""`flitwatch status`: what runs on this machine for this checkout."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from flitwatch.console import emit, json_option, stderr
from flitwatch_ops.home import home
from flitwatch_ops.orphans import orphans
from flitwatch_ops.supervisor import running


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Say what runs or starts here: URL, database (without a password), stack, processes, where their metrics are, and how often each was started again."""
    state = running(home())
    if state is None:
        left = orphans(home())
        emit({"running": False, "home": str(home())} | ({"left_running": left} if left else {}), as_json)
        if left:
            stderr().print(
                "their supervisor was killed: `flitwatch down` ends them, `flitwatch up` ends them and starts anew"
            )
        return
    shown = {key: state[key] for key in ("state", "url", "stack", "pid", "twin", "processes")}
    # While its server starts, a database has no URL yet.
    database = {"database": without_password(state["database"])} if "database" in state else {}
    emit({"running": True, "home": str(home()), **database, **shown}, as_json)


def without_password(url: str) -> str:
    """A database's URL as `pg_dump` and `psql` take it, without the password in front of the host or among the parameters."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    query = "&".join(one for one in parts.query.split("&") if not one.lower().startswith(("password=", "sslpassword=")))
    return parts._replace(netloc=user.partition(":")[0] + at + place, query=query).geturl()
