"""Counters from exporters: samples of Prometheus and OpenTelemetry become records of the log, using a table that a site can extend.

Each sample becomes a record of one counter of one port. The writer drops repeats by port, counter and timestamp, so senders can repeat samples in any
order or batch.

Open

- `http` for the endpoint: remote write and OTLP;
- `limits` for the sizes and amounts that a sender may send; `messages` for remote write's protobuf;
- `remote_write` and `otlp` for decoding bodies, `scraper` for polling exporters and `pages` for decoding their answers;
- `sample` for one value of one series;
- `table` for the mapping of metrics to counters and of labels to ports; prometheus.yaml and slingshot.yaml have the rows;
- `intake` for turning samples into records, or into dead letters;
- `metrics` for the endpoint's own metrics.
"""

from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable

__all__ = ["Intake", "MetricTable", "Sample"]
