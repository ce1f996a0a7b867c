"""Event stream."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from typing import Annotated

import psycopg
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from flitwatch_api.events.hub import RESET, Stream, encode_event, reset_event
from flitwatch_api.names import EVENTS_OF_JOBS, hides_jobs
from flitwatch_api.parameters import MAX_ID
from flitwatch_api.people.callers import BELIEVED_S, Callers, counted_as
from flitwatch_api.people.login_limiter import network_of
from flitwatch_api.platform import Platform, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.core import events as reads
from flitwatch_domain.errors import BadRequest, FlitwatchError

#: Interval of a stream's checks of its caller.
CHECK_S = BELIEVED_S
SLOTS = 20


class StreamAccess:
    """Access to a stream. It ends with the token, session or account that opened the stream, or when their rights change."""

    def __init__(self, request: Request) -> None:
        self._request, self._caller = request, request.state.caller
        self._callers: Callers = request.app.state.callers
        self._due_s = _next_check_s()

    async def may_continue(self, tells: bool) -> bool:
        """Return whether the stream may continue. While the database is unavailable, it may continue only without sending events (`tells`)."""
        if time.monotonic() < self._due_s:
            return True
        try:
            same = await self._callers.is_still_valid(self._request, self._caller)
        except (psycopg.Error, FlitwatchError):
            return not tells
        self._due_s = _next_check_s()
        return same

    @property
    def due_in_s(self) -> float:
        """Return the seconds until the next check, or the check interval if the last check failed."""
        left_s = self._due_s - time.monotonic()
        return left_s if left_s > 0 else CHECK_S


def _next_check_s() -> float:
    """Return the monotonic time of a stream's next check: one of SLOTS times in each CHECK_S, so that many streams are checked together."""
    slot_s = CHECK_S / SLOTS
    return math.floor((time.monotonic() + CHECK_S) / slot_s) * slot_s


http = APIRouter(tags=["events"], responses=RESPONSES)

#: Most events replayed to a reconnecting client. With more missed events, it is asked to reload everything.
MAX_REPLAY = 5_000
PAGE = 500
RECONNECT_MS = 2_000
MEDIA_TYPE = "text/event-stream"
#: Returns whether a stream sends events of a kind.
Wants = Callable[[str], bool]


def _parse_event_id(header: str | None, query: str | None) -> int | None:
    text = (header or query or "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_ID):
        raise BadRequest(
            "the last event's id is not a number", advice="Send the `id` of an event of this stream, or none."
        )
    return int(text)


@http.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
            "description": "Events: id, event (the kind), data (JSON).",
        }
    },
)
async def events(
    request: Request,
    platform: ThePlatform,
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="Replay the events after this one first.")
    ] = None,
    last: Annotated[
        str | None,
        Query(
            alias="last_event_id", max_length=40, description="The same as the header, for clients that cannot set it."
        ),
    ] = None,
    kinds: Annotated[str | None, Query(max_length=400, description="Only these kinds, separated by commas.")] = None,
) -> StreamingResponse:
    """Stream events as server-sent events. A comment keeps the connection alive."""
    wanted_kinds = frozenset(part.strip() for part in (kinds or "").split(",") if part.strip()) or None
    after = _parse_event_id(last_event_id, last)
    stack = ExitStack()
    stream = stack.enter_context(platform.hub.subscribe(counted_as(request.state.caller, network_of(request))))
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    kept_back = EVENTS_OF_JOBS if hides_jobs(platform.settings, request.state.caller) else frozenset[str]()

    def wants(kind: str) -> bool:
        return kind not in kept_back and (wanted_kinds is None or kind in wanted_kinds)

    event_stream = _stream_events(platform, stream, stack, StreamAccess(request), after, wants)
    return StreamingResponse(event_stream, media_type=MEDIA_TYPE, headers=headers)


async def _stream_events(
    platform: Platform, stream: Stream, stack: ExitStack, held: StreamAccess, after: int | None, wants: Wants
) -> AsyncIterator[bytes]:
    with stack:
        yield b"retry: %d\n: connected\n\n" % RECONNECT_MS
        last_sent = 0
        if after is not None:
            # The stream is already subscribed: new events wait in its queue and are distinguished by their numbers.
            async for number, text in _replay_events(platform, after, wants):
                if not await held.may_continue(tells=True):
                    return
                last_sent = number
                yield text
        sent_s, heartbeat_s = time.monotonic(), platform.settings.api_heartbeat_s
        while True:
            quiet_s = sent_s + heartbeat_s - time.monotonic()
            try:
                item = await asyncio.wait_for(stream.events.get(), max(0.0, min(quiet_s, held.due_in_s)))
            except TimeoutError:
                if not await held.may_continue(tells=False):
                    return
                if sent_s + heartbeat_s <= time.monotonic():
                    sent_s = time.monotonic()
                    yield b": still here\n\n"
                continue
            if item is None:
                return
            number, kind, text = item
            # A reset goes back: higher numbers are sent again, for other events.
            tells = kind == RESET or (number > last_sent and wants(kind))
            if not await held.may_continue(tells):
                return
            if tells:
                last_sent, sent_s = number, time.monotonic()
                yield text


async def _replay_events(platform: Platform, after: int, wants: Wants) -> AsyncIterator[tuple[int, bytes]]:
    async with platform.reading() as conn:
        newest = await reads.find_newest_event(conn)
    if after > newest or newest - after > MAX_REPLAY:
        why = "that event is from another database" if after > newest else f"more than {MAX_REPLAY} events were missed"
        yield newest, reset_event(newest, why)
        return
    while after < newest:
        async with platform.reading() as conn:
            batch = await reads.list_events_after(conn, after, PAGE)
        if not batch:
            return
        for event in batch:
            after = event.event_id
            if wants(event.kind):
                yield event.event_id, encode_event(event)
