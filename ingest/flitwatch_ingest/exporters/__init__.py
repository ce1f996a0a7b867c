"""Counters from exporters: samples of Prometheus and OpenTelemetry become records of the log, by a table that a site can extend.

Of every sample a record of one counter of one port is made, so that what a sender sends again, in any order and company, is the record that the writer
knows: it drops repeats by port, counter and timestamp.

Open

- `http` for the endpoint: remote write and OTLP;
- `limits` for what a sender may send, and how much of it at a time; `messages` for remote write's protobuf;
- `remote_write` and `otlp` for bodies as samples, `scraper` for asking exporters and `pages` for what they answer;
- `sample` for one value of one series;
- `table` for which metric is which counter, and which labels say whose port it counts; prometheus.yaml and slingshot.yaml have the rows;
- `intake` for samples that become records, and what cannot: dead letters;
- `metrics` for the endpoint's own figures.
"""

from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable

__all__ = ["Intake", "MetricTable", "Sample"]
