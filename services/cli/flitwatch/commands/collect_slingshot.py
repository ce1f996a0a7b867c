"""`flitwatch collect slingshot`: counters of Slingshot's switches from the fabric manager's telemetry."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import click

from flitwatch.commands.following import (
    CollectorOptions,
    add_checkpoint_options,
    exit_collector,
    expose_metrics,
    map_option,
    needs_extra,
    open_session,
    print_message,
    refused_of,
)
from flitwatch.console import print_result


@click.command("slingshot")
@click.argument("places", type=click.Path(path_type=Path), nargs=-1)
@click.option("--kafka", "url", help="Kafka broker of the fabric manager, as kafka://HOST:9092.")
@click.option(
    "--topic",
    "topics",
    multiple=True,
    help="Topic of the fabric's telemetry (repeatable; default: cray-fabric-perf-telemetry and similar names, and HPCM's slingshot_CrayFabric*).",
)
@map_option("sensors (repeatable). Its rows override the built-in ones.")
@add_checkpoint_options
def slingshot(
    places: tuple[Path, ...],
    url: str | None,
    topics: tuple[str, ...],
    maps: tuple[Path, ...],
    common: CollectorOptions,
) -> None:
    """Collect the port telemetry of Slingshot switches from the fabric manager's Kafka, or from PLACES: files with one record per line, or folders of
    such files. The component name (x3000c0r41j13p0) identifies the port, so import the fabric's links or template first. A table maps sensors to
    counters; other sensors are stored unchanged. Unreadable records become dead letters. FLITWATCH_KAFKA_PROPERTIES names a file with settings for
    TLS and SASL.
    """
    from flitwatch_domain.errors import BadRequest, Cancelled

    with needs_extra("metrics"):
        from flitwatch_ingest.collectors.rounds import ask_again
        from flitwatch_ingest.collectors.slingshot import FileReader, SensorRecords, TopicReader
        from flitwatch_ingest.exporters import Intake, MetricTable
        from flitwatch_ingest.exporters.metrics import EndpointCollector
        from flitwatch_ingest.sources.slingshot import TOPICS
    from flitwatch_stream.backends import open_log

    if bool(url) == bool(places):
        raise BadRequest("give one source to read from", advice="Use --kafka kafka://HOST:9092, or files or folders.")
    if topics and not url:
        raise BadRequest("--topic requires --kafka", advice="Leave it out, or add --kafka kafka://HOST:9092.")
    table = MetricTable(maps, "slingshot")
    with ExitStack() as stack:
        about = url or str(places[0].absolute())
        publisher, checkpoint, stop = stack.enter_context(open_session("slingshot", about, common))
        intake = Intake(table, publisher, checkpoint)
        stack.enter_context(expose_metrics(EndpointCollector(intake, None, None)))
        records = SensorRecords(intake, publisher)

        with suppress(Cancelled):
            if url:
                source = stack.enter_context(open_log(url))
                reader = TopicReader(source, topics or TOPICS, records, checkpoint)
                reader.once(stop) if common.once else reader.run(stop, publisher.heartbeat, print_message)
            else:
                files = FileReader(places, records, checkpoint, follow=not common.once)

                def look(_: bool) -> bool:
                    files.look(stop)
                    return False

                if common.once:
                    look(False)
                else:
                    ask_again(stop, publisher.heartbeat, common.interval_s or 1.0, look)
    report = {
        "records": records.records,
        "sensors": dict(sorted(records.results.items())),
        "published": publisher.published,
        "rejected": publisher.rejected,
        **refused_of(intake),
    }
    print_result(report, common.as_json)
    exit_collector(len(intake.refused), common)
