"""Milliseconds of an explanation of a slow job: `python -m benchmarks.explanation [--machine tree]` (in tests/).

Machines are a dragonfly of 3,264 routers, a fat tree of 11,664 endpoints with the ports of its switches, and the same tree with only the sums of each switch.
Prints one JSON object: p50 and p95 of successive answers, with and without the division among jobs, and this process's CPU time in them (`core_ms`). The
rest is the database's time, or that of other processes.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

# As the platform's processes have it: two threads of BLAS wait for each other on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from support.databases import server_folder

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import flow
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.migrations import migrate_database
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LINK_CLASS_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.generators import build_dragonfly, build_xgft
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_ops.embedded import Embedded

BEGIN_S = 1_790_000_000 // 3600 * 3600
MINUTES, ONSET = 30, 15
#: Minutes on both sides of the onset whose ports are counted.
PORT_MINUTES = 2
STEP_S = 20.0


#: Machines, and whether their ports are counted.
MACHINES = {"dragonfly": True, "tree": True, "tree-sums": False}
SUMS = [*LINK_CLASS_COLUMNS.values(), ("rt_flits", "rt_stall_cycles")]


def fill(url: str, fabric: Fabric, count: int, by_port: bool) -> None:
    """A machine whose job 1 is slow from minute `ONSET` on, when job 2 starts: random traffic, for times alone."""
    rng = np.random.default_rng(1)
    routers, ends = len(fabric.routers), len(fabric.endpoints)
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        order, size = rng.permutation(ends), ends // count
        rows = [
            Job("c", str(n + 1), "RUNNING", user=f"u{n}", start_s=BEGIN_S + (60.0 * ONSET if n == 1 else -3600.0), nodes=size, simulated=True,
                node_list=",".join(fabric.endpoints.node[one] for one in np.sort(order[n * size : (n + 1) * size])))
            for n in range(count)
        ]  # fmt: skip
        jobs.upsert_jobs(conn, rows, fabric_id)
        for minute in range(MINUTES):
            at, busy = BEGIN_S + 60 * minute + 30, 4.0 if minute >= ONSET else 1.0
            values = np.full((routers, len(ROUTER_COLUMNS)), np.nan)
            for flits, stalls in SUMS:
                values[:, ROUTER_COLUMNS.index(flits)] = rng.uniform(1e9, 2e9, routers)
                values[:, ROUTER_COLUMNS.index(stalls)] = busy * rng.uniform(1e8, 1e9, routers)
            cards = np.full((ends, len(ENDPOINT_COLUMNS)), np.nan)
            cards[:, :2] = rng.uniform(1e9, 2e9, (ends, 2))
            cards[:, ENDPOINT_COLUMNS.index("tx_wait_cycles")] = busy * rng.uniform(1e7, 1e8, ends)
            if minute >= ONSET:
                cards[order[size : 2 * size], :2] *= 20
            batch = counters.Batch(routers=_rows(fabric_id, at, values), endpoints=_rows(fabric_id, at, cards))
            counters.write_batch(conn, batch)
            # Of a tree the ports of the whole slow stretch are asked for: one row a minute says as much of the time that takes.
            tree = fabric.kind is FabricKind.FAT_TREE
            if by_port and ONSET - minute <= PORT_MINUTES and (tree or minute - ONSET <= PORT_MINUTES):
                for bucket in range(1 if tree else 6):
                    counters.write_batch(
                        conn, counters.Batch(ports=_ports(fabric_id, at - 30 + 10 * bucket, fabric, busy, rng))
                    )
            conn.commit()
        for number in range(5):
            slow = [STEP_S * (1.6 if number == 4 and STEP_S * n >= 60 * ONSET else 1.0) for n in range(80)]
            run = Run(
                f"r{number}",
                "app",
                "1" if number == 4 else None,
                BEGIN_S - (0 if number == 4 else 9e4 - 2e3 * number),
                (0,),
                simulated=True,
            )
            steps = [RunStep(n, np.array([round(one * 1e9) + n], np.int64)) for n, one in enumerate(slow)]
            runs.upsert_steps(conn, runs.upsert_run(conn, run), steps)
        conn.commit()


def _rows(fabric_id: int, at_s: int, values: np.ndarray) -> counters.Rows:
    n = len(values)
    return counters.Rows(np.full(n, fabric_id, np.int32), np.arange(n, dtype=np.int32), np.full(n, at_s), np.ones(n, np.int32), np.full(n, 60.0), values)  # fmt: skip


def _ports(fabric_id: int, at_s: int, fabric: Fabric, busy: float, rng: np.random.Generator) -> counters.PortRows:
    counted = fabric.counted_links() >= 0
    flits = np.where(counted, rng.uniform(1e8, 2e8, counted.shape), np.nan)
    n = len(counted)
    return counters.PortRows(
        np.full(n, fabric_id, np.int32),
        np.arange(n, dtype=np.int32),
        np.full(n, at_s),
        np.full(n, 480.0),
        flits,
        busy * flits * rng.uniform(0.05, 0.5, counted.shape),
        flits,
    )


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of one call, and of a core of this process."""
    begun = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - begun[0]), 1000 * (time.process_time() - begun[1])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", choices=MACHINES, default="dragonfly")
    parser.add_argument("--groups", type=int, default=34)
    parser.add_argument("--jobs", type=int, default=80)
    parser.add_argument("--answers", type=int, default=30)
    given = parser.parse_args()
    tree = given.machine.startswith("tree")
    fabric = build_xgft(3, (18, 18, 36), (1, 18, 18), bandwidth_bps=56e9) if tree else build_dragonfly(given.groups)
    server = Embedded(server_folder(), durable=False)
    server.start()
    try:
        migrate_database(server.url)
        fill(server.url, fabric, given.jobs, MACHINES[given.machine])
        now_s = BEGIN_S + 60.0 * (MINUTES - 3)
        with connect(server.url, role="reader", autocommit=True) as conn:
            explained = explain_by_id(conn, "1", "c", now_s)
            whole: list[tuple[float, float]] = []
            without: list[tuple[float, float]] = []
            for _ in range(given.answers):
                whole.append(timed(lambda: explain_by_id(conn, "1", "c", now_s)))
                with mock.patch.object(flow, "of_job", lambda *_: flow._make_unknown("not asked")):
                    without.append(timed(lambda: explain_by_id(conn, "1", "c", now_s)))
    finally:
        server.destroy()
    series = {"answer_ms": (whole, 0), "answer_core_ms": (whole, 1), "without_flow_ms": (without, 0)}
    figures = {name: np.quantile([one[of] for one in took], (0.5, 0.95)).round(1).tolist() for name, (took, of) in series.items()}  # fmt: skip
    print(
        json.dumps(
            {
                "machine": given.machine,
                "routers": len(fabric.routers),
                "endpoints": len(fabric.endpoints),
                "jobs": given.jobs,
                "verdict": explained["verdict"],
                "flow": explained["flow"] is not None,
                **figures,
            }
        )
    )


if __name__ == "__main__":
    main()
