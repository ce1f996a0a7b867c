"""Server: one process, uvloop and httptools, and a stop that does not wait for endless streams."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from flitwatch_api.app import build_routes, create_app
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import Unavailable
from flitwatch_domain.heartbeat import Heartbeat
from flitwatch_domain.http_protocol import HttpConfig

KEEP_ALIVE_S = 75
#: Connections per page: a browser opens up to six to a server, one of them for the event stream.
PAGE_CONNECTIONS = 6
#: Other connections. Requests beyond the limit get 503 at once.
CONNECTIONS = 500
#: Open files other than connections: the database's, libraries, the page.
OTHER_FILES = 256


class Server(uvicorn.Server):
    """Server that ends event streams first at shutdown, because it would wait for them forever. `heartbeat` beats with its loop."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, heartbeat: Heartbeat | None = None) -> None:
        super().__init__(config)
        self.app = app
        self._heartbeat = heartbeat or Heartbeat()

    async def on_tick(self, counter: int) -> bool:
        """Beat once per second; called ten times per second."""
        if counter % 10 == 0:
            self._heartbeat.beat()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        platform = getattr(self.app.state, "platform", None)
        if platform is not None:
            platform.hub.close_streams()
        await super().shutdown(sockets)
        # uvicorn would raise the signal again, which would end the process before its database is released.
        self._captured_signals.clear()


def make_server(
    settings: Settings,
    host: str,
    port: int,
    *,
    grace_s: int = 10,
    heartbeat: Heartbeat | None = None,
) -> Server:
    app = create_app(settings)
    config = HttpConfig(
        app,
        _most_connections(settings),
        settings.api_trusted_proxies,
        host=host,
        port=port,
        loop="uvloop",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=grace_s,
        log_config=None,
        proxy_headers=bool(settings.api_trusted_proxies),
        forwarded_allow_ips=list(settings.api_trusted_proxies),
    )
    return Server(config, app, heartbeat)


def open_listener(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 chooses a free one. Raise Unavailable if the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as taken:
        why = getattr(taken, "strerror", None) or str(taken)
        raise Unavailable(
            f"port {port} on {host} cannot be used: {why}", advice="Choose another with --port."
        ) from None


def _most_connections(settings: Settings) -> int:
    return settings.api_streams_max * PAGE_CONNECTIONS + CONNECTIONS


def _allow_files(number: int) -> None:
    """Raise the process's limit of open files, if the system permits: each connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def serve_api(
    settings: Settings,
    host: str,
    port: int,
    *,
    grace_s: int = 10,
    metrics_host: str = "127.0.0.1",
    heartbeat: Heartbeat | None = None,
    announce: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal arrives. `settings.api_metrics_port` listens on `metrics_host`. `announce` is called once the ports are open. Raise
    Unavailable if the address cannot be used."""
    _allow_files(_most_connections(settings) + OTHER_FILES)
    with contextlib.ExitStack() as stack:
        listening = [stack.enter_context(open_listener(host, port))]
        if settings.api_metrics_port is not None:
            listening.append(stack.enter_context(open_listener(metrics_host, settings.api_metrics_port)))
        announce()
        server = make_server(settings, host, port, grace_s=grace_s, heartbeat=heartbeat)
        build_routes(server.app)
        server.run(sockets=listening)
