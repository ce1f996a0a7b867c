"""`flitwatch loop apply` and `loop rollback`: a recommendation's tables into OpenSM's folder, and out of it again."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import database_options, emit, json_option, stderr

if TYPE_CHECKING:
    from flitwatch_db.estimates.recommendations import StagedRoutes
    from flitwatch_domain.fabric import Fabric
    from flitwatch_routing.lft import Dump
    from flitwatch_routing.staging import OpensmFolder

_NEXT = "Restart OpenSM with `opensm -F {}`; nothing is loaded before that."


@click.command()
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@click.option(
    "--opensm",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder with opensm.conf and opensm-lfts.dump, OpenSM's own dump of what is loaded.",
)
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Approve it; without it a terminal is asked.")
@database_options
@json_option
def apply(
    number: int, folder: Path, dry_run: bool, yes: bool, db_url: str | None, ephemeral: bool, as_json: bool
) -> None:
    """Stage the tables of recommendation ID (`flitwatch loop run --fabric`) for OpenSM's file engine.

    Writes the tables beside opensm.conf, then exchanges opensm.conf for one that names them, in one step: a crash leaves the old one or the new one. What is
    written is read back and compared. Refused where the tables in opensm-lfts.dump are not those that the recommendation was made from. One virtual lane and
    one LID an adapter do: the tables are free of deadlocks without more, so SL-to-VL tables and path SLs stay as they are. OpenSM is not restarted. The audit
    log keeps who approved it.
    """
    from flitwatch_db import connect
    from flitwatch_db.estimates import recommendations
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import FlitwatchError
    from flitwatch_ops import platform
    from flitwatch_routing import lft
    from flitwatch_routing.difference import difference
    from flitwatch_routing.staging import OpensmFolder

    if dry_run and yes:
        raise click.UsageError("--dry-run changes nothing: leave out --yes, or --dry-run.")
    with platform.database(db_url, ephemeral) as url, connect(url) as conn:
        asked = recommendations.staging(conn, number)
        tables = _wanted(number, asked)
        fabric = fabrics.load(conn, asked.fabric)
        opensm = OpensmFolder(folder)
        loaded = _loaded(fabric, opensm, asked)
        made = _sound(fabric, tables)
        plan = opensm.plan(number)
        found = difference(fabric, loaded, made)
        said: dict[str, Any] = {
            "recommendation": number,
            "fabric": asked.fabric,
            "folder": str(opensm.path),
            "tables": str(plan.tables),
            "entries": found.entries,
            "entries_changed": found.changed,
            "switches_changed": found.switches,
            "most_changed": [{"switch": name, "entries": count} for name, count in found.most],
            "configuration": {"removed": plan.removed, "added": plan.added},
        }
        if dry_run:
            emit({**said, "staged": False}, as_json)
            return
        if not yes:
            _ask(said)
        _audit(url, "loop apply", number, folder=str(opensm.path), sha256=hashlib.sha256(tables).hexdigest())
        # Noted first: what a crash leaves, `rollback` takes back.
        recommendations.note_staged(conn, number, str(opensm.path))
        conn.commit()
        try:
            opensm.apply(number, tables)
        except FlitwatchError:
            # Where another command staged it meanwhile it stays noted, so that `rollback` takes it back.
            if not opensm.staged(number):
                recommendations.note_rolled_back(conn, number)
                conn.commit()
            raise
        back = lft.read_dump(plan.tables, fabric)
        if lft.digest(back.ports) != lft.digest(made.ports):
            opensm.rollback(number)
            recommendations.note_rolled_back(conn, number)
            conn.commit()
            raise click.ClickException(f"{plan.tables} reads back other tables: the old configuration was restored")
    emit({**said, "staged": True, "next": _NEXT.format(opensm.path / "opensm.conf")}, as_json)


@click.command()
@click.argument("number", type=click.IntRange(1, 2**63 - 1), metavar="ID")
@database_options
@json_option
def rollback(number: int, db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Take back what `flitwatch loop apply ID` staged: opensm.conf is byte for byte as it was before.

    Refused where opensm.conf was changed since. OpenSM is not restarted. The audit log keeps who did it.
    """
    from flitwatch_db import connect
    from flitwatch_db.estimates import recommendations
    from flitwatch_domain.errors import Conflict
    from flitwatch_ops import platform
    from flitwatch_routing.staging import OpensmFolder

    with platform.database(db_url, ephemeral) as url, connect(url) as conn:
        asked = recommendations.staging(conn, number)
        if asked.staged_in is None:
            raise Conflict(f"recommendation {number} was never applied", advice="There is nothing to take back.")
        if asked.rolled_back_at is not None:
            raise Conflict(f"recommendation {number} was rolled back at {asked.rolled_back_at.isoformat()}")
        opensm = OpensmFolder(Path(asked.staged_in))
        _audit(url, "loop rollback", number, folder=str(opensm.path))
        restored = opensm.rollback(number)
        recommendations.note_rolled_back(conn, number)
    emit(
        {
            "recommendation": number,
            "folder": str(opensm.path),
            "restored": restored,
            "next": _NEXT.format(opensm.path / "opensm.conf"),
        },
        as_json,
    )


