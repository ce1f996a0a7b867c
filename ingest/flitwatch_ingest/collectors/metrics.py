"""Metrics of a collector in OpenMetrics format."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flitwatch_ingest.collectors.publisher import Publisher


class PublisherCollector(Collector):
    """Metrics of a publisher, read at each scrape."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def collect(self) -> Iterable[Metric]:
        publisher = self._publisher
        yield CounterMetricFamily(
            "flitwatch_collector_published", "Records appended to the log.", value=publisher.published
        )
        yield CounterMetricFamily(
            "flitwatch_collector_rejected", "Parts of the input that could not be decoded.", value=publisher.rejected
        )
        yield CounterMetricFamily(
            "flitwatch_collector_waits", "Attempts to which the log did not answer.", value=publisher.waits
        )
        # Absent before the first round, so that a new collector does not report a round in 1970.
        durable = GaugeMetricFamily(
            "flitwatch_collector_durable_timestamp_seconds",
            "When all records read so far were last durable in the log.",
        )
        if publisher.durable_at is not None:
            durable.add_metric([], publisher.durable_at)
        yield durable
