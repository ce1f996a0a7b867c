"""Identity of a request's browser: its address and its cookies."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from flitwatch_domain.addresses import to_network

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def address_of(request: Request) -> str:
    """The address a request came from.

    That of the connection. From a trusted proxy (`api_trusted_proxies`) it is the right-most of X-Forwarded-For that is no trusted proxy's, and the
    first where all are; it need not be an address where the proxy does not write one.
    """
    return request.client.host if request.client else "local"


def network_of(request: Request) -> str:
    """Return the key of a request's address in counts of requests: the /64 of an IPv6 address, which belongs to one host as a whole."""
    return to_network(address_of(request))


def _is_local(request: Request) -> bool:
    return (request.url.hostname or "") in LOOPBACK


def cookie_of(request: Request, kind: str = "session") -> str:
    """The cookie's name: `__Host-` binds it to this host and to TLS; on loopback there is none of either."""
    return f"flitwatch-{kind}" if _is_local(request) else f"__Host-flitwatch-{kind}"


def base_of(request: Request, configured: str) -> str:
    """Return the public address of the page: as the site sets it, else as this request named it, with TLS unless on loopback."""
    return configured.rstrip("/") or f"{'http' if _is_local(request) else 'https'}://{request.url.netloc}"


def set_cookie(request: Request, answer: Response, secret: str, max_age_s: int, kind: str = "session") -> None:
    """Hand a secret to a browser; an empty one takes it back."""
    answer.set_cookie(
        cookie_of(request, kind),
        secret,
        max_age=max_age_s if secret else 0,
        path="/",
        httponly=True,
        samesite="lax",
        secure=not _is_local(request),
    )
