"""Security of requests and responses: headers of every response, and refusal of foreign hosts, foreign origins and endless bodies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flitwatch_api.problems import problem_response
from flitwatch_db.tasks.files import MAX_FILE_BYTES

MAX_BODY_BYTES = 1 << 20
#: Address for whole files, and their maximum size. The route itself enforces it for a body of unknown length.
FILES_PATH = "/api/v1/tasks/files"
SMALLER_FILE = "Compress it (gzip, xz, zstd), or leave out parts that you do not need."
#: After a response that does not wait for the rest of the body, up to this much of it is read and discarded, for this long.
LINGER_BYTES, LINGER_S = 2 * MAX_FILE_BYTES, 20.0
#: Styles may be inline (the component library positions its layers this way), scripts never.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
#: For names other than this machine's. Browsers heed it only over TLS, and then always use TLS for this name.
STRICT_TRANSPORT = "max-age=31536000"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
#: A name, an IPv4 address or an IPv6 address in brackets, and a port. No user before an @, which other parsers would drop.
_AUTHORITY = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Paths on the port for scrapers and probes: metrics and health, which contain no names.
METRICS_PATHS = frozenset({"/metrics", "/healthz", "/readyz"})


def frame_headers(ancestors: Sequence[str]) -> dict[str, str]:
    """Return headers that say which pages may show this one in a frame: none without `ancestors`, else those of these origins (and their own frames).

    X-Frame-Options cannot name an origin, so it is omitted with `ancestors`, and browsers follow the policy (Content Security Policy Level 2,
    section 7.7.1).
    """
    if not ancestors:
        return {"Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}'none'", "X-Frame-Options": "DENY"}
    return {"Content-Security-Policy": CONTENT_SECURITY_POLICY + " ".join(ancestors)}


def host_name(authority: str) -> str | None:
    """Return the name of a Host header without its port, in lower case; None if it is not a host and a port (RFC 9110, section 7.2)."""
    match = _AUTHORITY.fullmatch(authority)
    return None if match is None else match["name"].strip("[]").lower()


class SecurityMiddleware:
    """Checks requests and completes responses.

    Parameters
    ----------
    hosts : sequence of str
        Accepted names in the Host header; empty for any. With this check, a foreign page cannot reach a local server through DNS rebinding.
    metrics_port : int, optional
        The port for scrapers, which use the address: any host, METRICS_PATHS only.
    ancestors : sequence of str
        Origins whose pages may show this one in a frame.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Sequence[str] = (),
        metrics_port: int | None = None,
        ancestors: Sequence[str] = (),
    ) -> None:
        self.app = app
        self._headers = {**HEADERS, **frame_headers(ancestors)}
        self.metrics_port = metrics_port
        self.hosts = frozenset(host.strip("[]").lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if host_name(Headers(scope=scope).get("host", "")) not in LOOPBACK:
                    headers.setdefault("Strict-Transport-Security", STRICT_TRANSPORT)
            await send(message)

        wrapped_receive, answered = (
            _linger_for_body(receive, completed) if _closes_connection(scope) else (receive, completed)
        )
        refusal = self._find_refusal(scope)
        if refusal is not None:
            await refusal(scope, wrapped_receive, answered)
            return
        name, most, _ = _body_limit(scope)
        # Above the file limit, so that the route notices the excess and reports it.
        bounded = _bound_body(wrapped_receive, most if most == MAX_BODY_BYTES else 2 * most, _too_long(name, most))
        await self.app(scope, bounded, answered)

    def _find_refusal(self, scope: Scope) -> ASGIApp | None:
        headers, request = Headers(scope=scope), Request(scope)
        hosts = headers.getlist("host")
        host = hosts[0] if hosts else ""
        if len(hosts) > 1 or (host and host_name(host) is None):
            advice = "Send one Host header with a name or an address, and optionally a port."
            return problem_response(request, 400, "bad-request", "the Host header is not valid", advice)
        aside = self.metrics_port is not None and (scope.get("server") or ("", None))[1] == self.metrics_port
        if aside and (scope["path"] not in METRICS_PATHS or scope["method"] not in SAFE):
            advice = f"It answers {', '.join(sorted(METRICS_PATHS))}."
            return problem_response(request, 404, "not-found", "this port is for scrapers and probes", advice)
        if not aside and self.hosts and host_name(host) not in self.hosts:
            advice = "Use the published name of the service, or ask the operator to allow this one (--allow-host)."
            return problem_response(request, 400, "bad-request", "this service does not accept that host name", advice)
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in SAFE and urlsplit_netloc(origin) != host.lower():
            return problem_response(
                request,
                403,
                "forbidden",
                "requests that change data must come from this site's own pages",
                "From a script, send it without an Origin header.",
            )
        length = headers.get("content-length", "0")
        name, most, advice = _body_limit(scope)
        if not (length.isascii() and length.isdigit()) or int(length) > most:
            return problem_response(request, 413, "too-costly", _too_long(name, most), advice)
        return None


def urlsplit_netloc(origin: str) -> str:
    """Return host and port of an Origin header; empty for `null` and for invalid text."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _body_limit(scope: Scope) -> tuple[str, int, str]:
    """Return name and size of a request's body limit, and the advice for a longer body."""
    if scope["path"] == FILES_PATH and scope["method"] == "POST":
        return "MAX_FILE_BYTES", MAX_FILE_BYTES, SMALLER_FILE
    return "MAX_BODY_BYTES", MAX_BODY_BYTES, "Send a smaller body."


def _too_long(name: str, most: int) -> str:
    return f"the body is too long; the limit {name} is {most:,}"


def _closes_connection(scope: Scope) -> bool:
    """Return whether the connection ends with this request's response while the client sends the body without waiting for a 100."""
    headers = Headers(scope=scope)
    last = scope["http_version"] == "1.0" or "close" in headers.get("connection", "").lower()
    body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return last and body and "expect" not in headers


def _linger_for_body(receive: Receive, send: Send) -> tuple[Receive, Send]:
    """If the response comes first, keep the connection open until the body has arrived: a client that is still sending would lose the response."""
    seen, whole = 0, False

    async def counted() -> Message:
        nonlocal seen, whole
        message = await receive()
        seen += len(message.get("body", b""))
        whole = whole or not message.get("more_body", False)
        return message

    async def lingering(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False) or whole:
            await send(message)
            return
        await send({**message, "more_body": True})
        until = seen + LINGER_BYTES
        try:
            async with asyncio.timeout(LINGER_S):
                while not whole and seen < until:
                    await counted()
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return counted, lingering


def _bound_body(receive: Receive, most: int, why: str) -> Receive:
    """Limit bodies without a length: reading beyond the limit raises a 413."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, why)
        return message

    return bounded
