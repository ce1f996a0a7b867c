"""HEAD requests for GET routes: the same response without a body."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

#: Routes without HEAD: a stream has no end, and a login's return address uses up its code.
GET_ONLY = ("/events", "/session/oidc")


class Heads:
    """Makes the API answer HEAD like GET. The server omits the body, because it knows the original request.

    Parameters
    ----------
    app : ASGIApp
    base : str     base path of the API
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
