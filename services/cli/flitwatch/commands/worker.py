"""`flitwatch worker`: run tasks from the queue."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from importlib.metadata import entry_points

import click

from flitwatch.console import (
    Database,
    FiniteRange,
    database_options,
    exit_with_error,
    log_to_stderr,
    print_result,
)
from flitwatch.metrics import add_figures, metrics_option
from flitwatch_ops.platform import SERVICE_PATIENCE_S
from flitwatch_ops.watched import own_heartbeat

log = logging.getLogger(__name__)

#: Modules with a table HANDLERS of task name -> handler. Their engines are imported when a task runs. Entry points `flitwatch.tasks` of other
#: packages add theirs.
HANDLER_MODULES = (
    "flitwatch_db.tasks",
    "flitwatch_simulation.tasks",
    "flitwatch_ml.tasks",
    "flitwatch_alerting.tasks",
)


def load_handlers(table: str = "HANDLERS") -> dict:
    """Return all handlers (or PERIODIC, SERVICES) of the installed packages."""
    table_entries: dict = {}
    for name in _list_installed_modules():
        table_entries |= getattr(importlib.import_module(name), table, {})
    return table_entries


def _list_installed_modules() -> list[str]:
    ours = [name for name in HANDLER_MODULES if importlib.util.find_spec(name) is not None]
    return ours + [point.value for point in entry_points(group="flitwatch.tasks")]


def map_task_modules() -> dict[str, str]:
    """Return the module whose table HANDLERS contains a task, by task."""
    return {task: name for name in _list_installed_modules() for task in importlib.import_module(name).HANDLERS}


@click.command()
@click.option(
    "--queue",
    "queues",
    multiple=True,
    help="Run only tasks of this queue, which is the first word of a task's name (repeatable).",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of tasks to run at the same time.",
)
@click.option(
    "--stalled-after",
    type=FiniteRange(1, 3600),
    default=60.0,
    help="Seconds without a heartbeat after which a worker counts as dead.",
)
@click.option(
    "--memory-gib",
    type=FiniteRange(0.1, 65536),
    default=8.0,
    help="Limit of a task's resident memory.",
)
@click.option(
    "--hours",
    type=FiniteRange(0.001, 8760),
    default=24.0,
    help="Limit of a task's wall time.",
)
@click.option(
    "--file-gib",
    type=FiniteRange(0.001, 65536),
    default=8.0,
    help="Largest file that a task can write.",
)
@click.option(
    "--executor",
    envvar="FLITWATCH_EXECUTOR",
    default="local:1",
    metavar="WHERE",
    help="Where to run the independent parts of a task: local[:PROCESSES], tcp://HOST:PORT of a Dask scheduler, or slurm:JOBS.",
)
@database_options
@metrics_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object with tasks, concurrency and pid at the start."
)
def worker(
    queues: tuple[str, ...],
    concurrency: int,
    stalled_after: float,
    memory_gib: float,
    hours: float,
    file_gib: float,
    executor: str,
    database: Database,
    as_json: bool,
) -> None:
    """Run tasks from the queue until stopped. Each task runs in its own process, with limits."""
    from flitwatch_db.tasks import Limits, Worker
    from flitwatch_db.tasks.executors import is_local

    is_local(executor)  # rejects an invalid executor before a task needs it
    module_by_task = map_task_modules()
    if queues:
        chosen = {name: home for name, home in module_by_task.items() if name.partition(".")[0] in queues}
        if not chosen:
            exit_with_error(
                f"no task of queue {', '.join(queues)} is known here; known tasks: {', '.join(sorted(module_by_task))}",
                code=2,
            )
        module_by_task = chosen
    log_to_stderr()
    with database.open(SERVICE_PATIENCE_S) as url:
        log.info("worker for %s", ", ".join(sorted(module_by_task)))
        if as_json:
            print_result({"tasks": sorted(module_by_task), "concurrency": concurrency, "pid": os.getpid()}, True)
        served = {name.partition(".")[0] for name in module_by_task}
        add_figures(url, sorted(served))
        periodic, services = (
            {name: what for name, what in load_handlers(table).items() if name.partition(".")[0] in served}
            for table in ("PERIODIC", "SERVICES")
        )
        Worker(
            url,
            module_by_task,
            concurrency=concurrency,
            stalled_after_s=stalled_after,
            periodic=periodic,
            services=services,
            heartbeat=own_heartbeat(),
            limits=Limits(memory_gib, hours, file_gib),
            prepare=log_to_stderr,
            executor=executor,
        ).run()
