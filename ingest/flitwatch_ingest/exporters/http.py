"""HTTP of the endpoint: remote write at /api/v1/write, OTLP metrics at /v1/metrics."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from flitwatch_domain import units
from flitwatch_domain.errors import Cancelled, Unavailable
from flitwatch_domain.shares import Shares, to_network
from flitwatch_ingest.exporters import otlp, remote_write
from flitwatch_ingest.exporters.intake import Intake, TakenSamples
from flitwatch_ingest.exporters.limits import MOST_BYTES, HeldBody, Refused

WRITE, METRICS = "/api/v1/write", "/v1/metrics"
#: Number of bodies decoded and published at a time; others wait in memory.
AT_A_TIME = 4
#: Bytes of bodies held at a time. Requests beyond this limit or a sender's share of it are refused and can be retried.
HELD_BYTES = 128 << 20
RETRY_AFTER_S = 5
_WRITTEN = "X-Prometheus-Remote-Write-"

Answer = Callable[[Request], Awaitable[Response]]


class WriteEndpoint:
    """HTTP endpoint that publishes the samples of requests; success means that all of them are in the log.

    Parameters
    ----------
    token : str, optional
        Token that senders must present (default: none).
    """

    def __init__(self, intake: Intake, token: str = "") -> None:
        self._intake = intake
        self._token = token
        self._places = asyncio.Semaphore(AT_A_TIME)
        self._held = Shares(HELD_BYTES)
        #: Requests by path and outcome: taken, partial, or the reason of a refusal.
        self.requests: Counter[tuple[str, str]] = Counter()
        self.app = Starlette(
            routes=[
                Route(
                    WRITE, self._count_requests("remote_write", self._handle_write, _plain_refusal), methods=["POST"]
                ),
                Route(METRICS, self._count_requests("otlp", self._handle_export, _as_status), methods=["POST"]),
            ]
        )

    def _count_requests(self, source: str, answer: Answer, refused: Callable[[Request, Refused], Response]) -> Answer:
        async def counted(request: Request) -> Response:
            try:
                self._check_token(request)
                response = await answer(request)
                self.requests[source, "partial" if response.headers.get("x-partial") else "taken"] += 1
                return response
            except Refused as why:
                self.requests[source, why.reason] += 1
                response = refused(request, why)
            except (Unavailable, Cancelled):
                self.requests[source, "log_away"] += 1
                away = Refused(503, "log_away", "the log does not answer. Send the request again")
                response = refused(request, away)
            except ClientDisconnect:
                self.requests[source, "cut_short"] += 1
                response = Response(status_code=400)
            return response

        return counted

    def _check_token(self, request: Request) -> None:
        if not self._token:
            return
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), self._token.encode()):
            raise Refused(401, "no_token", "the Authorization header does not contain the token of this endpoint")

    async def _handle_write(self, request: Request) -> Response:
        proto = remote_write.message_of(request.headers.get("content-type", ""))
        encoding = request.headers.get("content-encoding", "").lower()
        if encoding != remote_write.ENCODING:
            raise Refused(415, "encoding", f"Content-Encoding is {encoding!r}, expected snappy")
        return await self._with_body(request, lambda body: self._store_write(proto, body))

    def _store_write(self, proto: str, body: bytes) -> Response:
        written = remote_write.decode_write(proto, remote_write.decompress_snappy(body))
        result = self._intake.take("remote_write", written.samples)
        if written.histograms:
            self._intake.refuse("remote_write", "native histogram", "counts nothing here", result, written.histograms)
        headers = {}
        if proto == remote_write.V2:
            headers = {f"{_WRITTEN}Samples-Written": str(result.accepted)}
            headers |= {f"{_WRITTEN}Histograms-Written": "0", f"{_WRITTEN}Exemplars-Written": "0"}
        if not result.invalid:
            return Response(status_code=204, headers=headers)
        text = f"{result.invalid} of {result.results.total()} samples cannot be used: {result.first}\n"
        return PlainTextResponse(text, 400, {**headers, "X-Partial": "1"})

    async def _handle_export(self, request: Request) -> Response:
        form = otlp.form_of(request.headers.get("content-type", ""))
        encoding = request.headers.get("content-encoding", "").lower()
        return await self._with_body(request, lambda body: self._take_export(form, body, encoding))

    async def _with_body(self, request: Request, take: Callable[[bytes], Response]) -> Response:
        """Read the whole body first, then wait for a free slot to process it."""
        sender = to_network(request.client.host) if request.client else "local"
        held_body = HeldBody(self._held, sender)
        try:
            body = await _read_body(request, held_body)
            async with self._places:
                return await run_in_threadpool(take, body)
        finally:
            self._held.give_back(sender, held_body.bytes)

    def _take_export(self, form: str, body: bytes, encoding: str) -> Response:
        export = otlp.decode_export(form, otlp.decompress_gzip(body, encoding))
        result: TakenSamples = self._intake.take("otlp", export.samples)
        for (name, reason), count in export.others.items():
            self._intake.refuse("otlp", name, reason, result, count)
        rejected = result.invalid + result.results["unmapped"]
        headers = {"X-Partial": "1"} if rejected else {}
        return Response(otlp.build_response(form, rejected, result.first), 200, headers, media_type=form)


async def _read_body(request: Request, held: HeldBody) -> bytes:
    declared_length = request.headers.get("content-length", "")
    if (units.parse_whole(declared_length.strip(), most=1 << 63) or 0) > MOST_BYTES:
        raise Refused(413, "too_large", f"the body has {declared_length} bytes, at most {MOST_BYTES}")
    parts = []
    async for part in request.stream():
        held.add(len(part))
        parts.append(part)
    return b"".join(parts)


def _plain_refusal(request: Request, why: Refused) -> Response:
    response = PlainTextResponse(f"{why}\n", why.status)
    return _add_headers(response, why)


def _as_status(request: Request, why: Refused) -> Response:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    form = otlp.JSON if kind == otlp.JSON else otlp.PROTOBUF
    return _add_headers(Response(otlp.build_refusal(form, why.status, str(why)), why.status, media_type=form), why)


def _add_headers(response: Response, why: Refused) -> Response:
    if why.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if why.status == 503:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response
