"""Recorder of a response's status for middleware."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send


class ResponseRecorder:
    """Passes a response on, with headers if given, and records its status.

    Attributes
    ----------
    status : int      500 until the response begins, because an earlier failure is the service's
    """

    def __init__(self, send: Send, headers: Mapping[str, str] | None = None) -> None:
        self.status = 500
        self._send, self._headers = send, headers or {}

    async def __call__(self, message: Message) -> None:
        """Pass on one message."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._headers:
                MutableHeaders(scope=message).update(self._headers)
        await self._send(message)
