"""Metrics of a writer in OpenMetrics format, on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from flitwatch_ingest.writer.loop import Writer


class WriterCollector(Collector):
    """Metrics of a writer, read at each scrape."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def collect(self) -> Iterable[Metric]:
        measures = self._writer.measures
        for name, text in (
            ("records", "Records written."),
            ("values", "Metric values written."),
            ("bytes", "Bytes of the records written."),
            ("duplicates", "Duplicates of records written before."),
            ("late", "Records that arrived too late to be counted."),
            ("dead", "Records written to the dead letters."),
            ("unplaced", "Counter records that belong to no known fabric, stored unchanged."),
            ("commits", "Transactions."),
            ("retries", "Retried transactions."),
        ):
            yield CounterMetricFamily(f"flitwatch_writer_{name}", text, value=getattr(measures, name))
        stages = CounterMetricFamily("flitwatch_writer_stage_cpu_seconds", "Processor time by stage.", labels=["stage"])
        for stage, seconds in sorted(measures.stages.items()):
            stages.add_metric([stage], seconds)
        yield stages
        lag = GaugeMetricFamily(
            "flitwatch_writer_lag_seconds",
            "Time from append to commit of a transaction's oldest record, 95th percentile.",
        )
        if (lag_s := measures.lag()) is not None:
            lag.add_metric([], lag_s)
        yield lag
        yield GaugeMetricFamily(
            "flitwatch_writer_read_only",
            "1 while records wait in the log because the database's disk is nearly full.",
            value=int(measures.lack is not None),
        )
        yield GaugeMetricFamily(
            "flitwatch_writer_topics", "Topics that this writer reads.", value=len(self._writer.assigned.mine)
        )
