"""`flitwatch import pbs|flux|swf|clustercockpit`: accounting of other schedulers and of portals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from flitwatch.console import Database, database_options, json_option
from flitwatch_domain.errors import NotFound


@click.command("pbs")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--timezone", help="Time zone of the PBS server, such as Europe/Berlin (default: the zone of this machine)."
)
@click.option("--cluster", help="Name of the cluster (default: the server's name in the job ids).")
@database_options
@json_option
def pbs(files: tuple[Path, ...], timezone: str | None, cluster: str | None, database: Database, as_json: bool) -> None:
    """Import FILES, accounting logs of PBS or Torque, oldest first. They can be compressed. The files of a folder are read in the order of their
    names, as PBS names them by day. The exit status is 3 if records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch.commands.imports.sacct import zone_named
    from flitwatch_ingest.sources.pbs import PbsReader

    zone = zone_named(timezone)
    import_jobs(
        "pbs",
        list(_each_file(files)),
        lambda: PbsReader(zone, cluster),
        name=files[0],
        database=database,
        as_json=as_json,
    )


@click.command("flux")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--cluster", default="default", help="Name of the cluster. Flux does not record it.")
@database_options
@json_option
def flux(file: Path, cluster: str, database: Database, as_json: bool) -> None:
    """Import FILE: the output of `flux jobs -a --json`, or an answer of Flux's service job-list. It can be compressed.

    The exit status is 3 if records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch_ingest.sources.flux import FluxReader

    import_jobs("flux", [file], lambda: FluxReader(cluster), name=file, database=database, as_json=as_json)


@click.command("swf")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--cluster", default="default", help="Name of the cluster. The format does not record it.")
@database_options
@json_option
def swf(file: Path, cluster: str, database: Database, as_json: bool) -> None:
    """Import FILE, a log in the Standard Workload Format (Parallel Workloads Archive). It can be compressed. The format does not record nodes, so
    the jobs are assigned to no fabric. The exit status is 3 if records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch_ingest.sources.swf import SwfReader

    import_jobs("swf", [file], lambda: SwfReader(cluster), name=file, database=database, as_json=as_json)


@click.command("clustercockpit")
@click.argument("archive", type=click.Path(path_type=Path))
@click.option("--cluster", help="Name of the cluster (default: from the archive).")
@database_options
@json_option
def clustercockpit(archive: Path, cluster: str | None, database: Database, as_json: bool) -> None:
    """Import the jobs of ARCHIVE: the folder of a ClusterCockpit job archive, a part of it, or one meta.json.

    The exit status is 3 if records were refused.
    """
    from flitwatch.commands.imports.accounting import import_jobs
    from flitwatch_ingest.sources import clustercockpit as source

    files = list(source.find_job_files(archive)) if archive.is_dir() else [archive]
    if not files:
        raise NotFound(
            f"{archive} contains no {source.META}", advice="Give the folder of ClusterCockpit's job archive."
        )
    import_jobs(
        "clustercockpit",
        files,
        lambda: source.ClusterCockpitReader(cluster),
        name=archive,
        database=database,
        as_json=as_json,
    )


def _each_file(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        if not files:
            raise NotFound(f"{path} contains no file", advice="Give the folder of PBS's accounting logs.")
        yield from files
