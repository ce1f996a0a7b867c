"""`flitwatch import sacct`: Slurm accounting from a file."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import click

from flitwatch.console import Database, database_options, json_option
from flitwatch_domain.errors import BadRequest


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return the time zone of that name, or None for the machine's own."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadRequest(f"there is no time zone {name!r}", advice="Use a name such as UTC or Europe/Berlin.") from None


@click.command("sacct")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--timezone", help="Time zone of times without one, such as Europe/Berlin (default: the zone of this machine)."
)
@click.option("--cluster", default="default", help="Name of the cluster, if the output has none.")
@click.option(
    "--columns",
    help="Columns of a text without a header, separated by commas, with the names of sacct's --format. The columns of sacct and "
    "XDMoD are recognised automatically.",
)
@database_options
@json_option
def sacct(
    file: Path, timezone: str | None, cluster: str, columns: str | None, database: Database, as_json: bool
) -> None:
    """Import FILE: output of sacct --parsable2, sacct --json, squeue --json or scontrol show jobs --json. It can be compressed. XDMoD's logs of
    sacct are accepted too; their times are in UTC (--timezone UTC). The exit status is 3 if records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch_ingest.sources.sacct import SacctReader

    zone = zone_named(timezone)
    named = columns.split(",") if columns else None
    import_jobs(
        "sacct", [file], lambda: SacctReader(zone, cluster, named), name=file, database=database, as_json=as_json
    )
