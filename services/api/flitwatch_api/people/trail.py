"""Audit trail of requests: every change, and every response with other people's names."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import psycopg
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flitwatch_api.logs import ResponseRecorder
from flitwatch_api.people.login_limiter import address_of
from flitwatch_api.platform import Platform
from flitwatch_db.people import audit
from flitwatch_db.people.audit import Entry
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.json_logs import request_id
from flitwatch_domain.shares import to_network

#: Entries per source and minute that are written individually, and most sources. Others are only counted.
SINGLY, SOURCES = 10, 100
MINUTE_S = 60.0
#: Most kinds and names listed in a summary.
MOST_REPORTED = 20
#: Represents all sources beyond SOURCES.
OTHERS = "other sources"


@dataclass
class _Minute:
    """Actions of a source since the start of its minute."""

    last: Entry
    since: datetime
    begun_s: float
    written: int = 0
    until: datetime | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    names: dict[str, None] = field(default_factory=dict)

    def count(self, entry: Entry) -> None:
        """Count an entry that is not written individually."""
        self.last, self.until = entry, datetime.now(UTC)
        kind = f"{entry.action} {entry.status}"
        self.kinds[kind if kind in self.kinds or len(self.kinds) < MOST_REPORTED else "others"] += 1
        if len(self.names) < MOST_REPORTED:
            self.names[entry.actor] = None

    def summed(self, source: str) -> Entry:
        """Return a summary entry for all counted actions."""
        assert self.until is not None
        span = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        details = {"times": self.kinds.total(), "actions": dict(self.kinds), "names": list(self.names), **span}
        return replace(
            self.last,
            actor="nobody",
            action="counted",
            target=None,
            status=None,
            address=source,
            request_id=None,
            details=details,
        )


class AnonymousTrail:
    """Decides which entries are written, so that callers without a login cannot fill the log."""

    def __init__(self) -> None:
        self._minutes: dict[str, _Minute] = {}

    def is_single(self, entry: Entry) -> bool:
        """Return whether to write an entry. Otherwise, count it."""
        source = to_network(entry.address or "")
        if source not in self._minutes and len(self._minutes) >= SOURCES:
            source = OTHERS
        minute = self._minutes.setdefault(source, _Minute(entry, datetime.now(UTC), time.monotonic()))
        if source != OTHERS and minute.written < SINGLY:
            minute.written += 1
            return True
        minute.count(entry)
        return False

    def sums(self, everything: bool = False) -> list[Entry]:
        """Return summary entries for the counts of past minutes."""
        now_s = time.monotonic()
        over = [
            source
            for source, open_minute in self._minutes.items()
            if everything or now_s - open_minute.begun_s >= MINUTE_S
        ]
        ended = [(source, self._minutes.pop(source)) for source in over]
        return [minute.summed(source) for source, minute in ended if minute.kinds]


log = logging.getLogger(__name__)

#: Interval of writing batches of viewed data. A change is written before its request ends.
EVERY_S = 1.0
MOST_WAITING = 50_000
#: If a token repeatedly sees the same data, as a scheduler's agent does, the first view is written at once. Then a summary with their number is
#: written at this interval.
SUM_EVERY_S = 3600.0
MOST_SUMMED = 10_000
#: Parameters that change when the same request is repeated. A difference in other parameters makes another view.
MOVING = frozenset({"at", "from", "to", "cursor"})
#: Most characters stored of a parameter's value. Values that name people are shorter.
MOST_LETTERS = 1000


@dataclass
class _RepeatedView:
    """Repeated views of a token since its last entry. `until` is the time of the last one."""

    entry: Entry
    since: datetime
    until: datetime
    begun_s: float
    times: int = 0

    def summed(self) -> Entry:
        span = {"since": self.since.isoformat(), "until": self.until.isoformat()}
        return replace(self.entry, details={**self.entry.details, "times": self.times, **span})


class AuditTrail:
    """Writes audit entries."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._waiting: list[Entry] = []
        self._anonymous = AnonymousTrail()
        self._again: dict[tuple[str | None, ...], _RepeatedView] = {}
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Start writing viewed data."""
        self._task = asyncio.create_task(self._run_writer())

    async def stop(self) -> None:
        """Write the remaining entries."""
        self._ended.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        self._sum_up(everything=True)
        await self._flush_entries()

    def record_view(self, entry: Entry, token: str | None = None, asked: str = "") -> None:
        """Record a view. If the same `token` repeats the same request (`asked`) from the same address, only count it."""
        now = datetime.now(UTC)
        if token is not None:
            key = (token, entry.action, entry.target, entry.address, asked)
            view = self._again.get(key)
            if view is not None:
                view.times += 1
                view.entry, view.until = entry, now
                return
            if len(self._again) >= MOST_SUMMED:
                self._sum_up(everything=True)
            self._again[key] = _RepeatedView(entry, now, now, time.monotonic())
        self._waiting.append(entry)

    def _sum_up(self, everything: bool = False) -> None:
        self._waiting += self._anonymous.sums(everything)
        now, now_s = datetime.now(UTC), time.monotonic()
        for key, view in list(self._again.items()):
            if not everything and now_s - view.begun_s < SUM_EVERY_S:
                continue
            del self._again[key]
            if view.times:
                self._waiting.append(view.summed())
                # The repetition continues: further views are part of the next summary.
                if not everything:
                    self._again[key] = _RepeatedView(view.entry, now, now, now_s)

    async def changed(self, entry: Entry) -> None:
        """Write a user's change now, or later if the database is unavailable."""
        self._waiting.append(entry)
        await self._flush_entries()

    async def tried(self, entry: Entry) -> None:
        """Write or count a change by a user without a login, including a refused one."""
        if self._anonymous.is_single(entry):
            await self.changed(entry)

    async def _run_writer(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), EVERY_S)
            self._sum_up()
            await self._flush_entries()

    async def _flush_entries(self) -> None:
        # If the caller is cancelled, the write continues: its entries would be lost.
        await asyncio.shield(asyncio.create_task(self._write_in_order()))

    async def _write_in_order(self) -> None:
        # One batch at a time, so that entries are stored in order.
        async with self._writing:
            await self._write_waiting()

    async def _write_waiting(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        try:
            await self._platform.in_thread("gate", lambda conn: audit.add_entries(conn, batch))
        except (psycopg.Error, FlitwatchError) as away:
            kept_entries = batch[-MOST_WAITING:]
            log.error("the audit log cannot be written (%s); %d entries wait", type(away).__name__, len(kept_entries))
            if len(kept_entries) < len(batch):
                log.error("%d audit entries are lost", len(batch) - len(kept_entries))
            self._waiting = kept_entries + self._waiting


class AuditMiddleware:
    """Records the audit trail of each request before the last part of its response is sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, noted, recorded = Request(scope), ResponseRecorder(send), False

        async def record_once() -> None:
            nonlocal recorded
            if not recorded:
                recorded = True
                await _record_request(request, noted.status)

        async def send_recorded(message: Message) -> None:
            # Before the last part: the route still commits afterwards, and the client's next request could be recorded first.
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                await record_once()
            await noted(message)

        try:
            await self.app(scope, receive, send_recorded)
        finally:
            await record_once()


async def _record_request(request: Request, status: int) -> None:
    need = getattr(request.state, "need", None)
    if need is None:
        return
    caller = request.state.caller
    names = getattr(request.state, "saw_names", False) and status < 400
    if not need.changes and not names:
        return
    trail: AuditTrail = request.app.state.trail
    route = getattr(request.scope.get("route"), "name", "")
    details = dict(getattr(request.state, "audit", {}))
    # A change is identified by its path; parameters of a login are secrets.
    query = {} if need.changes else _route_parameters(request)
    if query:
        details["query"] = {name: value[:MOST_LETTERS] for name, value in query.items()}
    named = getattr(request.state, "named", None)
    entry = Entry(
        named or ("nobody" if caller is None else caller.name),
        None if caller is None else caller.role,
        "anonymous" if caller is None else caller.via,
        f"{request.method} {route}" if need.changes else f"see {route}",
        request.url.path,
        status,
        address_of(request),
        request_id.get(),
        details,
    )
    if need.changes and (caller is None or caller.via == "anonymous") and not (named and status < 400):
        await trail.tried(entry)
    elif need.changes:
        await trail.changed(entry)
    else:
        trail.record_view(
            entry, caller.number if caller is not None and caller.via == "token" else None, _digest_query(query)
        )


def _route_parameters(request: Request) -> dict[str, str]:
    """Return the route's parameters as it reads them: of duplicates, the last one. Other parameters do not affect the response and would crowd these
    out."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not request.query_params:
        return {}
    parameter_names = _parameter_aliases(route.dependant)
    return {name: value for name, value in request.query_params.items() if name in parameter_names}


def _parameter_aliases(of: Dependant) -> set[str]:
    return {field.alias for field in of.query_params}.union(*map(_parameter_aliases, of.dependencies))


def _digest_query(asked: dict[str, str]) -> str:
    # Summaries are kept in memory by this key, and a value can have thousands of characters.
    lasting = sorted((name, value) for name, value in asked.items() if name not in MOVING)
    return hashlib.blake2b(repr(lasting).encode("utf-8", "replace"), digest_size=16).hexdigest() if lasting else ""
