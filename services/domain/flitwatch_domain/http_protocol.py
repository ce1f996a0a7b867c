"""HTTP protocol of all listeners: uvicorn's protocol for httptools, with additional limits.

A request's head has a size limit and a deadline, a body has a deadline, an answer must be read, an address has a share of the connections, and addresses
take turns. It is in the domain because the API, the collectors and the metrics port use it and share no other package. Only listeners import it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from flitwatch_domain.shares import Shares, to_network
from flitwatch_domain.system_calls import TCP_NOTSENT_LOWAT

#: Deadline of a request's head after the connection opened, and of its body after the head.
HEAD_S = 15.0
BODY_S = 30.0
#: A client that reads less than this of a waiting answer in this time is disconnected, because the rest of the answer stays in memory.
READ_S, READ_BYTES = 30.0, 64 << 10
#: Memory for answers of a listener that are not read yet. An address has a share of it.
UNREAD_BYTES = 128 << 20
#: Bytes that the system takes of a waiting answer. By default it takes 2.6 MB, which UNREAD_BYTES does not count, and copying them takes most of the time.
UNSENT_BYTES = 128 << 10
#: Maximum number of requests that wait for the answer to an earlier one of their connection. All are parsed at once, and browsers send none.
WAITING_REQUESTS = 2
#: Connections that are accepted before the next request starts.
ARRIVALS_FIRST = 8
#: Maximum size of a request's address and headers together, as in uvicorn with h11; and maximum number of headers, as in http.client.
HEAD_BYTES = 64 << 10
HEAD_FIELDS = 100
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 15\r\ncontent-length: 0\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


#: Omits uvicorn's warning about invalid requests: a client could fill the disk with them.
_log = logging.getLogger("uvicorn.error.requests")
_log.setLevel(logging.ERROR)


class Turns:
    """Order in which requests start: one per iteration of the loop, from each address in turn. A flood of requests then delays others by a few of them.

    Without it, all requests that have arrived would run before any other request proceeds to its next step. The loop accepts one connection per iteration, so
    connections go first: a client behind hundreds of others would otherwise wait for their requests.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], object]]] = {}
        self._is_scheduled = False
        self._has_arrival = False
        self._skipped = 0

    def note_arrival(self) -> None:
        """Note a new connection: further ones may wait to be accepted."""
        self._has_arrival = True

    def take(self, loop: asyncio.AbstractEventLoop, of: str, start: Callable[[], object]) -> None:
        """Call `start` when it is the turn of this address."""
        self._waiting.setdefault(of, deque()).append(start)
        self._schedule(loop)

    def drop(self, of: str, start: Callable[[], object]) -> None:
        """Forget a request whose client left."""
        starts = self._waiting.get(of, deque())
        if start in starts:
            starts.remove(start)
        if not starts:
            self._waiting.pop(of, None)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._start_next, loop)

    def _start_next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_scheduled = False
        if self._has_arrival and self._skipped < ARRIVALS_FIRST:
            self._has_arrival = False
            self._skipped += 1
            self._schedule(loop)
            return
        self._skipped = 0
        if not self._waiting:
            return
        of = next(iter(self._waiting))
        starts = self._waiting.pop(of)
        start = starts.popleft()
        if starts:
            # Behind all others.
            self._waiting[of] = starts
        self._schedule(loop)
        start()


class HttpConfig(uvicorn.Config):
    """Settings of a listener.

    Parameters
    ----------
    app : ASGI application
    connections : int               limit of open connections; further requests get 503
    proxies : sequence of str       networks without a limit per address, because each connection serves many users
    options
        Options of uvicorn.Config.
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
        self._shares, self._unread, self.turns = Shares(connections), Shares(UNREAD_BYTES), Turns()
        self._proxies = [ip_network(proxy) for proxy in proxies]

    def sharer(self, client: tuple[str, int] | None) -> str:
        """Return the name that a connection's use is counted for: its address, or a name of its own behind a proxy, which serves many users."""
        if client is None:
            return ""
        address, port = client
        if any(ip_address(address) in proxy for proxy in self._proxies):
            return f"{address} {port}"
        return to_network(address)

    def admit(self, of: str) -> Callable[[], None] | None:
        """Return the function to call when a connection ends; None if there are too many of them."""
        return self._take_share(self._shares, of, 1)

    def keep_unread(self, of: str, size: int) -> Callable[[], None] | None:
        """Return the function to call when an answer's `size` bytes have been read; None if too much is unread."""
        return self._take_share(self._unread, of, size)

    @staticmethod
    def _take_share(shares: Shares, of: str, count: int) -> Callable[[], None] | None:
        return partial(shares.give_back, of, count) if shares.take(of, count) else None


class _Refused(Exception):
    """A request's head has more than HEAD_BYTES bytes or HEAD_FIELDS headers, or too many requests of its connection wait."""


