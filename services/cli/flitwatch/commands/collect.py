"""`flitwatch collect`: follow a source and publish its data to the log."""

from __future__ import annotations

from pathlib import Path

import click

from flitwatch.commands.collect_ethernet import gnmi, sonic
from flitwatch.commands.collect_infiniband import infiniband
from flitwatch.commands.collect_prometheus import prometheus
from flitwatch.commands.collect_slingshot import slingshot
from flitwatch.commands.collect_ufm import ufm
from flitwatch.commands.following import (
    CollectorOptions,
    add_checkpoint_options,
    open_session,
    print_message,
    report_published,
)
from flitwatch.console import FiniteRange, Group


@click.group(cls=Group)
def collect() -> None:
    """Follow a source and publish its data to the log, until stopped.

    You can stop a collector at any time: it continues at its checkpoint, and no data are lost or counted twice.
    """


@collect.command("ldms-csv")
@click.argument("places", type=click.Path(path_type=Path), nargs=-1, required=True)
@add_checkpoint_options
def ldms_csv(
    places: tuple[Path, ...],
    common: CollectorOptions,
) -> None:
    """Follow the store_csv files in PLACES (files or folders) as they grow and roll over."""
    from flitwatch_ingest.collectors.ldms_csv import CsvCollector

    with open_session("ldms-csv", str(places[0].absolute()), common) as (publisher, checkpoint, stop):
        collector = CsvCollector(places, publisher, checkpoint, follow=True)
        try:
            collector.once(stop) if common.once else collector.run(stop, common.interval_s or 1.0, print_message)
        finally:
            collector.close()
    report_published(publisher, common.as_json)


@collect.command("ncl")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--settle",
    "settle_s",
    type=FiniteRange(0),
    default=10.0,
    help="Seconds without changes after which a run's files count as complete.",
)
@add_checkpoint_options
def ncl(
    folder: Path,
    settle_s: float,
    common: CollectorOptions,
) -> None:
    """Collect the runs that AriesNCL records in FOLDER or in its subfolders."""
    from flitwatch_ingest.collectors.ncl import NclCollector

    with open_session("ncl", str(folder.absolute()), common) as (publisher, checkpoint, stop):
        collector = NclCollector(folder, publisher, checkpoint, settle_s=settle_s)
        if common.once:
            collector.look(stop)
        else:
            collector.run(stop, common.interval_s or 2.0, print_message)
    report_published(publisher, common.as_json)


@collect.command("sacct")
@click.option("--sacct", "command", default="sacct", help="Path of sacct.")
@click.option(
    "--since",
    "since_s",
    type=FiniteRange(0),
    default=86400.0,
    help="How many seconds back the first query reaches.",
)
@add_checkpoint_options
def sacct(
    command: str,
    since_s: float,
    common: CollectorOptions,
) -> None:
    """Poll this machine's sacct and publish changed jobs."""
    from flitwatch_ingest.collectors.sacct import SacctCollector

    with open_session("sacct", command, common) as (publisher, checkpoint, stop):
        collector = SacctCollector(publisher, checkpoint, command=command, since_s=since_s)
        if common.once:
            collector.once()
        else:
            collector.run(stop, common.interval_s or 30.0, print_message)
    report_published(publisher, common.as_json)


collect.add_command(gnmi)
collect.add_command(infiniband)
collect.add_command(prometheus)
collect.add_command(slingshot)
collect.add_command(sonic)
collect.add_command(ufm)
