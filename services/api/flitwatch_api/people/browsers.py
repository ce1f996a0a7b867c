"""Identity of a request's browser: its address and its cookies."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from flitwatch_domain.addresses import to_network

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def address_of(request: Request) -> str:
    """Return the address that a request came from.

    By default, this is the connection's address. From a trusted proxy (`api_trusted_proxies`), it is the right-most entry of X-Forwarded-For that
    is not a trusted proxy, or the first if all are. It is not an address if the proxy writes other text.
    """
    return request.client.host if request.client else "local"


def network_of(request: Request) -> str:
    """Return the key for request counts by address: an IPv6 address is reduced to its /64, which belongs to one host."""
    return to_network(address_of(request))


def _is_local(request: Request) -> bool:
    return (request.url.hostname or "") in LOOPBACK


def cookie_of(request: Request, kind: str = "session") -> str:
    """Return the cookie's name. `__Host-` binds it to this host and to TLS; loopback has neither."""
    return f"flitwatch-{kind}" if _is_local(request) else f"__Host-flitwatch-{kind}"


def base_of(request: Request, configured: str) -> str:
    """Return the page's public address: the configured one, or that of this request, with TLS except on loopback."""
    return configured.rstrip("/") or f"{'http' if _is_local(request) else 'https'}://{request.url.netloc}"


def set_cookie(request: Request, answer: Response, secret: str, max_age_s: int, kind: str = "session") -> None:
    """Set a browser's cookie to a secret; an empty secret deletes it."""
    answer.set_cookie(
        cookie_of(request, kind),
        secret,
        max_age=max_age_s if secret else 0,
        path="/",
        httponly=True,
        samesite="lax",
        secure=not _is_local(request),
    )
