"""`flitwatch loop apply`, `loop verify` and `loop rollback`: stage a recommendation in OpenSM's folder, compare it with the loaded tables, and undo
it."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import Database, database_options, json_option, print_result, stderr_console

if TYPE_CHECKING:
    from flitwatch_db.estimates.recommendations import StagedRoutes
    from flitwatch_domain.fabric import Fabric
    from flitwatch_routing.lft import Dump
    from flitwatch_routing.staging import Change, OpensmFolder

#: Without QoS, OpenSM writes no SL-to-VL tables, not even a switch's defaults.
_LANES_STAY = " Paths are on level 0 and lane 0 again. OpenSM leaves the SL-to-VL tables of the other levels as they are until a switch restarts."
_NEXT = "Restart OpenSM with `opensm -F {}`; nothing is loaded before that."


@click.command()
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@click.option(
    "--opensm",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder with opensm.conf and opensm-lfts.dump, OpenSM's dump of the loaded tables.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Approve without asking.")
@database_options
@json_option
def apply(number: int, folder: Path, dry_run: bool, yes: bool, database: Database, as_json: bool) -> None:
    """Stage the tables of recommendation ID (`flitwatch loop run --fabric`) for OpenSM's file engine.

    The command writes the tables next to opensm.conf and then replaces opensm.conf atomically: after a crash, either the old or the new file is
    complete. It reads the files back and compares them. It refuses if the tables in opensm-lfts.dump are not those that the recommendation is based
    on. For a run with --sl, it also stages service levels: a policy file with the level of each pair, and SL-to-VL tables. It refuses if the site
    uses its own levels. For a run with --lmc, adapters get several new LIDs, and connections break. The tables are free of deadlocks on any number
    of lanes. OpenSM is not restarted. The approval is recorded in the audit log.
    """
    import numpy as np

    from flitwatch_db import connect
    from flitwatch_db.estimates import recommendations
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import FlitwatchError
    from flitwatch_routing import lft
    from flitwatch_routing.difference import compare_tables
    from flitwatch_routing.lft import Dump
    from flitwatch_routing.staging import OpensmFolder

    if dry_run and yes:
        raise click.UsageError("--dry-run changes nothing. Leave out --yes or --dry-run.")
    with database.open() as url, connect(url) as conn:
        staged_routes = recommendations.lock_staged_routes(conn, number)
        tables = _require_tables(number, staged_routes)
        fabric = fabrics.load_fabric(conn, staged_routes.fabric)
        change = _build_change(fabric, tables, staged_routes)
        opensm = OpensmFolder(folder)
        loaded = _read_loaded_tables(fabric, opensm, staged_routes)
        new_tables = _check_tables(fabric, tables, staged_routes.lmc)
        plan = opensm.plan(number, change)
        same_ways = Dump(np.repeat(loaded.ports, 1 << staged_routes.lmc, axis=1), loaded.unknown, loaded.switch_ports)
        changes = compare_tables(fabric, same_ways, new_tables)
        report: dict[str, Any] = {
            "recommendation": number,
            "fabric": staged_routes.fabric,
            "folder": str(opensm.path),
            "tables": str(plan.tables),
            "policy": None if plan.policy is None else str(plan.policy),
            "lids_each": 1 << staged_routes.lmc,
            "service_levels": staged_routes.sls,
            "entries": changes.entries,
            "entries_changed": changes.changed,
            "switches_changed": changes.switches,
            "most_changed": [{"switch": name, "entries": count} for name, count in changes.most],
            "configuration": {"removed": plan.removed, "added": plan.added},
        }
        if dry_run:
            print_result({**report, "staged": False}, as_json)
            return
        if not yes:
            _confirm_staging(report)
        _record_audit(url, "loop apply", number, folder=str(opensm.path), sha256=hashlib.sha256(tables).hexdigest())
        # Recorded first, so that `rollback` can undo the remains of a crash.
        recommendations.note_staged(conn, number, str(opensm.path))
        conn.commit()
        try:
            opensm.apply(number, change)
        except FlitwatchError:
            # If another command staged it meanwhile, the record stays, so that `rollback` can undo it.
            if not opensm.staged(number):
                recommendations.note_rolled_back(conn, number)
                conn.commit()
            raise
        back = lft.read_dump(plan.tables, fabric, staged_routes.lmc)
        if lft.digest_ports(back.ports) != lft.digest_ports(new_tables.ports):
            opensm.rollback(number)
            recommendations.note_rolled_back(conn, number)
            conn.commit()
            raise click.ClickException(
                f"{plan.tables} has other tables after writing: the old configuration was restored"
            )
    print_result({**report, "staged": True, "next": _NEXT.format(opensm.path / "opensm.conf")}, as_json)


@click.command()
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@database_options
@json_option
def rollback(number: int, database: Database, as_json: bool) -> None:
    """Undo `flitwatch loop apply ID`: restore opensm.conf byte for byte. The command refuses if opensm.conf was changed since. OpenSM is not
    restarted. The rollback is recorded in the audit log. If service levels were staged, all paths use level 0 and lane 0 again. SL-to-VL tables of
    other levels stay in the switches, because OpenSM without QoS writes none.
    """
    from flitwatch_db import connect
    from flitwatch_db.estimates import recommendations
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing.staging import OpensmFolder

    with database.open() as url, connect(url) as conn:
        staged_routes = recommendations.lock_staged_routes(conn, number)
        if staged_routes.staged_in is None:
            raise Conflict(f"recommendation {number} was never applied", advice="There is nothing to roll back.")
        if staged_routes.rolled_back_at is not None:
            raise Conflict(f"recommendation {number} was rolled back at {staged_routes.rolled_back_at.isoformat()}")
        opensm = OpensmFolder(Path(staged_routes.staged_in))
        _record_audit(url, "loop rollback", number, folder=str(opensm.path))
        restored = opensm.rollback(number)
        recommendations.note_rolled_back(conn, number)
    print_result(
        {
            "recommendation": number,
            "folder": str(opensm.path),
            "restored": restored,
            "next": _NEXT.format(opensm.path / "opensm.conf") + (_LANES_STAY if staged_routes.sls else ""),
        },
        as_json,
    )


@click.command()
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@database_options
@json_option
def verify(number: int, database: Database, as_json: bool) -> None:
    """Compare the tables that OpenSM loaded after its restart with those that `flitwatch loop apply ID` staged. The command reads OpenSM's dumps in
    the folder of `apply`: opensm-lfts.dump and, if service levels were staged, opensm-sl2vl.dump. The exit status is 1 if they differ. The dumps do
    not contain the levels of paths. Ask OpenSM for one with `saquery PR --src-to-dst LID:LID`.
    """
    from flitwatch_db.estimates import recommendations
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing import lft
    from flitwatch_routing.difference import compare_tables
    from flitwatch_routing.staging import OpensmFolder

    with database.connect() as conn:
        staged_routes = recommendations.lock_staged_routes(conn, number)
        if staged_routes.lfts is None or staged_routes.staged_in is None or staged_routes.rolled_back_at is not None:
            raise Conflict(
                f"recommendation {number} is not staged", advice=f"`flitwatch loop apply {number}` stages it."
            )
        fabric = fabrics.load_fabric(conn, staged_routes.fabric)
    opensm = OpensmFolder(Path(staged_routes.staged_in))
    if not opensm.staged(number):
        raise Conflict(f"{opensm.path} was changed since recommendation {number} was staged")
    changes = compare_tables(
        fabric,
        _check_tables(fabric, staged_routes.lfts, staged_routes.lmc),
        lft.read_dump(opensm.loaded, fabric, staged_routes.lmc),
    )
    lanes = _other_lanes(fabric, opensm, staged_routes) if staged_routes.sls else None
    loaded = changes.changed == 0 and changes.unknown_endpoints == 0 and not lanes
    print_result(
        {
            "recommendation": number,
            "folder": str(opensm.path),
            "loaded": loaded,
            "entries": changes.entries,
            "entries_different": changes.changed,
            "unknown_endpoints": changes.unknown_endpoints,
            "lanes_different": lanes,
        },
        as_json,
    )
    if not loaded:
        raise click.exceptions.Exit(1)


def _other_lanes(fabric: Fabric, opensm: OpensmFolder, asked: StagedRoutes) -> int:
    """Return the number of links without loaded lanes, or with lanes other than the staged ones."""
    import numpy as np

    from flitwatch_domain.importers.text import read_utf8
    from flitwatch_routing.lft import list_guids
    from flitwatch_routing.service_levels import levels_of, loaded_lanes

    staged_lanes = tuple(levels_of(fabric, asked.sls, asked.vls, asked.seed).lanes())
    lanes_by_port: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for (device, _, out), lanes in loaded_lanes(read_utf8(opensm.lanes), str(opensm.lanes)).items():
        lanes_by_port.setdefault((device, out), set()).add(lanes)
    switches, ports = list_guids(fabric)
    links, routers = fabric.links, len(fabric.routers)
    between = np.flatnonzero(links.src < routers).tolist()
    senders = [(switches[links.src[entry]], int(links.src_port[entry])) for entry in between] + [
        (guid, 0) for guid in ports
    ]
    return sum(lanes_by_port.get(entry) != {staged_lanes} for entry in senders)


def _build_change(fabric: Fabric, tables: bytes, asked: StagedRoutes) -> Change:
    from flitwatch_routing.service_levels import format_policy, levels_of
    from flitwatch_routing.staging import Change

    if not asked.sls:
        return Change(tables, asked.lmc)
    levels = levels_of(fabric, asked.sls, asked.vls, asked.seed)
    return Change(tables, asked.lmc, levels, "".join(f"{line}\n" for line in format_policy(fabric, levels)).encode())


def _require_tables(number: int, asked: StagedRoutes) -> bytes:
    """Return the tables of a recommendation that can be staged."""
    from flitwatch_domain.errors import Conflict

    why, advice = "", "`flitwatch loop run --fabric` creates one."
    if asked.simulated:
        why = "is based on a simulation"
    elif not asked.authorised:
        why = "is only a what-if by its author"
    elif asked.state != "recommended":
        why = f"was refused. {asked.reason.rstrip('.')}"
        # If there are no tables, other counters may produce some. A second attempt does not improve rejected tables.
        advice = (
            f"Correct the cause, or choose another window with more informative traffic: `flitwatch loop run --fabric {asked.fabric} --window ...`."
            if asked.reason.startswith("Cannot tell")
            else "The loaded tables are kept, so there is nothing to stage."
        )
    elif asked.lfts is None or asked.loaded_digest is None:
        why = "has no tables from measured counters"
    if why:
        raise Conflict(f"recommendation {number} {why}", advice=advice)
    if asked.staged_at is not None and asked.rolled_back_at is None:
        raise Conflict(
            f"recommendation {number} is staged in {asked.staged_in} since {asked.staged_at.isoformat()}",
            advice=f"Roll it back first: `flitwatch loop rollback {number}`.",
        )
    assert asked.lfts is not None
    return asked.lfts


def _read_loaded_tables(fabric: Fabric, opensm: OpensmFolder, asked: StagedRoutes) -> Dump:
    """Return the tables that OpenSM loaded. Raise Conflict if the recommendation is based on other tables."""
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing import lft

    loaded = lft.read_dump(opensm.loaded, fabric)
    if loaded.unknown.any() or lft.digest_ports(loaded.ports) != asked.loaded_digest:
        raise Conflict(
            f"the tables in {opensm.loaded} are not those that the recommendation is based on: the fabric or its routes have changed",
            advice="Collect the topology, import the dump with `flitwatch import routes`, and run the loop again.",
        )
    return loaded


def _check_tables(fabric: Fabric, tables: bytes, lmc: int) -> Dump:
    """Return the new tables. Raise Conflict if they would not carry all traffic of the current fabric."""
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing import lft
    from flitwatch_routing.deadlock import find_dependencies
    from flitwatch_routing.forwarding import check_routes
    from flitwatch_routing.switch_lids import find_unreached

    with tempfile.NamedTemporaryFile(suffix=".lfts") as file:
        file.write(tables)
        file.flush()
        dump = lft.read_dump(Path(file.name), fabric, lmc)
    verdict = check_routes(fabric, dump.ports, lmc=lmc)
    if not verdict.valid or dump.switch_ports is None or len(find_unreached(fabric, dump.switch_ports)):
        where = verdict.where[0] if verdict.where else "a switch has no path to the LID of another"
        raise Conflict(f"the tables do not reach every destination on the present fabric: {where}")
    if find_dependencies(fabric, dump.ports).cycle:
        raise Conflict("the tables could deadlock on the present fabric")
    return dump


def _confirm_staging(said: dict[str, Any]) -> None:
    """Ask a person at a terminal for approval. Refuse without a terminal."""
    if not sys.stdin.isatty():
        raise click.UsageError("This change is not approved: give --yes, or --dry-run to see what would change.")
    for name in (
        "folder",
        "tables",
        "policy",
        "lids_each",
        "service_levels",
        "entries_changed",
        "switches_changed",
        "configuration",
    ):
        stderr_console().print(f"{name}: {said[name]}", markup=False, highlight=False)
    click.confirm("Stage these tables", abort=True, err=True)


def _record_audit(url: str, action: str, number: int, **details: Any) -> None:
    """Write an audit entry in a separate transaction, so that it is kept even if the action fails."""
    from flitwatch_db import connect
    from flitwatch_db.people import audit

    with connect(url) as conn:
        audit.by_command(conn, action, f"recommendations/{number}", **details)
