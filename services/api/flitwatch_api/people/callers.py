"""Callers of requests (session cookie, bearer token, or none) and their rate limits."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import psycopg
from fastapi import Request

from flitwatch_api.people.login_limiter import Buckets, LoginLimiter, cookie_of, network_of
from flitwatch_api.people.visits import CookieSigner, Visits
from flitwatch_api.platform import Platform
from flitwatch_db.core.columns import Connection
from flitwatch_db.people import accounts as people
from flitwatch_db.people.accounts import Secret, find_callers
from flitwatch_domain.access import NEVER_ANONYMOUS, SCOPES_OF, Caller
from flitwatch_domain.errors import Forbidden, TooMany, Unauthenticated, Unavailable

Asking = Callable[[], AbstractAsyncContextManager[Connection]]


class CallerLookup:
    """Looks up the callers of secrets, on one connection at a time.

    Parameters
    ----------
    asking : callable
        Returns a context manager with a connection of role `gate`.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._waiting: dict[Secret, asyncio.Future[Caller | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def of(self, secret: Secret) -> Caller | None:
        """Return the current caller of a secret; None if there is none. Raise psycopg.Error or FlitwatchError if the database does not answer."""
        # Do not join a running statement: it can have read the database before a change that the caller knows of.
        answer = self._waiting.get(secret)
        if answer is None:
            answer = self._waiting[secret] = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask_waiting())
        return await asyncio.shield(answer)

    async def _ask_waiting(self) -> None:
        while self._waiting:
            batch: dict[Secret, asyncio.Future[Caller | None]] = {}
            try:
                async with self._asking() as conn:
                    batch, self._waiting = self._waiting, {}
                    callers = await find_callers(conn, batch.keys())
            except Exception as problem:
                if not batch:
                    batch, self._waiting = self._waiting, {}
                for answer in batch.values():
                    answer.set_exception(problem)
                    # The waiting caller may have left.
                    answer.exception()
                continue
            for secret, answer in batch.items():
                answer.set_result(callers.get(secret))


#: How long a checked secret stays valid in memory, which is the longest delay of a token's revocation.
BELIEVED_S = 5.0
#: How long advice, which needs no database, accepts a remembered caller while the database is unavailable, and how long it waits for the database.
REMEMBERED_S, ASKED_S = 600.0, 1.0
#: Unknown secrets from one address: burst, then rate per second. More are refused, and each then counts as a request.
UNKNOWN_BURST, UNKNOWN_PER_S = 100, 1.0
#: Run reports of one account: burst, then rate per second. Each report can contain thousands of rows.
REPORTS_BURST, REPORTS_PER_S = 1000, 10.0
#: Most secrets whose callers are remembered.
MOST_KEPT = 10_000
CSRF_HEADER = "x-csrf-token"


def counted_as(caller: Caller | None, address: str) -> str:
    """Return the key of a caller in counts of requests and streams: the account or token, else the address."""
    return caller.number if caller is not None and caller.number else f"address {address}"


def csrf_of(secret: str) -> str:
    """Return the token that this site's pages must send with the cookie: other pages cannot read it."""
    return hashlib.sha256(b"csrf:" + secret.encode()).hexdigest()


@dataclass(frozen=True)
class _Known:
    """Caller of a secret at its last lookup (monotonic seconds); None if there was none."""

    caller: Caller | None
    asked_s: float

    def is_cached(self, now_s: float) -> bool:
        """Return whether the caller was valid recently and has not expired since."""
        ends = None if self.caller is None else self.caller.ends
        return ends is not None and ends > datetime.now(UTC) and now_s - self.asked_s < REMEMBERED_S


class Callers:
    """Identifies callers and counts their requests."""

    def __init__(self, platform: Platform) -> None:
        settings = platform.settings
        self._lookup = CallerLookup(platform.asking)
        role = settings.api_anonymous
        self.anonymous = (
            None
            if role == "none"
            else Caller("anonymous", role, "anonymous", frozenset(SCOPES_OF[role]) - NEVER_ANONYMOUS, "")
        )
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._away_until = 0.0
        self._asked = Buckets(settings.api_rate_per_s, settings.api_rate_burst)
        self._unknown = Buckets(UNKNOWN_PER_S, UNKNOWN_BURST)
        self._reports = Buckets(REPORTS_PER_S, REPORTS_BURST)
        self.login_limiter, self.cookies = LoginLimiter(), CookieSigner(platform)
        self.visits = Visits(self.cookies)

    async def of(self, request: Request, *, from_memory: bool = False) -> Caller | None:
        """Return the caller; None if they are unknown and anonymous callers are not allowed.

        Parameters
        ----------
        from_memory : bool
            Whether to accept a remembered caller while the database does not answer. `request.state.from_memory` then is True.

        Raises
        ------
        Unauthenticated
            The token is invalid. An expired session only makes the caller anonymous.
        TooMany
            This address sent too many invalid tokens.
        Unavailable
            The database does not answer.
        """
        address = network_of(request)
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            caller = await self._find_caller("token", secret.strip(), address, request if from_memory else None)
            if caller is None:
                self.count(None, address)
                raise Unauthenticated(
                    "the token is unknown, revoked or expired", advice="Create a new one: flitwatch tokens create."
                )
            return caller
        cookie = request.cookies.get(cookie_of(request))
        session_caller = (
            await self._find_caller("session", cookie, address, request if from_memory else None) if cookie else None
        )
        return session_caller or self.anonymous

    async def is_still_valid(self, request: Request, caller: Caller | None) -> bool:
        """Return whether an earlier request would have the same caller now, with the same rights; False if too many requests prevent the check."""
        try:
            return await self.of(request) == caller
        except (Unauthenticated, TooMany):
            return False

    async def _find_caller(
        self, via: Literal["session", "token"], secret: str, address: str, memory: Request | None
    ) -> Caller | None:
        key, now = people.hash_secret(via + secret), time.monotonic()
        entry = self._known.get(key)
        if entry is not None and now - entry.asked_s < BELIEVED_S:
            return entry.caller
        # Beyond the limit of unknown secrets, an address can still use its request limit: the next secret may be valid.
        if (entry is None or entry.caller is None) and self._unknown.take(address, now, 0):
            self.count(None, address)
        lookup_key: Secret = via, people.hash_secret(secret)
        if memory is not None and entry is not None and entry.is_cached(now):
            try:
                caller = await self._ask_soon(key, lookup_key)
            except (Unavailable, psycopg.OperationalError):
                memory.state.from_memory = True
                return entry.caller
        else:
            caller = await self._lookup.of(lookup_key)
            self._remember_caller(key, caller, now)
        wait = self._unknown.take(address, now) if caller is None else 0.0
        if wait:
            raise TooMany(
                "too many unknown tokens and sessions",
                advice="Create a new token: flitwatch tokens create.",
                retry_after_s=max(1, math.ceil(wait)),
            )
        return caller

    def _remember_caller(self, key: bytes, caller: Caller | None, asked_s: float) -> None:
        self._known.pop(key, None)
        self._known[key] = _Known(caller, asked_s)
        if len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)

    async def _ask_soon(self, key: bytes, asked: Secret) -> Caller | None:
        """Return the database's answer if it arrives within ASKED_S. Raise Unavailable otherwise, or if the database just failed to answer."""
        now = time.monotonic()
        if now < self._away_until:
            raise Unavailable("the database does not answer")
        asking = asyncio.ensure_future(self._lookup.of(asked))

        def keep(done: asyncio.Future[Caller | None]) -> None:
            # A late answer is used for the next request.
            if not done.cancelled() and done.exception() is None:
                self._remember_caller(key, done.result(), now)

        asking.add_done_callback(keep)
        done, _ = await asyncio.wait({asking}, timeout=ASKED_S)
        if not done or isinstance(asking.exception(), Unavailable | psycopg.OperationalError):
            self._away_until = time.monotonic() + BELIEVED_S
            raise Unavailable("the database does not answer")
        return asking.result()

    def forget(self) -> None:
        """Drop remembered callers, because a user's rights have changed."""
        self._known.clear()

    def count(self, caller: Caller | None, address: str) -> None:
        """Count a request of its account, token or address. Raise TooMany over the limit."""
        wait = self._asked.take(counted_as(caller, address), time.monotonic())
        if wait:
            limit = f"{self._asked.per_s:g} requests per second"
            raise TooMany(
                f"more than {limit}",
                advice="Send fewer requests, or use batches.",
                retry_after_s=max(1, math.ceil(wait)),
            )

    def count_report(self, caller: Caller) -> None:
        """Count a run report of its account. Raise TooMany over the limit."""
        wait = self._reports.take(caller.name, time.monotonic())
        if wait:
            raise TooMany(
                f"more than {REPORTS_PER_S:g} run reports per second",
                advice="Send more steps in each report.",
                retry_after_s=max(1, math.ceil(wait)),
            )

    def check_csrf(self, request: Request) -> None:
        """Check that a change with a cookie comes from this site's own page. Raise Forbidden otherwise."""
        secret = request.cookies.get(cookie_of(request), "")
        if not hmac.compare_digest(csrf_of(secret).encode(), request.headers.get(CSRF_HEADER, "").encode()):
            raise Forbidden(
                "a change in a session requires the header X-CSRF-Token",
                advice="Get it from GET /api/v1/session. Scripts use a token instead.",
            )
