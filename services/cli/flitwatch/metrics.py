"""`--metrics-port`, `--metrics-host`: figures of a process that has no HTTP of its own, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flitwatch import __version__

F = TypeVar("F", bound=Callable[..., Any])


def metrics_option(function: F) -> F:
    """Serve `/metrics`: memory, CPU time, open files and start of the process, and its command and version."""
    port = click.option(
        "--metrics-port", type=click.IntRange(1, 65535), envvar="FLITWATCH_METRICS_PORT", expose_value=False, callback=_serve,
        help="Serve /metrics of this process at this port.",
    )  # fmt: skip
    host = click.option(
        "--metrics-host", default="127.0.0.1", show_default=True, envvar="FLITWATCH_METRICS_HOST", expose_value=False, is_eager=True, callback=_note_host,
        help="The address that it is served on; whoever reaches it may read it.",
    )  # fmt: skip
    return port(host(function))


def _note_host(ctx: click.Context, param: click.Parameter, host: str) -> None:
    ctx.meta[__name__] = host


def _serve(ctx: click.Context, param: click.Parameter, port: int | None) -> None:
    if port is None or ctx.resilient_parsing:
        return
    from prometheus_client import Info, start_http_server

    from flitwatch_domain.errors import Unavailable

    Info("flitwatch_process", "What this process is.").info({"command": ctx.command_path, "version": __version__})
    try:
        start_http_server(port, addr=ctx.meta[__name__])
    except OSError as taken:
        raise Unavailable(
            f"{ctx.meta[__name__]} port {port} cannot be used for metrics: {taken.strerror}",
            advice="Choose another --metrics-port, or --metrics-host.",
        ) from None
