"""Options that several commands of research share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flitwatch.console import exit_with_error

F = TypeVar("F", bound=Callable[..., Any])


def executor_option(function: F) -> F:
    """Add `--executor` (parameter `executor`): where independent calls run; see `flitwatch_db.tasks.executors`."""
    return click.option(
        "--executor",
        envvar="FLITWATCH_EXECUTOR",
        default="local",
        show_default=True,
        metavar="WHERE",
        help="Where to run independent parts: local[:PROCESSES], dask[:WORKERS] on this machine, tcp://HOST:PORT of a Dask scheduler, or slurm:JOBS.",
    )(function)


def list_given_options(*names: str) -> list[str]:
    """Those of the running command's parameters that its caller wrote out."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return [name for name in names if context.get_parameter_source(name) is source]


def refuse_beside_paper(*names: str) -> None:
    """Fail where `--paper` is given with an option that it sets."""
    if list_given_options("paper") and (given := list_given_options(*names)):
        exit_with_error(f"--paper sets --{given[0]} itself: give one of them", code=2)
