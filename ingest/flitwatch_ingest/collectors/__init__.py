"""Collectors: follow what a producer writes and publish it to the log, exactly once as the writer counts.

A collector publishes, flushes, and only then moves its checkpoint. After a crash it publishes again from the checkpoint; the writer drops what it
knows by the records' `source` and `sequence`.

Open

- `publisher` for the headers of a record and what happens while the log is unavailable; `checkpoint` for how far a file was read;
- `tail` for files that grow and roll over; `metrics` for what a collector reports of itself;
- `ldms_csv`, `ncl` and `sacct` for producers of files;
- `infiniband` for a subnet, read from one host: discovery, a round of all its devices, what is published of them;
- `link_failures` for how often links went down and recovered;
- `slingshot` for the telemetry of Slingshot's fabric manager, from Kafka or files;
- `ufm` for a subnet's topology from UFM's REST interface;
- `ethernet` for switches that are asked one by one, `sonic` and `gnmi` for what answers: Redis, dumps, gNMI; `gnmi_stream` for switches that send unasked;
- `rounds` for the loop of those that ask, `answers` for an answer that cannot be read;
- `devices` for which ports of a subnet are asked, `conversations` for asking many devices at a time, `umad` for the library that carries it.

A collector of files keeps its state in the checkpoint alone. The subnet's has none: its records carry counters, and the writer takes the differences.
"""

from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher

__all__ = ["Checkpoint", "Publisher"]
