"""Records of a log, in the order of their topics."""

from __future__ import annotations

import time

from flitwatch_stream.log import Log, Record


def read_all(log: Log, group: str = "reader") -> list[Record]:
    """Everything in the log."""
    names = [name for name in log.topics() if name.startswith(("ldms.", "flitwatch."))]
    ends = {name: sum(log.end_offsets(name)) for name in names}
    out: list[Record] = []
    with log.consumer(f"{group}-{time.time_ns()}", topics=names) as consumer:
        while len(out) < sum(ends.values()):
            out.extend(consumer.poll(timeout_s=1.0))
    return out
