"""sacct's output: every capture, both formats against each other, and damage."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ingest.writing import read_all
from support.scheduler_logs import META, RAN, record

from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import RUNAWAY, RUNAWAY_AFTER_S, Job, mark_runaway
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.sacct import SacctCollector
from flitwatch_ingest.sources import sacct, sacct_text
from flitwatch_ingest.sources import sacct_fields as fields
from flitwatch_ingest.sources.clustercockpit import ClusterCockpitReader
from flitwatch_ingest.sources.flux import FluxReader
from flitwatch_ingest.sources.incarnations import Held, number_restarts
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.sources.sacct import SacctReader
from flitwatch_ingest.writer.accounts import job_of
from flitwatch_stream.log import Log
from flitwatch_stream.shapes import parse_job

UTC = ZoneInfo("UTC")

HEADER = "JobID|JobName|User|State|Start|End|NodeList|NNodes\n"


def decode(text: str | bytes) -> tuple[list[Job], list[tuple[str, str]]]:
    data = text.encode() if isinstance(text, str) else text
    jobs, rejected = sacct.decode_jobs(data, "acct.txt", zone=UTC)
    return jobs, [(item.where, item.reason) for item in rejected]


def keyed(jobs: list[Job]) -> dict[tuple[str, int], Job]:
    return {(job.job_id, job.restart): job for job in jobs}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "jobs", "steps"),
    [
        ("sacct_parsable2_default.txt", 21, 25),
        ("sacct_parsable2_duplicates.txt", 22, 26),
        ("sacct_parsable2_X.txt", 21, 0),
        ("sacct_X_unitsep.txt", 21, 0),
        ("sacct_parsable2_X_epoch.txt", 21, 0),
        ("sacct.json", 22, 26),
        ("24.11/sacct_parsable2_2411.txt", 14, 20),
        ("24.11/sacct_2411.json", 14, 20),
    ],
)
def test_every_capture_is_read_whole(shared: Path, file: str, jobs: int, steps: int) -> None:
    found, rejected = decode((shared / "samples" / "slurm" / file).read_bytes())
    assert (len(found), sum(len(job.steps) for job in found), rejected) == (jobs, steps, [])
    for job in found:
        value = parse_job(orjson.dumps(sacct.to_job_record(job)))
        assert (value.job_id, value.user, value.end) == (job.job_id, job.user, job.end_s)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("sacct_parsable2_duplicates.txt", "sacct.json"),
        ("24.11/sacct_parsable2_2411.txt", "24.11/sacct_2411.json"),
    ],
)
def test_text_and_json_of_one_cluster_say_the_same(shared: Path, text: str, json: str) -> None:
    folder = shared / "samples" / "slurm"
    one, _ = decode((folder / text).read_bytes())
    other, _ = decode((folder / json).read_bytes())
    left, right = keyed(one), keyed(other)
    assert left.keys() == right.keys()
    for key, job in left.items():
        twin = right[key]
        assert replace(job, steps=(), exit_code=None, nodes=None) == replace(twin, steps=(), exit_code=None, nodes=None)
        # Slurm prints the nodes asked for as long as none is given; JSON says 0.
        assert job.nodes == twin.nodes or twin.nodes == 0
        assert {(s.step, s.name, s.start_s, s.end_s, s.node_list) for s in job.steps} == {
            (s.step, s.name, s.start_s, s.end_s, s.node_list) for s in twin.steps
        }


@pytest.mark.shared
def test_what_the_captures_are_known_to_hold(shared: Path) -> None:
    found, _ = decode((shared / "samples" / "slurm" / "sacct_parsable2_duplicates.txt").read_bytes())
    jobs = keyed(found)
    assert jobs["2", 0].name == "lammps run | v2"
    assert jobs["7", 0].state == "CANCELLED"
    assert (jobs["9", 0].state, jobs["9", 1].state) == ("REQUEUED", "COMPLETED")
    assert (jobs["10+1", 0].het_offset, jobs["3_4", 0].array_task) == (1, 4)
    assert jobs["17", 0].node_list == "nid[00001,00003-00004]"
    assert (jobs["19", 0].state, jobs["19", 0].end_s) == ("RUNNING", None)
    assert (jobs["20", 0].start_s, jobs["20", 0].node_list) == (None, None)
    assert [step.step for step in jobs["1", 0].steps] == ["batch", "0", "1"]
    assert jobs["1", 0].start_s == 1795215785


@pytest.mark.shared
def test_output_for_people_is_refused_with_advice(shared: Path) -> None:
    with pytest.raises(BadInput, match="--parsable2"):
        decode((shared / "samples" / "slurm" / "sacct_human.txt").read_bytes())


def test_a_name_with_the_delimiter_is_read_where_only_one_way_fits() -> None:
    jobs, rejected = decode(HEADER + "2|a|b|c|bob|RUNNING|1795215785|Unknown|nid1|1\n")
    assert (jobs[0].name, jobs[0].user, rejected) == ("a|b|c", "bob", [])


def test_an_ambiguous_line_is_rejected_not_guessed() -> None:
    header = "JobID|JobName|User|Comment|State\n"
    jobs, rejected = decode(header + "2|a|b|c|d|RUNNING\n")
    assert jobs == []
    assert rejected[0][0] == "acct.txt:2"
    assert "contains the delimiter" in rejected[0][1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2|x|bob|RUNNING|2026-11-20T23:03:05|Unknown|nid1", "7 fields, the header 8"),
        ("two|x|bob|RUNNING|Unknown|Unknown|nid1|1", "not a Slurm job id"),
        ("2|x|bob|DANCING|Unknown|Unknown|nid1|1", "not a state"),
        ("2|x|bob|RUNNING|yesterday|Unknown|nid1|1", "not a time"),
        ("2|x|bob|RUNNING|9999-11-20T23:03:05|Unknown|nid1|1", "outside 2000 to 2100"),
        ("2|x|bob|RUNNING|0001-01-01T00:00:00|Unknown|nid1|1", "time"),
        ("2|x|bob|RUNNING|Unknown|Unknown|n[1-900000]|1", "too many hosts"),
        ("2|x|bob|RUNNING|Unknown|Unknown|nid[1-|1", "unbalanced bracket"),
        ("2|x|bob|RUNNING|Unknown|Unknown|nid1|-4", "not a number of nodes"),
        ("7.batch|batch||RUNNING|Unknown|Unknown|nid1|1", "which was not read before"),
        ("2.|batch||RUNNING|Unknown|Unknown|nid1|1", "not a job step"),
    ],
)
def test_a_bad_line_is_rejected_with_line_and_reason_and_the_rest_goes_on(line: str, said: str) -> None:
    good = "3|y|eve|COMPLETED|1795215785|1795215790|nid1|1\n"
    jobs, rejected = decode(f"{HEADER}{line}\n{good}")
    assert [job.job_id for job in jobs] == ["3"]
    assert [where for where, _ in rejected] == ["acct.txt:2"]
    assert said in rejected[0][1]


def test_a_last_line_without_an_end_counts_where_it_has_all_fields() -> None:
    line = "4|z|eve|COMPLETED|Unknown|Unknown|nid1|1"
    jobs, rejected = decode(HEADER + "3|y|eve|COMPLETED|Unknown|Unknown|nid1|1\n" + line)
    assert ([job.job_id for job in jobs], rejected) == (["3", "4"], [])
    jobs, rejected = decode(HEADER + "3|y|eve|COMPLETED|Unknown|Unknown|nid1|1\n" + line[:-2])
    assert [job.job_id for job in jobs] == ["3"] and "7 fields, the header 8" in rejected[0][1]


def test_fields_in_any_order_any_delimiter_and_zone() -> None:
    for delimiter in ("\x1f", "|", "\t", "^"):
        text = delimiter.join(["Start", "State", "JobID", "User"]) + "\n"
        text += delimiter.join(["2026-01-01T01:00:00", "CANCELLED by 1002", "5", "eve"]) + "\n"
        jobs, rejected = sacct.decode_jobs(text.encode(), "x", zone=ZoneInfo("Europe/Berlin"))
        assert rejected == []
        assert (jobs[0].state, jobs[0].start_s) == ("CANCELLED", 1767225600)


def test_requeues_are_numbered_by_submission_however_they_are_ordered() -> None:
    lines = ["JobID|State|Submit|Cluster"] + [f"9|REQUEUED|{1795215000 + s}|c" for s in (300, 100, 200)]
    jobs, _ = decode("\n".join(lines) + "\n")
    assert [(job.submit_s, job.restart) for job in jobs] == [(1795215300, 2), (1795215100, 0), (1795215200, 1)]


def test_output_that_repeats_itself_invents_no_requeue() -> None:
    lines = ["3|y|eve|COMPLETED|1795215785|1795215790|nid1|1", "3|y|eve|REQUEUED|1795215700|1795215760|nid1|1"]
    once, _ = decode(HEADER + "\n".join(lines) + "\n")
    twice, _ = decode(HEADER + "\n".join(lines * 2) + "\n")
    assert [job.restart for job in once] == [1, 0] and twice == once * 2


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_incarnations_come_in_any_outputs_and_every_one_keeps_its_row(data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(1, 50), min_size=1, max_size=6, unique=True))
    outputs = data.draw(st.lists(st.lists(st.sampled_from(starts), min_size=1, unique=True), min_size=1, max_size=6))
    stored: dict[int, float | None] = {}
    for output in outputs:
        held = {("c", "9"): [Held(number, start, start, None) for number, start in stored.items()]}
        found = [(Job("c", "9", "REQUEUED", submit_s=float(at), start_s=float(at)), False) for at in output]
        jobs = number_restarts(found, held)
        assert len({job.restart for job in jobs}) == len(jobs)
        assert [job.start_s for job in sorted(jobs, key=lambda job: job.restart)] == sorted(output)
        moved = {job.start_s for job in jobs}
        stored = {number: start for number, start in stored.items() if start not in moved}
        assert not stored.keys() & {job.restart for job in jobs}
        stored |= {job.restart: job.start_s for job in jobs}
    assert set(stored.values()) == {start for output in outputs for start in output}


@pytest.mark.shared
@given(cut=st.integers(0, 270_000))
@settings(max_examples=25, deadline=None)
def test_a_truncated_json_file_gives_its_whole_jobs(shared: Path, cut: int) -> None:
    data = (shared / "samples" / "slurm" / "sacct.json").read_bytes()
    whole, _ = sacct.decode_jobs(data, "x")
    try:
        jobs, rejected = sacct.decode_jobs(data[:cut], "x")
    except BadInput:
        assert cut < 3000
        return
    assert [job.job_id for job in jobs] == [job.job_id for job in whole[: len(jobs)]]
    assert rejected or len(jobs) == len(whole)


@given(lines=st.lists(st.text(alphabet="0123456789|._+[]abcRUNING-:T \x00\x1f\n\ré", max_size=80), max_size=8))
@settings(max_examples=200, deadline=None)
def test_hostile_text_every_line_is_decoded_or_rejected(lines: list[str]) -> None:
    body = "".join(line.replace("\n", "") + "\n" for line in lines)
    jobs, rejected = decode(HEADER + body)
    not_empty = sum(bool(line.encode().strip()) for line in body.split("\n"))
    assert len(jobs) + sum(len(job.steps) for job in jobs) + len(rejected) == not_empty


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "jobs",
                    "job_id",
                    "state",
                    "current",
                    "time",
                    "start",
                    "end",
                    "array",
                    "het",
                    "steps",
                    "step",
                    "id",
                    "nodes",
                    "user",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.mark.system("processes")
@example(jobs=[{"job_id": float("inf"), "time": None}])
@given(jobs=st.lists(json_values, max_size=4))
@settings(max_examples=200, deadline=None)
def test_hostile_json_raises_bad_input_only(jobs: list[object]) -> None:
    import json

    found, rejected = decode(json.dumps({"jobs": jobs}).encode())
    assert len(found) + len(rejected) >= min(len(jobs), 1)


@given(data=st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_hostile_bytes_raise_bad_input_only(data: bytes) -> None:
    for start in (b"", b"{", b'{"jobs": [', HEADER.encode()):
        try:
            decode(start + data)
        except BadInput as bad:
            assert bad.where.startswith("acct.txt")


BARE = "7|amg|p|a|4|COMPLETED|0:0\n7.0|amg||a|4|COMPLETED|0:0\n8|x|p|a|4|CANCELLED by 3|0:0\n"


def test_a_text_without_a_header_is_known_by_its_cells_or_by_the_names_that_are_given() -> None:
    jobs, rejected = sacct.decode_jobs(BARE.encode(), "f")
    assert [(job.job_id, job.name, job.state, len(job.steps)) for job in jobs] == [
        ("7", "amg", "COMPLETED", 1),
        ("8", "x", "CANCELLED", 0),
    ]
    assert not rejected
    text = b"9;RUNNING;n[1-2];1795215000\n"
    with pytest.raises(BadInput, match="no header"):
        sacct.decode_jobs(text, "f")
    ((job, _),) = SacctReader(columns=["JobID", "State", "NodeList", "Start"]).read(io.BytesIO(text), "f")
    assert (job.job_id, job.node_list, job.start_s) == ("9", "n[1-2]", 1795215000.0)
    with pytest.raises(BadInput, match="does not fit the columns"):
        SacctReader(columns=["JobID", "Start", "State"]).read(io.BytesIO(text), "f")


@pytest.mark.parametrize("start", ["4294967294", "4294967295", "18446744073709551614", "0", "None", "Unknown"])
def test_a_job_that_never_began_has_no_start(start: str) -> None:
    text = f"JobID|State|Submit|Start|End\n5|CANCELLED by 7|1795215000|{start}|1795215060\n"
    (job,), rejected = sacct.decode_jobs(text.encode(), "f")
    assert (job.start_s, job.end_s, rejected) == (None, 1795215060.0, [])


def test_no_val_in_json_is_no_time() -> None:
    entry = {
        "job_id": 5,
        "state": {"current": ["CANCELLED"]},
        "time": {"submission": 1795215000, "start": 4294967294, "end": 1795215060},
    }
    (job,), rejected = sacct.decode_jobs(json.dumps({"jobs": [entry]}).encode(), "f")
    assert (job.start_s, job.end_s, rejected) == (None, 1795215060.0, [])


def controllers(state: str, **more: object) -> dict[str, object]:
    """A job as squeue --json of Slurm 24 prints it."""
    number = lambda value: {"set": True, "infinite": False, "number": value}  # noqa: E731
    return {
        "job_id": 42, "job_state": [state], "user_name": "ann", "account": "a", "name": "amg", "partition": "p", "cluster": "c1",
        "submit_time": number(1795215000), "start_time": number(1795215100), "end_time": number(1795218700), "nodes": "n[1-2]",
        "node_count": number(2), "restart_cnt": 1, "array_job_id": number(0), "array_task_id": {"set": False, "infinite": False, "number": 0},
        "het_job_id": number(0), "het_job_offset": number(0), "array_task_string": "",
        "exit_code": {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": {"set": False, "number": 0}, "name": ""}}, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "start", "end", "nodes"),
    [
        ("PENDING", None, None, None),
        ("RUNNING", 1795215100.0, None, "n[1-2]"),
        ("COMPLETED", 1795215100.0, 1795218700.0, "n[1-2]"),
    ],
)
def test_what_slurmctld_forecasts_is_no_time_of_the_job(
    state: str, start: float | None, end: float | None, nodes: str | None
) -> None:
    ((job, known),) = SacctReader().read(io.BytesIO(json.dumps({"jobs": [controllers(state)]}).encode()), "f")
    assert (job.cluster, job.job_id, job.user, job.restart, known) == ("c1", "42", "ann", 1, True)
    assert (job.start_s, job.end_s, job.node_list, job.nodes) == (start, end, nodes, 2)


def test_arrays_of_slurmctld_bear_their_tasks_names() -> None:
    more = {"array_job_id": {"set": True, "number": 40}, "array_task_id": {"set": True, "number": 2}}
    (job,), _ = sacct.decode_jobs(json.dumps({"jobs": [controllers("RUNNING", **more)]}).encode(), "f")
    assert job.job_id == "40_2"


@pytest.mark.parametrize(
    ("elapsed", "start", "end"),
    [
        # Berlin's clocks went from 3 back to 2 on 2026-10-25 at 01:00 UTC.
        ("00:30:00", "2026-10-25T02:45:00", "2026-10-25T03:15:00"),
        ("01:30:00", "2026-10-25T02:45:00", "2026-10-25T03:15:00"),
        ("5400", "2026-10-25T01:30:00", "2026-10-25T02:00:00"),
        ("00:30:00", "2026-10-25T01:30:00", "2026-10-25T02:00:00"),
        ("00:10:00", "2026-10-25T02:50:00", "2026-10-25T02:00:00"),
    ],
)
def test_elapsed_tells_which_of_the_two_hours_it_was(elapsed: str, start: str, end: str) -> None:
    column = "ElapsedRaw" if elapsed.isdigit() else "Elapsed"
    text = f"JobID|State|Start|End|{column}\n5|COMPLETED|{start}|{end}|{elapsed}\n"
    (job,), rejected = sacct.decode_jobs(text.encode(), "f", zone=ZoneInfo("Europe/Berlin"))
    assert not rejected and job.start_s is not None and job.end_s is not None
    assert job.end_s - job.start_s == fields.elapsed_s(elapsed)


@pytest.mark.parametrize(
    ("submit", "start", "end", "start_utc", "end_utc"),
    [
        # Nothing but the order of the times tells the hour.
        ("01:59:00", "02:50:00", "02:10:00", "00:50", "01:10"),
        ("02:50:00", "02:05:00", "Unknown", "01:05", None),
        ("01:00:00", "02:05:00", "Unknown", "00:05", None),
        ("03:00:00", "03:05:00", "04:00:00", "02:05", "03:00"),
    ],
)
def test_a_job_is_submitted_before_it_starts_and_starts_before_it_ends(
    submit: str, start: str, end: str, start_utc: str, end_utc: str | None
) -> None:
    cells = (f"2026-10-25T{text}" if ":" in text else text for text in (submit, start, end))
    text = "JobID|State|Submit|Start|End\n5|" + "|".join((("RUNNING" if end_utc is None else "FAILED"), *cells)) + "\n"
    (job,), rejected = sacct.decode_jobs(text.encode(), "f", zone=ZoneInfo("Europe/Berlin"))

    def epoch_s(at: str | None) -> float | None:
        return None if at is None else datetime.fromisoformat(f"2026-10-25T{at}:00+00:00").timestamp()

    assert (job.start_s, job.end_s, rejected) == (epoch_s(start_utc), epoch_s(end_utc), [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [(b"caf\xe9", "caf\xe9"), (b"caf\xc3\xa9", "caf\xe9"), (b"a\\ud800b", "a?b"), (b"a\\ud83d\\ude00", "a\U0001f600")],
)
def test_any_name_in_json_can_be_stored(name: bytes, expected: str) -> None:
    """Latin-1, and half of a surrogate pair, which ended an import with a traceback."""
    text = (
        b'{"jobs": [{"job_id": 5, "name": "%b", "state": {"current": ["RUNNING"]}, "time": {"start": 1795215000}}]}'
        % name
    )
    (job,), rejected = sacct.decode_jobs(text, "f")
    assert not rejected and json.loads(sacct.encode_job(job))["name"] == expected


def test_lines_are_read_as_they_come() -> None:
    """The first jobs are there long before the last line is, and memory holds no more than a window."""
    read: list[int] = []

    class Lines:
        def __iter__(self):
            yield b"JobID|State|User|NodeList\n"
            for number in range(1, 60_001):
                read.append(number)
                yield f"{number}|COMPLETED|u|n{number % 7}\n".encode()

    first = next(SacctReader().read(Lines(), "f"))
    assert first[0].job_id == "1" and len(read) < 20_000


def test_what_is_no_accounting_is_refused_before_a_job_is_asked_for() -> None:
    with pytest.raises(BadInput, match="no header"):
        SacctReader().read(io.BytesIO(b"a picture\n"), "there")
    with pytest.raises(BadInput, match="empty"):
        SacctReader().read(io.BytesIO(b""), "there")
    lines = io.BytesIO(b"JobID|State\n" + b"".join(b"%d|COMPLETED\n" % job for job in range(100)))
    SacctReader().read(lines, "there")
    assert lines.tell() == len(b"JobID|State\n"), "the lines behind the header are read once, for their jobs"


def test_a_jobs_steps_are_joined_once_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    build = sacct_text.Job
    monkeypatch.setattr(sacct_text, "Job", lambda **values: copied.append(1) or build(**values))
    text = "JobID|State\n1|COMPLETED\n" + "".join(f"1.{step}|COMPLETED\n" for step in range(300)) + "2|FAILED\n"
    jobs, rejected = decode(text)
    assert [len(job.steps) for job in jobs] == [300, 0] and not rejected
    assert [step.step for step in jobs[0].steps] == [str(step) for step in range(300)]
    assert len(copied) == 2, "a copy for each step takes a time that grows with the square of their number"


@settings(max_examples=300)
@given(
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    st.datetimes(datetime(1999, 1, 1), datetime(2101, 1, 1)),
)
def test_times_read_by_their_hour_are_those_read_one_by_one(name: str, moment: datetime) -> None:
    zone = ZoneInfo(name)
    reader = sacct_text._Reader(["jobid", "start"], "|", zone, "c")
    text = moment.replace(microsecond=0).isoformat()
    try:
        expected = fields.times_s(text, zone)
    except BadInput:
        with pytest.raises(BadInput):
            reader._read_times(text)
    else:
        assert reader._read_times(text) == expected


# Jobs that accounting calls running and that are long gone: of every scheduler, by their limit, and by what squeue does not know.


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


@pytest.mark.parametrize(
    ("config", "state"), [("none", "RUNAWAY"), ("accounts,jobs", "RUNNING"), ("all", "RUNNING"), (None, "RUNAWAY")]
)
def test_a_job_that_squeue_does_not_show_to_everybody_is_not_a_runaway(
    config: str | None, state: str, table_log: Log, tmp_path: Path
) -> None:
    """With PrivateData=jobs, squeue lists a user's own jobs; and without --all, none of hidden partitions."""
    text = "JobID\x1fState\x1fStart\x1fNodeList\n1\x1fRUNNING\x1f1795215000\x1fc01\n2\x1fRUNNING\x1f1795215000\x1fc02\n"
    (tmp_path / "details").write_text(text)
    _script(tmp_path / "sacct", f'case "$*" in *--jobs*) cat {tmp_path}/details;; *) printf "1\\n2\\n";; esac')
    _script(tmp_path / "squeue", 'case "$*" in *"--all "*) echo 2;; esac')
    if config is not None:
        _script(
            tmp_path / "scontrol", f'echo "PriorityType = priority/basic"; echo "PrivateData             = {config}"'
        )
    with table_log.producer("test") as producer:
        collector = SacctCollector(Publisher(producer), Checkpoint(None), command=str(tmp_path / "sacct"))
        for _ in range(3):
            collector.once()
    states = {job.job_id: job.state for job in map(parse_job, _values(table_log))}
    assert states == {"1": state, "2": "RUNNING"}


