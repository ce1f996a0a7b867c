"""Request ids, which are added to all log lines caused by a request, and one log line per request; and OpenTelemetry traces, if the site configures a collector."""

from __future__ import annotations

import logging
import os
import re
import secrets
import time
from collections.abc import Mapping

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flitwatch_domain.errors import MissingDependency
from flitwatch_domain.json_logs import request_id


class ResponseRecorder:
    """Passes a response on, with headers if given, and records its status.

    Attributes
    ----------
    status : int      500 until the response begins, because an earlier failure is the service's
    """

    def __init__(self, send: Send, headers: Mapping[str, str] | None = None) -> None:
        self.status = 500
        self._send, self._headers = send, headers or {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._headers:
                MutableHeaders(scope=message).update(self._headers)
        await self._send(message)


log = logging.getLogger("flitwatch_api.access")

HEADER = "x-request-id"
_FIT = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Gives each request an id, taken from a valid `X-Request-Id`, and returns it. Writes a line per request if configured."""

    def __init__(self, app: ASGIApp, access_log: bool = False) -> None:
        self.app = app
        self.access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given_id = Headers(scope=scope).get(HEADER, "")
        name = given_id if _FIT.fullmatch(given_id) else secrets.token_hex(8)
        context_token, begin = request_id.set(name), time.perf_counter()

        noted = ResponseRecorder(send, {HEADER: name})
        try:
            await self.app(scope, receive, noted)
        finally:
            if self.access_log:
                caller = scope.get("state", {}).get("caller")
                fields = {
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": noted.status,
                    "duration_ms": round(1e3 * (time.perf_counter() - begin), 2),
                    "caller": None if caller is None else caller.name,
                }
                log.info("%s %s %s", scope["method"], scope["path"], noted.status, extra={"fields": fields})
            request_id.reset(context_token)


trace_log = logging.getLogger(__name__)
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def install_tracing(app: FastAPI, version: str) -> None:
    """Trace the application. Without an endpoint in the environment, no library is loaded. OpenTelemetry's own variables set sampling and names.
    Raise MissingDependency if an endpoint is configured, but the extra `otel` is not installed."""
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingDependency(
            "traces need the extra `otel`", advice="Install flitwatch[otel], or unset OTEL_EXPORTER_OTLP_ENDPOINT."
        ) from None
    provider = TracerProvider(
        resource=Resource.create(
            {"service.name": os.environ.get("OTEL_SERVICE_NAME", "flitwatch-api"), "service.version": version}
        )
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    # Statements without their parameters, which can contain names of people.
    PsycopgInstrumentor().instrument(tracer_provider=provider, skip_dep_check=True)
    app.add_middleware(OpenTelemetryMiddleware, tracer_provider=provider, exclude_spans=["receive", "send"])
    app.router.on_shutdown.append(provider.shutdown)
    trace_log.info("requests are traced")
