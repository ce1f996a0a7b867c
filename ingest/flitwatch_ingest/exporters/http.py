"""The door's HTTP: remote write at /api/v1/write, OTLP metrics at /v1/metrics."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from flitwatch_domain import numerals
from flitwatch_domain.addresses import network
from flitwatch_domain.errors import BadInput, Cancelled, Unavailable
from flitwatch_domain.secret_file import check_private
from flitwatch_domain.shares import Shares
from flitwatch_ingest.exporters import otlp, remote_write
from flitwatch_ingest.exporters.held_body import HeldBody
from flitwatch_ingest.exporters.intake import Intake, TakenSamples
from flitwatch_ingest.exporters.limits import MOST_BYTES, Refused

WRITE, METRICS = "/api/v1/write", "/v1/metrics"
#: Bodies that are decoded and published at a time; others wait in memory.
AT_A_TIME = 4
#: Bytes of bodies that are held at a time; beyond it, and beyond a sender's share, requests are refused, to be sent again.
HELD_BYTES = 128 << 20
RETRY_AFTER_S = 5
_WRITTEN = "X-Prometheus-Remote-Write-"

Answer = Callable[[Request], Awaitable[Response]]


def token_of(path: Path) -> str:
    """The token that a file holds.

    Raises
    ------
    BadInput
        It cannot be read, others may read it, or it holds none that a header can carry.
    """
    try:
        text = path.read_text().strip()
        check_private(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot be read: {problem}", where=str(path)) from None
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise BadInput("holds no token: expected one word of printable ASCII", where=str(path))
    return text


class Door:
    """Takes requests and publishes their samples; a success says that all of them are in the log.

    Parameters
    ----------
    intake : Intake
    token : str, optional
        Senders must show it (default: nobody is asked).
    """

    def __init__(self, intake: Intake, token: str = "") -> None:
        self._intake = intake
        self._token = token
        self._places = asyncio.Semaphore(AT_A_TIME)
        self._held = Shares(HELD_BYTES)
        #: Requests by path and what became of them: taken, partial, or a refusal's reason.
        self.requests: Counter[tuple[str, str]] = Counter()
        self.app = Starlette(
            routes=[
                Route(WRITE, self._counted("remote_write", self._write, _plainly), methods=["POST"]),
                Route(METRICS, self._counted("otlp", self._export, _as_status), methods=["POST"]),
            ]
        )

    def _counted(self, door: str, answer: Answer, refused: Callable[[Request, Refused], Response]) -> Answer:
        async def counted(request: Request) -> Response:
            try:
                self._admit(request)
                response = await answer(request)
                self.requests[door, "partial" if response.headers.get("x-partial") else "taken"] += 1
                return response
            except Refused as why:
                self.requests[door, why.reason] += 1
                response = refused(request, why)
            except (Unavailable, Cancelled):
                self.requests[door, "log_away"] += 1
                away = Refused(503, "log_away", "the log does not answer: send the request again")
                response = refused(request, away)
            except ClientDisconnect:
                self.requests[door, "cut_short"] += 1
                response = Response(status_code=400)
            return response

        return counted

    def _admit(self, request: Request) -> None:
        if not self._token:
            return
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), self._token.encode()):
            raise Refused(401, "no_token", "the Authorization header does not hold the token of this door")

    async def _write(self, request: Request) -> Response:
        proto = remote_write.message_of(request.headers.get("content-type", ""))
        encoding = request.headers.get("content-encoding", "").lower()
        if encoding != remote_write.ENCODING:
            raise Refused(415, "encoding", f"Content-Encoding is {encoding!r}, expected snappy")
        return await self._with_body(request, lambda body: self._store(proto, body))

    def _store(self, proto: str, body: bytes) -> Response:
        found = remote_write.decode(proto, remote_write.unpacked(body))
        taken = self._intake.take("remote_write", found.samples)
        if found.histograms:
            self._intake.refuse("remote_write", "native histogram", "counts nothing here", taken, found.histograms)
        headers = {}
        if proto == remote_write.V2:
            headers = {f"{_WRITTEN}Samples-Written": str(taken.accepted)}
            headers |= {f"{_WRITTEN}Histograms-Written": "0", f"{_WRITTEN}Exemplars-Written": "0"}
        if not taken.invalid:
            return Response(status_code=204, headers=headers)
        text = f"{taken.invalid} of {taken.results.total()} samples cannot be used: {taken.first}\n"
        return PlainTextResponse(text, 400, {**headers, "X-Partial": "1"})

    async def _export(self, request: Request) -> Response:
        form = otlp.form_of(request.headers.get("content-type", ""))
        encoding = request.headers.get("content-encoding", "").lower()
        return await self._with_body(request, lambda body: self._take_export(form, body, encoding))

    async def _with_body(self, request: Request, take: Callable[[bytes], Response]) -> Response:
        """Read the body, however long that takes, and only then wait for a place among those that are taken."""
        sender = network(request.client.host) if request.client else "local"
        held = HeldBody(self._held, sender)
        try:
            body = await _body(request, held)
            async with self._places:
                return await run_in_threadpool(take, body)
        finally:
            self._held.give_back(sender, held.bytes)

    def _take_export(self, form: str, body: bytes, encoding: str) -> Response:
        found = otlp.decode(form, otlp.unpacked(body, encoding))
        taken: TakenSamples = self._intake.take("otlp", found.samples)
        for (name, reason), count in found.others.items():
            self._intake.refuse("otlp", name, reason, taken, count)
        rejected = taken.invalid + taken.results["unmapped"]
        headers = {"X-Partial": "1"} if rejected else {}
        return Response(otlp.answer(form, rejected, taken.first), 200, headers, media_type=form)


async def _body(request: Request, held: HeldBody) -> bytes:
    said = request.headers.get("content-length", "")
    if (numerals.whole(said.strip(), most=1 << 63) or 0) > MOST_BYTES:
        raise Refused(413, "too_large", f"the body has {said} bytes, at most {MOST_BYTES}")
    parts = []
    async for part in request.stream():
        held.add(len(part))
        parts.append(part)
    return b"".join(parts)


def _plainly(request: Request, why: Refused) -> Response:
    response = PlainTextResponse(f"{why}\n", why.status)
    return _completed(response, why)


def _as_status(request: Request, why: Refused) -> Response:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = otlp.JSON if kind == otlp.JSON else otlp.PROTOBUF
    return _completed(Response(otlp.refusal(form, why.status, str(why)), why.status, media_type=form), why)


def _completed(response: Response, why: Refused) -> Response:
    if why.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if why.status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response