class HttpProtocol(HttpToolsProtocol):
    """Connection of a listener with HttpConfig.

    Heads and bodies are due within HEAD_S and BODY_S, even if bytes keep arriving slowly. A larger head gets 431. A client that does not read its answers is
    disconnected.
    """

    _due: asyncio.TimerHandle | None = None
    _read_due: asyncio.TimerHandle | None = None
    _forget_unread: Callable[[], None] | None = None
    #: Bytes since the last part of a body or the end of the last request, and bytes of the head that the parser has reported.
    _unused = 0
    _head = 0
    _dismiss: Callable[[], None] | None = None
    _sharer = ""
    #: What starts the last request that was given to the listener's turns; its first argument is uvicorn's cycle.
    _start: partial[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Handle a new connection."""
        self.logger = _log
        super().connection_made(transport)
        self._set_deadline(HEAD_S)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        assert isinstance(self.config, HttpConfig)
        self.config.turns.note_arrival()
        self._sharer = self.config.sharer(self.client)
        self._dismiss = self.config.admit(self._sharer)
        if self._dismiss is None:
            self._end(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._set_deadline(None)
        self._stop_waiting()
        if self._dismiss is not None:
            self._dismiss()
        if self._start is not None:
            assert isinstance(self.config, HttpConfig)
            self.config.turns.drop(self._sharer, self._start)
            # uvicorn informs the last request, but an earlier one may be answered. It would fail at its next write, and hundreds of logged failures hold up the loop.
            self.cycle = self._start.args[0]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            # Empty lines before a request do not start it, but they cancel uvicorn's own idle timeout.
            self._set_deadline(HEAD_S)
        self._unused += len(data)
        super().data_received(data)
        # httptools reports a header only once it is complete; until then its bytes are not counted elsewhere.
        if self._unused > HEAD_BYTES:
            self._end(_TOO_LARGE)

    def pause_writing(self) -> None:
        """Handle a full write buffer: the client reads slowly."""
        super().pause_writing()
        assert isinstance(self.config, HttpConfig)
        size = self.transport.get_write_buffer_size()
        self._forget_unread = self.config.keep_unread(self._sharer, size)
        if self._forget_unread is None:
            self.transport.abort()
        else:
            self._await_reading()

    def resume_writing(self) -> None:
        """Handle a write buffer that has nearly emptied."""
        self._stop_waiting()
        super().resume_writing()
        if self._is_idle():
            self._await_reading()

    def on_message_begin(self) -> None:
        """Handle a request's first byte."""
        if len(self.pipeline) >= WAITING_REQUESTS:
            self.transport.abort()
            raise _Refused
        if not self.flow.write_paused:
            # The answer to this request will fill the buffer again.
            self._stop_waiting()
        self._head = 0
        self._set_deadline(HEAD_S)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Handle a part of the address."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a header or trailer."""
        self._count_head(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Handle the end of the head."""
        self._set_deadline(BODY_S)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Handle a part of the body."""
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle the end of the request; the application decides how long its answer takes."""
        self._unused = 0
        self._set_deadline(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Handle the end of an answer, which the client may not have read yet."""
        super().on_response_complete()
        if self._is_idle() and not self.flow.write_paused:
            self._await_reading()

    def send_400_response(self, msg: str) -> None:
        """Reject a request that the parser does not accept."""
        if self._head > HEAD_BYTES or self._has_too_many_headers():
            self._end(_TOO_LARGE)
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _start_asgi_task(self, cycle: Any, app: Callable[..., Any]) -> None:
        assert isinstance(self.config, HttpConfig)
        self._start = partial(self._start_request, cycle, app)
        self.config.turns.take(self.loop, self._sharer, self._start)

    def _start_request(self, cycle: Any, app: Callable[..., Any]) -> None:
        # A client that left while its request waited reads no answer.
        if not self.transport.is_closing():
            super()._start_asgi_task(cycle, app)

    def _count_head(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES or self._has_too_many_headers():
            # This ends the parser, which calls `send_400_response`.
            raise _Refused

    def _has_too_many_headers(self) -> bool:
        return self.headers is not None and len(self.headers) >= HEAD_FIELDS

    def _end(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_reading(self) -> None:
        if size := self.transport.get_write_buffer_size():
            self._read_due = self.loop.call_later(READ_S, self._check_reading, size)

    def _check_reading(self, before: int) -> None:
        self._read_due = None
        if (size := self.transport.get_write_buffer_size()) and before - size < READ_BYTES:
            self.transport.abort()
        else:
            self._await_reading()

    def _stop_waiting(self) -> None:
        if self._read_due is not None:
            self._read_due.cancel()
            self._read_due = None
        if self._forget_unread is not None:
            self._forget_unread()
            self._forget_unread = None

    def _set_deadline(self, seconds: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
