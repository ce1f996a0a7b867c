"""`flitwatch collect ufm`: a subnet's topology from UFM's REST interface, its counters from UFM telemetry."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flitwatch.commands.following import (
    CollectorOptions,
    add_checkpoint_options,
    ca_file_option,
    cluster_option,
    discovery_option,
    exit_collector,
    expose_metrics,
    fabric_option,
    keep_topology,
    map_option,
    needs_extra,
    print_message,
    refused_of,
    say_unknown,
    topology_session,
)
from flitwatch.console import print_result

if TYPE_CHECKING:
    from flitwatch_domain.fabric import Fabric


@click.command("ufm")
@click.option("--url", help="UFM server, as https://HOST. Its REST interface has the topology.")
@click.option(
    "--telemetry",
    "pages",
    multiple=True,
    metavar="URL",
    help="URL of UFM telemetry in Prometheus text, CSV or JSON, such as http://HOST:9001/csv/xcset/ib_basic_debug (repeat it for each shard).",
)
@click.option(
    "--credentials-file",
    type=click.Path(path_type=Path),
    envvar="FLITWATCH_UFM_CREDENTIALS_FILE",
    help="File with user:password or an access token of UFM, readable only by its owner.",
)
@ca_file_option
@map_option("metrics, as in `flitwatch collect prometheus --map`.")
@fabric_option("infiniband")
@cluster_option
@discovery_option
@add_checkpoint_options
def ufm(
    url: str | None,
    pages: tuple[str, ...],
    credentials_file: Path | None,
    ca_file: Path | None,
    maps: tuple[Path, ...],
    name: str,
    cluster: str | None,
    discovery_s: float,
    common: CollectorOptions,
) -> None:
    """Read topology and port counters of an InfiniBand subnet from UFM. You need no tool on the subnet or on the nodes.

    The topology is written to the database. With only --log, import it with `flitwatch import fabric`. Duplicate samples are counted once, because
    UFM gives the time of each sample. An unreadable answer becomes a dead letter, and UFM is asked again in the next round. The final report names
    metrics without a row in the table, and with --once the exit status is then 3. Use --map to add rows, or to list metrics as unused.
    """
    from flitwatch_domain.errors import BadRequest, Cancelled, Conflict, Unavailable

    with needs_extra("metrics"):
        from flitwatch_ingest.collectors.answers import BadAnswer
        from flitwatch_ingest.collectors.link_failures import LinkChanges
        from flitwatch_ingest.collectors.rounds import ask_again
        from flitwatch_ingest.collectors.ufm import Credentials, Ufm, credentials_of
        from flitwatch_ingest.exporters import Intake, MetricTable
        from flitwatch_ingest.exporters.metrics import EndpointCollector
        from flitwatch_ingest.exporters.scraper import Scraper

    if not url and not pages:
        raise BadRequest("there is nothing to collect from", advice="Use --url https://HOST, --telemetry URL, or both.")
    credentials = credentials_of(credentials_file) if credentials_file else Credentials()
    server = Ufm(url, credentials, ca_file) if url else None
    with ExitStack() as stack:
        publisher, checkpoint, stop, database = stack.enter_context(
            topology_session("ufm", url or pages[0], common, patience_s=10.0)
        )
        intake, changes = Intake(MetricTable(maps), publisher, checkpoint), LinkChanges(publisher)
        scraper = (
            Scraper(pages, intake, print_message, server.client, "ufm")
            if server
            else Scraper(pages, intake, print_message, source="ufm")
        )
        stack.enter_context(expose_metrics(EndpointCollector(intake, None, scraper)))
        failing = ""

        def discover() -> Fabric | None:
            """Store the topology and return it. Print a message and return None if UFM does not provide one."""
            nonlocal failing
            assert server is not None
            try:
                fabric = server.topology(name)
            except (Unavailable, BadAnswer) as problem:
                if isinstance(problem, BadAnswer):
                    intake.keep_bad("ufm", str(problem.where), problem.reason, problem.body)
                if common.once:
                    raise
                if failing != problem.message:
                    print_message(f"waiting for the topology: {problem}")
                failing = problem.message
                return None
            failing = ""
            keep_topology(fabric, cluster, database)
            changes.publish_fabric(f"ufm:{name}", time.time(), fabric)
            publisher.flush()
            return fabric

        begun, topology = time.monotonic(), None
        if common.once:
            topology = discover() if server else None
            sample_counts = scraper.look().results if pages else Counter[str]()
            report = {
                "fabric": name if topology else None,
                "switches": len(topology.routers) if topology else 0,
                "endpoints": len(topology.endpoints) if topology else 0,
                "samples": dict(sample_counts),
                "pages_read": sum(count for (_, result), count in scraper.scrapes.items() if result == "read"),
                "pages_failed": sum(count for (_, result), count in scraper.scrapes.items() if result == "failed"),
                "published": publisher.published,
                "rejected": publisher.rejected,
                **refused_of(intake),
                "seconds": round(time.monotonic() - begun, 3),
            }
            print_result(report, common.as_json)
            exit_collector(len(intake.refused), common)
            return

        printed = 0

        def look(due: bool) -> bool:
            nonlocal printed
            discovered = False
            try:
                discovered = bool(server and due and discover())
                if pages:
                    scraper.look()
            except Conflict as problem:
                print_message(problem.message)
            except Unavailable as away:
                print_message(f"the log does not answer; later counts are in the next read: {away.message}")
            printed = say_unknown(intake, printed)
            return discovered

        with suppress(Cancelled):
            ask_again(stop, publisher.heartbeat, common.interval_s or 30.0, look, discovery_s)
    report = {"published": publisher.published, "rejected": publisher.rejected, **refused_of(intake)}
    print_result(report, common.as_json)
