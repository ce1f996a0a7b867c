"""Studies in the queue: one worker gets through, two share the parts, and a cancel ends it; with real workers and a real database."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from flitwatch_db import connect
from flitwatch_db.runs import noise_bench
from flitwatch_db.tasks import Task, cancel, get, list_tasks, start, sweeps
from flitwatch_research.studies import registry

pytestmark = pytest.mark.integration
PARAMETERS = {"runs": 200, "k_2d": [10, 14, 17], "k_3d": [4, 5], "threads": 1}


@contextlib.contextmanager
def workers(url: str, number: int) -> Iterator[None]:
    argv = [sys.executable, "-m", "flitwatch.main", "worker", "--db", url, "--queue", "sim"]
    running = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(number)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@pytest.fixture
def conn(embedded_db: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        yield conn


def ended(conn: psycopg.Connection[Any], task_id: int) -> Task:
    deadline = time.monotonic() + 150
    while (task := get(conn, task_id)).is_open:
        assert time.monotonic() < deadline, f"still {task}"
        time.sleep(0.1)
    return task


@pytest.mark.parametrize("number", [1, 2])
def test_a_study_is_the_same_however_many_workers_share_it(
    embedded_db: str, conn: psycopg.Connection[Any], number: int
) -> None:
    task_id = start(conn, "sim.study", {"study": "fig16", "parameters": PARAMETERS})
    with workers(embedded_db, number):
        task = ended(conn, task_id)
        assert task.state == "succeeded", task.error
        helpers = [ended(conn, one.task_id) for one in list_tasks(conn, name="sim.study_help")]
    assert task.result is not None and (task.done, task.total) == (5, 5)
    here = registry.find("fig16").run(PARAMETERS, lambda *_: None, lambda: False)
    keys = ("series", "x", "semantics", "slowdown", "cost", "seed")
    assert [{k: p[k] for k in keys} for p in task.result["points"]] == [{k: p[k] for k in keys} for p in here["points"]]
    assert all(one.state == "succeeded" for one in helpers)
    assert sweeps.progress(conn, task_id) == (0, 0)


def test_a_cancel_ends_a_study_soon(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    task_id = start(conn, "sim.study", {"study": "fig15", "parameters": {"runs": 200_000, "threads": 1}})
    with workers(embedded_db, 1):
        deadline = time.monotonic() + 100
        while get(conn, task_id).state != "running":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        cancel(conn, task_id)
        assert ended(conn, task_id).state == "cancelled"


def test_what_a_dead_worker_took_becomes_free_again(conn: psycopg.Connection[Any]) -> None:
    task_id = start(conn, "sim.study", {"study": "none"})
    sweeps.create(conn, task_id, [{"n": 0}, {"n": 1}])
    assert sweeps.take(conn, task_id, 1, 0.2) == (0, {"n": 0})
    assert sweeps.take(conn, task_id, 2, 60) == (1, {"n": 1})
    assert sweeps.take(conn, task_id, 2, 60) is None
    time.sleep(0.3)
    assert sweeps.take(conn, task_id, 2, 60) == (0, {"n": 0})
    assert not sweeps.keep(conn, task_id, 0, 1, 60)
    sweeps.finish(conn, task_id, 0, {"r": 0})
    sweeps.finish(conn, task_id, 0, {"r": "late"})
    sweeps.finish(conn, task_id, 1, {"r": 1})
    assert sweeps.collect(conn, task_id) == [{"r": 0}, {"r": 1}]


def test_microbenchmark_measurements_are_stored_once(conn: psycopg.Connection[Any]) -> None:
    one = {
        "network": "lab",
        "collective": "allreduce",
        "collective_bytes": 8,
        "perturbation_bytes": 10,
        "world": 4,
        "ranks": 2,
        "perturbing": 2,
        "ratio": 0.5,
        "split": 0,
        "seed": 2**64 - 1,
        "late": 0,
        "perturbed_s": [4.0, 2.0],
        "quiet_s": [1.0],
    }
    never = one | {"split": 1, "perturbed_s": [], "quiet_s": [1.0]}
    assert noise_bench.insert(conn, "a.jsonl", [one, never]) == 2
    assert noise_bench.insert(conn, "a.jsonl", [one, never]) == 0
    (row,) = noise_bench.slowdowns(conn)
    assert (row["splits"], row["slowdown"], row["perturbed_s"]) == (2, 3.0, 3.0)
