"""Asking one remote."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any

import httpx

from flitwatch_api.remotes.access import RemoteAccess
from flitwatch_api.remotes.address import RemoteAddress
from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable
from flitwatch_domain.secret_file import secret_of

log = logging.getLogger(__name__)

BASE = "/api/v1"
#: A remote that is away must not hold a page up; a long answer may take its time.
CONNECT_S, READ_S = 5.0, 60.0
#: How long what a remote said of its token is believed, and how long a failure is.
BELIEVED_S, FAILURE_BELIEVED_S = 60.0, 5.0
KEPT_CONNECTIONS = 20
#: A list of machines or a session: one that is longer, or takes longer, is not read to its end.
ANSWER_BYTES, ANSWER_S = 4 << 20, 10.0


class RemoteClient:
    """Asks a remote in this platform's name, never in a caller's.

    Parameters
    ----------
    address : RemoteAddress
    ca : Path, optional
        Authorities (PEM) that the remote's certificate is checked against; without them the system's.

    Raises
    ------
    Unavailable
        The authorities cannot be read.
    """

    def __init__(self, address: RemoteAddress, ca: Path | None = None) -> None:
        self.address = address
        try:
            trust = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except (OSError, ssl.SSLError):
            raise Unavailable(
                f"no authorities can be read from {ca}", advice="FLITWATCH_API_REMOTES_CA names a PEM file."
            ) from None
        self._http = httpx.AsyncClient(
            verify=trust,
            # Neither a remote nor a proxy of this process's user may send a token elsewhere; and a remote's cookies are not sent back.
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            # Streams of events each hold one: they are bounded where they are counted.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS),
        )
        self._asking = asyncio.Lock()
        self._access: RemoteAccess | FlitwatchError | None = None
        self._access_until_s = 0.0

    @property
    def name(self) -> str:
        """The remote's name."""
        return self.address.name

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def access(self) -> RemoteAccess:
        """Return what the remote lets this platform read; asked again after BELIEVED_S.

        Raises
        ------
        Unavailable
            The remote does not answer, or not so that its answers could be shown.
        """
        async with self._asking:
            if self._access is None or time.monotonic() >= self._access_until_s:
                await self._ask_access()
        if isinstance(self._access, FlitwatchError):
            raise Unavailable(self._access.message, advice=self._access.advice)
        assert self._access is not None
        return self._access

    async def _ask_access(self) -> None:
        try:
            self._access = RemoteAccess.of(self.name, await self.json("/session"))
            believed_s = BELIEVED_S
        except FlitwatchError as problem:
            self._access, believed_s = problem, FAILURE_BELIEVED_S
        self._access_until_s = time.monotonic() + believed_s

    async def json(self, path: str) -> Any:
        """A JSON answer of the remote that has to be there.

        Raises
        ------
        Unavailable
            There is none, it is no JSON, or it has more than ANSWER_BYTES or takes longer than ANSWER_S.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                return json.loads(await self._read_body(path))
        except (TimeoutError, httpx.HTTPError) as problem:
            raise self._unavailable_error(problem) from None
        except (ValueError, RecursionError):
            raise Unavailable(
                f"{self.name} does not answer as Flitwatch does", advice="Check its address in FLITWATCH_API_REMOTES."
            ) from None

    async def _read_body(self, path: str) -> bytes:
        # Not compressed: a few bytes could unpack to gigabytes.
        response = await self.open(path.encode(), {"accept-encoding": "identity"})
        try:
            if response.status_code != 200:
                raise Unavailable(f"{self.name} answers {response.status_code} at {BASE}{path}")
            return b"".join([part async for part in read_limited(response, ANSWER_BYTES)])
        finally:
            await response.aclose()

    async def open(self, path: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Begin to read an answer, which the caller closes.

        Parameters
        ----------
        path : bytes
            Below BASE, with its query, encoded as it was asked for.
        headers : mapping
            To be sent with it.

        Raises
        ------
        Unavailable
            The remote does not answer, leads elsewhere, or does not accept its token.
        """
        url = httpx.URL(self.address.url)
        target = url.copy_with(raw_path=url.raw_path.rstrip(b"/") + BASE.encode() + path)
        request = self._http.build_request("GET", target, headers={**(headers or {}), **self._authorization_header()})
        try:
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise self._unavailable_error(problem) from None
        if response.status_code == 401 or (response.is_redirect and response.status_code != 304):
            await response.aclose()
            self._access = None
            what = "does not accept its token" if response.status_code == 401 else "leads to another address"
            raise Unavailable(
                f"{self.name} {what}", advice="An operator of this platform can correct it in FLITWATCH_API_REMOTES."
            )
        return response

    def _authorization_header(self) -> dict[str, str]:
        # Read each time: a token that was replaced needs no new start.
        path = self.address.token_file
        if path is None:
            return {}
        try:
            token = secret_of(path, "token")
            token.encode("ascii")
        except (BadInput, UnicodeEncodeError) as problem:
            log.warning("remote %s: its token cannot be used: %s", self.name, problem)
            raise Unavailable(
                f"the token for {self.name} cannot be read", advice="The log of this platform's API has the reason."
            ) from None
        return {"Authorization": f"Bearer {token}"}

    def _unavailable_error(self, problem: Exception) -> Unavailable:
        # Addresses and certificates are for who runs this.
        log.warning("remote %s: %s: %s", self.name, type(problem).__name__, problem)
        return Unavailable(
            f"{self.name} does not answer", advice="Ask its operators. The machines of this platform are available."
        )


async def read_limited(response: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The parts of an answer as they come; httpx.HTTPError where it has more bytes."""
    length = 0
    async for part in response.aiter_raw():
        length += len(part)
        if length > most:
            raise httpx.RemoteProtocolError(f"an answer has more than {most:,} bytes", request=response.request)
        yield part
