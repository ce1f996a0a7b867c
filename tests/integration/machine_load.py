"""The load of a machine in a process of its own, until it is told to stop: `python -m integration.machine_load ORDER`.

ORDER is a pickled `Order`. It prints "ready", waits for a line with the epoch second to begin at, prints how many seconds it has sent after each, and
ends at the end of its standard input with one JSON line: {seconds, records, late_max_s}. A log that is away delays it; nothing is given up.
"""

from __future__ import annotations

import json
import pickle
import select
import sys
import time
from pathlib import Path

from flitwatch_domain.errors import Unavailable
from flitwatch_research.ingest_bench.load import Order, paced
from flitwatch_research.ingest_bench.pool import Pool
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Producer

FLUSH_S = 600.0


def _append(producer: Producer, pool: Pool, record: bytes, due: float) -> None:
    while True:
        try:
            producer.append(pool.set.topic, record, timestamp_ms=int(due * 1000))
        except Unavailable as away:
            print(f"the log is away: {away}", file=sys.stderr, flush=True)
        else:
            return


def _told_to_stop() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main(order: Order) -> None:
    """Send until told to stop."""
    pools = order.pools()
    with open_log(order.log_url) as log, log.producer("flitwatch-machine") as producer:
        print("ready", flush=True)
        first_s = int(sys.stdin.readline())
        late_s, records, number = 0.0, 0, 0
        while number < order.seconds and not _told_to_stop():
            for due, pool, found in paced(pools, first_s, number):
                late_s = max(late_s, time.time() - due)
                for record in found:
                    _append(producer, pool, record, due)
                records += len(found)
            number += 1
            print(number, flush=True)
        deadline = time.monotonic() + FLUSH_S
        while True:
            try:
                producer.flush()
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
            else:
                break
    print(json.dumps({"seconds": number, "records": records, "late_max_s": round(late_s, 3)}), flush=True)


if __name__ == "__main__":
    main(pickle.loads(Path(sys.argv[1]).read_bytes()))
