"""`sim.packet` in the queue: a real worker runs it, shows progress, and stops on request; and refusals."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import click
import psycopg
import pytest
from support.tasks import wait_for

from flitwatch_db.tasks import cancel_task, start_task
from flitwatch_domain.errors import BadInput
from flitwatch_domain.task_models.machines import CongestionControl
from flitwatch_domain.task_models.simulations import Packet
from flitwatch_research.commands.sim_packet import packet as command
from flitwatch_research.packet.run import CONGESTION_CONTROL, request_of, run_simulation

SMALL = {"topology": "dragonfly:3,2,4,4", "routing": "adaptive1", "traffic": "alltoall", "bytes": 100_000, "seed": 3}
JOB = {"pattern": "bisection", "ranks": 8, "bytes": 10_000, "placement": "random-node"}


@contextlib.contextmanager
def worker(url: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "flitwatch.main", "worker", "--db", url, "--queue", "sim"]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.kill()
        running.wait()


@pytest.mark.system("numeric")
@pytest.mark.integration
def test_a_worker_runs_follows_and_cancels(embedded_db: str, conn: psycopg.Connection[Any]) -> None:
    good = start_task(conn, "sim.packet", SMALL)
    bad = start_task(conn, "sim.packet", {**SMALL, "routing": "ftree"})
    endless = start_task(conn, "sim.packet", {**SMALL, "bytes": 20_000_000_000, "traffic": "uniform:2"})
    with worker(embedded_db):
        task = wait_for(conn, good, lambda t: not t.is_open)
        assert task.state == "succeeded", task.error
        refused = wait_for(conn, bad, lambda t: not t.is_open)
        assert refused.state == "failed"
        assert "does not fit a dragonfly" in str(refused.error)
        followed = wait_for(conn, endless, lambda t: t.done > 0)
        assert 0 < followed.done < followed.total
        cancel_task(conn, endless)
        assert wait_for(conn, endless, lambda t: not t.is_open).state == "cancelled"
    assert task.result is not None
    here = run_simulation(request_of(SMALL))
    keys = (
        "time_s",
        "delivered_bytes",
        "packet_hops",
        "events_per_hop",
        "mean_hops",
        "conserved",
        "latency_ns",
        "jobs",
    )
    assert {k: task.result[k] for k in keys} == {k: here[k] for k in keys}
    worst = task.result["worst_links"]
    assert worst
    assert [link["stall_ns"] for link in worst] == sorted((link["stall_ns"] for link in worst), reverse=True)


def test_jobs_stand_in_the_argument() -> None:
    request = request_of({"topology": "quartz1", "routing": "ftree", "jobs": [JOB, JOB], "seed": 2})
    assert [job.pattern for job in request.jobs or ()] == ["bisection", "bisection"]
    assert request.seed == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"routing": "lft:/etc/passwd"}, "routing: Input should be"),
        ({"topology": "file:/etc/passwd"}, "reads no file"),
        ({"traffic": "/etc/passwd"}, "reads no file"),
        ({"jobs": "/etc/passwd"}, "jobs: Input should be a valid list"),
        ({"jobs": [{**JOB, "ranks": True}]}, "ranks: Input should be a valid integer"),
        ({"jobs": [{**JOB, "pattern": "x"}]}, "pattern: Input should be"),
        ({"jobs": [{"pattern": "bisection"}]}, "ranks: Field required"),
        ({"links_csv": "/tmp/x"}, "links_csv: Extra inputs are not permitted"),
        ({"bytes": "many"}, "bytes: Input should be a valid integer"),
        ({"bytes": -1}, "bytes: Input should be greater than or equal to 1"),
        ({"message_scale": "2"}, "message_scale: Input should be a valid number"),
        ({"nic_protocol": 1}, "nic_protocol: Input should be a valid boolean"),
        ({"topology": None}, "topology: Input should be a valid string"),
        ({"placement": 3}, "placement: Input should be"),
        ({"congestion_control": "timely"}, "congestion_control: Input should be 'none', 'pairs' or 'dcqcn'"),
        (
            {"congestion_control": "pairs", "background": "uniform:1"},
            "pairs requires messages and the eager engine",
        ),
        ({"congestion_control": "pairs", "traffic": "uniform:1"}, "pairs requires messages and the eager engine"),
        ({"congestion_control": "dcqcn", "nic_protocol": True}, "dcqcn requires messages and the eager engine"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        request_of({**SMALL, **change})


def test_a_task_takes_what_the_command_takes() -> None:
    options = {option.name.rstrip("_"): option for option in command.params if option.name is not None}
    of_the_command_alone = {"links_csv", "vendor_csv", "replicas", "as_json"}
    assert options.keys() - of_the_command_alone == Packet.model_fields.keys()
    for name in ("engine", "congestion_control"):
        choice = options[name].type
        assert isinstance(choice, click.Choice)
        assert list(choice.choices) == list(get_args(Packet.model_fields[name].annotation))
    assert CONGESTION_CONTROL.keys() == set(get_args(CongestionControl))


def test_a_task_holds_back_those_who_congest_a_node() -> None:
    incast = {"topology": "xgft:2;8,4;1,4", "routing": "spray", "traffic": "incast", "bytes": 400_000}
    free, held = (run_simulation(request_of({**incast, "congestion_control": name})) for name in ("none", "pairs"))
    # The bottleneck is the node's link: as fast, with less waiting in the network.
    assert held["delivered_bytes"] == free["delivered_bytes"]
    assert held["time_s"] < 1.2 * free["time_s"]
    assert held["latency_ns"]["p50"] < 0.8 * free["latency_ns"]["p50"]
