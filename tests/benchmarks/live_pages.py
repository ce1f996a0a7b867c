"""Cost of many live pages of one machine for the API while counters arrive.

    python tests/benchmarks/live_pages.py --pages 200 --routers 3264 --seconds 60

Prints one JSON object. A page behaves like the fabric's idle page: it follows the events and, for every five seconds of new data, requests the routers'
stalls, the links of the ring and the axis, over persistent connections. A feed writes one second of every router each second. Cores are those of
the API process only, not of the database and this client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from flitwatch_domain.generators import build_dragonfly, most_blue_routers
from flitwatch_ops.platform import open_database
from flitwatch_research.commands import bench_api

TICK_S, WINDOW_S, SPAN_S = 5, 600, 3600


def questions(edge: datetime) -> list[str]:
    """What a page asks as its live window ends at `edge`."""
    at = edge.strftime("%Y-%m-%dT%H:%M:%SZ")
    begin = (edge - timedelta(seconds=SPAN_S)).strftime("%Y-%m-%dT%H:%M:%SZ")
    moment = f"at={at}&window={WINDOW_S}s"
    return [
        f"/stalls?{moment}",
        f"/stalls/links?{moment}&class=blue",
        f"/overview?from={begin}&to={at}&points=400",
    ]


async def events(port: int) -> AsyncIterator[dict[str, Any]]:
    """Payloads of the counters' events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    status = (await reader.readline()).split(b" ")[1]
    if status != b"200":
        raise SystemExit(f"a stream of events is answered with {status.decode()}")
    kind = b""
    while line := await reader.readline():
        if line.startswith(b"event: "):
            kind = line[7:].strip()
        elif line.startswith(b"data: ") and kind == b"counters":
            yield json.loads(line[6:])


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, path: str) -> tuple[int, int]:
    """Status and bytes of an answer on a connection that stays open."""
    url = f"/api/v1/fabrics/{bench_api.FABRIC}{path}"
    writer.write(f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    size = int(lines[b"content-length"])
    await reader.readexactly(size)
    return int(head.split(b" ", 2)[1]), size


async def page(port: int, times: list[float], sizes: list[int], failed: list[str]) -> None:
    """One page, until cancelled."""
    connections = [await asyncio.open_connection("127.0.0.1", port, limit=2**24) for _ in questions(datetime.now(UTC))]

    async def timed(number: int, path: str) -> None:
        begin = time.perf_counter()
        status, size = await ask(*connections[number], port, path)
        times.append(time.perf_counter() - begin)
        sizes.append(size)
        if status != 200:
            failed.append(f"{status} {path}")

    edge = 0
    async for payload in events(port):
        through = int(datetime.fromisoformat(payload["through"]).timestamp()) // TICK_S * TICK_S
        if through > edge:
            edge = through
            paths = questions(datetime.fromtimestamp(edge, UTC))
            await asyncio.gather(*(timed(number, path) for number, path in enumerate(paths)))


async def measure(base: str, pid: int, pages: int, seconds: int) -> dict[str, Any]:
    """Follow for so long; the first ticks, in which pages open, are left out."""
    port = int(base.rpartition(":")[2])
    times: list[float] = []
    sizes: list[int] = []
    failed: list[str] = []
    tasks = [asyncio.create_task(page(port, times, sizes, failed)) for _ in range(pages)]
    await asyncio.sleep(3 * TICK_S)
    times.clear()
    sizes.clear()
    spent, begin = bench_api._cpu_s(pid), time.monotonic()
    await asyncio.sleep(seconds)
    spent, took = bench_api._cpu_s(pid) - spent, time.monotonic() - begin
    ended = [repr(task.exception()) for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    p50, p99, most = np.percentile(times, (50, 99, 100)) if times else (np.nan,) * 3
    return {
        "requests": len(times),
        "requests_per_s": round(len(times) / took, 1),
        "failed": failed[:3] + ended[:3],
        "mbytes_per_s": round(sum(sizes) / took / 1e6, 2),
        "p50_ms": round(1e3 * float(p50), 1),
        "p99_ms": round(1e3 * float(p99), 1),
        "max_ms": round(1e3 * float(most), 1),
        "api_cores": round(spent / took, 3),
        "load_1m": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--routers", type=int, default=3264)
    parser.add_argument("--history", type=int, default=960, help="seconds of counters before")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    groups = round(options.routers / 96)
    blue = min(bench_api.BLUE_ROUTERS, most_blue_routers(groups))
    fabric = build_dragonfly(groups, name=bench_api.FABRIC, blue_routers=blue)
    # All pages come from one address here.
    os.environ["FLITWATCH_API_STREAMS_EACH"] = os.environ["FLITWATCH_API_STREAMS_MAX"] = str(options.pages)
    with open_database(None, True) as url:
        start, _ = bench_api._store_history(url, fabric, options.history)
        with bench_api._run_api(url) as (base, pid), bench_api._run_feed(url, fabric, start + options.history, True):
            found = asyncio.run(measure(base, pid, options.pages, options.seconds))
    print(json.dumps({"pages": options.pages, "routers": len(fabric.routers), **found}))


if __name__ == "__main__":
    main()
