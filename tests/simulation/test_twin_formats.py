"""What the twin writes, beside what the producers wrote: same keys, order and types."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.counters import TABLE_II, identify_counter
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_stream.shapes import parse_job, parse_run
from flitwatch_twin.avro import encode_varints
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.registry import FileRegistry
from flitwatch_twin.run import TwinRun
from flitwatch_twin.sinks import FileSink
from flitwatch_twin.spec import TwinSpec, load_spec

EPOCH = 1_800_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a short run in which an instrumented application ends."""
    out = tmp_path_factory.mktemp("twin")
    spec = TwinSpec.model_validate(
        {
            "name": "formats",
            "fabric": {"groups": 1, "io_routers_per_group": 2},
            "users": {"count": 5, "typical_nodes": 8, "most_nodes": 64, "median_duration_s": 120},
            "instrumented": [{"application": "amg-128", "nodes": 32, "every_s": 9000}],
            "warm_start_s": 900,
            "ldms": {"every_s": 20, "nic_every_s": 60},
        }
    )
    TwinRun(Cluster(spec, 2), [FileSink(out, "formats")], EPOCH, out / "truth.json").run(330, 0)
    return out


@pytest.fixture(scope="module")
def small() -> TwinRun:
    run = TwinRun(Cluster(load_spec("small"), 1), [], EPOCH)
    run.run(1, 0)
    return run


def taken(run: TwinRun, schema: str) -> tuple[Any, np.ndarray, np.ndarray]:
    return next(part for part in run.samplers.sample(run.cluster.counters, EPOCH) if part[0].schema == schema)


def capture(shared: Path, topic: str) -> dict[str, Any]:
    lines = (shared / "samples/ldms/kafka" / f"{topic}.jsonl").read_text().splitlines()
    return json.loads(lines[1])


@pytest.mark.shared
@pytest.mark.parametrize("topic", ["ldms.aries_rtr_mmr_d2127d0", "ldms.aries_nic_mmr_444e087"])
def test_json_has_the_keys_order_and_types_of_ldmsd(shared: Path, small: TwinRun, topic: str) -> None:
    seen = capture(shared, topic)
    layout, values, micros = taken(small, topic.removeprefix("ldms.").rsplit("_", 1)[0])
    text = next(layout.json_records(values, EPOCH, micros))
    ours = json.loads(text)
    assert list(ours)[:5] == list(seen)[:5] == ["timestamp", "component_id", "job_id", "app_id", "aries_rtr_id"]
    assert [type(ours[key]) for key in list(ours)[:5]] == [type(seen[key]) for key in list(seen)[:5]]
    assert re.match(
        rb'\{"timestamp":\d{10}\.\d{6},"component_id":\d+,"job_id":0,"app_id":0,"aries_rtr_id":"c\d+-\d+c\ds\d+a0","AR_',
        text,
    )
    assert b" " not in text
    for key in list(ours)[5:]:
        assert isinstance(ours[key], int) and 0 <= ours[key] < 2**63 and identify_counter(key) is not None
    if "nic" in topic:
        assert list(ours)[5:23] == list(seen)[5:]
    assert re.fullmatch(r"ldms\.aries_\w+_mmr_[0-9a-f]{7}", layout.topic)


def test_four_nodes_of_a_router_send_different_tiles(small: TwinRun) -> None:
    layouts = [layout for layout, _ in small.samplers.router_layouts]
    assert len({layout.topic for layout in layouts}) == 4
    columns = [set(layout.metrics) for layout in layouts]
    assert len(set.union(*columns)) == sum(map(len, columns)) == 456
    assert sum(map(len, layouts)) == 4 * small.cluster.machine.routers


def test_avro_is_what_fastavro_reads(small: TwinRun, tmp_path: Path) -> None:
    registry = FileRegistry(tmp_path / "registry.json")
    for schema in ("aries_rtr_mmr", "aries_nic_mmr"):
        layout, values, micros = taken(small, schema)
        number = registry(layout)
        assert registry(layout) == number
        stored = json.loads((tmp_path / "registry.json").read_text())
        assert stored["subjects"][layout.row_schema] == [number]
        parsed = fastavro.parse_schema(json.loads(stored["schemas"][str(number)]))
        texts = list(layout.json_records(values, EPOCH, micros))
        for raw, text in zip(layout.avro_records(values, EPOCH, micros, number), texts, strict=True):
            assert raw[0] == 0 and int.from_bytes(raw[1:5], "big") == number
            record = fastavro.schemaless_reader(io.BytesIO(raw[5:]), parsed, None)
            stamp = record.pop("timestamp")
            told = json.loads(text)
            assert int(stamp.timestamp() * 1000 + 0.5) == int(told.pop("timestamp") * 1e6 + 0.5) // 1000
            assert record == told


