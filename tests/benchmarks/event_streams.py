"""Delay of events on the streams of many logged-in viewers, and their number of database connections.

    python tests/benchmarks/event_streams.py --streams 2000 --processes 2 --seconds 30 --before /path/of/another/checkout

Prints one JSON object. Every stream has its own session. Delays are from the event's commit to its arrival at the client. With `--before`,
each round first runs that checkout's API, then this one's. The oracle: every stream gets every event once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg

from flitwatch_api.serve import open_listener
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.migrations import migrate_database
from flitwatch_db.people import accounts
from flitwatch_ops.embedded import Embedded

HERE = Path(__file__).parents[2]
OURS = "datname = current_database() AND application_name LIKE 'flitwatch api%'"
TICKS_S = os.sysconf("SC_CLK_TCK")


def sessions(url: str, count: int) -> list[str]:
    """Secrets of sessions, each of an account of its own."""
    with connect(url, role="gate", autocommit=True) as conn:
        made = []
        for number in range(count):
            accounts.add_account(conn, f"viewer{number}", "viewer")
            row = conn.execute("SELECT account_id FROM account WHERE name = %s", [f"viewer{number}"]).fetchone()
            assert row is not None
            made.append(accounts.begin_session(conn, row[0])[0])
    return made


def serve(url: str, checkout: Path, streams: int) -> tuple[subprocess.Popen[bytes], int]:
    """One API process of a checkout; it, and its port."""
    with open_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "FLITWATCH_DB": url,
        "FLITWATCH_API_STREAMS_MAX": str(streams),
        "PYTHONPATH": f"{checkout / 'services' / 'api'}:{checkout / 'db'}",
    }
    command = [sys.executable, "-m", "flitwatch.main", "api", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if "flitwatch_api_listening 1.0" in httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=1).text:
                return process, port
        time.sleep(0.1)
    raise SystemExit("the API did not start")


async def follow(
    port: int, secret: str, arrived: list[tuple[int, float]], few: asyncio.Semaphore, begun: asyncio.Event
) -> None:
    """Note each event's number and when it came, until cancelled."""
    async with few:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ask = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: flitwatch-session={secret}\r\n\r\n"
        writer.write(ask.encode())
        head = await reader.readuntil(b"connected")
        assert b" 200 " in head.split(b"\r\n")[0], head
        begun.set()
    while line := await reader.readline():
        if line.startswith(b"id: "):
            arrived.append((int(line[4:]), time.perf_counter()))


async def watch(url: str, counts: list[int]) -> None:
    """Note the connections of the API processes, five times a second."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        while True:
            row = await (await conn.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OURS}".encode())).fetchone()
            assert row is not None
            counts.append(row[0])
            await asyncio.sleep(0.2)


def opened(url: str) -> int:
    """Connections that were ever made to the database."""
    with connect(url) as conn:
        row = conn.execute("SELECT sessions FROM pg_stat_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def cpu_s(processes: list[subprocess.Popen[bytes]]) -> float:
    """User and system time of processes so far."""
    fields = [Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split() for p in processes]
    return sum(int(f[11]) + int(f[12]) for f in fields) / TICKS_S


async def measure(url: str, checkout: Path, secrets: list[str], processes: int, seconds: int) -> dict[str, Any]:
    """One round of one checkout."""
    served = await asyncio.gather(*(asyncio.to_thread(serve, url, checkout, len(secrets)) for _ in range(processes)))
    arrived: list[list[tuple[int, float]]] = [[] for _ in secrets]
    counts: list[int] = []
    tasks: list[asyncio.Task[None]] = []
    try:
        few, begun = asyncio.Semaphore(50), [asyncio.Event() for _ in secrets]
        for number, secret in enumerate(secrets):
            port = served[number % processes][1]
            tasks.append(asyncio.create_task(follow(port, secret, arrived[number], few, begun[number])))
        async with asyncio.timeout(120):
            for one in begun:
                await one.wait()
        await asyncio.sleep(6)
        watching = asyncio.create_task(watch(url, counts))
        before, spent = await asyncio.to_thread(opened, url), cpu_s([process for process, _ in served])
        sent: dict[int, float] = {}
        with connect(url, role="writer", autocommit=True) as conn:
            for second in range(seconds):
                number = await asyncio.to_thread(events.emit_event, conn, "job", {"job_pk": second})
                sent[number] = time.perf_counter()
                await asyncio.sleep(1)
        await asyncio.sleep(5)
        spent = cpu_s([process for process, _ in served]) - spent
        made = await asyncio.to_thread(opened, url) - before
        watching.cancel()
        failed = [task for task in tasks if task.done()]
    finally:
        for task in tasks:
            task.cancel()
        for process, _ in served:
            process.terminate()
            process.wait()
    late = [came - sent[number] for one in arrived for number, came in one if number in sent]
    p50, p99, most = np.percentile(late, (50, 99, 100)) if late else (np.nan,) * 3
    return {
        "events": len(sent),
        "streams_ended": len(failed),
        "missing_or_doubled": sum(sorted(n for n, _ in one if n in sent) != sorted(sent) for one in arrived),
        "p50_s": round(float(p50), 4),
        "p99_s": round(float(p99), 4),
        "max_s": round(float(most), 4),
        "connections_max": max(counts),
        # Two of them are this benchmark's.
        "connections_opened_per_s": round((made - 2) / (seconds + 5), 2),
        "api_cores": round(spent / (seconds + 5), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = Embedded(Path(tempfile.mkdtemp(prefix="flitwatch-bench-", dir="/dev/shm")), durable=False)
    server.start()
    try:
        migrate_database(server.url)
        secrets = sessions(server.url, options.streams)
        checkouts = {**({"before": options.before} if options.before else {}), "now": HERE}
        rounds = [
            {
                name: asyncio.run(measure(server.url, path, secrets, options.processes, options.seconds))
                for name, path in checkouts.items()
            }
            for _ in range(options.rounds)
        ]
    finally:
        server.destroy()
    print(json.dumps({"streams": options.streams, "processes": options.processes, "rounds": rounds}))


if __name__ == "__main__":
    main()