def test_squeue_counts_only_once_slurm_says_that_it_shows_all_jobs(table_log: Log, tmp_path: Path) -> None:
    """While slurmctld is down, scontrol fails: what squeue lists then may be one user's jobs."""
    _script(tmp_path / "sacct", "true")
    _script(tmp_path / "squeue", "echo 2")
    _script(tmp_path / "scontrol", f'test -e {tmp_path}/up && echo "PrivateData = none"')
    with table_log.producer("test") as producer:
        collector = SacctCollector(Publisher(producer), Checkpoint(None), command=str(tmp_path / "sacct"))
        assert collector._ask_squeue() is None
        (tmp_path / "up").touch()
        assert collector._ask_squeue() == {"2"}


@pytest.mark.parametrize(
    "text", [b'{"jobs":[{"job_id":5,"name":"a\\ud800b"}]}', b'{"jobs":[{"job_id":5,"name":"caf\xe9","x":%d}]}' % 10**30]
)
def test_an_entry_that_is_no_job_is_rejected_whatever_its_texts_and_numbers(text: bytes) -> None:
    jobs, rejected = sacct.decode_jobs(text, "jobs.json")
    assert jobs == [] and [one.where for one in rejected] == ["jobs.json: jobs[0]"]


def _values(log: Log) -> list[bytes]:
    return [record.value for record in read_all(log) if record.topic == "flitwatch.jobs.v1"]


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
