"""The twin's output compared with the producers' output: same keys, order and types."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flitwatch_db
from flitwatch.main import main
from flitwatch_db import migrations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import TABLE_II, identify_counter
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.backends import open_log
from flitwatch_stream.shapes import parse_job, parse_run
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.ldms_sets import encode_varints
from flitwatch_twin.minutes import CARD_SUMS, ROUTER_SUMS, TILES, MinuteSums
from flitwatch_twin.registry import FileRegistry
from flitwatch_twin.run import FINE_STEP_S, Past, TwinRun
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
            content = json.loads(text)
            assert int(stamp.timestamp() * 1000 + 0.5) == int(content.pop("timestamp") * 1e6 + 0.5) // 1000
            assert record == content


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
    content = json.loads((folder / "sacct.json").read_text())
    real = json.loads((shared / "samples/slurm/24.11/sacct_2411.json").read_text())
    assert list(content) == list(real)
    seen_job = real["jobs"][0]
    for job in content["jobs"]:
        assert set(job) <= set(seen_job)
        assert {key: type(value) for key, value in job.items()} == {key: type(seen_job[key]) for key in job}
        assert set(job["time"]) == set(seen_job["time"]) and set(job["steps"][0]) <= set(seen_job["steps"][0])
        assert len(expand_hosts(job["nodes"])) == job["allocation_nodes"]
    ids = [line.split("|")[0] for line in ours[1:] if "." not in line.split("|")[0]]
    assert ids == [str(job["job_id"]) for job in content["jobs"]] and len(set(ids)) == len(ids)
    assert {job["state"]["current"][0] for job in content["jobs"]} == {"RUNNING", "COMPLETED"}


@pytest.mark.shared
def test_ariesncl_files(shared: Path, folder: Path) -> None:
    (run,) = (folder / "ncl").iterdir()
    seen = (shared / "samples/ariesncl/ok/regions.timings.json").read_text()
    text = (run / "amg.timings.json").read_text()
    shape = re.compile(r'"[^"]*"|\d+|,\s*\d+')
    assert shape.sub("", seen.split('"timings"')[1].split("}")[0]) == shape.sub(
        "", text.split('"timings"')[1].split("}")[0]
    )
    content = json.loads(text)
    assert list(content) == list(json.loads(seen))
    assert content["counter_names"] == [counter.vendor for counter in TABLE_II]
    assert [entry["timestep"] for entry in content["timings"]] == list(range(19, -1, -1))
    header = json.loads((run / "run.json").read_text())
    assert [entry["rank"] for entry in header["ranks"]] == content["ranks"]
    for step in range(20):
        values = np.fromfile(run / f"amg.counters.{step}.bin", np.int64).reshape(len(content["ranks"]), 13)
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


# The hours before a machine's first second: the same users, other jobs, no counters by the second.


EPOCH_S = 1_790_000_000 // 60 * 60


class Kept:
    """A sink that remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Any]] = []

    def __getattr__(self, what: str) -> Any:
        def take(*values: Any) -> int:
            self.given.append((what, values))
            return 0

        return take


def run_day(day: int, seconds: int = 90) -> tuple[Cluster, Kept, dict[str, Any]]:
    cluster, sink = Cluster(load_spec("small"), 1, day=day), Kept()
    return cluster, sink, TwinRun(cluster, [sink], 1_790_000_000, past=Past()).run(seconds, 0)


def test_another_day_has_the_same_users_and_other_jobs() -> None:
    (first, one, _), (_, again, _), (second, other, _) = run_day(0), run_day(0), run_day(7)
    assert first.users.names == second.users.names and first.roles == second.roles
    jobs = [[values[0] for what, values in sink.given if what == "job"] for sink in (one, again, other)]
    assert jobs[0] == jobs[1] != jobs[2]


def test_history_tells_jobs_and_runs_but_no_counters_by_the_second() -> None:
    _, sink, totals = run_day(3, seconds=120)
    kinds = {what for what, _ in sink.given}
    assert {"job", "run", "step", "close"} <= kinds and "sets" not in kinds
    assert totals["records"] == 0 and totals["steps"] > 0
    step = next(values[1] for what, values in sink.given if what == "step")
    assert (step.values >= 0).all() and step.values.shape[1] == 13


def test_history_tells_of_a_job_when_it_has_ended() -> None:
    """Alongside the present, whose jobs have the same nodes, a job of the past that still ran would make them serve two."""
    _, sink, totals = run_day(3, seconds=600)
    jobs = [values[0] for what, values in sink.given if what == "job"]
    assert len(jobs) == totals["jobs_ended"] > 0 and all(job["end"] is not None for job in jobs)
    assert len({job["job_id"] for job in jobs}) == len(jobs)


def counted(seconds: int, coarse: bool) -> tuple[Cluster, MinuteSums, Kept]:
    cluster, sink = Cluster(load_spec("small"), 1, day=3), Kept()
    sums = MinuteSums(cluster.fabric, cluster.counters, EPOCH_S)
    TwinRun(cluster, [sink], EPOCH_S, past=Past(coarse, sums)).run(seconds, 0)
    sums.take(cluster.counters, EPOCH_S + seconds, last=True)
    return cluster, sums, sink


