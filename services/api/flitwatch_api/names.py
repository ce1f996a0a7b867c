"""Names of people and of what they run, as a caller may see them: real from operator on, pseudonyms below."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from flitwatch_api.platform import Reader
from flitwatch_db.reads.settings import pseudonym_key

#: Roles that see everybody's names.
SEES_NAMES = frozenset({"operator", "admin", "service"})
DIGITS = 8


@dataclass(frozen=True)
class Names:
    """How names are shown to one caller.

    Attributes
    ----------
    key : bytes or None     the site's key of pseudonyms; None shows names as they are
    own : str or None       the caller's own user name, which is shown to them
    """

    key: bytes | None
    own: str | None = None

    @property
    def pseudonyms(self) -> bool:
        """Whether names are replaced."""
        return self.key is not None

    def user(self, name: str) -> str:
        """A user's name, or a pseudonym that stays the same on this site."""
        return name if name == self.own else self._shown("user", name)

    def application(self, name: str) -> str:
        """A job's name, or its pseudonym."""
        return self._shown("app", name)

    def _shown(self, kind: str, name: str) -> str:
        if self.key is None:
            return name
        digest = hmac.new(self.key, f"{kind}:{name}".encode(), hashlib.sha256).digest()
        return f"{kind}-{base64.b32encode(digest).decode()[:DIGITS].lower()}"


async def _names(request: Request, conn: Reader) -> Names:
    # Whoever is not known to be an operator gets pseudonyms.
    role = getattr(request.state, "role", None)
    if role in SEES_NAMES:
        return Names(None)
    return Names((await pseudonym_key(conn)).encode(), getattr(request.state, "user", None))


TheNames = Annotated[Names, Depends(_names)]
