"""`flitwatch topology`: description of a fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.console import LOCAL, Database, Group, OutPath, database_options, json_option, print_result

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric

FORMATS = ("slurm-tree", "slurm-block", "slurm-yaml", "flux", "pbs")


@click.group(cls=Group)
def topology() -> None:
    """Describe a topology."""


@topology.command()
@click.argument("spec", type=LOCAL)
@json_option
def endpoints(spec: str, as_json: bool) -> None:
    """List the endpoints of SPEC: number, node, adapter, GUID, LID, switch and port. Traffic matrices (`routes`, `traffic`, `loop`) and job files
    accept the number, the GUID, "NODE ADAPTER", or NODE if it has one endpoint. Endpoints are numbered from 0, by the switch's name in natural order
    and then by port. Without --json, each line is one endpoint, with fields separated by tabs.
    """
    from flitwatch_domain.fabric import endpoint_table
    from flitwatch_domain.topology_spec import fabric_of

    rows = endpoint_table(fabric_of(spec))
    if as_json:
        print_result({"endpoints": rows}, as_json)
        return
    click.echo("endpoint\tnode\tadapter\tguid\tlid\tswitch\tport")
    for row in rows:
        click.echo("\t".join("" if value is None else str(value) for value in row.values()))


@topology.command()
@click.argument("spec", type=LOCAL, required=False)
@click.option("--fabric", help="Name or number of a fabric in the database, instead of SPEC.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="topology.conf of topology/tree or topology/block, topology.yaml (Slurm 25.05), Flux's resource graph, or commands for PBS's qmgr.",
)
@click.option("--out", type=OutPath(), help="Output file (default: standard output).")
@database_options
@json_option
def export(
    spec: str | None, fabric: str | None, form: str, out: Path | None, database: Database, as_json: bool
) -> None:
    """Write the topology of SPEC, or of a fabric in the database, in a scheduler's format. Schedulers place jobs on trees. Leaf switches that share
    nodes are merged, and so are parallel spines. The middle level of a dragonfly is its groups.
    """
    from flitwatch_domain import schedulers

    tree = schedulers.switch_tree(_load_fabric(spec, fabric, database))
    content = schedulers.format_tree(tree, form)
    if tree.nameless:
        more = f" and {len(tree.nameless) - 1} more" if len(tree.nameless) > 1 else ""
        click.echo(f"warning: {tree.nameless[0]}{more}: names no node, so it is left out", err=True)
    if out is not None:
        out.write_text(content)
    elif not as_json:
        click.echo(content, nl=False)
        return
    leaves = tree.leaves()
    result = {
        "fabric": tree.fabric,
        "format": form,
        "nodes": sum(len(leaf.nodes) for leaf in leaves),
        "leaves": len(leaves),
        "switches": len(tree.switches),
        "roots": len(tree.roots),
        "left_out": tree.left_out,
        "file": None if out is None else str(out),
    }
    print_result(result | ({"text": content} if out is None else {}), as_json)


def _load_fabric(spec: str | None, fabric: str | None, database: Database) -> Fabric:
    if (spec is None) == (fabric is None):
        raise click.UsageError("Give either SPEC or --fabric.")
    if spec is not None:
        from flitwatch_domain.topology_spec import fabric_of

        return fabric_of(spec)
    from flitwatch_db.fabrics import store as fabrics

    assert fabric is not None
    with database.connect() as conn:
        return fabrics.load_fabric(conn, fabric)
