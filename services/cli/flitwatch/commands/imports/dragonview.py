"""`flitwatch import dragonview`: a snapshot of a Cray XC's link counters and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from flitwatch.commands.imports.fabric import print_warnings, store_fabric
from flitwatch.commands.imports.through_log import RejectedRecord
from flitwatch.console import Database, database_options, json_option, print_result

if TYPE_CHECKING:
    import psycopg

    from flitwatch_domain.importers import Snapshot

#: Bad rows listed in the report; all are counted.
_MOST_LISTED = 100
#: Rows of nodes that the cable list does not have, listed as examples.
_MOST_EXAMPLES = 5


@click.command("dragonview")
@click.option(
    "--links", type=click.Path(path_type=Path), required=True, help="The machine's cable list (rtr --interconnect)."
)
@click.option("--counters", type=click.Path(path_type=Path), required=True, help="Network counters CSV.")
@click.option("--jobs", type=click.Path(path_type=Path), required=True, help="Jobs CSV: the nodes of each job.")
@click.option("--name", help="Name of the fabric (default: the name of the cable list, with -dragonview appended).")
@database_options
@json_option
def dragonview(links: Path, counters: Path, jobs: Path, name: str | None, database: Database, as_json: bool) -> None:
    """Import a DragonView snapshot as a new fabric. Its counters have no times. Importing it again replaces it."""
    from flitwatch_domain.importers import read_snapshot
    from flitwatch_domain.importers.read import default_name

    snapshot = read_snapshot(links, counters, jobs, name or f"{default_name(links)}-dragonview")
    with database.connect(adds=True) as conn, conn.transaction():
        save_snapshot(conn, snapshot, source=str(counters))
    print_warnings(snapshot.warnings)
    print_result(summarise_snapshot(snapshot), as_json)


def save_snapshot(conn: psycopg.Connection[Any], snapshot: Snapshot, *, source: str) -> int:
    """Write a snapshot's fabric, counters and jobs within the caller's transaction. Return the fabric's id."""
    from flitwatch_db.counters import store as counters
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_db.jobs import store as job_table
    from flitwatch_domain.errors import Conflict, NotFound

    try:
        there = fabrics.get_fabric_row(conn, snapshot.fabric.name)
    except NotFound:
        replace = False
    else:
        replace = there.snapshot
        if not replace:
            raise Conflict(f"{there.name!r} is a live fabric", advice="Give the snapshot another --name.")
    fabric_id = store_fabric(conn, snapshot.fabric, replace=replace, snapshot=True).fabric_id
    cables = snapshot.fabric.links
    counters.write_port_totals(
        conn,
        fabric_id,
        cables.src[snapshot.link],
        cables.src_port[snapshot.link],
        snapshot.flits,
        snapshot.stall_cycles,
        source,
        vc_flits=snapshot.vc_flits,
        vc_stall_cycles=snapshot.vc_stall_cycles,
    )
    job_table.upsert_jobs(conn, list(snapshot.jobs), fabric_id)
    return fabric_id


class SnapshotJob(TypedDict):
    job_id: str
    nodes: int | None
    routers: int
    groups: list[int]


class SnapshotReport(TypedDict):
    """Report of a snapshot import: counts, counters without a matching link, jobs on exactly the counted routers, and rejections."""

    fabric: str
    routers: int
    groups: list[int]
    links_counted: int
    links_unmatched: int
    unmatched: list[RejectedRecord]
    counted_routers: int
    counted_groups: list[int]
    counted_jobs: list[str]
    stall_to_flit: dict[str, float | None]
    jobs: int
    placed: int
    unplaced_examples: list[str]
    job_places: list[SnapshotJob]
    rejected: list[RejectedRecord]
    rejected_rows: int
    warnings: list[str]


def summarise_snapshot(snapshot: Snapshot) -> SnapshotReport:
    """Return the report, including the jobs that occupy exactly the counted routers."""
    import numpy as np

    fabric, counted = snapshot.fabric, snapshot.counted_routers
    group = fabric.routers.group
    return {
        "fabric": fabric.name,
        "routers": len(fabric.routers),
        "groups": fabric.groups,
        "links_counted": len(snapshot.link),
        "links_unmatched": len(snapshot.unmatched),
        "unmatched": [{"where": item.where, "reason": item.reason} for item in snapshot.unmatched[:_MOST_LISTED]],
        "counted_routers": len(counted),
        "counted_groups": np.unique(group[counted]).tolist(),
        "counted_jobs": [job for job, routers in snapshot.job_routers.items() if np.array_equal(routers, counted)],
        "stall_to_flit": snapshot.stall_to_flit(),
        "jobs": len(snapshot.jobs) + len(snapshot.unplaced_jobs),
        "placed": len(snapshot.jobs),
        "unplaced_examples": [item.where for item in snapshot.rejected if "has no node" in item.reason][
            :_MOST_EXAMPLES
        ],
        "job_places": [
            {
                "job_id": job.job_id,
                "nodes": job.nodes,
                "routers": len(snapshot.job_routers[job.job_id]),
                "groups": np.unique(group[snapshot.job_routers[job.job_id]]).tolist(),
            }
            for job in snapshot.jobs
        ],
        "rejected": [{"where": item.where, "reason": item.reason} for item in snapshot.rejected[:_MOST_LISTED]],
        "rejected_rows": len(snapshot.rejected),
        "warnings": list(snapshot.warnings),
    }
