"""Collectors on a real log: following, rollover, truncation, restart and kill -9."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import httpx
import orjson
import pytest
from ingest.ncl_runs import write_run
from ingest.writing import read_all
from prometheus_client.parser import text_string_to_metric_families
from support.waiting import eventually, free_port

from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.ldms_csv import CsvCollector
from flitwatch_ingest.collectors.ncl import NclCollector
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.sources import ncl
from flitwatch_ingest.sources.ldms_csv import parse_name
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Log, Record

HEADER = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,count\n"


def line(second: int, node: int = 1, count: int | None = None) -> str:
    return f"{1795216807 + second}.000000,0,nid{node:05d},{node},0,0,{second if count is None else count}\n"


def as_written(records: list[Record]) -> list[Record]:
    """What the writer keeps: of each source only records above the last sequence, in order within a partition."""
    last: defaultdict[bytes, int] = defaultdict(lambda: -1)
    kept = []
    for record in sorted(records, key=lambda r: (r.topic, r.partition, r.offset)):
        headers = dict(record.headers)
        if "sequence" in headers:
            sequence = int(headers["sequence"])
            if sequence <= last[headers["source"]]:
                continue
            last[headers["source"]] = sequence
        kept.append(record)
    return kept


def csv_collector(log: Log, folder: Path, state: Path | None, *, follow: bool = True) -> CsvCollector:
    publisher = Publisher(log.producer("test"))
    return CsvCollector([folder], publisher, Checkpoint(state), follow=follow, host="h")


def counts(records: list[Record]) -> list[int]:
    return sorted(orjson.loads(record.value)["count"] for record in records if record.topic.startswith("ldms."))


@pytest.mark.integration
@pytest.mark.shared
def test_every_csv_capture_goes_in_whole_and_only_once(table_log: Log, shared: Path, tmp_path: Path) -> None:
    folder = shared / "samples" / "ldms"
    files = [path for path in folder.glob("csv_*/*") if parse_name(path) is not None]
    lines = sum(sum(not text.startswith(b"#") for text in path.read_bytes().splitlines()) for path in files)
    for attempt in range(2):
        publisher = Publisher(table_log.producer("test"))
        collector = CsvCollector(files, publisher, Checkpoint(None), follow=False, host="h")
        collector.once()
        assert (publisher.published, publisher.rejected) == (lines, 0)
        assert len(as_written(read_all(table_log))) == lines, attempt


@pytest.mark.integration
def test_growth_rollover_truncation_and_rename(table_log: Log, tmp_path: Path) -> None:
    folder, state = tmp_path / "csv", tmp_path / "state.json"
    (folder / "container").mkdir(parents=True)
    collector = csv_collector(table_log, folder, state)
    first = folder / "container" / "loads.1795216807"
    first.write_text(HEADER)
    collector.once()
    first.write_text(HEADER + line(0) + line(1)[:20])
    collector.once()
    assert counts(read_all(table_log)) == [0], "the half line is awaited"
    first.write_text(HEADER + line(0) + line(1) + line(2))
    (folder / "container" / "loads.HEADER.1795216807").write_text(HEADER)
    second = folder / "container" / "loads.1795216900"
    second.write_text(HEADER + line(100))
    collector.once()
    first.rename(folder / "container" / "loads.1795216807.old")
    with (folder / "container" / "loads.1795216807.old").open("a") as late:
        late.write(line(3))
    second.write_text(HEADER + line(200))
    for _ in range(6):
        collector.once()
    collector.close()
    again = csv_collector(table_log, folder, state)
    again.once()
    records = as_written(read_all(table_log))
    assert counts(records) == [0, 1, 2, 3, 100, 200]
    assert len({record.partition for record in records}) == 1, "files of a rollover stay in order"


@pytest.mark.integration
def test_bad_lines_are_published_as_rejected(table_log: Log, tmp_path: Path) -> None:
    file = tmp_path / "loads"
    file.write_bytes(
        (HEADER + line(0) + "what,is,this\n" + line(1)).encode() + b"\xff\xfe,\x00\n" + line(2)[:9].encode()
    )
    collector = csv_collector(table_log, tmp_path, None, follow=False)
    collector.once()
    records = read_all(table_log)
    assert counts(records) == [0, 1]
    rejected = [record for record in records if record.topic == "flitwatch.rejected.v1"]
    assert [record.value for record in rejected] == [b"what,is,this\n", b"\xff\xfe,\x00\n", line(2)[:9].encode()]
    for record in rejected:
        headers = dict(record.headers)
        assert headers["reason"] and headers["where"].startswith(str(file).encode())


def scraped(port: int) -> dict[str, float]:
    """A collector's figures; empty while it does not answer."""
    try:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=5).text
    except httpx.TransportError:
        return {}
    samples = (one for family in text_string_to_metric_families(text) for one in family.samples)
    return {one.name: one.value for one in samples if one.name.startswith("flitwatch_collector_")}


