"""`flitwatch topology`: what a fabric looks like."""

from __future__ import annotations

import click

from flitwatch.console import LOCAL, emit, json_option


@click.group()
def topology() -> None:
    """Describe a topology."""


@topology.command()
@click.argument("spec", type=LOCAL)
@json_option
def show(spec: str, as_json: bool) -> None:
    """Sizes and distances of SPEC.

    SPEC is xgft:h;m1,..;w1,..[;p1,..], torus:20,20,20, theta, edison, quartz1 or file:PATH. Hops are links from endpoint
    to endpoint, both terminal links included.
    """
    from flitwatch_simulation import topologies

    emit(topologies.describe(topologies.parse(spec)), as_json)
