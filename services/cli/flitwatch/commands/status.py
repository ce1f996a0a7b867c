"""`flitwatch status`: processes of this checkout on this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from flitwatch.console import json_option, print_result, stderr_console
from flitwatch_ops.home import home_folder
from flitwatch_ops.orphans import list_orphans
from flitwatch_ops.supervisor import read_running_state


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show what is running or starting: URL, database (without its password), stack, processes, addresses of their metrics, and restarts."""
    state = read_running_state(home_folder())
    if state is None:
        orphan_ids = list_orphans(home_folder())
        print_result(
            {"running": False, "home": str(home_folder())} | ({"left_running": orphan_ids} if orphan_ids else {}),
            as_json,
        )
        if orphan_ids:
            stderr_console().print(
                "their supervisor was killed: `flitwatch down` ends them, `flitwatch up` ends them and starts them again"
            )
        return
    shown = {key: state[key] for key in ("state", "url", "stack", "pid", "twin", "processes")}
    # While its server is starting, a database has no URL yet.
    database = {"database": without_password(state["database"])} if "database" in state else {}
    print_result({"running": True, "home": str(home_folder()), **database, **shown}, as_json)


def without_password(url: str) -> str:
    """Return a database URL for `pg_dump` and `psql`, without the password in the user part or the parameters."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    query = "&".join(
        parameter
        for parameter in parts.query.split("&")
        if not parameter.lower().startswith(("password=", "sslpassword="))
    )
    return parts._replace(netloc=user.partition(":")[0] + at + place, query=query).geturl()
