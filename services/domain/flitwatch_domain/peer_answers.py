"""Answers of other servers, with a deadline for the whole answer and a limit on compression."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx

#: Events of httpcore at which a request gets its socket: the plain one, then the one with TLS, directly or through a proxy.
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete", "proxy.start_tls.complete")


@contextlib.contextmanager
def stream_answer(
    client: httpx.Client, method: str, url: str, due_s: float, headers: dict[str, str] | None = None, **options: Any
) -> Iterator[httpx.Response]:
    """Send a request on a connection of its own, and yield its answer. After `due_s` seconds the connection ends, even if bytes keep arriving slowly.

    Only one layer of gzip is accepted, because one part of another compression can unpack to gigabytes. Cookies are not kept. Raise httpx.HTTPError
    if the server does not answer, not in time, or with another compression.
    """
    sockets: list[socket.socket] = []
    is_overdue = threading.Event()

    def note(event: str, info: dict[str, Any]) -> None:
        if event in _CONNECTED:
            sockets.append(info["return_value"].get_extra_info("socket"))
            if is_overdue.is_set():
                # The deadline passed while the connection was being made.
                end()

    def end() -> None:
        is_overdue.set()
        for one in list(sockets):
            # TLS detaches the plain socket. Its own `shutdown` would change what another thread reads from.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)

    timer = threading.Timer(due_s, end)
    timer.daemon = True
    timer.start()
    wanted = {"Accept-Encoding": "gzip", "Connection": "close", **(headers or {})}
    try:
        with client.stream(method, url, headers=wanted, extensions={"trace": note}, **options) as answer:
            if answer.headers.get("Content-Encoding", "identity").lower() not in ("identity", "gzip"):
                raise httpx.DecodingError("the answer has another compression than gzip")
            yield answer
    finally:
        timer.cancel()
        client.cookies.clear()
