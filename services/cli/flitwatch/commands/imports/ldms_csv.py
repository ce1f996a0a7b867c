"""`flitwatch import ldms-csv`: counters that LDMS stored as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flitwatch.console import NOTHING_PLACED, Database, database_options, json_option, print_result

#: Reasons listed in a report.
MOST_REASONS = 20
#: Columns named in a warning.
MOST_NAMED = 8


@click.command("ldms-csv")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@database_options
@json_option
def ldms_csv(files: tuple[Path, ...], database: Database, as_json: bool) -> None:
    """Import FILES written with store_csv, or folders of such files. Importing a file again adds only its new rows.

    The exit status is 3 if records were refused, and 4 if no counter belongs to an imported fabric.
    """
    from flitwatch.commands.imports.through_log import finish_import, open_import_log, print_notice
    from flitwatch_db.ingest import imports
    from flitwatch_ingest.collectors.checkpoint import Checkpoint
    from flitwatch_ingest.collectors.ldms_csv import CsvCollector

    with open_import_log(database) as through:
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
        report: dict[str, Any] = {
            "records": totals.records - sum(count for count, _ in refused.values()),
            "values": sum(
                # All records of a file have the same width.
                values - values * refused.get(source, (0, 0))[0] // max(records, 1)
                for source, (records, values) in totals.read.items()
            ),
            "schemas": sorted(totals.schemas),
            "producers": sorted(totals.producers),
            "gaps": imports.gaps_after(through.conn, before),
        }
        nowhere = imports.count_unplaced(through.conn, totals.spans)
        counters = sum(totals.topics[topic] for topic in nowhere)
        report |= {
            "counter_records": counters,
            "placed": max(counters - sum(nowhere.values()), 0),
            "unplaced": sum(nowhere.values()),
            "unplaced_examples": imports.list_unplaced(
                through.conn, totals.spans, [t for t, count in nowhere.items() if count]
            ),
            "unplaced_reasons": imports.why_unplaced(
                through.conn, [t for t, count in nowhere.items() if count], MOST_REASONS
            ),
            "saturated": dict(totals.saturated),
            "several_ports": sorted(totals.several_ports),
            "unknown_columns": imports.unknown_columns(through.conn, totals.schemas),
        } | dict(through.rejected())
    if late:
        print_notice(
            f"{late} records are older than the stored samples of their instance, or repeat older ones, and were not added. "
            f"Import old files before newer ones. Files in one command are read in the order of time."
        )
    if report["unplaced"]:
        print_notice(
            f"{report['unplaced']} of {counters} records of counters belong to no known fabric and are stored unchanged: "
            + "; ".join(report["unplaced_reasons"][:3])
        )
    for counter, count in totals.saturated.most_common(MOST_NAMED):
        print_notice(
            f"{counter}: {count} values are the counter's largest, at which it stops: what it counts from then on is unknown"
        )
    for schema in report["several_ports"]:
        print_notice(
            f"{schema}: each row counts several ports. They are stored unchanged and are in no figure: use a sampler with one set for each port, such as ibmad"
        )
    for schema, columns in report["unknown_columns"].items():
        more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
        print_notice(
            f"{schema}: no counter of the catalogue is called {', '.join(columns[:MOST_NAMED])}{more}: their values are not kept"
        )
    print_result(report, as_json)
    finish_import(report, NOTHING_PLACED if counters and not report["placed"] else 0)
