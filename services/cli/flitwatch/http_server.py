"""HTTP server in a separate thread, with the limits of all listeners."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

GRACE_S = 10


def open_listener(host: str, port: int, purpose: str, option: str) -> socket.socket:
    """Open a listening socket. Raise Unavailable if the address cannot be used. The message contains `purpose` and `option`."""
    from flitwatch_domain.errors import Unavailable

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as taken:
        raise Unavailable(
            f"{host} port {port} cannot be used for {purpose}: {taken.strerror}", advice=f"Choose another {option}."
        ) from None


class HttpServer:
    """Serves an application on a listening socket until it is stopped or the process ends.

    Parameters
    ----------
    app : ASGI application
    listening : socket.socket    closed at the end
    connections : int            limit of open connections; further ones get 503
    ended : function             called from the thread whenever the server ends
    """

    def __init__(
        self,
        app: Callable[..., Any],
        listening: socket.socket,
        connections: int,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        # Only processes that listen need it.
        import uvicorn

        from flitwatch_domain.http_protocol import HttpConfig

        self._listening, self._ended = listening, ended
        self._server = uvicorn.Server(
            HttpConfig(
                app,
                connections,
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        self._thread = threading.Thread(target=self._run_server, name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End open requests, then the server."""
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def _run_server(self) -> None:
        try:
            self._server.run(sockets=[self._listening])
        finally:
            self._ended()
