"""The HTTP protocol of every listener: uvicorn's with httptools, and limits that neither has.

A request's head has a largest size and a deadline, a body has a deadline, and an address has a share of the connections. It is in the domain because
the API, the collectors and the metrics port use it, and they share no other package. Only listeners import it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from flitwatch_domain.addresses import to_network
from flitwatch_domain.shares import Shares

#: The head of a request is due after so long, from the connection's first moment; its body after so much longer.
HEAD_S = 15.0
BODY_S = 30.0
#: A request's address and headers together, as uvicorn allows with h11; and how many headers, as in http.client.
HEAD_BYTES = 64 << 10
HEAD_FIELDS = 100
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 15\r\ncontent-length: 0\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


#: Without uvicorn's warning about each request that cannot be understood: a client could fill the disk with them.
_log = logging.getLogger("uvicorn.error.requests")
_log.setLevel(logging.ERROR)


class HttpConfig(uvicorn.Config):
    """The settings of a listener.

    Parameters
    ----------
    app : ASGI application
    connections : int               requests are answered 503 while more are open
    proxies : sequence of str       networks whose connections are not shared out, as each carries many people's
    options
        As of uvicorn.Config.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        connections: int,
        proxies: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(
            app, http=HttpProtocol, ws="none", server_header=False, limit_concurrency=connections, **options
        )
        self._shares = Shares(connections)
        self._proxies = [ip_network(proxy) for proxy in proxies]

    def admit(self, address: str) -> Callable[[], None] | None:
        """Return the function to call when a connection from this address ends; None if the address has too many connections."""
        if self._is_proxy(address):
            return lambda: None
        of = to_network(address)
        return partial(self._shares.give_back, of) if self._shares.take(of) else None

    def _is_proxy(self, address: str) -> bool:
        return any(ip_address(address) in proxy for proxy in self._proxies)


class _HeadTooLarge(Exception):
    """A request's head has more than HEAD_BYTES bytes or HEAD_FIELDS headers."""


class HttpProtocol(HttpToolsProtocol):
    """One connection of a listener with HttpConfig; heads and bodies are due within HEAD_S and BODY_S, however steadily their bytes drip, and a
    larger head gets 431."""

    _due: asyncio.TimerHandle | None = None
    #: Bytes since the last part of a body or the last end of a request; and those of the head that the parser has handed on.
    _unused = 0
    _head = 0
    _dismiss: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        self.logger = _log
        super().connection_made(transport)
        self._set_deadline(HEAD_S)
        assert isinstance(self.config, HttpConfig)
        if self.client is not None:
            self._dismiss = self.config.admit(self.client[0])
            if self._dismiss is None:
                self._end(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._set_deadline(None)
        if self._dismiss is not None:
            self._dismiss()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            # Empty lines before a request begin none, and yet end uvicorn's own limit of an idle connection.
            self._set_deadline(HEAD_S)
        self._unused += len(data)
        super().data_received(data)
        # httptools hands a header on when it is complete: until then nothing else counts its bytes.
        if self._unused > HEAD_BYTES:
            self._end(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """A request's first byte."""
        self._head = 0
        self._set_deadline(HEAD_S)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer."""
        self._count_head(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._set_deadline(BODY_S)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of the request is here; the application decides how long its answer takes."""
        self._unused = 0
        self._set_deadline(None)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser does not accept."""
        if self._head > HEAD_BYTES or self._has_too_many_headers():
            self._end(_TOO_LARGE)
        else:
            super().send_400_response(msg)

    def _count_head(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES or self._has_too_many_headers():
            # The parser ends with it, and `send_400_response` is called.
            raise _HeadTooLarge

    def _has_too_many_headers(self) -> bool:
        return self.headers is not None and len(self.headers) >= HEAD_FIELDS

    def _end(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _set_deadline(self, seconds: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
