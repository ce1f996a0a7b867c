"""Handing a remote's answer on as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import httpx
from fastapi.responses import Response, StreamingResponse

from flitwatch_api.events.hub import Stream
from flitwatch_api.events.stream_access import StreamAccess
from flitwatch_api.remotes.client import read_limited
from flitwatch_domain.errors import Forbidden, NotFound, Unavailable

#: Of one answer that is handed on; beyond it the connection to the caller is closed, so that it is not taken for whole.
MOST_BYTES = 1 << 30
EVENTS = "text/event-stream"
#: What the page and scripts ask with. A caller's cookies and tokens are this platform's and stay here.
ASKED_WITH = ("accept", "accept-encoding", "if-none-match", "last-event-id")
HANDED_ON = frozenset({
    "content-type", "content-encoding", "content-length", "content-disposition", "etag", "last-modified", "retry-after", "vary",
    "x-frames", "x-routers", "x-from", "x-step-seconds", "x-accel-buffering",
})  # fmt: skip
#: Nothing of a remote runs in this page's name: no scripts, whatever an answer calls itself.
TYPES = frozenset({
    "application/json", "application/problem+json", "application/octet-stream", "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file", "application/vnd.apache.parquet", "text/csv", "text/plain", "text/html", EVENTS,
})  # fmt: skip
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
#: About people and logins of the remote, and about remotes of it: none of this platform's business.
OWN = frozenset({"session", "users", "tokens", "audit", "remotes"})


def below_base(raw_path: bytes, query: bytes, prefix: bytes) -> bytes:
    """Return the path and query of a request below the API's base, unchanged.

    Parameters
    ----------
    raw_path : bytes    of the request, still encoded
    query : bytes
    prefix : bytes      what is before it: .../remotes/NAME

    Raises
    ------
    NotFound
        It leads elsewhere than to what a remote shows.
    """
    rest = raw_path.partition(prefix)[2]
    parts = [part for segment in rest.split(b"/")[1:] for part in re.split(r"[/\\]", unquote(segment))]
    if not parts or any(part in ("", ".", "..") for part in parts) or parts[0].lower() in OWN:
        raise NotFound("this is not available from other platforms", advice="GET /api/v1/remotes lists what they show.")
    return rest + (b"?" + query if query else b"")


def headers_of(response: httpx.Response) -> dict[str, str]:
    """The headers that are handed on."""
    forwarded_headers = {name: value for name, value in response.headers.items() if name in HANDED_ON}
    # What a remote shows to this platform is for whom this platform shows it to, not for a cache between.
    cache_control = response.headers.get("cache-control", "no-cache").replace("public", "private")
    return {**forwarded_headers, "cache-control": cache_control, "content-security-policy": POLICY}


async def hand_on(name: str, response: httpx.Response) -> Response:
    """An answer that ends; closes it."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code == 403:
        await response.aclose()
        raise Forbidden(f"{name} does not show this to other platforms", advice="Use that platform directly.")
    if response.status_code != 304 and kind not in TYPES:
        await response.aclose()
        raise Unavailable(f"{name} answers with something that is not Flitwatch's")
    return StreamingResponse(_forward_body(response), response.status_code, headers_of(response))


async def _forward_body(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for part in read_limited(response, MOST_BYTES):
            yield part
    finally:
        await response.aclose()


async def hand_on_events(
    response: httpx.Response, stream: Stream, stack: contextlib.ExitStack, access: StreamAccess
) -> AsyncIterator[bytes]:
    """A stream of events, as long as the caller may read here; closes it."""
    parts = response.aiter_raw()
    waiting: asyncio.Future[bytes] | None = None
    ended = asyncio.ensure_future(stream.events.get())
    with stack:
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(parts))
                either: set[asyncio.Future[Any]] = {waiting, ended}
                done, _ = await asyncio.wait(either, timeout=access.due_in_s, return_when=asyncio.FIRST_COMPLETED)
                if ended in done or not await access.may_continue(tells=waiting in done):
                    return
                if waiting in done:
                    part, waiting = waiting.result(), None
                    yield part
        except (StopAsyncIteration, httpx.HTTPError):
            return
        finally:
            for task in (waiting, ended):
                if task is not None:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration, httpx.HTTPError):
                        await task
            await response.aclose()
