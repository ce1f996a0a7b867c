"""HTTP as uvicorn speaks it, but for half-sent requests: uvicorn's own time limit begins with the first answer of a connection."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: A connection that has sent nothing, or not all of a request's head, after so long is closed; so is one whose body takes longer.
HEAD_S = 15.0
BODY_S = 30.0


class Protocol(HttpToolsProtocol):
    """One connection; a request's head and body are due within HEAD_S and BODY_S, however steadily their bytes drip."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._wait(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._wait(None)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request's first byte."""
        self._wait(HEAD_S)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is here."""
        self._wait(BODY_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of the request is here; how long its answer takes is the server's affair."""
        self._wait(None)
        super().on_message_complete()

    def _wait(self, seconds: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> Any:
        self.transport.abort()
