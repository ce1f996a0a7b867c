"""`flitwatch bench`: measure this installation."""

from __future__ import annotations

import click

from flitwatch.console import Group


@click.group(cls=Group)
def bench() -> None:
    """Measure this installation."""
