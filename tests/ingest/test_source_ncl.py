"""AriesNCL's output: captures of both layouts, shifted columns, incomplete files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.ncl_runs import COUNTERS, write_run

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_ingest.sources import ncl
from flitwatch_stream.shapes import RunValue, StepValue, parse_run


def read(head: Path) -> tuple[ncl.NclRun, list[str]]:
    found = ncl.read_run(head)
    return found, [item.reason for item in found.rejected]


@pytest.mark.shared
def test_capture_of_the_present_layout(shared: Path) -> None:
    (head,) = ncl.find_runs(shared / "samples" / "ariesncl" / "ok")
    found, reasons = read(head)
    assert reasons == []
    assert (found.run.exe, found.run.ranks, len(found.run.counters)) == ("regions", (0, 2), 4)
    assert [step.step for step in found.steps] == [0, 1, 2, 3, 4]
    assert found.steps[0].time_ns.tolist() == [200256000, 200267000]
    assert found.steps[4].values is not None
    assert found.steps[4].values.tolist() == [
        [100000196, 101000403, 102000050, 103000666],
        [100000670, 101000750, 102000500, 103000970],
    ]


@pytest.mark.shared
def test_capture_of_the_older_layout(shared: Path) -> None:
    (head,) = ncl.find_runs(shared / "samples" / "ariesncl" / "yaml_2018_11")
    found, reasons = read(head)
    assert [step.step for step in found.steps] == [1, 2, 3, 4, 5]
    assert found.run.ranks == (0, 2)
    assert found.steps[0].time_ns.tolist() == [200292000, 200115000]
    assert found.steps[0].values is not None
    assert found.steps[0].values[0].tolist() == [100000427, 101000297, 102000006, 104000875, 105000300]
    assert len(reasons) == 10, "a row of a tile that does not exist for each rank and step"
    assert all("tile (32,25) does not exist" in reason for reason in reasons)
    assert [item.raw for item in found.rejected][:1] == [b"0 32 25 103000367"]


@pytest.mark.shared
@pytest.mark.parametrize("layout", ["ok", "yaml_2018_11"])
def test_records_have_the_shape_of_the_contract(shared: Path, layout: str) -> None:
    (head,) = ncl.find_runs(shared / "samples" / "ariesncl" / layout)
    found = ncl.read_run(head)
    values = [parse_run(orjson.dumps(value)) for value in ncl.to_run_records(found)]
    assert isinstance(values[0], RunValue)
    assert all(isinstance(value, StepValue) for value in values[1:])
    assert len(values) == 1 + len(found.steps)


def test_run_json_gives_start_job_and_nodes(tmp_path: Path) -> None:
    head = write_run(tmp_path)
    ranks = [{"rank": rank, "node": f"nid{rank:05d}"} for rank in (0, 8)]
    (tmp_path / "run.json").write_text(
        json.dumps({"job_id": 42, "start": "2026-03-01T12:00:00Z", "exe": "AMG", "ranks": ranks})
    )
    found, reasons = read(head)
    assert reasons == []
    assert (found.run.job_id, found.run.start_s, found.run.exe) == ("42", 1772366400, "AMG")
    assert found.run.nodes == ("nid00000", None, "nid00008")
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in tmp_path.glob("amg*"):
        shutil.copy(file, bare)
    assert ncl.read_run(bare / "amg.timings.json").run.run_key.split("-")[1] == found.run.run_key.split("-")[1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"job_id": 1.5}',
        '{"job_id": "x"}',
        '{"start": "noon"}',
        '{"ranks": [1]}',
        '{"exe": ""}',
        '{"ranks": [{"rank": 0, "node": "a"}, {"rank": 0, "node": "b"}]}',
    ],
)
def test_bad_run_json_names_the_file(tmp_path: Path, text: str) -> None:
    head = write_run(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInput, match=r"run\.json"):
        ncl.read_run(head)


def test_a_run_json_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ncl.read_run(write_run(tmp_path), tmp_path / "absent.json")


def test_an_invalid_name_shifts_columns_so_counts_are_refused_and_times_kept(tmp_path: Path) -> None:
    names = [COUNTERS[0], "AR_RTR_BOGUS_NOT_THERE", COUNTERS[1]]
    found, reasons = read(write_run(tmp_path, counters=names))
    assert [step.values for step in found.steps] == [None, None, None]
    assert all(step.time_s > 0 for step in found.steps)
    assert len(reasons) == 3
    assert all("no counter AR_RTR_BOGUS_NOT_THERE" in reason for reason in reasons)
    assert found.rejected[0].raw == (tmp_path / "amg.counters.0.bin").read_bytes()


def test_a_counter_that_papi_left_out_is_seen_by_counters_txt(tmp_path: Path) -> None:
    head = write_run(tmp_path)
    (tmp_path / "counters.txt").write_text("\n".join([*COUNTERS, "AR_RTR_BOGUS"]))
    found, reasons = read(head)
    assert all(step.values is None for step in found.steps)
    assert "asks for 4 counters, 3 were recorded" in reasons[0]


@pytest.mark.parametrize("garbage", [-1, 2**62, 94_000_000_000_000])
def test_garbage_in_the_last_column_refuses_the_file(tmp_path: Path, garbage: int) -> None:
    head = write_run(tmp_path)
    file = tmp_path / "amg.counters.1.bin"
    counts = np.frombuffer(file.read_bytes(), "<i8").reshape(3, 3).copy()
    counts[2, 2] = garbage
    file.write_bytes(counts.tobytes())
    found, reasons = read(head)
    assert [step.values is None for step in found.steps] == [False, True, False]
    assert f"rank 8 has {garbage}" in reasons[0]


def test_half_written_and_missing_counter_files(tmp_path: Path) -> None:
    head = write_run(tmp_path, steps=4)
    short = tmp_path / "amg.counters.1.bin"
    short.write_bytes(short.read_bytes()[:-3])
    (tmp_path / "amg.counters.2.bin").unlink()
    (tmp_path / "amg.counters.9.bin").write_bytes(bytes(72))
    found, reasons = read(head)
    assert [step.values is None for step in found.steps] == [False, True, True, False]
    assert "has 69 bytes, expected 72" in reasons[0]
    assert "is missing" in reasons[1]
    assert "no times of step 9" in reasons[2]


@given(cut=st.integers(0, 2000))
@settings(max_examples=60, deadline=None)
def test_half_written_timings_are_bad_input(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    head = write_run(tmp_path_factory.mktemp("run"))
    data = head.read_bytes()
    head.write_bytes(data[: min(cut, len(data) - 1)])
    with pytest.raises(BadInput, match=r"amg\.timings\.json"):
        ncl.read_run(head)


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": []},
        {"ranks": [0, 0, 1]},
        {"ranks": [0, -1, 2]},
        {"ranks": "012"},
        {"counter_names": [1]},
        {"timings": {}},
        {"timings": [3]},
        {"timings": [{"timestep": 0, "time": [1, 2]}]},
        {"timings": [{"timestep": 0, "time": [1, 2, -3]}]},
        {"timings": [{"timestep": 0, "time": [1, 2, 3.5]}]},
        {"timings": [{"timestep": True, "time": [1, 2, 3]}]},
        {"timings": [{"timestep": 0, "time": [1, 2, 3]}] * 2},
    ],
)
def test_timings_that_cannot_be_are_bad_input(tmp_path: Path, change: dict[str, object]) -> None:
    head = write_run(tmp_path)
    head.write_text(json.dumps(json.loads(head.read_text()) | change))
    with pytest.raises(BadInput, match=r"amg\.timings\.json"):
        ncl.read_run(head)


@pytest.mark.shared
@given(which=st.integers(0, 9), cut=st.integers(0, 1500), noise=st.binary(max_size=30))
@settings(max_examples=60, deadline=None)
def test_damaged_older_files_raise_nothing(
    shared: Path, tmp_path_factory: pytest.TempPathFactory, which: int, cut: int, noise: bytes
) -> None:
    folder = tmp_path_factory.mktemp("yaml")
    for file in (shared / "samples" / "ariesncl" / "yaml_2018_11").iterdir():
        shutil.copyfile(file, folder / file.name)
    victim = sorted(folder.glob("*.yaml"))[which]
    victim.write_bytes(victim.read_bytes()[:cut] + noise)
    found = ncl.read_run(ncl.find_runs(folder)[0])
    assert len(found.steps) + sum("step" in item.where for item in found.rejected) >= 4
    for step in found.steps:
        assert step.values is None or step.values.shape == (len(found.run.ranks), len(found.run.counters))
