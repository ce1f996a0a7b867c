"""OpenTelemetry traces of requests and their queries, if the site configures a collector (OTEL_EXPORTER_OTLP_ENDPOINT)."""

from __future__ import annotations

import logging
import os

from fastapi import FastAPI

from flitwatch_domain.errors import MissingDependency

log = logging.getLogger(__name__)
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def install_tracing(app: FastAPI, version: str) -> None:
    """Trace the application. Without an endpoint in the environment, no library is loaded. OpenTelemetry's own variables set sampling and names.

    Raises
    ------
    MissingDependency
        An endpoint is configured, but the extra `otel` is not installed.
    """
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
    log.info("requests are traced")
