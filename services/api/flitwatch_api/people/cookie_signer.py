"""Cookies signed by this site: a valid one was issued here and is unchanged."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from joserfc.jwt import JWTClaimsRegistry

from flitwatch_api.platform import Platform
from flitwatch_db.people import accounts as people

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
    """Signs and verifies cookies with the site's key.

    Parameters
    ----------
    platform : Platform
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._key: OctKey | None = None

    async def sign(self, kind: str, about: str, lasts_s: float) -> str:
        """Return a signed text of this kind, valid for `lasts_s`.

        Raises
        ------
        Unavailable
            The database does not answer.
        """
        claims = {"aud": kind, "sub": about, "jti": secrets.token_urlsafe(16), "exp": int(time.time() + lasts_s)}
        return jwt.encode({"alg": ALGORITHM}, claims, await self._signing_key(), algorithms=[ALGORITHM])

    async def read(self, kind: str, text: str) -> SignedClaims | None:
        """Return the claims of a signed text of this kind; None if the signature is invalid or expired.

        Raises
        ------
        Unavailable
            The database does not answer.
        """
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
