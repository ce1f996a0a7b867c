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
    from flitwatch.commands.imports.through_log import door, say
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
        refused = imports.refused_by(through.conn, totals.sources, "late beyond ")
        late = sum(count for _, count in refused.values())
        report = {
            "records": totals.records - sum(count for count, _ in refused.values()),
            "values": sum(
                # The records of a file have one width.
                values - values * refused.get(source, (0, 0))[0] // max(records, 1)
                for source, (records, values) in totals.read.items()
            ),
            "schemas": sorted(totals.schemas),
            "producers": sorted(totals.producers),
            "gaps": imports.gaps_after(through.conn, before),
        } | through.rejected()
    if late:
        say(
            f"{late} records are older than the last samples kept of their instance, or repeat older ones, and were not added. Import old"
            " files before newer ones: files named together are read in the order of time."
        )
    emit(report, as_json)
