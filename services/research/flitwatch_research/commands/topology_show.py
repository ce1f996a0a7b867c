"""`flitwatch topology show`: sizes and distances of a topology."""

from __future__ import annotations

import click

from flitwatch.console import LOCAL, json_option, print_result


@click.command()
@click.argument("spec", type=LOCAL)
@json_option
def show(spec: str, as_json: bool) -> None:
    """Show sizes and distances of SPEC. SPEC is xgft:h;m1,..;w1,..[;p1,..], torus:20,20,20, theta, edison, quartz1 or file:PATH. Hops are the links
    from endpoint to endpoint, including both terminal links. Other forms are hyperx (extents, endpoints per router, cables per pair), rails (rails,
    nodes per group, groups, spines), planes (planes, and the xgft of one plane), dragonfly, cori and slingshot.
    If SPEC is not valid, the error lists all forms.
    """
    from flitwatch_research import topologies

    print_result(topologies.describe_topology(topologies.parse_topology(spec)), as_json)
