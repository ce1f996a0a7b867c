"""Options common to several research commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flitwatch.console import exit_with_error

F = TypeVar("F", bound=Callable[..., Any])


def executor_option(function: F) -> F:
    """Add `--executor` (parameter `executor`), the place where independent calls run; see `flitwatch_db.tasks.executors`."""
    return click.option(
        "--executor",
        envvar="FLITWATCH_EXECUTOR",
        default="local",
        metavar="WHERE",
        help="Where to run independent parts: local[:PROCESSES], dask[:WORKERS] on this machine, tcp://HOST:PORT of a Dask scheduler, or slurm:JOBS.",
    )(function)


def scenario_options(seeded: str) -> Callable[[F], F]:
    """Add `--scenario`, `--seed` (help text: `seeded`) and `--users`, which choose a campaign of the twin."""
    options = (
        click.option("--scenario", help="Application of the twin, for example milc-128 (simulated)."),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**31 - 1),
            default=1,
            help=f"Random seed of {seeded}.",
        ),
        click.option(
            "--users",
            type=click.IntRange(40, 20000),
            default=300,
            help="Number of users on the twin's machine.",
        ),
    )

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def list_given_options(*names: str) -> list[str]:
    """Return those parameters of the running command that were given explicitly."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return [name for name in names if context.get_parameter_source(name) is source]


def refuse_with_paper(*names: str) -> None:
    """Fail if `--paper` is combined with an option that it sets."""
    if list_given_options("paper") and (given := list_given_options(*names)):
        exit_with_error(f"--paper sets --{given[0]} itself: give one of them", code=2)
