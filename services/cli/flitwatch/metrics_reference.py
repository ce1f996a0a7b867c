"""Generate docs/metrics.md from the registries of the services."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import Metric

from flitwatch.metrics import process_info

HEAD = """# Metrics

Generated with `make reference`.

Names and types follow Prometheus conventions: counters only grow and end in `_total`, units are base units, and
shares are ratios.

Metrics without a value are absent, because unknown is not 0. A test runs `promtool check metrics` on each service.

The API serves metrics at `/metrics` and on `--metrics-port`, and each other service on its `--metrics-port`.

Metrics about the machine
(`flitwatch_fabric_*`, `flitwatch_group_*`, `flitwatch_link_class_*`, `flitwatch_recent_gaps`, `flitwatch_alerts_firing`, `flitwatch_job_*`) need the
right to view. If callers without a login may not view, give Prometheus a token with scope `read`
(`authorization: {credentials_file: ...}`).

The API reads them from the database at most every 15 s.
"""


def collect_families() -> dict[str, list[Metric]]:
    """Return every metric family by service."""
    from flitwatch.own_figures import delivery_families, place_families, queue_families
    from flitwatch_api.health.metrics import Metrics
    from flitwatch_db.alerts.store import ReceiverFigures
    from flitwatch_db.tasks.table import QueueFigures
    from flitwatch_ingest.collectors.metrics import PublisherCollector
    from flitwatch_ingest.collectors.publisher import Publisher
    from flitwatch_ingest.exporters import Intake, MetricTable
    from flitwatch_ingest.exporters.metrics import EndpointCollector
    from flitwatch_ingest.writer.measures import Measures
    from flitwatch_ingest.writer.metrics import WriterCollector

    publisher = Publisher(cast(Any, None))
    writer = cast(Any, SimpleNamespace(measures=Measures(), assigned=SimpleNamespace(mine=())))
    api = Metrics()
    # A family of the client library shows its labels only with its first value.
    api.requests.labels("GET", "/", "200")
    api.seconds.labels("GET", "/")
    own = CollectorRegistry()
    process_info("flitwatch", own)
    return {
        "API": api.everything(),
        "Writer": list(WriterCollector(writer).collect()),
        "Worker": [*queue_families([QueueFigures("ml", 0, 0, 0, 0, 0)]), *place_families(None)],
        "Alerting": delivery_families([ReceiverFigures("chat", 0, 0, 0)]),
        "Collectors": list(PublisherCollector(publisher).collect()),
        "`collect prometheus`": list(EndpointCollector(Intake(MetricTable(), publisher), None, None).collect()),
        "Every service but the API": [
            *own.collect(),
            *(family for family in REGISTRY.collect() if family.name.startswith(("process_", "python_"))),
        ],
    }


def render_metrics() -> str:
    """Return the text of docs/metrics.md."""
    parts = [HEAD]
    for service, service_families in collect_families().items():
        parts.append(f"\n## {service}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
        parts += sorted(_format_line(family) for family in service_families)
    return "".join(parts)


def _format_line(family: Metric) -> str:
    name = family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
    labels = ", ".join(f"`{label}`" for label in _list_labels(family))
    return f"| `{name}` | {family.type} | {labels} | {family.documentation} |\n"


def _list_labels(family: Metric) -> Iterable[str]:
    declared = getattr(family, "_labelnames", None)
    if declared:
        return tuple(declared)
    return dict.fromkeys(label for sample in family.samples for label in sample.labels if label != "le")
