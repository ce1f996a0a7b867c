"""Cost of `flitwatch_db.counters.store.write_batch`: core-seconds of server and client per second of a machine's feed.

    python tests/benchmarks/write_batch.py --routers 3264 --seconds 60 --batch-s 1 [--timescale]

Prints one JSON object. The oracle: the hour's rows contain the written samples.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from flitwatch_db import connect
from flitwatch_db.counters.store import Batch, PortRows, Rows, write_batch
from flitwatch_db.migrations import migrate_database
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_ops.embedded import Embedded

START_S = 1_800_000_000
TICKS_S = os.sysconf("SC_CLK_TCK")


def server_cpu_s(data: Path) -> float:
    """CPU seconds of the server's processes that live now."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == data:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total / TICKS_S


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routers", type=int, default=3264)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--batch-s", type=int, default=1)
    parser.add_argument("--timescale", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="flitwatch-bench-", dir="/dev/shm"))
    if options.timescale:
        from flitwatch_ops.stack.timescale import Timescale

        server: Embedded = Timescale(folder)
    else:
        server = Embedded(folder)
    server.start()
    try:
        migrate_database(server.url)
        print(json.dumps(measure(server, options.routers, options.seconds, options.batch_s) | vars(options)))
    finally:
        server.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def measure(server: Embedded, routers: int, seconds: int, batch_s: int) -> dict:
    rng = np.random.default_rng(1)
    rows = routers * batch_s
    values = rng.integers(0, 10**9, (rows, len(ROUTER_COLUMNS))).astype(np.float64)
    values[: rows // 2, 4:10] = np.nan
    ports = rng.integers(0, 10**9, (routers, 48)).astype(np.float64)
    ports[:, 40:] = np.nan
    router = np.arange(routers, dtype=np.int32)
    one = np.ones(routers, dtype=np.int32)
    data = (server.folder / "data").resolve()
    with connect(server.url, role="writer", durable=False) as conn:
        before = (server_cpu_s(data), time.process_time(), time.perf_counter())
        slowest = 0.0
        for second in range(0, seconds, batch_s):
            began = time.perf_counter()
            ts = np.repeat(np.arange(START_S + second, START_S + second + batch_s), routers)
            whole = np.ones(rows, dtype=np.int32)
            batch = Rows(whole, np.tile(router, batch_s), ts, 4 * whole, np.full(rows, 40.0), values)
            tenth = None
            if second % 10 < batch_s:
                bucket = np.full(routers, (START_S + second) // 10 * 10)
                tenth = PortRows(one, router, bucket, np.full(routers, 400.0), ports, ports)
            write_batch(conn, Batch(routers=batch, ports=tenth))
            conn.commit()
            slowest = max(slowest, time.perf_counter() - began)
        after = (server_cpu_s(data), time.process_time(), time.perf_counter())
        written = seconds // batch_s * batch_s
        found = conn.execute("SELECT sum(samples) FROM router_1h").fetchone()
        assert found == (4 * routers * written,), found
    server_cpu, client_cpu, wall = ((b - a) / written for a, b in zip(before, after, strict=True))
    return {
        "server_core_s_per_s": round(server_cpu, 4),
        "client_core_s_per_s": round(client_cpu, 4),
        "core_s_per_s": round(server_cpu + client_cpu, 4),
        "wall_s_per_s": round(wall, 4),
        "slowest_batch_s": round(slowest, 3),
    }


if __name__ == "__main__":
    main()
