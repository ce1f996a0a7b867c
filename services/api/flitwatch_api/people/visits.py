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
    """Starts and recognises visits. A visit itself is never stored, only the rows it creates.

    Parameters
    ----------
    cookies : CookieSigner
    """

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
        """Start a visit from this address. `hand_over` sends its cookie to the browser.

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
    """Return the response, with the cookie of a visit that began with this request."""
    visit: Visit | None = getattr(request.state, "visit", None)
    if visit is not None and visit.cookie:
        set_cookie(request, answer, visit.cookie, LASTS_S, KIND)
    return answer
