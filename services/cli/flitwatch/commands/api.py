"""`flitwatch api`: the API and the page on one port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flitwatch.console import Database, database_options, log_to_stderr, print_result
from flitwatch.exposure import Exposure, Role, exposure_options

#: How long open requests can continue after the stop signal.
GRACE_S = 10


@click.command()
@exposure_options
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    envvar="FLITWATCH_METRICS_PORT",
    help="Also serve /metrics, /healthz and /readyz, and nothing else, on this port, for any host name.",
)
@click.option(
    "--web",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the built page (default: that of this installation).",
)
@click.option("--access-log", is_flag=True, help="Log one line of JSON per request.")
@database_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object with url, metrics_port and pid once the ports are open.",
)
def api(
    host: str,
    port: int,
    expose: Callable[[Role], Exposure],
    metrics_host: str,
    metrics_port: int | None,
    web: Path | None,
    access_log: bool,
    database: Database,
    as_json: bool,
) -> None:
    """Serve the API and the page until stopped."""
    import os
    import signal
    import sys

    from pydantic import SecretStr

    from flitwatch_api.serve import serve_api
    from flitwatch_api.settings import Settings
    from flitwatch_ops.first_admin import ensure_admin
    from flitwatch_ops.platform import SERVICE_PATIENCE_S
    from flitwatch_ops.watched import own_heartbeat

    if metrics_port == port:
        raise click.UsageError("--metrics-port and --port must differ")
    # The data's owner is unknown here, so callers without a login can only read.
    reached = expose("viewer")
    chosen: dict[str, Any] = {} if web is None else {"web": web}
    # Before waiting for a database or creating one: report invalid settings at once.
    settings = Settings.read(
        api_hosts=reached.hosts,
        api_anonymous=reached.anonymous,
        api_access_log=access_log,
        api_metrics_port=metrics_port,
        **chosen,
    )
    log_to_stderr()
    # Until the server handles signals itself: do not leave a temporary database behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with database.open(SERVICE_PATIENCE_S) as url:
        ensure_admin(url)

        def announce() -> None:
            if as_json:
                name = f"[{host}]" if ":" in host else host
                print_result({"url": f"http://{name}:{port}", "metrics_port": metrics_port, "pid": os.getpid()}, True)

        served = settings.model_copy(update={"db": SecretStr(url)})
        serve_api(
            served, host, port, grace_s=GRACE_S, metrics_host=metrics_host, heartbeat=own_heartbeat(), announce=announce
        )
