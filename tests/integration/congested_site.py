"""A site in a real database: two groups of two nodes, past runs that were slow under congestion, and current counters."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.counted import count_routers
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.fabric import Endpoints
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep

#: The first group has the first two.
NODES = ("nid00001", "nid00002", "nid00003", "nid00004")
CALM, BUSY, RUNS = 1.0, 5.0, 24


def seed(url: str) -> int:
    """The fabric, and completed runs of `milc` on one node: 100 s in a calm hour, 200 s in a busy one; returns the fabric's id."""
    made = build_dragonfly(2, 1, 2, endpoints_per_router=1, blue_routers=1, blue_cables=1, name="site")
    held = made.endpoints
    fabric = replace(
        made,
        endpoints=Endpoints(
            router=held.router,
            port=held.port,
            node=list(NODES),
            nid=[1, 2, 3, 4],
            component_id=[1, 2, 3, 4],
            role=held.role,
        ),
    )
    hour = int(time.time()) // 3600 * 3600
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        for number in range(RUNS):
            busy = number % 2 == 1
            start = hour - 3600 * (number + 2)
            write(conn, fabric_id, start, (BUSY if busy else CALM,) * 2)
            job = Job(
                job_id=str(number + 1),
                user="eve",
                cluster="site",
                name="milc",
                nodes=1,
                node_list=NODES[number % 4],
                state="COMPLETED",
                submit_s=start,
                start_s=start + 10,
                end_s=start + 400,
                simulated=True,
            )
            jobs.upsert_jobs(conn, [job], fabric_id)
            run_id = runs.upsert_run(
                conn,
                Run(
                    run_key=str(number),
                    exe="milc",
                    job_id=job.job_id,
                    start_s=start + 10,
                    ranks=(0,),
                    nodes=(job.node_list,),
                    simulated=True,
                ),
            )
            runs.upsert_steps(conn, run_id, [RunStep(0, np.array([(200 if busy else 100) * 10**9 + number]))])
    return fabric_id


def write(conn, fabric_id: int, at_s: int, ratios: tuple[float, float], flits: float = 1e3) -> None:
    """One second of counters: stall cycles per flit of each group."""
    values = np.full((4, len(ROUTER_COLUMNS)), np.nan)
    values[:, ROUTER_COLUMNS.index("rt_flits")] = flits
    values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = flits * np.repeat(ratios, 2)
    count_routers(conn, fabric_id, at_s, values, tiles=40.0)


def congest(url: str, fabric_id: int, ratios: tuple[float, float]) -> None:
    """Make the last minutes so; each call outweighs what earlier ones wrote."""
    with connect(url, role="writer") as conn:
        now = int(time.time())
        (held,) = conn.execute(
            "SELECT coalesce(max(rt_flits), 0) FROM router_1s WHERE ts > now() - interval '20 minutes'"
        ).fetchone() or (0,)
        (last,) = conn.execute("SELECT coalesce(extract(epoch FROM max(ts))::bigint, 0) FROM router_1s").fetchone() or (
            0,
        )
        write(conn, fabric_id, max(now, last + 1), ratios, max(1e3, 1e5 * float(held)))


@contextlib.contextmanager
def working(url: str) -> Iterator[None]:
    """A worker of the queue whose absence makes advice stale."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flitwatch.main", "worker", "--queue", "ml", "--db", url], stderr=subprocess.DEVNULL
    )
    try:
        with connect(url, role="writer", autocommit=True) as conn:
            eventually(
                lambda: conn.execute("SELECT count(*) FROM worker").fetchone() != (0,),
                timeout_s=120,
                every_s=0.2,
                what="the worker to register",
                process=process,
            )
        yield
    finally:
        process.terminate()
        process.wait(30)


def agent(environment: dict[str, str], api_url: str, path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """One round of `flitwatch agent slurm` as an operator runs it."""
    argv = [
        sys.executable,
        "-m",
        "flitwatch.main",
        "agent",
        "slurm",
        "--api",
        api_url,
        "--file",
        str(path),
        "--once",
        "--json",
        *options,
    ]
    return subprocess.run(argv, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)
