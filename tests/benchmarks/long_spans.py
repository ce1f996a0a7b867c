"""Time of an overview by span with 3,264 routers, alternately from rows of the whole fabric and from rows of its routers.

    PYTHONPATH=tests python tests/benchmarks/long_spans.py --days 30

Prints one JSON object. `--days`: number of days with stored hours of routers; rows of the fabric are stored for a year. The rows of routers are read
by width regardless of cost. The oracle: both have the same flits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from support.counted import DAY_S, END_S, fill

from flitwatch_db import async_pool, connect
from flitwatch_db.counters import reads
from flitwatch_db.migrations import migrate_database
from flitwatch_ops.embedded import Embedded

NAMES = ("rt_flits", "rt_stall_cycles", "tile_seconds")


async def measure(url: str, days: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of each round by what was read."""
    with connect(url, role="reader") as conn:
        (fabric_id,) = conn.execute("SELECT fabric_id FROM fabric WHERE name = 'large'").fetchone() or (0,)
    seconds: dict[str, list[float]] = {}
    async with async_pool(url, role="reader") as pool, pool.connection() as conn:
        for _ in range(rounds):
            for length, width in ((days, 7200), (365, DAY_S)):
                begun = time.perf_counter()
                found = await reads.fabric_rows(conn, fabric_id, NAMES, END_S - length * DAY_S, END_S, width)
                seconds.setdefault(f"fabric, {length} d of {width} s", []).append(time.perf_counter() - begun)
                if length == days:
                    whole = sum(float(np.sum(columns["rt_flits"])) for columns in found.values.values())
            begun = time.perf_counter()
            rows = await reads.router_rows(conn, fabric_id, NAMES, END_S - days * DAY_S, END_S, 3600)
            seconds.setdefault(f"routers, {days} d of 3600 s", []).append(time.perf_counter() - begun)
            assert whole == float(np.sum(rows["rt_flits"]))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    server = Embedded(Path(tempfile.mkdtemp(prefix="flitwatch-bench-", dir="/dev/shm")), durable=False)
    server.start()
    try:
        migrate_database(server.url)
        fill(server.url, options.days)
        seconds = asyncio.run(measure(server.url, options.days, options.rounds))
    finally:
        server.destroy()
    print(
        json.dumps({"routers": 3264, "seconds": {what: [round(s, 3) for s in all_] for what, all_ in seconds.items()}})
    )


if __name__ == "__main__":
    main()
