"""`flitwatch import sacct`: Slurm accounting from a file."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import database_options, json_option


@click.command("sacct")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timezone", help="Zone of times without one, such as Europe/Berlin (default: this machine's).")
@click.option("--cluster", default="default", show_default=True, help="Name for jobs whose output has no cluster.")
@click.option(
    "--columns",
    help="The columns of a text without a header, as sacct's --format names them, with commas between; sacct's own and XDMoD's are recognised.",
)
@database_options
@json_option
def sacct(
    file: Path,
    timezone: str | None,
    cluster: str,
    columns: str | None,
    db_url: str | None,
    ephemeral: bool,
    as_json: bool,
) -> None:
    """Import FILE: sacct --parsable2, sacct --json, squeue --json or scontrol show jobs --json; it may be compressed.

    Logs that XDMoD's shredder keeps of sacct are read too; their times are in UTC (--timezone UTC). The exit status is 3 where records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch.commands.imports.zones import zone_named
    from flitwatch_ingest.sources.sacct import SacctReader

    zone = zone_named(timezone)
    named = columns.split(",") if columns else None
    import_jobs(
        "sacct",
        [file],
        lambda: SacctReader(zone, cluster, named),
        name=file,
        db_url=db_url,
        ephemeral=ephemeral,
        as_json=as_json,
    )
