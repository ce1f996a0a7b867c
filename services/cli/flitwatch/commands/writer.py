"""`flitwatch writer`: write records from the log to the database until stopped."""

from __future__ import annotations

import click

from flitwatch.console import (
    Database,
    FiniteRange,
    database_options,
    json_option,
    log_to_stderr,
    print_result,
    stop_on_signal,
)
from flitwatch.metrics import metrics_option
from flitwatch_ops.watched import own_heartbeat


@click.command()
@database_options
@click.option(
    "--log",
    "log_at",
    envvar="FLITWATCH_LOG",
    help="URL of the log. By default, the log is in the database.",
)
@click.option(
    "--registry",
    envvar="FLITWATCH_REGISTRY",
    help="URL of the schema registry, or a JSON file of Avro schemas.",
)
@click.option(
    "--fabric",
    envvar="FLITWATCH_FABRIC",
    help="Fabric of the nodes that send. Required if several fabrics contain them.",
)
@click.option("--group", default="writer", help="Consumer group. Writers of one group share the topics.")
@click.option("--topics", "pattern", help="Regular expression for topics with LDMS rows.")
@click.option("--interval", type=FiniteRange(0.05, 60), default=1.0, help="Seconds between transactions.")
@json_option
@metrics_option
def writer(
    database: Database,
    log_at: str | None,
    registry: str | None,
    fabric: str | None,
    group: str,
    pattern: str | None,
    interval: float,
    as_json: bool,
) -> None:
    """Write records from the log to the database. Several writers share the topics. If one ends or is killed, the others take over its topics. On
    SIGTERM, the writer finishes its transaction and exits.
    """
    from prometheus_client import REGISTRY

    from flitwatch_ingest.writer import Writer, WriterSettings
    from flitwatch_ingest.writer.metrics import WriterCollector
    from flitwatch_ops import platform
    from flitwatch_stream.backends import open_log
    from flitwatch_stream.topics import LDMS_PATTERN

    log_to_stderr()
    stop = stop_on_signal()
    settings = WriterSettings(
        group=group, pattern=pattern or LDMS_PATTERN, fabric=fabric, registry=registry, interval_s=interval
    )
    with (
        database.open(platform.SERVICE_PATIENCE_S, stop) as url,
        open_log(log_at or platform.log_url(url)) as log,
    ):
        carrier = Writer(url, log, settings, stop, heartbeat=own_heartbeat())
        REGISTRY.register(WriterCollector(carrier))
        carrier.run()
        print_result(carrier.measures.report(), as_json)
