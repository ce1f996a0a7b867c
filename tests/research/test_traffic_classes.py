"""Traffic classes of `sim packet`: their grammar, the class of each job, and the guaranteed share of a class next to another."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_research.packet.jobs import read_jobs
from flitwatch_research.packet.run import request_of, run_simulation
from flitwatch_research.packet.traffic_classes import NamedClass, class_plan, parse_class
from flitwatch_research.packet.workload import PacketRun

TREE = {"topology": "xgft:2;8,4;1,4", "routing": "hw-adaptive", "seed": 3}
FAST, BULK = {"name": "fast", "minimum": 0.7, "priority": 1}, {"name": "bulk", "minimum": 0.2, "maximum": 0.9}
HALO = {"pattern": "halo3d", "ranks": 12, "bytes": 200_000, "placement": "random-node", "traffic_class": "fast"}
BULLY = {"pattern": "alltoall", "ranks": 16, "bytes": 2_000_000, "placement": "random-node", "traffic_class": "bulk"}


def test_a_class_is_written_as_its_name_and_shares() -> None:
    assert parse_class("low:min=0.3") == NamedClass("low", 0.3, 1.0, 0)
    assert parse_class("low-latency:min=.1,max=0.6,priority=2") == NamedClass("low-latency", 0.1, 0.6, 2)


@pytest.mark.parametrize(
    "text", ["low", "low:", "low:max=0.5", "low:min=2", "low:min=-1", "low:min=nan", "low:min=0.1,min=0.2", "low:min=0.1,share=1", ":min=0.1", "a b:min=0.1", "low:min=0.1,priority=-1"],
)  # fmt: skip
def test_what_is_no_class_is_reported_in_one_line(text: str) -> None:
    with pytest.raises(BadRequest, match="is not a class") as refused:
        parse_class(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("classes", "names", "message"),
    [
        (["a:min=0.7", "b:min=0.4"], ["a", "b"], r"minima add up to 1\.1"),
        (["a:min=0.7", "a:min=0.1"], ["a"], "class a is listed twice"),
        (["a:min=0.7,max=0.6"], ["a"], r"a has a minimum of 0\.7 and a maximum of 0\.6"),
        (["a:min=0,max=0"], ["a"], "maximum of 0"),
        (["a:min=0.7"], ["b"], "no traffic class 'b'"),
        (["a:min=0.7"], ["a", None], "job 1 has no traffic class"),
        ([], ["a"], "no traffic class 'a'"),
        ([f"c{n}:min=0" for n in range(17)], ["c1"], "at most 16"),
    ],
)
def test_classes_that_do_not_fit_are_named(classes: list[str], names: list[str | None], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        class_plan(classes, names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nic_protocol": True}, "without the NIC protocol"),
        ({"engine": "oracle-oldest"}, "the eager engine"),
        ({"job_class": None}, "job 0 has no traffic class"),
        ({"background_class": "bulk"}, "background-class needs --background"),
        ({"background": "uniform:1"}, "job 1 has no traffic class"),
        ({"jobs": [HALO], "traffic": None}, "job-class is the class of --traffic"),
    ],
)
def test_a_run_with_classes_refuses_what_they_do_not_go_with(change: dict[str, Any], message: str) -> None:
    fits = {
        **TREE,
        "traffic": "halo3d",
        "bytes": 1000,
        "ranks": 8,
        "traffic_classes": [FAST, BULK],
        "job_class": "fast",
    }
    with pytest.raises(BadRequest, match=message):
        run_simulation(request_of({**fits, **change}))


def test_a_task_refuses_classes_out_of_range() -> None:
    with pytest.raises(BadInput, match=r"traffic_classes\.0\.minimum"):
        request_of({**TREE, "jobs": [HALO], "traffic_classes": [{"name": "fast", "minimum": 1.5}]})


def test_a_file_of_jobs_may_name_classes(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("pattern,ranks,bytes,placement,class\nhalo3d,8,1000,cyclic,fast\nhalo3d,8,1000,cyclic,\n")
    assert [job.traffic_class for job in read_jobs(path)] == ["fast", None]
    path.write_text("pattern,ranks,bytes,placement\nhalo3d,8,1000,cyclic,fast\n")
    with pytest.raises(BadInput, match="expected 4 fields, got 5"):
        read_jobs(path)


def test_a_class_keeps_its_jobs_pace_alongside_a_bully(tmp_path: Path) -> None:
    alone, mixed = (
        run_simulation(request_of({**TREE, "jobs": jobs})) for jobs in ([HALO_BARE], [HALO_BARE, BULLY_BARE])
    )
    links = tmp_path / "links.csv"
    asked = request_of({**TREE, "jobs": [HALO, BULLY], "traffic_classes": [FAST, BULK]})
    classed = run_simulation(PacketRun(**{**vars(asked), "links_csv": str(links)}))
    assert classed["conserved"]
    assert classed["delivered_bytes"] == mixed["delivered_bytes"]
    fast, bulk = classed["classes"]
    assert (fast["name"], bulk["name"]) == ("fast", "bulk")
    assert [fast["bytes"], bulk["bytes"]] == [job["bytes"] for job in classed["jobs"]]
    assert fast["latency_ns"]["mean"] == pytest.approx(classed["jobs"][0]["mean_latency_ns"], rel=1e-9)
    of_job = [one["jobs"][0]["mean_latency_ns"] for one in (alone, classed, mixed)]
    # Half of what the other job costs it without classes is gone, and more.
    assert of_job[1] - of_job[0] < 0.5 * (of_job[2] - of_job[0])
    with links.open() as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["vc0_fast_bytes"]) for row in rows if row["class"] == "host") == 2 * fast["bytes"]
    assert "classes" not in mixed


def test_background_and_control_go_with_classes() -> None:
    asked = {**TREE, "traffic": "incast", "bytes": 200_000, "ranks": 16, "traffic_classes": [FAST, BULK]}
    loaded = run_simulation(
        request_of({**asked, "background": "uniform:4", "job_class": "fast", "background_class": "bulk"})
    )
    assert loaded["conserved"]
    assert all(one["bytes"] > 0 for one in loaded["classes"])
    held = run_simulation(request_of({**asked, "job_class": "fast", "congestion_control": "pairs"}))
    assert held["conserved"]
    assert held["delivered_bytes"] == held["classes"][0]["bytes"]


HALO_BARE, BULLY_BARE = ({k: v for k, v in job.items() if k != "traffic_class"} for job in (HALO, BULLY))