def _wanted(number: int, asked: StagedRoutes) -> bytes:
    """The tables, if this is a recommendation that may be staged at all."""
    from flitwatch_domain.errors import Conflict

    why = ""
    if asked.simulated:
        why = "was made from a simulation"
    elif not asked.authorised:
        why = "is a what-if of its author, not made for the site"
    elif asked.state != "recommended":
        why = "was refused"
    elif asked.lfts is None or asked.loaded_digest is None:
        why = "has no tables that were made from measured counters"
    if why:
        raise Conflict(f"recommendation {number} {why}", advice="`flitwatch loop run --fabric` makes one.")
    if asked.staged_at is not None and asked.rolled_back_at is None:
        raise Conflict(
            f"recommendation {number} is staged in {asked.staged_in} since {asked.staged_at.isoformat()}",
            advice=f"Take it back first: `flitwatch loop rollback {number}`.",
        )
    assert asked.lfts is not None
    return asked.lfts


def _loaded(fabric: Fabric, opensm: OpensmFolder, asked: StagedRoutes) -> Dump:
    """The tables that OpenSM loaded; Conflict where the recommendation was made from others."""
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing import lft

    loaded = lft.read_dump(opensm.loaded, fabric)
    if loaded.unknown.any() or lft.digest(loaded.ports) != asked.loaded_digest:
        raise Conflict(
            f"the tables in {opensm.loaded} are not those that the recommendation was made from: the fabric or its routes changed since",
            advice="Collect the topology, import the dump with `flitwatch import routes`, and run the loop again.",
        )
    return loaded


def _sound(fabric: Fabric, tables: bytes) -> Dump:
    """The new tables; Conflict where they would not carry all traffic of the fabric as it is now."""
    from flitwatch_domain.errors import Conflict
    from flitwatch_routing import lft
    from flitwatch_routing.deadlock import dependencies
    from flitwatch_routing.forwarding import check
    from flitwatch_routing.switch_lids import unreached

    with tempfile.NamedTemporaryFile(suffix=".lfts") as file:
        file.write(tables)
        file.flush()
        made = lft.read_dump(Path(file.name), fabric)
    known = check(fabric, made.ports)
    if not known.valid or made.switch_ports is None or len(unreached(fabric, made.switch_ports)):
        where = known.where[0] if known.where else "a switch has no way to the LID of another"
        raise Conflict(f"the tables do not lead everywhere on the fabric as it is now: {where}")
    if dependencies(fabric, made.ports).cycle:
        raise Conflict("the tables could deadlock on the fabric as it is now")
    return made


def _ask(said: dict[str, Any]) -> None:
    """Let a person at a terminal approve; refuse where there is none."""
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody approved this: give --yes, or --dry-run to see what would change.")
    for name in ("folder", "tables", "entries_changed", "switches_changed", "configuration"):
        stderr.print(f"{name}: {said[name]}", markup=False, highlight=False)
    click.confirm("Stage these tables", abort=True, err=True)


def _audit(url: str, action: str, number: int, **details: Any) -> None:
    """An entry of its own, kept also where what follows fails."""
    from flitwatch_db import connect
    from flitwatch_db.people import audit

    with connect(url) as conn:
        audit.by_command(conn, action, f"recommendations/{number}", **details)
