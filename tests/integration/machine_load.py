"""The load of a machine in a separate process until it is stopped: `python -m integration.machine_load ORDER`.

ORDER is a pickled `Order`. The process prints "ready", waits for a line with the epoch second of the start, and prints the number of sent seconds after
each one. At the end of its standard input it prints one JSON line: {seconds, records, late_max_s}. An unavailable log delays it, but loses nothing.
"""

from __future__ import annotations

import json
import math
import pickle
import select
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from flitwatch_domain.errors import Unavailable
from flitwatch_research.ingest_bench.load import Order, pace_records
from flitwatch_stream.backends import open_log

FLUSH_S = 600.0


def _until_done(act: Callable[[], None], deadline: float = math.inf) -> None:
    while True:
        try:
            act()
        except Unavailable as away:
            if time.monotonic() > deadline:
                raise
            print(f"the log is away: {away}", file=sys.stderr, flush=True)
        else:
            return


def _stop_requested() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main(order: Order) -> None:
    """Send until asked to stop."""
    pools = order.pools()
    with open_log(order.log_url) as log, log.producer("flitwatch-machine") as producer:
        print("ready", flush=True)
        first_s = int(sys.stdin.readline())
        late_s, records, number = 0.0, 0, 0
        while number < order.seconds and not _stop_requested():
            for due, found in pace_records(pools, first_s, number):
                late_s = max(late_s, time.time() - due)
                for topic, record in found:
                    _until_done(partial(producer.append, topic, record, timestamp_ms=int(due * 1000)))
                records += len(found)
                # What waits here for a buffer to fill would count as the platform's recovery.
                _until_done(producer.flush, time.monotonic() + FLUSH_S)
            number += 1
            print(number, flush=True)
    print(json.dumps({"seconds": number, "records": records, "late_max_s": round(late_s, 3)}), flush=True)


if __name__ == "__main__":
    main(pickle.loads(Path(sys.argv[1]).read_bytes()))
