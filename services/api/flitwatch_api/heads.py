"""HEAD of what can be read with GET: the same answer without its body."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

#: Below the API: a stream has no end to be told of, and a login's way back uses its code up.
GET_ONLY = ("/events", "/session/oidc")


class Heads:
    """Has the API answer HEAD as GET; the server leaves the body out, for it knows the request as it came.

    Parameters
    ----------
    app : ASGIApp
    base : str     the API's place
    """

    def __init__(self, app: ASGIApp, base: str) -> None:
        self.app = app
        self._base, self._get_only = base + "/", tuple(base + path for path in GET_ONLY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            path = scope["path"]
            if path.startswith(self._base) and not path.startswith(self._get_only):
                scope = {**scope, "method": "GET"}
        await self.app(scope, receive, send)
