"""Jobs that accounting calls running and that are long gone: of every scheduler, by their limit, and by what squeue does not know."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.log_records import read_all
from support.scheduler_logs import META, RAN, record

from flitwatch_domain.jobs import RUNAWAY, RUNAWAY_AFTER_S, mark_runaway
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.sacct import SacctCollector
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.clustercockpit import ClusterCockpitReader
from flitwatch_ingest.sources.flux import FluxReader
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.sources.sacct import SacctReader
from flitwatch_ingest.writer.accounts import job_of
from flitwatch_stream.log import Log
from flitwatch_stream.shapes import parse_job

UTC = ZoneInfo("UTC")
START_S = 1_770_110_000


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _text(column: str, cell: str) -> str:
    return f"JobID|State|Start|End|{column}|NodeList\n7|RUNNING|{START_S}|Unknown|{cell}|c1\n"


def _json(minutes: int) -> str:
    time = {
        "submission": START_S,
        "start": START_S,
        "end": 0,
        "limit": {"set": True, "infinite": False, "number": minutes},
    }
    return json.dumps({"jobs": [{"job_id": 7, "state": {"current": ["RUNNING"]}, "time": time, "nodes": "c1"}]})


def _squeue(minutes: int) -> str:
    return json.dumps(
        {"jobs": [{"job_id": 7, "job_state": ["RUNNING"], "start_time": START_S, "time_limit": minutes, "nodes": "c1"}]}
    )


#: A running job with a limit of some minutes, by who writes it.
SOURCES: dict[str, tuple[Callable[[], Any], Callable[[int], str]]] = {
    "Timelimit": (lambda: SacctReader(UTC), lambda minutes: _text("Timelimit", _clock(60 * minutes))),
    "TimelimitRaw": (lambda: SacctReader(UTC), lambda minutes: _text("TimelimitRaw", str(minutes))),
    "sacct --json": (SacctReader, _json),
    "squeue --json": (SacctReader, _squeue),
    "PBS": (
        lambda: PbsReader(UTC, now_s=START_S + 30),
        lambda minutes: record("S", "7.pbs", f"{RAN} Resource_List.walltime={minutes // 60}:{minutes % 60:02}:00"),
    ),
    "Flux": (
        FluxReader,
        lambda minutes: json.dumps({"id": 7, "state": "RUN", "t_run": START_S, "duration": 60.0 * minutes}),
    ),
    "ClusterCockpit": (
        ClusterCockpitReader,
        lambda minutes: json.dumps(META | {"jobState": "running", "startTime": START_S, "walltime": 60 * minutes}),
    ),
}


@pytest.mark.parametrize("name", SOURCES)
@given(minutes=st.integers(1, 90 * 1440))
def test_a_job_far_past_its_limit_is_a_runaway_whoever_records_it(name: str, minutes: int) -> None:
    reader, text = SOURCES[name]
    reading = reader()
    found = [*reading.read(io.BytesIO(text(minutes).encode()), "f"), *reading.rest()]
    (job,) = [item[0] for item in found]
    job = job_of(parse_job(orjson.dumps(sacct.to_job_record(job))))
    assert (job.state, job.limit_s) == ("RUNNING", 60 * minutes)
    gone_s = job.start_s + 2 * job.limit_s + RUNAWAY_AFTER_S
    assert mark_runaway(job, gone_s).state == "RUNNING"
    assert mark_runaway(job, gone_s + 1).state == RUNAWAY


@pytest.mark.parametrize("cell", ["UNLIMITED", "Partition_Limit", "", "INVALID"])
@pytest.mark.parametrize("column", ["Timelimit", "TimelimitRaw"])
def test_a_job_without_a_limit_is_none(column: str, cell: str) -> None:
    ((job, _),) = SacctReader(UTC).read(io.BytesIO(_text(column, cell).encode()), "f")
    assert job.limit_s is None and mark_runaway(job, 2 * START_S).state == "RUNNING"


def test_a_running_job_that_squeue_does_not_know_twice_is_a_runaway(table_log: Log, tmp_path: Path) -> None:
    rows = "".join(f"{job}\x1fRUNNING\x1f{START_S}\x1fUnknown\x1fc{job[0]}\n" for job in ("1", "2", "3_4", "5+0"))
    (tmp_path / "details").write_text("JobID\x1fState\x1fStart\x1fEnd\x1fNodeList\n" + rows)
    (tmp_path / "queue").write_text("2\n3_4\n5+0\n")
    _script(tmp_path / "sacct", f'case "$*" in *--jobs*) cat {tmp_path}/details;; *) printf "1\\n2\\n3\\n5\\n";; esac')
    _script(tmp_path / "squeue", f"cat {tmp_path}/queue")
    collector = SacctCollector(
        Publisher(table_log.producer("test")), Checkpoint(tmp_path / "state"), command=str(tmp_path / "sacct")
    )
    seen = []
    for _ in range(2):
        collector.once()
        seen.append({job.job_id: job.state for job in map(parse_job, _values(table_log))})
    assert seen[0] == dict.fromkeys(("1", "2", "3_4", "5+0"), "RUNNING")
    assert seen[1] == seen[0] | {"1": RUNAWAY}
    # A scheduler that does not answer is no evidence, and a job that is back runs.
    _script(tmp_path / "squeue", "exit 1")
    collector.once()
    assert {job.job_id: job.state for job in map(parse_job, _values(table_log))}["1"] == "RUNNING"


def _values(log: Log) -> list[bytes]:
    return [record.value for record in read_all(log) if record.topic == "flitwatch.jobs.v1"]


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
