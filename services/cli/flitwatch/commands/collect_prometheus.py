"""`flitwatch collect prometheus`: counters by remote write, OTLP and scraping."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

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
    say_unknown,
)
from flitwatch.console import print_result
from flitwatch.http_server import HttpServer, open_listener

if TYPE_CHECKING:
    from flitwatch_ingest.exporters.http import WriteEndpoint

#: Open connections; a Prometheus opens up to 50 (`max_shards`).
CONNECTIONS = 512
_LOCAL = ("127.0.0.1", "::1", "localhost")


@click.command("prometheus")
@click.option("--listen", help="Accept remote write and OTLP metrics at ADDRESS:PORT, for example 127.0.0.1:9095.")
@click.option("--scrape", "urls", multiple=True, metavar="URL", help="URL of an exporter to scrape (repeatable).")
@map_option("metrics (repeatable). Its rows override the built-in ones.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    envvar="FLITWATCH_COLLECT_TOKEN_FILE",
    help="File with the bearer token that senders must present.",
)
@click.option(
    "--insecure-network",
    is_flag=True,
    help="Listen to other machines without a token. Anyone who can reach the port can then write counters.",
)
@add_checkpoint_options
def prometheus(
    listen: str | None,
    urls: tuple[str, ...],
    maps: tuple[Path, ...],
    token_file: Path | None,
    insecure_network: bool,
    common: CollectorOptions,
) -> None:
    """Collect counters from Prometheus (remote write 1.0 and 2.0), from OpenTelemetry (OTLP metrics over HTTP), or by scraping exporters. Remote
    write uses /api/v1/write, and OTLP uses /v1/metrics. A table maps metrics to counters and labels to ports; `--map` extends it. Unknown metrics
    are counted, and the first sample of each becomes a dead letter. The final report names them, and with --once the exit status is then 3.
    """
    from flitwatch_domain.errors import BadRequest, Cancelled, Unavailable
    from flitwatch_domain.secret_file import token_of

    with needs_extra("metrics"):
        from flitwatch_ingest.collectors.rounds import ask_again
        from flitwatch_ingest.exporters import Intake, MetricTable
        from flitwatch_ingest.exporters.http import WriteEndpoint
        from flitwatch_ingest.exporters.metrics import EndpointCollector
        from flitwatch_ingest.exporters.scraper import Scraper

    if not listen and not urls:
        raise BadRequest("there is nothing to collect from", advice="Use --listen ADDRESS:PORT, --scrape URL, or both.")
    if common.once and listen:
        raise BadRequest(
            "--once exits after one read, so clients could not send anything", advice="Leave out --listen."
        )
    host, port = _parse_address(listen) if listen else ("", 0)
    token = token_of(token_file) if token_file else ""
    if listen and host not in _LOCAL and not token and not insecure_network:
        raise BadRequest(
            f"{host} is open to other machines without a token",
            advice="Use --token-file FILE, or --insecure-network if you want this.",
        )
    table = MetricTable(maps)
    with ExitStack() as stack:
        about = listen or urls[0]
        publisher, checkpoint, stop = stack.enter_context(open_session("prometheus", about, common, patience_s=10.0))
        intake = Intake(table, publisher, checkpoint)
        endpoint = WriteEndpoint(intake, token) if listen else None
        scraper = Scraper(urls, intake, print_message) if urls else None
        stack.enter_context(expose_metrics(EndpointCollector(intake, endpoint, scraper)))

        printed = 0

        def look(_: bool) -> bool:
            nonlocal printed
            try:
                if scraper:
                    scraper.look()
            except Unavailable as away:
                print_message(f"the samples are lost, and are counted with the next read: {away.message}")
            printed = say_unknown(intake, printed)
            return False

        if common.once and scraper:
            scraper.look()
        else:
            if endpoint:
                stack.enter_context(_serve_endpoint(endpoint, host, port, stop))
                print_message(f"listening at {host}:{port}")
            with suppress(Cancelled):
                ask_again(stop, publisher.heartbeat, common.interval_s or 15.0, look)
    report = {"published": publisher.published, "rejected": publisher.rejected, **refused_of(intake)}
    print_result(report, common.as_json)
    exit_collector(len(intake.refused), common)


def _parse_address(listen: str) -> tuple[str, int]:
    from flitwatch_domain import units
    from flitwatch_domain.errors import BadRequest

    host, _, port = listen.rpartition(":")
    number = units.parse_whole(port, least=1, most=(1 << 16) - 1)
    if not host or number is None:
        raise BadRequest(
            f"{listen!r} is not an address to listen on", advice="Write ADDRESS:PORT, such as 127.0.0.1:9095."
        )
    return host.strip("[]"), number


@contextmanager
def _serve_endpoint(endpoint: WriteEndpoint, host: str, port: int, stop: threading.Event) -> Iterator[None]:
    """Serve in a separate thread. If the server ends on its own, the collector stops."""
    server = HttpServer(endpoint.app, open_listener(host, port, "counters", "--listen"), CONNECTIONS, stop.set)
    try:
        yield
    finally:
        server.stop()
