"""Collectors: follow a producer's output and publish it to the log, so that the writer counts each record exactly once.

A collector publishes, flushes, and only then moves its checkpoint. After a crash it publishes again from the checkpoint. The writer drops
duplicates by the records' `source` and `sequence`.

Open

- `publisher` for the headers of a record and for waiting while the log is unavailable; `checkpoint` for the position in a file;
- `tail` for files that grow and roll over; `metrics` for a collector's own metrics;
- `ldms_csv`, `ncl` and `sacct` for producers of files;
- `infiniband` for a subnet, read from one host: discovery, rounds over all its devices, and the published records;
- `link_failures` for how often links went down and recovered;
- `slingshot` for the telemetry of Slingshot's fabric manager, from Kafka or files;
- `ufm` for a subnet's topology from UFM's REST interface;
- `ethernet` for polled switches, `sonic` and `gnmi` for their interfaces: Redis, dumps, gNMI; `gnmi_stream` for switches that push samples;
- `rounds` for the polling loop, `answers` for unreadable answers;
- `devices` for the polled ports of a subnet, `conversations` for polling many devices at a time, `umad` for the library that sends the datagrams.

A file collector keeps its state only in the checkpoint. The subnet collector has no state: its records contain counters, and the writer takes the
differences.
"""

from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher

__all__ = ["Checkpoint", "Publisher"]
