"""Visits of callers without a login, distinguished by a signed cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from joserfc.jwt import JWTClaimsRegistry

from flitwatch_api.people.login_limiter import cookie_of, network_of, set_cookie
from flitwatch_api.platform import Platform
from flitwatch_db.people import accounts as people
from flitwatch_domain.access import VISITOR
from flitwatch_domain.errors import Unavailable

ALGORITHM = "HS256"


@dataclass(frozen=True)
class SignedClaims:
    """Claims of a signed cookie.

    Attributes
    ----------
    about : str      subject of the cookie
    number : str     random; distinguishes cookies
    """

    about: str
    number: str


class CookieSigner:
    """Signs and verifies cookies with the site's key."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._key: OctKey | None = None

    async def sign(self, kind: str, about: str, lasts_s: float) -> str:
        """Return a signed text of this kind, valid for `lasts_s`. Raise Unavailable if the database does not answer."""
        claims = {"aud": kind, "sub": about, "jti": secrets.token_urlsafe(16), "exp": int(time.time() + lasts_s)}
        return jwt.encode({"alg": ALGORITHM}, claims, await self._signing_key(), algorithms=[ALGORITHM])

    async def read(self, kind: str, text: str) -> SignedClaims | None:
        """Return the claims of a signed text of this kind; None if the signature is invalid or expired. Raise Unavailable if the database does not
        answer."""
        if not text or not text.isascii():
            return None
        key = await self._signing_key()
        try:
            claims = jwt.decode(text, key, algorithms=[ALGORITHM]).claims
            JWTClaimsRegistry(
                aud={"essential": True, "value": kind},
                sub={"essential": True},
                jti={"essential": True},
                exp={"essential": True},
            ).validate(claims)
        except (JoseError, ValueError):
            return None
        return SignedClaims(str(claims["sub"]), str(claims["jti"]))

    async def mark(self, kind: str, text: str) -> str:
        """Return a fixed token for a text that does not reveal it. It is specific to this site and kind."""
        key = (await self._signing_key()).get_op_key("sign")
        return hmac.new(key, f"{kind}:{text}".encode(), hashlib.sha256).hexdigest()[:16]

    async def _signing_key(self) -> OctKey:
        if self._key is None:
            self._key = OctKey.import_key(await self._platform.in_thread("gate", people.cookie_key))
        return self._key


KIND, LASTS_S = "visit", 30 * 86_400


@dataclass(frozen=True)
class Visit:
    """A visit.

    Attributes
    ----------
    address : str
        Key derived from the visit's first address. The address itself is not stored.
    number : str
        Random; distinguishes visits.
    cookie : str
        Cookie to set if the visit begins with this request, otherwise empty.
    """

    address: str
    number: str
    cookie: str = ""

    @property
    def author(self) -> str:
        """Return the author to record for the visitor's tasks and files."""
        return f"{self.from_here}{self.number}"

    @property
    def from_here(self) -> str:
        """Return the prefix of the authors of all visits from this address."""
        return f"{VISITOR}{self.address}/"


class Visits:
    """Starts and recognises visits. A visit itself is never stored, only the rows it creates."""

    def __init__(self, cookies: CookieSigner) -> None:
        self._cookies = cookies

    async def of(self, request: Request) -> Visit | None:
        """Return the visit of a request; None without a valid cookie signed by this site."""
        cookie = request.cookies.get(cookie_of(request, KIND), "")
        try:
            sealed = await self._cookies.read(KIND, cookie)
        except Unavailable:
            # Without the database, no data of a visit can be shown.
            return None
        return None if sealed is None else Visit(sealed.about, sealed.number)

    async def begin(self, request: Request) -> Visit:
        """Start a visit from this address. `hand_over` sends its cookie to the browser. Raise Unavailable."""
        address = await self._cookies.mark("address", network_of(request))
        cookie = await self._cookies.sign(KIND, address, LASTS_S)
        sealed = await self._cookies.read(KIND, cookie)
        assert sealed is not None
        return Visit(sealed.about, sealed.number, cookie)


def hand_over(request: Request, answer: Response) -> Response:
    """Return the response, with the cookie of a visit that began with this request."""
    visit: Visit | None = getattr(request.state, "visit", None)
    if visit is not None and visit.cookie:
        set_cookie(request, answer, visit.cookie, LASTS_S, KIND)
    return answer
