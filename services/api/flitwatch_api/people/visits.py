"""Visits of callers without a login, distinguished by a signed cookie."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from flitwatch_api.people.browsers import cookie_of, network_of, set_cookie
from flitwatch_api.people.cookie_signer import CookieSigner
from flitwatch_domain.access import VISITOR
from flitwatch_domain.errors import Unavailable

KIND, LASTS_S = "visit", 30 * 86_400


@dataclass(frozen=True)
class Visit:
    """A visit.

    Attributes
    ----------
    address : str
        Stands for the address that it began from; the address itself is not kept.
    number : str
        Random: tells one visit from another.
    cookie : str
        Of one that begins with this request: what the browser is to bring back.
    """

    address: str
    number: str
    cookie: str = ""

    @property
    def author(self) -> str:
        """Return the author to record with what the visitor makes."""
        return f"{self.from_here}{self.number}"

    @property
    def from_here(self) -> str:
        """Return the prefix of the authors of all visits from this address."""
        return f"{VISITOR}{self.address}/"


class Visits:
    """Begins visits and knows them again; nothing of them is stored but what they make.

    Parameters
    ----------
    cookies : CookieSigner
    """

    def __init__(self, cookies: CookieSigner) -> None:
        self._cookies = cookies

    async def of(self, request: Request) -> Visit | None:
        """The visit that a request belongs to; None if it brings no cookie that this site signed and that still holds."""
        cookie = request.cookies.get(cookie_of(request, KIND), "")
        try:
            sealed = await self._cookies.read(KIND, cookie)
        except Unavailable:
            # Without the database there is nothing of a visit to see.
            return None
        return None if sealed is None else Visit(sealed.about, sealed.number)

    async def begin(self, request: Request) -> Visit:
        """A new visit from this address; `hand_over` gives it to the browser.

        Raises
        ------
        Unavailable
        """
        address = await self._cookies.mark("address", network_of(request))
        cookie = await self._cookies.sign(KIND, address, LASTS_S)
        sealed = await self._cookies.read(KIND, cookie)
        assert sealed is not None
        return Visit(sealed.about, sealed.number, cookie)


def hand_over(request: Request, answer: Response) -> Response:
    """The answer, with the cookie of a visit that began with this request."""
    visit: Visit | None = getattr(request.state, "visit", None)
    if visit is not None and visit.cookie:
        set_cookie(request, answer, visit.cookie, LASTS_S, KIND)
    return answer
