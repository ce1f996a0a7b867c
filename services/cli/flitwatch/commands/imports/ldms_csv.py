"""`flitwatch import ldms-csv`: counters that LDMS stored as CSV."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.console import database_options, emit, json_option


@click.command("ldms-csv")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@database_options
@json_option
def ldms_csv(files: tuple[Path, ...], db_url: str | None, ephemeral: bool, as_json: bool) -> None:
    """Import FILES of store_csv, or folders of them. Importing a file again adds what it has grown by."""
    from flitwatch.commands.imports.through_log import door
    from flitwatch_db import imports
    from flitwatch_ingest.collectors.checkpoint import Checkpoint
    from flitwatch_ingest.collectors.ldms_csv import CsvCollector

    with door(db_url, ephemeral) as through:
        before = imports.last_gap(through.conn)
        collector = CsvCollector(files, through.publisher, Checkpoint(None), follow=False)
        try:
            collector.once()
        finally:
            collector.close()
        totals = collector.totals
        through.sources |= totals.sources
        through.write()
        refused, _ = imports.refused(through.conn, totals.sources, 0)
        report = {
            "records": totals.records - refused,
            "values": totals.values,
            "schemas": sorted(totals.schemas),
            "producers": sorted(totals.producers),
            "gaps": imports.gaps_after(through.conn, before),
        } | through.rejected()
    emit(report, as_json)
