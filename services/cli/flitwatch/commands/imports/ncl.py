"""`flitwatch import ncl`: runs that AriesNCL recorded."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import Database, database_options, json_option, print_result


@click.command("ncl")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--run-json",
    type=click.Path(path_type=Path),
    help="JSON file with start, job and nodes of the run (default: run.json in the folder).",
)
@database_options
@json_option
def ncl(folder: Path, run_json: Path | None, database: Database, as_json: bool) -> None:
    """Import the runs in FOLDER: *.timings.json with *.counters.N.bin, or the older *.nettiles.N.yaml."""
    from flitwatch.commands.imports.through_log import finish_import, open_import_log
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.collectors.checkpoint import Checkpoint
    from flitwatch_ingest.collectors.ncl import NclCollector

    with open_import_log(database) as through:
        collector = NclCollector(folder, through.publisher, Checkpoint(None), run_json=run_json)
        collector.once()
        through.sources |= collector.sources
        through.write()
        counts = imports.count_runs(through.conn, [timed_run.run.run_key for timed_run in collector.runs])
        report = counts._asdict() | dict(through.rejected())
    print_result(report, as_json)
    finish_import(report)
