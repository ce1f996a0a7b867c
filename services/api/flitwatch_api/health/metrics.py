"""Figures of the API process in OpenMetrics."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

from flitwatch_api.ingest.lag import topics
from flitwatch_api.platform import Platform
from flitwatch_api.response_recorder import ResponseRecorder
from flitwatch_db.ingest import reads as ingest

MEDIA_TYPE = CONTENT_TYPE_LATEST
BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The registry of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("flitwatch_api_requests", "Answers given.", labels, registry=self.registry)
        self.seconds = Histogram(
            "flitwatch_api_request_seconds", "Time to the answer's end; event streams are left out.", ("method", "route"),
            buckets=BUCKETS_S, registry=self.registry, unit="seconds",
        )  # fmt: skip
        self.streams = Gauge("flitwatch_api_event_streams", "Open event streams.", registry=self.registry)
        self.dropped = Gauge(
            "flitwatch_api_event_streams_dropped",
            "Streams closed because their client was too slow.",
            registry=self.registry,
        )
        self.listening = Gauge(
            "flitwatch_api_listening", "1 while events come from the database.", registry=self.registry
        )
        self.cached = Gauge(
            "flitwatch_api_cache_bytes", "Counters held in memory.", registry=self.registry, unit="bytes"
        )
        self.database_up = Gauge(
            "flitwatch_database_up", "1 if the database answered this scrape.", registry=self.registry
        )
        topic = ("topic",)
        self.records = Gauge(
            "flitwatch_ingest_records_written", "Records written since the beginning.", topic, registry=self.registry
        )
        self.lag = Gauge(
            "flitwatch_ingest_lag_records", "Records in the log and not written.", topic, registry=self.registry
        )
        self.dead = Gauge(
            "flitwatch_ingest_dead_letters", "Records that could not be used and are kept.", registry=self.registry
        )
        self.age = Gauge(
            "flitwatch_ingest_position_age_seconds", "Since the writer last moved a position.", registry=self.registry
        )

    async def render(self, platform: Platform) -> bytes:
        """The exposition; the database's part is left out while it is away."""
        self.streams.set(platform.hub.streams)
        self.dropped.set(platform.hub.dropped)
        self.listening.set(platform.hub.listening)
        self.cached.set(platform.store.bytes)
        try:
            await self._ingest(platform)
            self.database_up.set(1)
        except psycopg.Error:
            self.database_up.set(0)
        return generate_latest(self.registry)

    async def _ingest(self, platform: Platform) -> None:
        now = datetime.now(UTC)
        async with platform.reading() as conn:
            for row in await topics(conn, platform.log_ends, now):
                self.records.labels(row["topic"]).set(row["records"])
                if row["lag_records"] is not None:
                    self.lag.labels(row["topic"]).set(row["lag_records"])
            self.dead.set(await ingest.dead_letter_total(conn))
            self.age.set(await ingest.position_age_s(conn, now) or 0)


class Measured:
    """Counts and times answers by route (below `base` for those of the API), never by what a caller wrote."""

    def __init__(self, app: ASGIApp, metrics: Metrics, base: str) -> None:
        self.app = app
        self.metrics = metrics
        self.base = base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, noted = time.perf_counter(), ResponseRecorder(send)
        try:
            await self.app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            # A route of an included part does not know its prefix.
            if scope["path"].startswith(self.base) and not route.startswith((self.base, "/{")):
                route = self.base + route
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.requests.labels(method, route, str(noted.status)).inc()
            if not route.endswith("/events"):
                self.metrics.seconds.labels(method, route).observe(time.perf_counter() - begin)