@pytest.mark.shared
def test_avro_schema_is_typed_as_the_registrys(shared: Path, small: TwinRun) -> None:
    registry = json.loads((shared / "samples/ldms/kafka/registry.json").read_text())
    seen = json.loads(registry["schemas"][str(registry["subjects"]["aries_nic_mmr_444e087"][0])])
    ours = json.loads(taken(small, "aries_nic_mmr")[0].avro_schema())
    assert ours["fields"][: len(seen["fields"])] == seen["fields"]
    assert ours["type"] == seen["type"] and ours["name"].startswith("aries_nic_mmr_")


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_varints_are_avros(numbers: list[int]) -> None:
    encoded, ends = encode_varints(np.array([numbers], np.int64))
    schema = fastavro.parse_schema(
        {"type": "record", "name": "r", "fields": [{"name": f"f{k}", "type": "long"} for k in range(len(numbers))]}
    )
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema, {f"f{k}": number for k, number in enumerate(numbers)})
    assert encoded == buffer.getvalue() and ends.tolist() == [len(encoded)]


@pytest.mark.shared
def test_csv_is_store_csvs_as_is(shared: Path, folder: Path) -> None:
    seen = (shared / "samples/ldms/csv_as_is/aries_nic_mmr_444e087").read_text().splitlines()
    ours = next((folder / "ldms").glob("aries_nic_mmr_*")).read_text().splitlines()
    assert ours[0].startswith(seen[0])
    stamp, micros, *rest = ours[1].split(",")
    assert re.fullmatch(r"\d{10}\.\d{6}", stamp) and int(stamp[-6:]) == int(micros)
    assert len(rest) == len(ours[0].split(",")) - 2
    per_device: dict[str, list[int]] = {}
    for line in ours[1:]:
        fields = line.split(",")
        per_device.setdefault(fields[2], []).append(int(fields[7]))
    assert all(values == sorted(values) for values in per_device.values())


@pytest.mark.shared
def test_sacct_has_the_columns_of_slurm(shared: Path, folder: Path) -> None:
    seen = (shared / "samples/slurm/24.11/sacct_parsable2_2411.txt").read_text().splitlines()
    ours = (folder / "sacct.txt").read_text().splitlines()
    assert ours[0] == seen[0]
    assert {line.count("|") for line in ours} == {ours[0].count("|")}
    told = json.loads((folder / "sacct.json").read_text())
    real = json.loads((shared / "samples/slurm/24.11/sacct_2411.json").read_text())
    assert list(told) == list(real)
    seen_job = real["jobs"][0]
    for job in told["jobs"]:
        assert set(job) <= set(seen_job)
        assert {key: type(value) for key, value in job.items()} == {key: type(seen_job[key]) for key in job}
        assert set(job["time"]) == set(seen_job["time"]) and set(job["steps"][0]) <= set(seen_job["steps"][0])
        assert len(expand_hosts(job["nodes"])) == job["allocation_nodes"]
    ids = [line.split("|")[0] for line in ours[1:] if "." not in line.split("|")[0]]
    assert ids == [str(job["job_id"]) for job in told["jobs"]] and len(set(ids)) == len(ids)
    assert {job["state"]["current"][0] for job in told["jobs"]} == {"RUNNING", "COMPLETED"}


@pytest.mark.shared
def test_ariesncl_files(shared: Path, folder: Path) -> None:
    (run,) = (folder / "ncl").iterdir()
    seen = (shared / "samples/ariesncl/ok/regions.timings.json").read_text()
    text = (run / "amg.timings.json").read_text()
    shape = re.compile(r'"[^"]*"|\d+|,\s*\d+')
    assert shape.sub("", seen.split('"timings"')[1].split("}")[0]) == shape.sub(
        "", text.split('"timings"')[1].split("}")[0]
    )
    told = json.loads(text)
    assert list(told) == list(json.loads(seen))
    assert told["counter_names"] == [counter.vendor for counter in TABLE_II]
    assert [entry["timestep"] for entry in told["timings"]] == list(range(19, -1, -1))
    header = json.loads((run / "run.json").read_text())
    assert [entry["rank"] for entry in header["ranks"]] == told["ranks"]
    for step in range(20):
        values = np.fromfile(run / f"amg.counters.{step}.bin", np.int64).reshape(len(told["ranks"]), 13)
        assert (values >= 0).all() and values[:, 0].max() > 0
    jobs = json.loads((folder / "sacct.json").read_text())["jobs"]
    job = next(job for job in jobs if str(job["job_id"]) == header["job_id"])
    assert job["name"] == "amg-128" and {entry["node"] for entry in header["ranks"]} <= set(expand_hosts(job["nodes"]))
    assert abs(job["time"]["start"] - header["start"]) <= 1


def test_log_records_are_of_the_contracts_shapes(twin_records: Callable) -> None:
    records, _ = twin_records()
    jobs = [parse_job(value) for topic, _, value, _ in records if topic == "flitwatch.jobs.v1"]
    assert {job.state for job in jobs} >= {"RUNNING", "NODE_FAIL"} and all(job.simulated for job in jobs)
    last = {job.job_id: job.state for job in jobs}
    assert "RUNNING" not in last.values()
    runs = [parse_run(value) for topic, _, value, _ in records if topic == "flitwatch.runs.v1"]
    assert {run.type for run in runs} == {"run", "step"}
