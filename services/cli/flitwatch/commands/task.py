"""`flitwatch task`: start, watch and cancel tasks."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import click
import orjson

from flitwatch.console import (
    Database,
    Group,
    database_options,
    exit_with_error,
    json_option,
    make_progress,
    print_result,
)

POLL_S = 0.2


@click.group(cls=Group)
def task() -> None:
    """Start, watch and cancel tasks."""


@task.command()
@click.argument("name")
@click.argument("args", default="{}")
@click.option("--watch", is_flag=True, help="Show progress and wait until the task ends.")
@database_options
@json_option
def start(name: str, args: str, watch: bool, database: Database, as_json: bool) -> None:
    """Add task NAME to the queue, with the JSON object ARGS. A running worker executes it."""
    import getpass

    from flitwatch.commands.worker import load_handlers
    from flitwatch_db.tasks import get_task
    from flitwatch_db.tasks import start_task as put

    try:
        argument = orjson.loads(args)
    except orjson.JSONDecodeError as problem:
        raise click.BadParameter(f"not JSON: {problem}", param_hint="ARGS") from None
    if not isinstance(argument, dict):
        raise click.BadParameter("not a JSON object", param_hint="ARGS")
    if name not in (task_handlers := load_handlers()):
        raise click.BadParameter(f"unknown task; tasks: {', '.join(sorted(task_handlers))}", param_hint="NAME")
    with database.connect(role="writer", autocommit=True) as conn:
        task_id = put(conn, name, argument, created_by=getpass.getuser(), authorised=True)
        _report_end(_follow_task(conn, task_id) if watch else get_task(conn, task_id), as_json, ended=watch)


@task.command(name="list")
@click.option(
    "--state",
    type=click.Choice(["queued", "running", "succeeded", "failed", "cancelled"]),
    help="List only tasks in this state.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="Largest number of tasks to list.")
@database_options
@json_option
def list_(state: str | None, limit: int, database: Database, as_json: bool) -> None:
    """List tasks, newest first."""
    from flitwatch_db.tasks import list_tasks

    with database.connect(role="reader") as conn:
        tasks = list_tasks(conn, state=state, limit=limit)
    if as_json:
        print_result({"tasks": [asdict(item) for item in tasks]}, as_json)
        return
    for t in tasks:
        share = f"{t.done}/{t.total}" if t.total else ""
        print(f"{t.task_id:>6}  {t.state:<9}  {t.name:<24} {share:>12}  {t.message}")


@task.command()
@click.argument("task_id", type=int)
@database_options
@json_option
def cancel(task_id: int, database: Database, as_json: bool) -> None:
    """Cancel a task. A waiting task ends at once, and a running one soon."""
    from flitwatch_db.tasks import cancel_task as stop

    with database.connect(role="writer", autocommit=True) as conn:
        print_result(asdict(stop(conn, task_id)), as_json)


@task.command()
@click.argument("task_id", type=int)
@database_options
@json_option
def watch(task_id: int, database: Database, as_json: bool) -> None:
    """Show a task's progress until it ends."""

    with database.connect(role="reader", autocommit=True) as conn:
        _report_end(_follow_task(conn, task_id), as_json, ended=True)


def _follow_task(conn: Any, task_id: int) -> Any:
    from flitwatch_db.tasks import get_task

    with make_progress() as bar:
        line = bar.add_task(f"task {task_id}", total=None)
        while True:
            task_state = get_task(conn, task_id)
            bar.update(
                line,
                description=f"{task_state.name} {task_state.message or task_state.state}",
                completed=task_state.done,
                total=task_state.total or None,
            )
            if not task_state.is_open:
                return task_state
            time.sleep(POLL_S)


def _report_end(found: Any, as_json: bool, ended: bool) -> None:
    if ended and found.state != "succeeded":
        if as_json:
            print_result(asdict(found), as_json)
        exit_with_error(f"task {found.task_id} {found.state}" + (f": {found.error['message']}" if found.error else ""))
    print_result(asdict(found), as_json)
