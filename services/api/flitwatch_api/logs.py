"""Request ids, which are added to all log lines caused by a request, and one log line per request."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from flitwatch_api.response_recorder import ResponseRecorder
from flitwatch_domain.json_logs import request_id

log = logging.getLogger("flitwatch_api.access")

HEADER = "x-request-id"
_FIT = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Gives each request an id, taken from a valid `X-Request-Id`, and returns it. Writes a line per request if configured."""

    def __init__(self, app: ASGIApp, access_log: bool = False) -> None:
        self.app = app
        self.access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given_id = Headers(scope=scope).get(HEADER, "")
        name = given_id if _FIT.fullmatch(given_id) else secrets.token_hex(8)
        context_token, begin = request_id.set(name), time.perf_counter()

        noted = ResponseRecorder(send, {HEADER: name})
        try:
            await self.app(scope, receive, noted)
        finally:
            if self.access_log:
                caller = scope.get("state", {}).get("caller")
                fields = {
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": noted.status,
                    "duration_ms": round(1e3 * (time.perf_counter() - begin), 2),
                    "caller": None if caller is None else caller.name,
                }
                log.info("%s %s %s", scope["method"], scope["path"], noted.status, extra={"fields": fields})
            request_id.reset(context_token)
