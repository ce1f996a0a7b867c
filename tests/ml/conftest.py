"""Runs, concurrent jobs and router counters in a real database, with a planted aggressor."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import step_counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly

RUNS, STEPS, USERS = 24, 6, 8
EPOCH_S = 1_790_000_000
#: Two runs a week and more: a name must be seen in several weeks.
EVERY_S = 47 * 3600


class Context:
    """What a handler uses of a task's context."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.said: list[str] = []

    def check(self) -> None:
        pass

    def report(self, done: int, total: int, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def seeded(embedded_db: str) -> str:
    """Runs on group 0 every other day; user u0 is alongside half of them and slows them through its stalls."""
    rng = np.random.default_rng(0)
    with connect(embedded_db) as conn:
        fabric_id = fabrics.save_fabric(conn, build_dragonfly(2, 4, 4, name="toy"))
        for run in range(RUNS):
            begin = EPOCH_S + EVERY_S * run
            noisy = run % 2 == 0
            times = np.full(STEPS, 10.0) * (1.5 if noisy else 1.0) + rng.normal(0, 0.1, STEPS)
            own = _job(conn, f"r{run}", "me", begin, begin + 200, range(4), fabric_id)
            for user in range(USERS):
                if (user == 0 and noisy) or (user > 0 and rng.random() < 0.5):
                    _job(
                        conn,
                        f"j{run}-{user}",
                        f"u{user}",
                        begin - 60,
                        begin + 300,
                        range(4 + user, 8 + user),
                        fabric_id,
                    )
            run_id = conn.execute(
                "INSERT INTO run (run_key, job_pk, job_id, exe, start_ts, ranks, simulated) VALUES (%s, %s, %s, 'amg', to_timestamp(%s), 16, true) RETURNING run_id",
                [f"k{run}", own, f"r{run}", begin],
            ).fetchone()[0]
            for step, value in enumerate(times):
                conn.execute(
                    "INSERT INTO run_step (run_id, step, time_s, rank_time_ns) VALUES (%s, %s, %s, '{1}')",
                    [run_id, step, value],
                )
            _count(conn, fabric_id, begin, times, noisy, rng)
            through = step_counters.complete_through_s(conn, run_id)
            assert (
                step_counters.keep_steps(conn, run_id, through) == STEPS
                and step_counters.keep_steps(conn, run_id, through) == 0
            )
    return embedded_db


def _job(conn, job_id: str, user: str, start: float, end: float, routers, fabric_id: int) -> int:
    stamp = [datetime.fromtimestamp(t, UTC) for t in (start, end)]
    job = conn.execute(
        "INSERT INTO job (cluster, job_id, user_name, state, start_ts, end_ts, nodes, simulated) VALUES ('c', %s, %s, 'COMPLETED', %s, %s, 256, true) RETURNING job_pk",
        [job_id, user, *stamp],
    ).fetchone()[0]
    for router in routers:
        conn.execute(
            "INSERT INTO job_node (job_pk, node, fabric_id, endpoint, router) VALUES (%s, %s, %s, %s, %s)",
            [job, f"n{router}", fabric_id, router * 4, router],
        )
    return job


def _count(conn, fabric_id: int, begin: int, times, noisy: bool, rng) -> None:
    seconds = np.arange(begin, begin + int(times.sum()) + 2)
    device, ts = (part.reshape(-1) for part in np.meshgrid(np.arange(4), seconds))
    values = np.full((len(ts), len(ROUTER_COLUMNS)), np.nan)
    values[:, ROUTER_COLUMNS.index("rt_flits")] = rng.uniform(90, 110, len(ts))
    values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = (500 if noisy else 100) * rng.uniform(0.9, 1.1, len(ts))
    ones = np.ones(len(ts))
    rows = counters.Rows(
        np.full(len(ts), fabric_id, np.int32),
        device.astype(np.int32),
        ts.astype(np.int64),
        ones.astype(np.int32),
        ones,
        values,
    )
    counters.write_batch(conn, counters.Batch(routers=rows, ports=None, endpoints=None))
