"""Metrics of the API process in OpenMetrics format."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Receive, Scope, Send

from flitwatch_api.health.findings import Findings
from flitwatch_api.ingest.lag import list_topics
from flitwatch_api.logs import ResponseRecorder
from flitwatch_api.platform import Platform
from flitwatch_db.ingest import reads as ingest
from flitwatch_domain.errors import Unavailable

MEDIA_TYPE = CONTENT_TYPE_LATEST
BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Registry of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("flitwatch_api_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "flitwatch_api_request_seconds",
            "Time until the end of the answer, without event streams.",
            ("method", "route"),
            buckets=BUCKETS_S,
            registry=self.registry,
            unit="seconds",
        )
        self.streams = Gauge("flitwatch_api_event_streams", "Open event streams.", registry=self.registry)
        self.listening = Gauge(
            "flitwatch_api_listening", "1 while the API receives events from the database.", registry=self.registry
        )
        self.cached = Gauge(
            "flitwatch_api_cache_bytes", "Size of the cached counters.", registry=self.registry, unit="bytes"
        )
        self.database_up = Gauge(
            "flitwatch_database_up", "1 if the database answered this scrape.", registry=self.registry
        )
        self.ingest = Ingest()
        self.findings = Findings()

    def everything(self) -> list[Metric]:
        """Return every metric family, with or without values."""
        return [*self.registry.collect(), *self.ingest.collect(), *self.findings.collect()]

    async def render(self, platform: Platform, accept: str, findings: bool, jobs: bool) -> tuple[bytes, str]:
        """Return the exposition and its media type. The database's part is left out while it is unavailable.

        Parameters
        ----------
        accept : str
            The request's Accept header. The format is OpenMetrics unless only Prometheus' text format is accepted.
        findings, jobs : bool
            Whether the caller may see findings, and findings about jobs.
        """
        self.streams.set(platform.hub.streams)
        self.listening.set(platform.hub.listening)
        self.cached.set(platform.store.bytes)
        self.ingest.dropped = platform.hub.dropped
        try:
            await self.ingest.refresh(platform)
            if findings:
                await self.findings.refresh(platform)
            self.database_up.set(1)
        except (psycopg.Error, Unavailable):
            self.ingest.forget()
            self.findings.forget()
            self.database_up.set(0)
        families = [*self.registry.collect(), *self.ingest.collect()]
        families += self.findings.shown(jobs) if findings else []
        if "text/plain" in accept and "openmetrics" not in accept:
            return exposition.generate_latest(MetricReading(families)), exposition.CONTENT_TYPE_PLAIN_0_0_4
        return generate_latest(MetricReading(families)), MEDIA_TYPE


class MetricReading(Collector):
    """Stored metric families for output by the client library."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


class Ingest(Collector):
    """Ingest metrics, read from the database at each scrape."""

    def __init__(self) -> None:
        #: Event streams closed by this process.
        self.dropped = 0
        self._rows: list[dict[str, Any]] = []
        self._dead: int | None = None
        self._age_s: float | None = None

    async def refresh(self, platform: Platform) -> None:
        """Read the metrics from the database."""
        now = datetime.now(UTC)
        async with platform.reading() as conn:
            self._rows = [
                {"topic": row.topic, "records": row.records, "lag": row.lag_records, "waits_s": row.lag_s}
                for row in await list_topics(conn, platform.log_ends, now)
            ]
            self._dead = await ingest.dead_letter_total(conn)
            self._age_s = await ingest.position_age_s(conn, now)

    def forget(self) -> None:
        """Drop the metrics, because the database is unavailable."""
        self._rows, self._dead, self._age_s = [], None, None

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "flitwatch_api_event_streams_dropped",
            "Streams closed because their client was too slow.",
            value=self.dropped,
        )
        records = CounterMetricFamily("flitwatch_ingest_records", "Records written.", labels=["topic"])
        lag = GaugeMetricFamily(
            "flitwatch_ingest_lag_records", "Records in the log that are not written yet.", labels=["topic"]
        )
        waits = GaugeMetricFamily(
            "flitwatch_ingest_unwritten_seconds",
            "Age of the oldest record of a topic in the log that is not written yet; 0 if none waits.",
            labels=["topic"],
        )
        for row in self._rows:
            if row["waits_s"] is not None:
                waits.add_metric([row["topic"]], row["waits_s"])
            records.add_metric([row["topic"]], row["records"])
            if row["lag"] is not None:
                lag.add_metric([row["topic"]], row["lag"])
        yield records
        yield lag
        yield waits
        dead = GaugeMetricFamily("flitwatch_ingest_dead_letters", "Records that could not be decoded.")
        if self._dead is not None:
            dead.add_metric([], self._dead)
        yield dead
        # Absent before the first write: a writer that never wrote differs from one that just wrote.
        age = GaugeMetricFamily("flitwatch_ingest_position_age_seconds", "Time since the writer last advanced.")
        if self._age_s is not None:
            age.add_metric([], self._age_s)
        yield age


class Measured:
    """Counts and times responses by route (without `base` for API routes), never by caller input."""

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
            # A route of an included router does not know its prefix.
            if scope["path"].startswith(self.base) and not route.startswith((self.base, "/{")):
                route = self.base + route
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.requests.labels(method, route, str(noted.status)).inc()
            if not route.endswith("/events"):
                self.metrics.seconds.labels(method, route).observe(time.perf_counter() - begin)
