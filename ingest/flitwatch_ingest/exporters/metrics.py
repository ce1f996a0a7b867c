"""Metrics of the exporters' endpoint in OpenMetrics format."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flitwatch_ingest.exporters.http import WriteEndpoint
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.scraper import Scraper


class EndpointCollector(Collector):
    """Metrics of the endpoint, read at each scrape."""

    def __init__(self, intake: Intake, endpoint: WriteEndpoint | None, scraper: Scraper | None) -> None:
        self._intake = intake
        self._endpoint = endpoint
        self._scraper = scraper

    def collect(self) -> Iterable[Metric]:
        samples = CounterMetricFamily("flitwatch_collector_samples", "Samples by result.", labels=["source", "result"])
        for labels, count in sorted(self._intake.samples.items()):
            samples.add_metric(labels, count)
        yield samples
        requests = CounterMetricFamily(
            "flitwatch_collector_requests", "Requests by result.", labels=["source", "result"]
        )
        for labels, count in sorted(self._endpoint.requests.items()) if self._endpoint else ():
            requests.add_metric(labels, count)
        yield requests
        scrapes = CounterMetricFamily("flitwatch_collector_scrapes", "Scrapes by result.", labels=["url", "result"])
        for labels, count in sorted(self._scraper.scrapes.items()) if self._scraper else ():
            scrapes.add_metric(labels, count)
        yield scrapes
        yield GaugeMetricFamily("flitwatch_collector_series", "Known series.", value=self._intake.series)
        yield GaugeMetricFamily(
            "flitwatch_collector_named_metrics", "Unknown metrics that have a dead letter.", value=self._intake.named
        )