@pytest.mark.integration
def test_a_collector_tells_prometheus_what_it_published_and_when(embedded_db: str, tmp_path: Path) -> None:
    port, since = free_port(), time.time()
    (folder := tmp_path / "csv").mkdir()
    (folder / "loads").write_text(HEADER + line(0) + "what,is,this\n" + line(1))
    argv = [sys.executable, "-m", "flitwatch.main", "collect", "ldms-csv", str(folder), "--db", embedded_db]
    argv += ["--state", str(tmp_path / "state.json"), "--interval", "0.1", "--metrics-port", str(port)]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as collector:
        try:
            durable = "flitwatch_collector_durable_timestamp_seconds"
            eventually(lambda: durable in scraped(port), 600, 0.1, "the time of the durable rows", process=collector)
            figures = scraped(port)
        finally:
            collector.terminate()
    assert since <= figures["flitwatch_collector_durable_timestamp_seconds"] <= time.time()
    totals = {
        name.removeprefix("flitwatch_collector_"): value for name, value in figures.items() if name.endswith("_total")
    }
    assert totals == {"published_total": 2, "rejected_total": 1, "waits_total": 0}


@pytest.mark.integration
def test_both_logs_carry_the_rows_in_order_with_their_headers(any_log: Log, topic: str, tmp_path: Path) -> None:
    file = tmp_path / topic
    file.write_text(HEADER + "".join(line(second) for second in range(500)))
    publisher = Publisher(any_log.producer("test"))
    CsvCollector([file], publisher, Checkpoint(None), follow=False, host="h").once()
    records: list[Record] = []
    with any_log.consumer(f"read-{topic}", topics=[f"ldms.{topic}"]) as consumer:

        def all_read() -> bool:
            records.extend(consumer.poll(timeout_s=1.0))
            return len(records) >= 500

        eventually(all_read, every_s=0.0, what="500 records", detail=lambda: f"{len(records)} records came")
    assert counts(records) == list(range(500))
    assert len({record.partition for record in records}) == 1, "a source keeps to one partition"
    sequences = [int(dict(record.headers)["sequence"]) for record in sorted(records, key=lambda r: r.offset)]
    assert sequences == sorted(set(sequences))
    assert {dict(record.headers)["source"].rpartition(b"@")[0] for record in records} == {f"h:{file}".encode()}


KILLED = """
import sys, threading
from pathlib import Path
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.ldms_csv import CsvCollector
from flitwatch_ingest.collectors import ldms_csv
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_stream.backends import open_log
ldms_csv._LINES_A_FLUSH = 50
url, folder, state = sys.argv[1:]
with open_log(url) as log:
    collector = CsvCollector([Path(folder)], Publisher(log.producer("killed")), Checkpoint(Path(state)), follow=True, host="h")
    print("ready", flush=True)
    collector.run(threading.Event(), 0.01)
"""


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_kill_9_at_random_moments_loses_and_doubles_nothing(embedded_db: str, tmp_path: Path) -> None:
    rng = random.Random(7)
    folder, state = tmp_path / "csv", tmp_path / "state.json"
    folder.mkdir()
    files = [folder / f"loads.{1795216800 + n}" for n in range(3)]
    for file in files:
        file.write_text(HEADER)
    stop = threading.Event()
    written = [0]

    def produce() -> None:
        with files[0].open("a") as a, files[1].open("a") as b, files[2].open("a") as c:
            while not stop.is_set():
                for out in (a, b, c):
                    text = line(written[0])
                    cut = rng.randrange(len(text))
                    out.write(text[:cut])
                    out.flush()
                    out.write(text[cut:])
                    out.flush()
                    written[0] += 1
                time.sleep(0.0005)

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        for _ in range(6):
            victim = subprocess.Popen(
                [sys.executable, "-c", KILLED, embedded_db, str(folder), str(state)], stdout=subprocess.PIPE, text=True
            )
            assert victim.stdout is not None
            assert victim.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.02, 0.5))
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
    finally:
        stop.set()
        producer.join()
    with open_log(embedded_db) as log:
        csv_collector(log, folder, state).once()
        records = read_all(log)
        assert counts(as_written(records)) == list(range(written[0]))
        assert all(record.topic != "flitwatch.rejected.v1" for record in records)


