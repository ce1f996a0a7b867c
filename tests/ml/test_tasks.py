"""The estimators' tasks on a real database: runs, jobs beside them and router counters, seeded with a planted aggressor."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from flitwatch_db import around, connect, counters, estimates, fabrics
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.generators import dragonfly
from flitwatch_ml import tasks

RUNS, STEPS, USERS = 24, 6, 8
EPOCH_S = 1_790_000_000


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
    """Runs on group 0 every hour; user u0 is beside half of them and slows them through its stalls."""
    rng = np.random.default_rng(0)
    with connect(embedded_db) as conn:
        fabric_id = fabrics.save(conn, dragonfly(2, 4, 4, name="toy"))
        for run in range(RUNS):
            begin = EPOCH_S + 3600 * run
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
            through = around.complete_through_s(conn, run_id)
            assert around.keep_steps(conn, run_id, through) == STEPS and around.keep_steps(conn, run_id, through) == 0
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


def stored(url: str, number: int):
    with connect(url) as conn:
        return conn.execute(
            "SELECT kind, exe, nodes, data, score, result, simulated FROM estimate WHERE estimate_id = %s", [number]
        ).fetchone()


@pytest.mark.integration
def test_blame_finds_who_was_beside_the_slow_runs_and_says_the_data_is_simulated(seeded: str) -> None:
    answer = tasks.blame({"exe": "amg", "nodes": 256}, Context(seeded))
    kind, exe, nodes, data, _, result, simulated = stored(seeded, answer["estimate_id"])
    assert (kind, exe, nodes, data["runs"], simulated) == ("blame", "amg", 256, RUNS, True)
    with connect(seeded) as conn:
        name, first, exposure = conn.execute(
            "SELECT name, entry, exposure FROM estimate_entry WHERE estimate_id = %s AND by_what = 'user' AND place = 1",
            [answer["estimate_id"]],
        ).fetchone()
    assert name == "u0" and [value > 0 for value in exposure] == result["runs"]["slow"]
    assert first["q"] < 0.05
    assert first["exposed_runs"] == RUNS // 2
    assert "not proof" in result["caveat"]


@pytest.mark.integration
def test_exposure_is_overlap_times_shared_nodes(seeded: str) -> None:
    with connect(seeded) as conn:
        runs = estimates.runs_of(conn, "amg", 256)
        beside = estimates.presence(conn, runs.run_id, 128)
    column = beside.names.index("u0")
    # u0's 4 nodes and all of the run's stand in group 0, and the job covers the whole run.
    assert set(np.round(beside.exposure[:, column], 6).tolist()) == {0.0, 4.0}
    assert beside.own == {"me"}


@pytest.mark.integration
def test_deviation_finds_the_stalls(seeded: str) -> None:
    answer = tasks.deviation({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, score, result, _ = stored(seeded, answer["estimate_id"])
    rank = dict(zip(result["counters"], result["rates"]["rank"], strict=True))
    assert set(rank) == {"RT_FLIT_TOT", "RT_RB_STL"}
    assert rank["RT_RB_STL"] < rank["RT_FLIT_TOT"]
    assert score["mape"] < score["baseline_mape"]


@pytest.mark.integration
def test_what_cannot_be_estimated_is_said(seeded: str) -> None:
    with pytest.raises(NotEnoughData, match="no runs"):
        tasks.blame({"exe": "other", "nodes": 1}, Context(seeded))
    with pytest.raises(BadRequest, match="name an application"):
        tasks.blame({}, Context(seeded))
    with pytest.raises(NotEnoughData, match="nobody had a job of 9999 nodes"):
        tasks.blame({"exe": "amg", "nodes": 256, "least_nodes": 9999}, Context(seeded))
