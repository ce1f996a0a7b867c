"""`flitwatch bench advice`: schedulers' questions at a fixed rate to a server with one core."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TypedDict

import click

from flitwatch.console import FiniteRange, exit_with_error, json_option, print_result

READY_S = 60
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*([0-9]+)")
GROUPS, APPLICATIONS, RUNS = 15, 10, 40
NODES_PER_GROUP = 96


@click.command("advice")
@click.option("--rate", type=FiniteRange(1, 5000), default=200.0, help="Questions per second.")
@click.option(
    "--seconds",
    type=click.IntRange(1, 3600),
    default=20,
    help="Duration of the measurement in seconds.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, 16),
    default=4,
    help="Number of candidates in each question.",
)
@click.option("--nodes", type=click.IntRange(1, 96), default=64, help="Number of nodes in each candidate.")
@json_option
def advice(rate: float, seconds: int, candidates: int, nodes: int, as_json: bool) -> None:
    """Ask for advice at a fixed rate. Times start when a question is due, so they include queueing."""
    from flitwatch_ops.platform import open_database

    with open_database(None, True) as url:
        names = _seed_database(url)
        with _run_api(url) as port:
            cores = os.sched_getaffinity(0)
            # The server has the first core to itself, except for the database's reading.
            os.sched_setaffinity(0, cores - {min(cores)} or cores)
            print_result(asyncio.run(_measure_advice(port, rate, seconds, candidates, nodes, names)), as_json)


def _seed_database(url: str) -> list[str]:
    """Store a simulated machine of 15 groups with counters and completed runs; return the names of its nodes."""
    import numpy as np

    from flitwatch_db import connect
    from flitwatch_db.counters import store as counters
    from flitwatch_db.fabrics import store as fabrics
    from flitwatch_db.jobs import store as jobs
    from flitwatch_db.runs import store as runs
    from flitwatch_domain.counters import ROUTER_COLUMNS
    from flitwatch_domain.generators import build_dragonfly
    from flitwatch_domain.jobs import Job
    from flitwatch_domain.runs import Run, RunStep

    fabric = build_dragonfly(GROUPS, 6, 16, endpoints_per_router=1, name="bench-advice")
    now = int(time.time())
    names = [str(name) for name in fabric.endpoints.node]
    rng = np.random.default_rng(1)
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        size, hours = len(fabric.routers), RUNS + 1
        ago = np.concatenate([np.arange(1, hours + 1) * 3600, np.arange(1, 11) * 60])
        moment, router = (axis.ravel() for axis in np.indices((len(ago), size)))
        values = np.full((len(moment), len(ROUTER_COLUMNS)), np.nan)
        values[:, ROUTER_COLUMNS.index("rt_flits")] = 1000
        values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = 1000 * (1 + (moment + router // NODES_PER_GROUP) % 5)
        rows = counters.Rows(
            np.full(len(moment), fabric_id, np.int32),
            router.astype(np.int32),
            now - ago[moment],
            np.ones(len(moment), np.int32),
            np.full(len(moment), 40.0),
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=rows))
        for application in range(APPLICATIONS):
            for number in range(RUNS):
                start, key = now - 3600 * (number + 1) - 60, f"{application}-{number}"
                first = number % GROUPS * NODES_PER_GROUP
                job = Job(
                    job_id=str(1000 * application + number),
                    user=f"u{number % 7}",
                    cluster="bench",
                    name=f"app{application}",
                    nodes=64,
                    node_list=",".join(names[first : first + 64]),
                    state="COMPLETED",
                    submit_s=start - 60,
                    start_s=start,
                    end_s=start + 200,
                    simulated=True,
                )
                jobs.upsert_jobs(conn, [job], fabric_id)
                run = Run(
                    run_key=key,
                    exe=f"app{application}",
                    job_id=job.job_id,
                    start_s=start,
                    ranks=(0,),
                    nodes=(names[first],),
                    simulated=True,
                )
                run_id = runs.upsert_run(conn, run)
                runs.upsert_steps(conn, run_id, [RunStep(0, np.array([int(rng.integers(80, 160)) * 10**9]))])
    return names


@contextlib.contextmanager
def _run_api(url: str) -> Iterator[int]:
    """Run the API in a process with one core."""
    import socket
    import urllib.request

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    core = min(os.sched_getaffinity(0))
    process = subprocess.Popen(
        [sys.executable, "-m", "flitwatch.main", "api", "--port", str(port), "--db", url, "--anonymous", "user"],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        deadline = time.monotonic() + READY_S
        while True:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer,
            ):
                if answer.status == 200:
                    break
            if time.monotonic() > deadline or process.poll() is not None:
                exit_with_error("the API did not start")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(20)


class AdviceTimes(TypedDict):
    """Response times of the API: requests per second, quantiles of the time since a question was due, and numbers of answers with a slowdown and of
    refusals."""

    rps: float
    p50_ms: float
    p99_ms: float
    questions: int
    with_slowdown: int
    refused: int
    candidates: int
    nodes: int


def _parse_answer(head: bytes, body: bytes) -> tuple[bool, bool]:
    """Return (has a slowdown, is advice). A refusal by the server or a proxy need not be JSON."""
    import orjson

    if not head.startswith(b"HTTP/1.1 200"):
        return False, False
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False, False
    if not isinstance(answer, dict):
        return False, False
    return answer.get("expected_slowdown") is not None, True


async def _measure_advice(
    port: int, rate: float, seconds: int, candidates: int, nodes: int, names: list[str]
) -> AdviceTimes:
    import numpy as np
    import orjson

    free: asyncio.LifoQueue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.LifoQueue()
    times: list[float] = []
    known = refused = 0

    async def answer(request: bytes) -> tuple[bool, bool]:
        """Return (has a slowdown, is advice). If the server closed an idle connection, retry with a new one."""
        while not free.empty():
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                return await exchange(free.get_nowait(), request)
        try:
            return await exchange(await asyncio.open_connection("127.0.0.1", port), request)
        except (OSError, asyncio.IncompleteReadError):
            return False, False

    async def exchange(pair: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> tuple[bool, bool]:
        reader, writer = pair
        keep_alive = False
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if length is None:
                return False, False
            flags = _parse_answer(head, await reader.readexactly(int(length[1])))
            keep_alive = b"connection: close" not in head.lower()
            return flags
        finally:
            if keep_alive:
                free.put_nowait(pair)
            else:
                writer.close()

    async def one(number: int, due: float | None) -> None:
        nonlocal known, refused
        lists = [
            [names[((number + c) % GROUPS) * NODES_PER_GROUP + n] for n in range(nodes)] for c in range(candidates)
        ]
        body = orjson.dumps(
            {"user": f"u{number % 7}", "application": f"app{number % APPLICATIONS}", "nodes": 64, "candidates": lists}
        )
        request = (
            b"POST /api/v1/advice HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body)
            + body
        )
        slowdown, answered = await answer(request)
        if due is None:
            return
        times.append(time.perf_counter() - due)
        refused += not answered
        known += slowdown

    await one(0, None)
    begun = time.perf_counter()
    tasks = []
    for number in range(round(rate * seconds)):
        due = begun + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*tasks)
    spent = time.perf_counter() - begun
    p50, p99 = np.percentile(np.array(times) * 1e3, (50, 99))
    return {
        "rps": len(times) / spent,
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "questions": len(times),
        "with_slowdown": known,
        "refused": refused,
        "candidates": candidates,
        "nodes": nodes,
    }