@pytest.mark.system("numeric")
def test_minutes_and_hours_add_up_to_what_the_counters_moved() -> None:
    cluster, sums, _ = counted(4000, False)
    before = Cluster(load_spec("small"), 1, day=3).counters
    assert [one.from_s for one in sums.routers] == list(range(EPOCH_S, EPOCH_S + 4000, 60))
    assert sum(one.seconds for one in sums.routers) == sum(one.seconds for one in sums.cards) == 4000
    assert all((one.from_s + one.seconds) % 3600 == 0 for one in sums.cards[:-1])
    flits = sum(one.values[:, ROUTER_SUMS.index("rt_flits")] for one in sums.routers)
    moved = (cluster.counters.network - before.network)[0].sum(axis=1)
    assert flits == pytest.approx(moved, rel=1e-6)
    sent = sum(one.values[:, CARD_SUMS.index("tx_bytes")] for one in sums.cards)
    assert sent == pytest.approx((cluster.counters.nic - before.nic)[3], rel=1e-6, abs=1)
    colours = [ROUTER_SUMS.index(f"{name}_stall_cycles") for name in ("green", "black", "blue")]
    for one in sums.routers:
        # Counters stand near 1e15, where a float64 tells eighths apart.
        stalls = one.values[:, ROUTER_SUMS.index("rt_stall_cycles")]
        assert one.values[:, colours].sum(axis=1) == pytest.approx(stalls, rel=1e-6, abs=100)
    assert TILES == 48


@pytest.mark.system("numeric")
def test_a_coarse_past_counts_as_much_as_a_fine_one_and_has_jobs_but_no_runs() -> None:
    (_, coarse, coarse_sink), (_, fine, also) = counted(1800, True), counted(1800, False)
    totals = [sum(one.values.sum(axis=0) for one in sums.routers) for sums in (coarse, fine)]
    place = ROUTER_SUMS.index("rt_flits")
    assert totals[0][place] == pytest.approx(totals[1][place], rel=0.1)
    kinds = [{what for what, _ in sink.given} for sink in (coarse_sink, also)]
    assert "job" in kinds[0] & kinds[1] and "run" in kinds[1] and not kinds[0] & {"run", "step", "run_end"}
    cluster, sink = Cluster(load_spec("small"), 1, day=3), Kept()
    TwinRun(cluster, [sink], EPOCH_S, past=Past(True, None, 900.0)).run(1800, 0)
    ends = [values[0]["end"] for what, values in sink.given if what == "job"]
    assert ends and max(ends) <= EPOCH_S + 900, "the rest is another past's"
    names = [{values[0]["name"] for what, values in sink.given if what == "job"} for sink in (coarse_sink, also)]
    assert names[0] >= names[1], "the application's jobs are there all the same"


def test_steps_of_a_fine_past_take_about_as_long_as_second_by_second() -> None:
    """A step of the machine holds the flows still: what an application's steps take must not depend on that."""
    times = {}
    for step_s in (1, FINE_STEP_S):
        cluster, taken = Cluster(load_spec("small"), 1, day=3), []
        while cluster.time_s < 600:
            taken += [float(step.time_ns.max()) / 1e9 for _, step in cluster.advance(step_s).steps]
        times[step_s] = np.array(taken)
    assert len(times[1]) == pytest.approx(len(times[FINE_STEP_S]), abs=2)
    size = min(map(len, times.values()))
    assert np.median(np.abs(times[FINE_STEP_S][:size] / times[1][:size] - 1)) < 0.03


# The twin on a real log and database: records arrive, the fabric is registered, a measured one is left alone.


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Embedded(tmp_path_factory.mktemp("pg"), durable=False)
    started = server.start()
    migrations.migrate_database(started)
    yield started
    server.stop()


@pytest.mark.integration
@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_records_reach_the_log(url: str, encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["twin", "run", "small", "--seconds", "4", "--speed", "0", "--log", url, "--db", url]
    with (
        open_log(url) as log,
        log.consumer(f"test-{encoding}", pattern=r"^ldms\.aries_rtr_.*", start="earliest") as consumer,
    ):
        while consumer.poll(10_000, 0.5):
            pass
        main([*arguments, "--format", encoding, "--out", str(tmp_path), "--json"])
        summary = json.loads(capsys.readouterr().out)
        seen: Counter[str] = Counter()
        while sum(seen.values()) < 4 * 4 * 192:
            records = consumer.poll(10_000, 20.0)
            assert records, "the records did not come"
            seen.update(record.topic for record in records)
            assert all(dict(record.headers) == {"simulated": b"1"} and record.key is None for record in records)
            assert all((record.value[0] == 0) == (encoding == "avro") for record in records)
    assert seen == {topic: 4 * 192 for topic in summary["topics"] if "rtr" in topic}
    assert (tmp_path / "truth.json").exists() and not (tmp_path / "ldms").exists()
    with flitwatch_db.connect(url) as connection:
        kept = fabrics.load_fabric(connection, "small")
        assert kept.simulated and len(kept.routers) == 192


@pytest.mark.integration
def test_a_measured_fabric_is_left_alone(url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    measured = dataclasses.replace(load_spec("demo").fabric.build("demo"), simulated=False)
    with flitwatch_db.connect(url) as connection:
        fabrics.save_fabric(connection, measured)
    with pytest.raises(SystemExit):
        main(["twin", "run", "demo", "--seconds", "1", "--speed", "0", "--db", url, "--out", str(tmp_path)])
    assert "a measured fabric already has the name 'demo'" in caplog.text
