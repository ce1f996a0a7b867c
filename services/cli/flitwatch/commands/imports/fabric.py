"""`flitwatch import fabric`: a machine's topology."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from flitwatch.console import Database, database_options, json_option, print_result, stderr_console

if TYPE_CHECKING:
    import psycopg

    from flitwatch_domain.fabric import Fabric


@click.command("fabric")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", "cray", "ibnetdiscover", "lldp", "slingshot", "ufm"]),
    default="auto",
    help="cray: output of rtr --interconnect; ibnetdiscover: its output; slingshot: output of fmctl get links, or "
    "fabric_template.json; ufm: output of GET /ufmRest/resources/links; lldp: dumps of SONiC's APPL_DB, lldpctl -f json, "
    "or OpenConfig's lldp.",
)
@click.option("--name", help="Name of the fabric (default: from the name of the file).")
@click.option("--replace", is_flag=True, help="Replace an existing fabric of that name. Its counters are kept.")
@click.option(
    "--cluster",
    help="The scheduler's cluster that the fabric connects. Several fabrics of one cluster are planes: a job uses all planes "
    "that its nodes are attached to.",
)
@click.option(
    "--hosts",
    type=click.Path(path_type=Path),
    help="File with the names of hosts, such as /etc/hosts or a node-name map. If a line contains the fabric's name of a host or its GUID, the host gets "
    "the first other name of that line.",
)
@database_options
@json_option
def fabric(
    file: Path,
    format_: str,
    name: str | None,
    replace: bool,
    cluster: str | None,
    hosts: Path | None,
    database: Database,
    as_json: bool,
) -> None:
    """Import the topology in FILE. For LLDP, FILE can be a folder with one file per switch. Importing the same file again changes nothing."""
    from flitwatch_db.ingest import imports
    from flitwatch_domain.importers import read_fabric
    from flitwatch_domain.importers.read import rename_hosts

    topology = read_fabric(file, format_, name)
    if hosts is not None:
        topology = rename_hosts(topology, hosts)
    if cluster:
        topology = dataclasses.replace(topology, attributes={**topology.attributes, "cluster": cluster})
    with database.connect(adds=True) as conn:
        stored = store_fabric(conn, topology, replace=replace)
        jobs = imports.count_jobs_of_fabric(conn, stored.fabric_id)
    print_warnings(topology.warnings)
    print_result({**topology.summary(), "warnings": [*topology.warnings, *stored.warnings], **jobs._asdict()}, as_json)


class StoredFabric(NamedTuple):
    fabric_id: int
    warnings: tuple[str, ...]


def store_fabric(
    conn: psycopg.Connection[Any], found: Fabric, *, replace: bool = False, snapshot: bool = False
) -> StoredFabric:
    """Save a fabric in one transaction. An identical existing fabric is not changed. In a replaced one, parts that still exist keep their numbers.

    Print a warning if a number passes to another part, or if a switch is in two fabrics, because its counters are then assigned to neither.
    """
    from flitwatch_db.fabrics import store as fabrics

    stored, warnings = _save_fabric(conn, found, replace, snapshot)
    others = fabrics.sharing_switches(conn, stored)
    if others:
        warnings = (
            *warnings,
            (
                f"switches of {found.name} are in {', '.join(others)} too: counters that name them by GUID are assigned to no fabric. "
                "Give the subnet one name (`flitwatch db remove-fabric` removes the other), or start the writer with --fabric"
            ),
        )
    print_warnings(warnings)
    return StoredFabric(stored, warnings)


def _save_fabric(conn: psycopg.Connection[Any], found: Fabric, replace: bool, snapshot: bool) -> StoredFabric:
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import NotFound
    from flitwatch_domain.fabric.numbers import keep_numbers

    with conn.transaction():
        try:
            row = fabrics.get_fabric_row(conn, found.name)
        except NotFound:
            return StoredFabric(fabrics.save_fabric(conn, found, snapshot=snapshot), ())
        warnings: tuple[str, ...] = ()
        if row.name == found.name and row.snapshot == snapshot:
            there = fabrics.load_fabric(conn, found.name)
            if not snapshot:
                found, warnings = keep_numbers(found, there)
            if not replace and have_same_topology(there, found):
                # An older import can have stored fewer of the file's names and LIDs.
                fabrics.add_attributes(conn, row.fabric_id, found.attributes)
                return StoredFabric(row.fabric_id, ())
        return StoredFabric(fabrics.save_fabric(conn, found, replace=replace, snapshot=snapshot), warnings)


def have_same_topology(a: Fabric, b: Fabric) -> bool:
    """Return whether two fabrics have the same routers, endpoints and links."""
    import numpy as np

    if a.summary()["links_by_class"] != b.summary()["links_by_class"]:
        return False
    pairs = [
        (a.routers.name, b.routers.name),
        (a.endpoints.router, b.endpoints.router),
        (a.endpoints.port, b.endpoints.port),
        (a.endpoints.node, b.endpoints.node),
        (a.links.src, b.links.src),
        (a.links.dst, b.links.dst),
        (a.links.src_port, b.links.src_port),
        (a.links.dst_port, b.links.dst_port),
    ]
    return all(np.array_equal(array, other) for array, other in pairs)


def print_warnings(warnings: tuple[str, ...]) -> None:
    """Print warnings on standard error."""
    for text in warnings:
        stderr_console().print(f"warning: {text}", markup=False, highlight=False)