@pytest.mark.integration
@pytest.mark.shared
@pytest.mark.parametrize("layout", ["ok", "yaml_2018_11"])
def test_ncl_captures_go_in_once(table_log: Log, shared: Path, layout: str) -> None:
    folder = shared / "samples" / "ariesncl" / layout
    found = ncl.read_run(ncl.find_runs(folder)[0])
    for _ in range(2):
        collector = NclCollector(folder, Publisher(table_log.producer("test")), Checkpoint(None))
        collector.once()
    records = as_written(read_all(table_log))
    assert sum(record.topic == "flitwatch.runs.v1" for record in records) == 1 + len(found.steps)
    assert sum(record.topic == "flitwatch.rejected.v1" for record in records) == len(found.rejected)


@pytest.mark.integration
def test_ncl_runs_are_published_when_their_files_rest(table_log: Log, tmp_path: Path) -> None:
    runs, state = tmp_path / "runs", tmp_path / "state.json"
    (runs / "a").mkdir(parents=True)
    collector = NclCollector(runs, Publisher(table_log.producer("test")), Checkpoint(state), settle_s=0.3)
    head = write_run(runs / "a", steps=4)
    half = head.read_text()[:100]
    whole = head.read_text()
    head.write_text(half)
    stop = threading.Event()
    thread = threading.Thread(target=collector.run, args=(stop, 0.05))
    thread.start()
    try:
        time.sleep(0.1)
        head.write_text(whole)
        eventually(lambda: collector.runs, what="the run")
    finally:
        stop.set()
        thread.join()
    again = NclCollector(runs, Publisher(table_log.producer("test")), Checkpoint(state), settle_s=0.0)
    again.look()
    values = [orjson.loads(r.value) for r in read_all(table_log) if r.topic == "flitwatch.runs.v1"]
    assert [value["type"] for value in values] == ["run"] + ["step"] * 4


@pytest.mark.integration
def test_another_copy_of_a_run_has_reasons_of_its_own(table_log: Log, tmp_path: Path) -> None:
    for name, keep in (("a", -3), ("b", -5)):
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, steps=3)
        short = tmp_path / name / "amg.counters.1.bin"
        short.write_bytes(short.read_bytes()[:keep])
        collector = NclCollector(tmp_path / name, Publisher(table_log.producer("test")), Checkpoint(None))
        collector.once()
    reasons = [dict(r.headers)["reason"] for r in as_written(read_all(table_log)) if r.topic == "flitwatch.rejected.v1"]
    assert len(reasons) == 2 and reasons[0].split(b" bytes")[0] != reasons[1].split(b" bytes")[0], reasons


@pytest.mark.integration
def test_a_timings_file_that_stays_broken_is_rejected_once_it_rests(table_log: Log, tmp_path: Path) -> None:
    head = write_run(tmp_path)
    head.write_text(head.read_text()[:50])
    collector = NclCollector(tmp_path, Publisher(table_log.producer("test")), Checkpoint(None))
    collector.once()
    (record,) = read_all(table_log)
    assert record.topic == "flitwatch.rejected.v1"
    assert b"not JSON" in dict(record.headers)["reason"]


def test_a_checkpoint_is_replaced_whole_and_a_broken_one_is_named(tmp_path: Path) -> None:
    from flitwatch_domain.errors import BadInput

    path = tmp_path / "deep" / "state.json"
    checkpoint = Checkpoint(path)
    checkpoint.value["files"] = {"a": 1}
    checkpoint.save()
    assert json.loads(path.read_text()) == {"files": {"a": 1}}
    assert Checkpoint(path).value == {"files": {"a": 1}}
    assert list(path.parent.iterdir()) == [path]
    path.write_text("{")
    with pytest.raises(BadInput, match="Remove it"):
        Checkpoint(path)
    shutil.rmtree(path.parent)
    checkpoint.value["files"] = {"a": 2}
    checkpoint.save()
    assert Checkpoint(path).value == {"files": {"a": 2}}


def test_a_full_disk_leaves_the_old_checkpoint_and_the_next_save_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"
    checkpoint = Checkpoint(path)
    checkpoint.value["read"] = 1
    checkpoint.save()
    checkpoint.value["read"] = 2

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        checkpoint.save()
    assert Checkpoint(path).value == {"read": 1} and list(tmp_path.iterdir()) == [path]
    checkpoint.save()
    assert Checkpoint(path).value == {"read": 2}
