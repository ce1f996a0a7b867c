"""`flitwatch import routes`: changes of a fabric's routes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from flitwatch.console import Database, database_options, json_option, print_result


@click.command("routes")
@click.argument("dump", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--fabric", "name", required=True, help="Name of the imported fabric.")
@click.option("--at", "at", help="When the routes were loaded, RFC 3339 (default: when DUMP was written, or now).")
@click.option("--note", help="What changed, in a few words. Required without DUMP.")
@database_options
@json_option
def routes(dump: Path | None, name: str, at: str | None, note: str | None, database: Database, as_json: bool) -> None:
    """Mark a change of routes on the time axis, from DUMP (opensm-lfts.dump), from a note, or both. DUMP is compared with the tables imported
    before. If no entry changed, no mark is created, so you can run this command every hour.
    """
    from flitwatch_db.fabrics import route_changes
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_domain.errors import BadRequest
    from flitwatch_routing import lft

    text = note.strip() if note else None
    if dump is None and not text:
        raise BadRequest("there is no description of the change", advice="Give a dump of the tables, or --note TEXT.")
    if text and (len(text) > 200 or not text.isprintable()):
        raise BadRequest("the note has more than one line, or more than 200 characters", advice="Shorten it.")
    moment = _resolve_time(at, dump)
    with database.connect(adds=True) as conn:
        row = fabrics.get_fabric_row(conn, name)
        ports = None if dump is None else lft.read_ports(dump, fabrics.load_fabric(conn, name))
        with conn.transaction():
            change = route_changes.record_change(
                conn, row.fabric_id, moment, ports, text, None if dump is None else dump.name
            )
    print_result(
        {
            "fabric": row.name,
            "at": change.ts.isoformat(),
            "entries": change.entries,
            "changed": change.changed,
            "new": change.new,
        },
        as_json,
    )


def _resolve_time(at: str | None, dump: Path | None) -> datetime:
    from flitwatch_domain.errors import BadInput, BadRequest

    if at is not None:
        moment: datetime | None = None
        with suppress(ValueError):
            moment = datetime.fromisoformat(at)
        if moment is None or moment.tzinfo is None:
            raise BadRequest(f"{at!r} is not a time with a zone", advice="Write it as 2026-03-01T14:05:00Z.")
        return moment.astimezone(UTC)
    if dump is None:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(dump.stat().st_mtime, UTC)
    except OSError as failure:
        raise BadInput(f"cannot be read: {failure.strerror}", where=str(dump)) from failure
