"""`flitwatch import sacct`: Slurm accounting from a file."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from flitwatch.console import database_options, emit, json_option, progress

if TYPE_CHECKING:
    import psycopg

    from flitwatch.commands.imports.through_log import Door
    from flitwatch_ingest.sources.incarnations import Found, Held, JobKey

#: Jobs in memory at once, and written before the next are read: a year of accounting takes no more than an hour of it.
JOBS_AT_ONCE = 10_000


@click.command("sacct")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timezone", help="Zone of times without one, such as Europe/Berlin (default: this machine's).")
@click.option("--cluster", default="default", show_default=True, help="Name for jobs whose output has no cluster.")
@click.option(
    "--columns",
    help="The columns of a text without a header, as sacct's --format names them, with commas between; sacct's own are recognised.",
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

    The exit status is 3 where records were refused.
    """
    from flitwatch.commands.imports.through_log import door, finish
    from flitwatch.commands.imports.zones import zone_named
    from flitwatch_db.ingest import imports
    from flitwatch_domain.importers.packed import open_plain
    from flitwatch_ingest.sources import sacct as source
    from flitwatch_ingest.sources.rejection import Rejection

    zone = zone_named(timezone)
    named = columns.split(",") if columns else None
    # A file that is none is refused before a database is started.
    with open_plain(file) as plain:
        next(source.stream(plain, str(file), zone=zone, cluster=cluster, columns=named), None)
    with door(db_url, ephemeral) as through, open_plain(file) as plain, progress("importing") as display:
        size = os.path.getsize(file) if file.is_file() else None
        task = display.add_task("importing", total=size)
        digest = hashlib.blake2b(digest_size=8)
        counted = _Counted(plain, digest.update)
        items = source.stream(counted, str(file), zone=zone, cluster=cluster, columns=named)  # type: ignore[arg-type]
        # What the log still carries of these jobs is stored first: their numbers go on from there.
        through.write(quiet=True)
        rejected: list[Rejection] = []
        imports.count_jobs_from_here(through.conn)
        while batch := list(islice(items, JOBS_AT_ONCE)):
            rejected += [item for item in batch if isinstance(item, Rejection)]
            _carry(through, [item for item in batch if not isinstance(item, Rejection)])
            display.update(task, completed=min(counted.bytes, size or counted.bytes))
        # The rejected of one file's content are one source: importing it again does not list them twice, another day's file of the name does not hide them.
        name = f"sacct:{file.absolute()}#{digest.hexdigest()}"
        for number, item in enumerate(rejected, start=1):
            through.publisher.reject(item, name, number)
        through.sources.add(name)
        through.write(quiet=True)
        report = imports.jobs_counted(through.conn)._asdict() | through.rejected()
    emit(report, as_json)
    finish(report)


def _carry(through: Door, found: list[Found]) -> None:
    """Number a batch's incarnations behind those that are stored, and write it."""
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.collectors.sacct import publish_jobs
    from flitwatch_ingest.sources.incarnations import number_restarts, unnumbered

    jobs = number_restarts(found, _held(through.conn, unnumbered(found)))
    publish_jobs(jobs, through.publisher)
    through.shared |= {f"sacct:{job.cluster}" for job in jobs}
    through.write(quiet=True)
    imports.count_jobs(through.conn, {(job.cluster, job.job_id, job.restart) for job in jobs})


class _Counted:
    """A file's lines, counted as they are read and told to `each`."""

    def __init__(self, lines: IO[bytes], each: Callable[[bytes], object]) -> None:
        self._lines = lines
        self._each = each
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.bytes += len(line)
            self._each(line)
            yield line


def _held(conn: psycopg.Connection[Any], keys: set[JobKey]) -> dict[JobKey, list[Held]]:
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.sources.incarnations import Held

    held: defaultdict[JobKey, list[Held]] = defaultdict(list)
    for cluster, job_id, restart, submit_s, start_s, end_s in imports.incarnations(conn, keys):
        held[cluster, job_id].append(Held(restart, submit_s, start_s, end_s))
    return dict(held)
