"""Options `--metrics-port` and `--metrics-host`: metrics and liveness of processes without their own HTTP, for Prometheus and probes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flitwatch.console import FiniteRange
from flitwatch.http_server import HttpServer, open_listener
from flitwatch_domain.build import build_name
from flitwatch_domain.heartbeat import HANGS_AFTER_S
from flitwatch_ops.watched import HANGS_AFTER, own_heartbeat

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from starlette.types import Receive, Scope, Send

#: Connection limit for scrapers and probes.
CONNECTIONS = 64

#: Key in a command's context: its metrics are served.
_SERVES = f"{__name__}.serves"

F = TypeVar("F", bound=Callable[..., Any])


def metrics_option(function: F) -> F:
    """Serve `/metrics` (memory, CPU time, open files and start of the process, its command and version) and `/livez`."""
    port = click.option(
        "--metrics-port",
        type=click.IntRange(1, 65535),
        envvar="FLITWATCH_METRICS_PORT",
        expose_value=False,
        callback=_serve_metrics,
        help="Serve the metrics of this process on this port.",
    )
    host = click.option(
        "--metrics-host",
        default="127.0.0.1",
        envvar="FLITWATCH_METRICS_HOST",
        expose_value=False,
        is_eager=True,
        callback=_note_host,
        help="Address that the metrics are served on. Anyone who can reach it can read them.",
    )
    hangs = click.option(
        "--hangs-after",
        type=FiniteRange(1, 86_400),
        default=HANGS_AFTER_S,
        envvar=HANGS_AFTER,
        expose_value=False,
        is_eager=True,
        callback=_note_limit,
        help="Report unhealthy at /livez after this many seconds without progress.",
    )
    return port(host(hangs(function)))


def _note_host(ctx: click.Context, param: click.Parameter, host: str) -> None:
    ctx.meta[__name__] = host


def _note_limit(ctx: click.Context, param: click.Parameter, seconds: float) -> None:
    own_heartbeat().hangs_after_s = seconds


async def _answer_request(scope: Scope, receive: Receive, send: Send) -> None:
    from prometheus_client import make_asgi_app

    if scope["type"] != "http" or scope["path"] != "/livez":
        await make_asgi_app()(scope, receive, send)
        return
    heartbeat = own_heartbeat()
    silent_s = heartbeat.silent_s
    loop_state = (
        "the loop has not started" if silent_s is None else f"the loop last completed a round {silent_s:.1f} s ago"
    )
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    status = 503 if heartbeat.is_hung else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = f"{loop_state}; it counts as hung after {heartbeat.hangs_after_s:g} s\n".encode()
    await send({"type": "http.response.body", "body": body})


def process_info(command: str, registry: CollectorRegistry) -> None:
    """Add this process's command and version to a registry."""
    from prometheus_client import Info

    Info("flitwatch_process", "Command and version of this process.", registry=registry).info(
        {"command": command, "version": build_name()}
    )


def add_figures(url: str, queues: Sequence[str] | None = None) -> None:
    """Add metrics of queues and this machine's database, if the running command serves metrics. Without `queues`, add those of alert deliveries."""
    if click.get_current_context().meta.get(_SERVES):
        from prometheus_client import REGISTRY

        from flitwatch.own_figures import OwnFigures

        REGISTRY.register(OwnFigures(url, queues))


def _serve_metrics(ctx: click.Context, param: click.Parameter, port: int | None) -> None:
    if port is None or ctx.resilient_parsing:
        return
    from prometheus_client import REGISTRY

    ctx.meta[_SERVES] = True
    process_info(ctx.command_path, REGISTRY)
    listening = open_listener(ctx.meta[__name__], port, "metrics", "--metrics-port, or --metrics-host")
    HttpServer(_answer_request, listening, CONNECTIONS)
