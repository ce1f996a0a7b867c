"""Executors return the same results on processes and on a Dask cluster with dying workers, and stop on request."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from support.tasks import drawn, endless, once_fatal, refused
from support.waiting import eventually

from flitwatch_db.tasks.executors import Executor, LocalExecutor, is_local, open_executor
from flitwatch_db.tasks.executors.cluster import DaskExecutor, _run_on_worker
from flitwatch_domain.errors import BadRequest, Cancelled, MissingDependency, Unavailable

#: The scheduler serves its health at 8787 unless any port is configured.
WITHOUT_FIXED_PORTS = {
    "dashboard_address": None,
    "memory_limit": 0,
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, **WITHOUT_FIXED_PORTS) as cluster:
        yield cluster


@pytest.fixture(params=["local:1", "local:2", "address"])
def executor(request: pytest.FixtureRequest, cluster: LocalCluster) -> Iterator[Executor]:
    where = cluster.scheduler_address if request.param == "address" else request.param
    with open_executor(where) as executor:
        yield executor


def test_results_are_those_of_this_process_bit_for_bit(executor: Executor) -> None:
    found = dict(executor.completed([partial(drawn, seed) for seed in range(20)]))
    assert sorted(found) == list(range(20))
    assert [found[seed][0] for seed in range(20)] == [drawn(seed)[0] for seed in range(20)]
    assert all((process == os.getpid()) is executor.in_process for _, process in found.values())
    assert not list(executor.completed([]))


def test_what_a_call_raises_reaches_the_caller(executor: Executor) -> None:
    with pytest.raises(ValueError, match="three"):
        list(executor.completed([partial(refused, number) for number in range(6)]))


@pytest.mark.system("processes")
def test_a_cancel_ends_calls_that_do_not_look(executor: Executor, tmp_path: Path) -> None:
    if executor.in_process:
        pytest.skip("a call in the caller's own process looks itself, or is ended with the process")
    with pytest.raises(Cancelled):
        list(
            executor.completed(
                [partial(endless, tmp_path, number) for number in range(4)], lambda: len(list(tmp_path.iterdir())) == 2
            )
        )

    def still() -> bool:
        """Whether no file changes for a second: the calls' pauses are far shorter."""
        before = {file.name: file.read_text() for file in tmp_path.iterdir()}
        time.sleep(1.0)
        return before == {file.name: file.read_text() for file in tmp_path.iterdir()}

    eventually(still, what="all cancelled calls to end")
    assert dict(executor.completed([partial(refused, 1)])) == {0: 1}  # and the executor serves on


def test_a_killed_dask_worker_changes_nothing(cluster: LocalCluster, tmp_path: Path) -> None:
    with open_executor(cluster.scheduler_address) as executor:
        found = dict(executor.completed([partial(once_fatal, tmp_path / "killed", seed) for seed in range(8)]))
    assert (tmp_path / "killed").exists()
    assert [found[seed] for seed in range(8)] == [drawn(seed)[0] for seed in range(8)]


def test_a_killed_local_process_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="died"):
        list(LocalExecutor(2).completed([partial(once_fatal, tmp_path / "killed", seed) for seed in range(4)]))


@pytest.mark.system("numeric")
def test_a_scheduler_that_goes_away_ends_the_work(tmp_path: Path) -> None:
    own = LocalCluster(n_workers=1, threads_per_worker=1, **WITHOUT_FIXED_PORTS)
    client = Client(own.scheduler_address)

    def close_soon() -> bool:
        if list(tmp_path.iterdir()):
            own.close()
        return False

    with pytest.raises(Unavailable):
        list(DaskExecutor(client).completed([partial(endless, tmp_path, 0)], close_soon))
    client.close()


def test_a_worker_of_another_build_is_refused(cluster: LocalCluster) -> None:
    with Client(cluster.scheduler_address) as client, pytest.raises(Unavailable, match="Install the same build"):
        client.submit(_run_on_worker, partial(refused, 1), "none", "0.0.1 (another)", pure=False).result()


@pytest.mark.parametrize(
    "where", ["", "local:0", "local:5000", "dask:x", "tcp://", "tcp://host", "http://127.0.0.1:1", "slurm:-1", "local "]
)
def test_what_names_no_executor_is_refused(where: str) -> None:
    with pytest.raises(BadRequest, match="names no executor"), open_executor(where):
        pass
    with pytest.raises(BadRequest):
        is_local(where)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flitwatch_db.tasks.executors.cluster.CONNECT_S", 0.5)
    with pytest.raises(Unavailable, match=r"tcp://127\.0\.0\.1:1\b"), open_executor("tcp://127.0.0.1:1"):
        pass


def test_slurm_without_a_site_s_configuration_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match=r"jobqueue\.slurm"), open_executor("slurm:2"):
        pass


def test_without_dask_the_package_is_named() -> None:
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from flitwatch_db.tasks.executors import open_executor\n"
        "from flitwatch_domain.errors import MissingDependency\n"
        "try:\n"
        "    with open_executor('dask:1'): pass\n"
        "except MissingDependency as lacking: print(lacking)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert "flitwatch[dask]" in done.stdout and MissingDependency.status == 503
