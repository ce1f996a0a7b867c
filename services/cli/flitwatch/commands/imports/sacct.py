"""`flitwatch import sacct`: Slurm accounting from a file."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import database_options, emit, json_option

if TYPE_CHECKING:
    import psycopg

    from flitwatch_ingest.sources.incarnations import Held, JobKey


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
    from flitwatch_ingest.sources.incarnations import number_restarts, unnumbered

    data = read_bytes(file)
    found, rejected = source.read(data, str(file), zone=zone_named(timezone), cluster=cluster)
    with door(db_url, ephemeral) as through:
        # What the log still carries of these jobs is stored first: their numbers go on from there.
        through.write()
        jobs = number_restarts(found, _held(through.conn, unnumbered(found)))
        publish_jobs(jobs, through.publisher)
        # The rejected of one file's content are one source: importing it again does not list them twice, another day's file of the name does not hide them.
        name = f"sacct:{file.absolute()}#{hashlib.blake2b(data, digest_size=8).hexdigest()}"
        for number, item in enumerate(rejected, start=1):
            through.publisher.reject(item, name, number)
        through.sources.add(name)
        through.shared |= {f"sacct:{job.cluster}" for job in jobs}
        through.write()
        counts = imports.jobs(through.conn, {(job.cluster, job.job_id, job.restart) for job in jobs})
        report = counts._asdict() | through.rejected()
    emit(report, as_json)


def _held(conn: psycopg.Connection[Any], keys: set[JobKey]) -> dict[JobKey, list[Held]]:
    from flitwatch_db import imports
    from flitwatch_ingest.sources.incarnations import Held

    held: defaultdict[JobKey, list[Held]] = defaultdict(list)
    for cluster, job_id, restart, submit_s, start_s, end_s in imports.incarnations(conn, keys):
        held[cluster, job_id].append(Held(restart, submit_s, start_s, end_s))
    return dict(held)
