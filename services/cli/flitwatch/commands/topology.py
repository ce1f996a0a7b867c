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


@topology.command()
@click.argument("spec", type=LOCAL)
@json_option
def endpoints(spec: str, as_json: bool) -> None:
    """The endpoints of SPEC: number, node, adapter, GUID, LID, switch and the switch's port.

    Traffic matrices (`routes`, `traffic`, `loop`) and job files take the number, the GUID, NODE where it has one endpoint, or "NODE ADAPTER".
    Endpoints count from 0, by switch in the natural order of names, then by port. Without --json one endpoint a line, fields apart by tabs.
    """
    from flitwatch_domain.fabric import endpoint_table
    from flitwatch_domain.topology_spec import fabric_of

    rows = endpoint_table(fabric_of(spec))
    if as_json:
        emit({"endpoints": rows}, as_json)
        return
    click.echo("endpoint\tnode\tadapter\tguid\tlid\tswitch\tport")
    for row in rows:
        click.echo("\t".join("" if value is None else str(value) for value in row.values()))
