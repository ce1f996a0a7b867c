"""`flitwatch import sacct`: Slurm accounting from a file."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import database_options, emit, json_option


@click.command("sacct")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timezone", help="Zone of times without one, such as Europe/Berlin (default: this machine's).")
@click.option("--cluster", default="default", show_default=True, help="Name for jobs whose output has no cluster.")
@database_options
@json_option
def sacct(file: Path, timezone: str | None, cluster: str, db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Import FILE, the output of sacct --parsable2 or sacct --json."""
    from flitwatch.commands.imports.through_log import door
    from flitwatch.commands.imports.zones import zone_named
    from flitwatch_db import imports
    from flitwatch_domain.importers.text import read_bytes
    from flitwatch_ingest.collectors.sacct import publish_jobs
    from flitwatch_ingest.sources import sacct as source

    jobs, rejected = source.decode(read_bytes(file), str(file), zone=zone_named(timezone), cluster=cluster)
    with door(db_url, ephemeral) as through:
        publish_jobs(jobs, through.publisher)
        # The rejected of one file are one source: importing it again does not list them twice.
        name = f"sacct:{file.absolute()}"
        for number, item in enumerate(rejected, start=1):
            through.publisher.reject(item, name, number)
        through.sources |= {name, *(f"sacct:{job.cluster}" for job in jobs)}
        through.write()
        counts = imports.jobs(through.conn, {(job.cluster, job.job_id, job.restart) for job in jobs})
        report = counts._asdict() | through.rejected()
    emit(report, as_json)
