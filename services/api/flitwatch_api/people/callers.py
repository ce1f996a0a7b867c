"""From a request to its caller: session cookie, bearer token, or none; and how much each may ask."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import psycopg
from fastapi import Request

from flitwatch_api.people.browsers import cookie_of, network_of
from flitwatch_api.people.buckets import Buckets
from flitwatch_api.people.caller_lookup import CallerLookup
from flitwatch_api.people.cookie_signer import CookieSigner
from flitwatch_api.people.login_limiter import LoginLimiter
from flitwatch_api.people.visits import Visits
from flitwatch_api.platform import Platform
from flitwatch_db.people import accounts as people
from flitwatch_db.people.checks import Secret
from flitwatch_domain.access import NEVER_ANONYMOUS, SCOPES_OF, Caller
from flitwatch_domain.errors import Forbidden, TooMany, Unauthenticated, Unavailable

#: How long a checked secret is believed: a revoked token works so much longer at most.
BELIEVED_S = 5.0
#: How long advice, which needs no database, believes it while the database does not answer; and how long that is waited for.
REMEMBERED_S, ASKED_S = 600.0, 1.0
#: Secrets of one address that nobody has: so many at once, then one a second; more are refused, and each then counts as a request.
UNKNOWN_BURST, UNKNOWN_PER_S = 100, 1.0
#: Reports of runs of one account: so many at once, then so many a second; each may hold thousands of rows.
REPORTS_BURST, REPORTS_PER_S = 1000, 10.0
#: Secrets whose callers are remembered.
MOST_KEPT = 10_000
CSRF_HEADER = "x-csrf-token"


def counted_as(caller: Caller | None, address: str) -> str:
    """Return the key of a caller in counts of requests and streams: the account or token, else the address."""
    return caller.number if caller is not None and caller.number else f"address {address}"


def csrf_of(secret: str) -> str:
    """Return the token that pages of this site must send with the cookie: only they can read it."""
    return hashlib.sha256(b"csrf:" + secret.encode()).hexdigest()


@dataclass(frozen=True)
class _Known:
    """Caller that a secret identified when the database was asked, by the monotonic clock in seconds; None: no caller."""

    caller: Caller | None
    asked_s: float

    def is_cached(self, now_s: float) -> bool:
        """Return whether the caller was valid recently and has not ended since."""
        ends = None if self.caller is None else self.caller.ends
        return ends is not None and ends > datetime.now(UTC) and now_s - self.asked_s < REMEMBERED_S


class Callers:
    """Knows callers, and counts what they ask.

    Parameters
    ----------
    platform : Platform
    """

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
        """The caller; None if no one is known and anonymous callers are not let in.

        Parameters
        ----------
        from_memory : bool
            Whether a caller of a while ago is believed while the database does not answer; `request.state.from_memory` then says so.

        Raises
        ------
        Unauthenticated
            A token was sent that is not valid (a session that ended only makes the caller anonymous).
        TooMany
            More of these came from this address than may.
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
        # Beyond its unknown ones an address is still asked about, as often as it may ask at all: the next may be somebody's.
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
        """Return what the database says within ASKED_S; Unavailable also if it failed to answer just before."""
        now = time.monotonic()
        if now < self._away_until:
            raise Unavailable("the database does not answer")
        asking = asyncio.ensure_future(self._lookup.of(asked))

        def keep(done: asyncio.Future[Caller | None]) -> None:
            # Also a late answer counts, for the next request.
            if not done.cancelled() and done.exception() is None:
                self._remember_caller(key, done.result(), now)

        asking.add_done_callback(keep)
        done, _ = await asyncio.wait({asking}, timeout=ASKED_S)
        if not done or isinstance(asking.exception(), Unavailable | psycopg.OperationalError):
            self._away_until = time.monotonic() + BELIEVED_S
            raise Unavailable("the database does not answer")
        return asking.result()

    def forget(self) -> None:
        """Look everyone up again: a user's rights have changed."""
        self._known.clear()

    def count(self, caller: Caller | None, address: str) -> None:
        """Count a request against its account or token, or its address; TooMany."""
        wait = self._asked.take(counted_as(caller, address), time.monotonic())
        if wait:
            limit = f"{self._asked.per_s:g} requests per second"
            raise TooMany(
                f"more than {limit}",
                advice="Send fewer requests, or use batches.",
                retry_after_s=max(1, math.ceil(wait)),
            )

    def count_report(self, caller: Caller) -> None:
        """Count a report of a run against its account; TooMany."""
        wait = self._reports.take(caller.name, time.monotonic())
        if wait:
            raise TooMany(
                f"more than {REPORTS_PER_S:g} run reports per second",
                advice="Send more steps in each report.",
                retry_after_s=max(1, math.ceil(wait)),
            )

    def check_csrf(self, request: Request) -> None:
        """Check that a change with a cookie comes from this site's own page; Forbidden."""
        secret = request.cookies.get(cookie_of(request), "")
        if not hmac.compare_digest(csrf_of(secret).encode(), request.headers.get(CSRF_HEADER, "").encode()):
            raise Forbidden(
                "a change in a session requires the header X-CSRF-Token",
                advice="Get it from GET /api/v1/session. Scripts use a token instead.",
            )
