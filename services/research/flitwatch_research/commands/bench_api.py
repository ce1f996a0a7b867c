"""`flitwatch bench api`: response times of the API for a whole machine, while a feed is written."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from flitwatch.console import (
    Database,
    FiniteRange,
    database_options,
    exit_with_error,
    json_option,
    make_progress,
    print_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from flitwatch_domain.fabric import Fabric

FABRIC = "bench-api"
BATCH_S = 10
BLUE_ROUTERS = 12
READY_S = 60
OCTETS = "application/octet-stream"
#: Queries, in turns: those of the live page, and the scorecard's figure (`ratio_15m`).
QUERIES = {
    "congestion_60s": "/stalls?window=60s",
    "congestion_10m": "/stalls?window=10m",
    "ratio_15m": "/timeseries?routers=all&counters=ratio&points=15",
    "overview_15m": "/overview?points=90",
    "frames_15m": "/frames?step=30",
    "links_of_router": "/stalls/links?router=100&window=60s",
    "router": "/routers/100?window=10m",
}


@click.command("api")
@click.option(
    "--routers",
    type=click.IntRange(96, 40_000),
    default=3264,
    help="Number of routers, a multiple of 96.",
)
@click.option(
    "--seconds",
    type=click.IntRange(5, 86_400),
    default=60,
    help="Duration of the measurement in seconds.",
)
@click.option(
    "--history",
    type=click.IntRange(60, 86_400),
    default=960,
    help="Seconds of counters to store first.",
)
@click.option(
    "--rate",
    type=FiniteRange(0.1, 1000),
    default=5.0,
    help="Requests per second, one after another.",
)
@click.option(
    "--feed/--no-feed",
    default=True,
    help="Write counters of every router each second during the measurement.",
)
@click.option(
    "--query", "chosen", multiple=True, type=click.Choice(list(QUERIES)), help="Measure only this query (repeatable)."
)
@json_option
@database_options
def api(
    routers: int,
    seconds: int,
    history: int,
    rate: float,
    feed: bool,
    chosen: tuple[str, ...],
    as_json: bool,
    database: Database,
) -> None:
    """Store a machine's counters, and then measure the API's response times."""
    from flitwatch_domain.generators import build_dragonfly, most_blue_routers

    groups = round(routers / 96)
    fabric = build_dragonfly(groups, name=FABRIC, blue_routers=min(BLUE_ROUTERS, most_blue_routers(groups)))
    with Database(database.url, database.ephemeral or database.url is None).open() as url:
        start, stored_s = _store_history(url, fabric, history)
        with _run_api(url) as (base, pid), _run_feed(url, fabric, start + history, feed):
            times, sizes, failed = _measure_queries(base, chosen or tuple(QUERIES), seconds, rate)
            cpu_s = _cpu_s(pid)
    queries = {name: {**_compute_percentiles(times[name]), "bytes": sizes[name]} for name in times}
    everything = [t for name in times for t in times[name]]
    print_result(
        {
            "routers": len(fabric.routers),
            "feed": "one write_batch a second" if feed else None,
            "seconds": seconds,
            "requests": len(everything),
            "failed": failed,
            **_compute_percentiles(everything),
            "queries": queries,
            "api_cpu_ms_per_request": round(1e3 * cpu_s / max(1, len(everything)), 1),
            "store_s": round(stored_s, 1),
            "cores": os.cpu_count(),
            "load_1m": round(os.getloadavg()[0], 2),
        },
        as_json,
    )
    if failed:
        exit_with_error(f"{failed} requests failed")


def _compute_percentiles(times: list[float]) -> dict[str, float | None]:
    ordered = sorted(times)
    if not ordered:
        return {"p50_ms": None, "p95_ms": None, "p99_ms": None, "max_ms": None}
    at = lambda share: round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)  # noqa: E731
    return {"p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "max_ms": at(1.0)}


def _make_batch(fabric_id: int, fabric: Fabric, first_s: int, count: int, rng: np.random.Generator) -> Any:
    """Return `count` seconds of every router, and the ten-second bucket of its ports if it is complete."""
    import numpy as np

    from flitwatch_db.counters import store as counters
    from flitwatch_domain.counters import ROUTER_COLUMNS

    size = len(fabric.routers)
    n = size * count
    rows = counters.Rows(
        np.full(n, fabric_id, np.int32),
        np.tile(np.arange(size, dtype=np.int32), count),
        np.repeat(first_s + np.arange(count), size),
        np.ones(n, np.int32),
        np.full(n, 48.0),
        rng.integers(0, 10**9, size=(n, len(ROUTER_COLUMNS))).astype(np.float64),
    )
    ports = None
    if (first_s + count) % BATCH_S == 0:
        flits, stalls = (rng.integers(0, 10**9, size=(size, 48)).astype(np.float64) for _ in range(2))
        ports = counters.PortRows(
            np.full(size, fabric_id, np.int32),
            np.arange(size, dtype=np.int32),
            np.full(size, first_s + count - BATCH_S),
            np.full(size, 480.0),
            flits,
            stalls,
        )
    return counters.Batch(routers=rows, ports=ports)


def _store_history(url: str, fabric: Fabric, history: int) -> tuple[int, float]:
    """Store `history` seconds that end now. Return their start and the elapsed time."""
    import numpy as np

    from flitwatch_db import connect
    from flitwatch_db.core.maintenance import analyze_tables
    from flitwatch_db.counters import store as counters
    from flitwatch_db.fabrics import store as fabrics

    begin, rng = time.perf_counter(), np.random.default_rng(1)
    history -= history % BATCH_S
    start = int(time.time()) // BATCH_S * BATCH_S - history
    with connect(url, role="writer", durable=False) as conn, make_progress("storing counters") as shown:
        fabric_id = fabrics.save_fabric(conn, fabric, replace=True)
        for first in shown.track(range(start, start + history, BATCH_S)):
            counters.write_batch(conn, _make_batch(fabric_id, fabric, first, BATCH_S, rng))
            conn.commit()
        _emit_counters_event(conn, fabric_id, start + history, len(fabric.routers))
        conn.commit()
    with connect(url, autocommit=True) as conn:
        analyze_tables(conn)
    return start, time.perf_counter() - begin


def _emit_counters_event(conn: Any, fabric_id: int, through_s: int, routers: int) -> None:
    from datetime import UTC, datetime

    from flitwatch_db.core import events

    through, ports = (datetime.fromtimestamp(s, UTC).isoformat() for s in (through_s, through_s // BATCH_S * BATCH_S))
    payload = {"fabric_id": fabric_id, "through": through, "ports_through": ports, "routers": routers}
    events.emit_event(conn, "counters", payload)


def _write_feed(url: str, fabric: Fabric, first_s: int) -> None:
    """Write one second of every router each second, like the writer, until killed."""
    import numpy as np

    from flitwatch_db import connect
    from flitwatch_db.counters import store as counters
    from flitwatch_db.fabrics import store as fabrics

    rng, second = np.random.default_rng(2), first_s
    with connect(url, role="writer", durable=False) as conn:
        fabric_id = fabrics.get_fabric_row(conn, fabric.name).fabric_id
        conn.commit()
        due = time.monotonic()
        while True:
            counters.write_batch(conn, _make_batch(fabric_id, fabric, second, 1, rng))
            second += 1
            _emit_counters_event(conn, fabric_id, second, len(fabric.routers))
            conn.commit()
            due += 1
            time.sleep(max(0.0, due - time.monotonic()))


@contextmanager
def _run_feed(url: str, fabric: Fabric, first_s: int, wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    process = multiprocessing.get_context("spawn").Process(target=_write_feed, args=(url, fabric, first_s), daemon=True)
    process.start()
    try:
        yield
        if not process.is_alive():
            exit_with_error("the feed ended before the benchmark did")
    finally:
        process.terminate()
        process.join()


@contextmanager
def _run_api(url: str) -> Iterator[tuple[str, int]]:
    """Run the API in a separate process; yield its address and process id."""
    import socket

    import httpx

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "flitwatch.main", "api", "--port", str(port)]
    process = subprocess.Popen(
        command, env={**os.environ, "FLITWATCH_DB": url}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    base = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if httpx.get(f"{base}/readyz", timeout=1).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.1)
        else:
            exit_with_error("the API did not start")
        yield base, process.pid
    finally:
        process.terminate()
        process.wait()


def _measure_queries(
    base: str, names: Sequence[str], seconds: int, rate: float
) -> tuple[dict[str, list[float]], dict[str, int], int]:
    """Send the queries in turns. Return seconds and bytes of the answers (as sent, compressed), and the number of failures."""
    import httpx

    times: dict[str, list[float]] = {name: [] for name in names}
    sizes = dict.fromkeys(names, 0)
    failed = 0
    with (
        httpx.Client(base_url=f"{base}/api/v1/fabrics/{FABRIC}", timeout=30) as client,
        make_progress("asking") as shown,
    ):
        for name in names:
            client.get(QUERIES[name])
        task = shown.add_task("asking", total=seconds)
        begin = due = time.monotonic()
        while time.monotonic() - begin < seconds:
            for name in names:
                started = time.perf_counter()
                failed += _send_query(client.get, QUERIES[name], sizes, name)
                times[name].append(time.perf_counter() - started)
                due = max(due + 1 / rate, time.monotonic() - 1)
                time.sleep(max(0.0, due - time.monotonic()))
            shown.update(task, completed=time.monotonic() - begin)
    return times, sizes, failed


def _send_query(get: Callable[..., Any], path: str, sizes: dict[str, int], name: str) -> int:
    import httpx

    try:
        answer = get(path, headers={"Accept": OCTETS} if "/frames" in path else {})
    except httpx.HTTPError:
        return 1
    sizes[name] = answer.num_bytes_downloaded
    return int(answer.status_code != 200)


def _cpu_s(pid: int) -> float:
    """Return the user and system time of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
