"""The lab's form sends only valid parameters: the task's model and the study accept each field of each form."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import Client, LocalCluster
from support.tasks import running_calls, wait_for
from support.waiting import eventually

from flitwatch_db.runs import noise_bench
from flitwatch_db.tasks import cancel_task, start_task
from flitwatch_domain.errors import Cancelled
from flitwatch_domain.task_models.studies import read_study
from flitwatch_research.studies import registry
from flitwatch_research.studies.registry import STUDIES

WEB = Path(__file__).resolve().parents[2] / "web/src"

FORMS: dict[str, list[dict[str, Any]]] = json.loads((WEB / "api/generated/studies.json").read_text())

CARDS = re.findall(r'study: "([^"]+)"', (WEB / "features/lab/studies.ts").read_text())


def filled(study: str, field: dict[str, Any]) -> Any:
    """A value that the form lets through."""
    if field["type"] == "choices":
        return field["choices"][:1]
    if field["type"] == "numbers":
        return [field.get("least", 0.5)]
    usual = {"integer": field.get("least", 1), "number": field.get("least", 1.0), "boolean": True}
    if field["name"] == "topology" and study.startswith("taffet"):
        return "xgft:2;32,72;1,16"
    if field["name"] == "topology" and study == "hoefler-ebb":
        return "xgft:2;4,4;1,4"  # its usual routing is a tree's
    if "topology" in field["name"]:
        return "theta" if "dragonfly" in field.get("says", "") else "torus:4,4"
    return field.get("usual", (field.get("choices") or [None])[0] or usual.get(field["type"], "theta"))


def test_every_card_has_a_form_and_every_study_a_card() -> None:
    assert sorted(CARDS) == sorted(STUDIES) == sorted(set(FORMS) & set(STUDIES))


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_takes_the_fields_of_its_form(study: str) -> None:
    """The model takes each field alone; the study takes all at once, for building its machine anew for each field takes most of the time."""
    given = {field["name"]: filled(study, field) for field in FORMS[study]}
    for name, value in given.items():
        assert read_study({"study": study, "parameters": {name: value}}).parameters.given() == {name: value}
    found = registry.find_study(study)
    if found.plan is not None:
        assert found.plan(given)
    else:
        with suppress(Cancelled):  # at its first step: what it does not know is refused before
            found.run(given, lambda *_: None, lambda: True)


def test_a_form_offers_no_field_that_another_study_has() -> None:
    names = {study: {field["name"] for field in fields} for study, fields in FORMS.items()}
    assert "runs" in names["wang-fig3"] and "runs" not in names["wang-fig2"] | names["taffet-pf3d"]
    assert "load_gib_per_s" in names["wang-fig8-10"] - names["wang-fig3"]


# Studies in the queue, computed here and on a Dask cluster, and a cancel that ends them; with real workers and a real database.


#: The scheduler serves its health at 8787 unless any port is configured.
WITHOUT_FIXED_PORTS = {
    "dashboard_address": None,
    "memory_limit": 0,
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
}

PATIENCE_S = 150

PARAMETERS = {"runs": 200, "k_2d": [10, 14, 17], "k_3d": [4, 5], "threads": 1}


@contextlib.contextmanager
def worker(url: str, executor: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "flitwatch.main", "worker", "--db", url, "--queue", "sim", "--executor", executor]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.kill()
        running.wait()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A Dask cluster of two processes, as a site would start it with `dask scheduler` and `dask worker`."""
    with LocalCluster(n_workers=2, threads_per_worker=1, **WITHOUT_FIXED_PORTS) as cluster:
        yield cluster


def busy(cluster: LocalCluster) -> int:
    """Calls that workers of the cluster compute now, also those that nobody waits for."""
    with Client(cluster.scheduler_address) as client:
        return sum(client.run(running_calls).values())


def connections(conn: psycopg.Connection[Any]) -> int:
    """Connections to this database but this test's own."""
    row = conn.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.system("numeric")
@pytest.mark.integration
@pytest.mark.parametrize("where", ["local", "dask"])
def test_a_study_is_the_same_wherever_it_is_computed(
    embedded_db: str, conn: psycopg.Connection[Any], cluster: LocalCluster, where: str
) -> None:
    executor = cluster.scheduler_address if where == "dask" else "local:1"
    task_id = start_task(conn, "sim.study", {"study": "fig16", "parameters": PARAMETERS})
    with worker(embedded_db, executor):
        task = wait_for(conn, task_id, lambda task: not task.is_open)
    assert task.state == "succeeded", task.error
    assert task.result is not None and task.done == task.total > 0
    here = registry.find_study("fig16").run(PARAMETERS, lambda *_: None, lambda: False)
    keys = ("series", "x", "semantics", "slowdown", "overhead", "cost", "seed")
    assert [{k: p[k] for k in keys} for p in task.result["points"]] == [{k: p[k] for k in keys} for p in here["points"]]


@pytest.mark.system("numeric")
@pytest.mark.integration
@pytest.mark.parametrize("where", ["local", pytest.param("dask", marks=pytest.mark.system("processes"))])
def test_a_cancel_ends_a_study_and_leaves_nothing_running(
    embedded_db: str, conn: psycopg.Connection[Any], cluster: LocalCluster, where: str
) -> None:
    executor = cluster.scheduler_address if where == "dask" else "local:1"
    task_id = start_task(conn, "sim.study", {"study": "fig16", "parameters": {**PARAMETERS, "runs": 1_000_000}})
    with worker(embedded_db, executor):
        wait_for(conn, task_id, lambda task: task.state == "running")
        if where == "dask":
            eventually(lambda: busy(cluster) > 0, PATIENCE_S, 0.1, "a running call")
        cancel_task(conn, task_id)
        assert wait_for(conn, task_id, lambda task: not task.is_open).state == "cancelled"
        eventually(lambda: busy(cluster) == 0, PATIENCE_S, 0.1, "all calls to end")


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_workers_of_a_cluster_hold_no_connection_to_the_database(
    embedded_db: str, conn: psycopg.Connection[Any]
) -> None:
    """One Flitwatch worker keeps 32 threads of Dask's workers busy: they share its connections, which are five at most."""
    held: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=16, **WITHOUT_FIXED_PORTS) as cluster:
        task_id = start_task(conn, "sim.study", {"study": "fig16", "parameters": {**PARAMETERS, "runs": 1_000_000}})
        with worker(embedded_db, cluster.scheduler_address):
            eventually(lambda: busy(cluster) > 0, PATIENCE_S, 0.1, "a running call")
            for _ in range(20):
                held.append(connections(conn))
                time.sleep(0.1)
            cancel_task(conn, task_id)
            assert wait_for(conn, task_id, lambda task: not task.is_open).state == "cancelled"
    assert 1 <= max(held) <= 5, held


@pytest.mark.integration
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
    assert noise_bench.insert_measurements(conn, "a.jsonl", [one, never]) == 2
    assert noise_bench.insert_measurements(conn, "a.jsonl", [one, never]) == 0
    (row,) = noise_bench.list_slowdowns(conn)
    assert (row["splits"], row["slowdown"], row["perturbed_s"]) == (2, 3.0, 3.0)
