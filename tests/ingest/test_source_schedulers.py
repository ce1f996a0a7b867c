"""Accounting of other schedulers and portals: PBS, Flux, the Standard Workload Format, ClusterCockpit, XDMoD's logs of sacct."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scheduler_logs import ENDED, FLUX, META, RAN, RPC, SWF, WHO, record

from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.jobs import Job
from flitwatch_ingest.sources import clustercockpit, flux, json_entries, pbs, sacct, swf
from flitwatch_ingest.sources.incarnations import number_restarts
from flitwatch_stream.shapes import parse_job

UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")


def read(reader: Any, *texts: str | bytes) -> tuple[list[Job], list[tuple[str, str]]]:
    """Jobs and rejected pieces of files f1, f2, ...; every job passes the log's shape."""
    jobs, rejected = [], []
    items: list[Any] = []
    for number, text in enumerate(texts, start=1):
        items += reader.read(io.BytesIO(text.encode() if isinstance(text, str) else text), f"f{number}")
    items += reader.rest()
    for item in items:
        if isinstance(item, tuple):
            parse_job(orjson.dumps(sacct.to_job_record(item[0])))
            jobs.append(item[0])
        else:
            rejected.append((item.where, item.reason))
    return jobs, rejected


def test_a_job_of_pbs_from_queue_to_end() -> None:
    log = record("Q", "12.pbs01.example", "queue=large") + record("S", "12.pbs01.example", RAN)
    begun, rejected = read(pbs.PbsReader(UTC, now_s=1770113000), log)
    assert rejected == []
    assert [(job.state, job.start_s, job.end_s, job.restart) for job in begun] == [("RUNNING", 1770110000, None, 0)]
    jobs, rejected = read(pbs.PbsReader(UTC), log, record("E", "12.pbs01.example", ENDED))
    assert rejected == []
    assert jobs == [
        Job(
            "pbs01", "12", "COMPLETED", 0, "eve", "turbulence team", "lammps", "large", "0:0", 1770109000, 1770110000, 1770113600, 2,
            "x1000c0s0b0n[0-1]", limit_s=3600,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "used", "deleted", "state", "code"),
    [
        ("0", "00:10:00", False, "COMPLETED", "0:0"),
        ("1", "00:10:00", False, "FAILED", "1:0"),
        ("271", "00:10:00", True, "CANCELLED", "0:15"),
        ("271", "00:10:00", False, "FAILED", "0:15"),
        ("271", "01:00:03", False, "TIMEOUT", "0:15"),
        ("-29", "01:00:03", False, "TIMEOUT", None),
        ("-27", "00:10:00", False, "OUT_OF_MEMORY", None),
        ("-2", "00:00:00", False, "FAILED", None),
        (None, "00:10:00", False, "UNKNOWN", None),
    ],
)
def test_how_a_job_of_pbs_ended(status: str | None, used: str, deleted: bool, state: str, code: str | None) -> None:
    end = f"{RAN} Resource_List.walltime=01:00:00 end=1770113600 resources_used.walltime={used}"
    log = record("S", "12.s", RAN) + (record("D", "12.s", "requestor=eve@login1") if deleted else "")
    jobs, rejected = read(
        pbs.PbsReader(UTC), log + record("E", "12.s", end + (f" Exit_status={status}" if status else ""))
    )
    assert ([(job.state, job.exit_code) for job in jobs], rejected) == ([(state, code)], [])


def test_a_queued_job_that_is_deleted_or_aborted_ran_nowhere() -> None:
    log = (
        record("Q", "1.s", WHO)
        + record("Q", "2.s", "queue=large")
        + record("D", "1.s", "requestor=eve@login1", "02/03/2026 11:00:00")
    )
    jobs, rejected = read(
        pbs.PbsReader(BERLIN), log + record("A", "2.s", "Job deleted as result of dependency", "02/03/2026 12:00:00")
    )
    assert rejected == []
    assert [(job.job_id, job.state, job.user, job.start_s, job.node_list) for job in jobs] == [
        ("1", "CANCELLED", "eve", None, None),
        ("2", "CANCELLED", None, None, None),
    ]
    # The times before the records are the server's.
    assert [job.end_s for job in jobs] == [1770112800, 1770116400]


def test_a_deletion_without_the_day_before_is_rejected_and_takes_nothing_away() -> None:
    jobs, rejected = read(pbs.PbsReader(UTC), record("D", "9.s", "requestor=root@s"))
    assert jobs == [] and rejected[0][0] == "f1:1" and "days before" in rejected[0][1]
    # With the end behind it, the deletion says why.
    jobs, rejected = read(pbs.PbsReader(UTC), record("D", "9.s", "requestor=root@s") + record("E", "9.s", ENDED))
    assert ([job.state for job in jobs], rejected) == (["CANCELLED"], [])


def test_a_job_of_pbs_that_ends_before_it_starts_is_rejected_whole() -> None:
    """Neither its end nor the start that an earlier record tells is stored; a job that ends as it starts is one."""
    backwards = ENDED.replace("end=1770113600", "end=1770109940")
    log = (
        record("S", "5.s", RAN)
        + record("E", "5.s", backwards)
        + record("E", "6.s", ENDED.replace("end=1770113600", "end=1770110000"))
    )
    jobs, rejected = read(pbs.PbsReader(UTC), log)
    assert [(job.job_id, job.start_s, job.end_s) for job in jobs] == [("6", 1770110000, 1770110000)]
    assert rejected == [("f1:2", "the job ends 60 s before it starts")]
    # Somebody set the server's clock back before they deleted it.
    jobs, rejected = read(
        pbs.PbsReader(UTC), record("S", "7.s", RAN) + record("D", "7.s", "requestor=eve@s", "02/03/2026 09:00:00")
    )
    assert jobs == [] and [where for where, _ in rejected] == ["f1:2"]


def test_runs_of_a_job_that_is_requeued_are_numbered() -> None:
    rerun = f"{RAN} end=1770111000 Exit_status=-11 run_count=1"
    second = ENDED.replace("start=1770110000", "start=1770112000").replace("run_count=1", "run_count=2")
    jobs, rejected = read(
        pbs.PbsReader(UTC), record("S", "5.s", RAN) + record("R", "5.s", rerun) + record("E", "5.s", second)
    )
    assert rejected == []
    assert [(job.restart, job.state, job.start_s) for job in jobs] == [
        (0, "REQUEUED", 1770110000),
        (1, "COMPLETED", 1770112000),
    ]


LIMITED = f"{RAN} Resource_List.walltime=01:00:00"
HOUR_S = 3600


@pytest.mark.parametrize(
    ("attributes", "newest", "now_s", "state"),
    [
        # It may run for an hour from 09:13:20 on, and then for another one until its end is recorded.
        (LIMITED, "02/03/2026 10:30:00", 1770110000 + 2 * HOUR_S, "RUNNING"),
        (LIMITED, "02/03/2026 10:30:00", 1770110000 + 2 * HOUR_S + 1, "UNKNOWN"),
        # No limit is known: as long as the log goes on it runs.
        (RAN, "02/09/2026 12:00:00", 1770638400 + HOUR_S, "RUNNING"),
        # The log is an old one: nothing says what is now.
        (RAN, "02/03/2026 10:30:00", 1770114600 + 24 * HOUR_S, "RUNNING"),
        (RAN, "02/03/2026 10:30:00", 1770114600 + 24 * HOUR_S + 1, "UNKNOWN"),
    ],
)
def test_a_job_of_pbs_without_an_end_runs_only_while_nothing_speaks_against_it(
    attributes: str, newest: str, now_s: float, state: str
) -> None:
    log = record("S", "5.s", attributes) + record("L", "license", "floating license hour:3", newest)
    jobs, rejected = read(pbs.PbsReader(UTC, now_s=now_s), log)
    assert rejected == []
    assert [(job.state, job.start_s, job.end_s) for job in jobs] == [(state, 1770110000, None)]


def test_a_job_of_pbs_that_waits_in_an_old_log_is_not_known_to_wait() -> None:
    log = record("Q", "5.s", WHO)
    assert [
        read(pbs.PbsReader(UTC, now_s=at), log)[0][0].state for at in (1770112800 + HOUR_S, 1770112800 + 25 * HOUR_S)
    ] == [
        "PENDING",
        "UNKNOWN",
    ]


def test_a_changed_wall_time_and_a_suspension_are_heeded() -> None:
    now_s = 1770110000 + 5 * HOUR_S
    longer = record("a", "5.s", "Resource_List.walltime=08:00:00")
    for heard in (longer, record("z", "5.s", "resources_used.walltime=00:10:00")):
        jobs, rejected = read(pbs.PbsReader(UTC, now_s=now_s), record("S", "5.s", LIMITED) + heard)
        assert ([job.state for job in jobs], rejected) == (["RUNNING"], [])
    assert read(pbs.PbsReader(UTC, now_s=now_s), longer) == ([], [])


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("back", ["S", "Q"])
def test_a_run_of_pbs_whose_end_is_lost_is_one_of_its_own_without_an_end(back: str, counted: bool) -> None:
    """The server was down when the first run ended: its next record is that it waits or starts again."""
    first, second = ((f" run_count={run}" if counted else "") for run in (1, 2))
    later = RAN.replace("start=1770110000", "start=1770112000")
    ended = ENDED.replace("start=1770110000", "start=1770112000").replace(" run_count=1", second)
    log = record("S", "5.s", RAN + first) + (record("Q", "5.s", "queue=large") if back == "Q" else "")
    log += record("S", "5.s", later + second) + record("E", "5.s", ended)
    items = list(pbs.PbsReader(UTC).read(io.BytesIO(log.encode()), "f"))
    assert all(isinstance(item, tuple) for item in items)
    jobs = number_restarts([item for item in items if isinstance(item, tuple)])
    assert [(job.restart, job.state, job.start_s, job.end_s) for job in jobs] == [
        (0, "UNKNOWN", 1770110000, None),
        (1, "COMPLETED", 1770112000, 1770113600),
    ]
    # The same start again is the same run.
    again, _ = read(pbs.PbsReader(UTC), 2 * record("S", "5.s", RAN), record("E", "5.s", ENDED))
    assert [job.state for job in again] == ["COMPLETED"]


def test_arrays_of_pbs_are_their_tasks() -> None:
    log = "".join(record("E", name, ENDED) for name in ("7[].s", "7[3].s", "7[04].s", "8-2.s"))
    jobs, rejected = read(pbs.PbsReader(UTC), log)
    assert [(job.job_id, job.array_task) for job in jobs] == [("7_3", 3), ("7_4", 4)]
    assert [where for where, _ in rejected] == ["f1:4"]


@pytest.mark.parametrize(
    ("places", "nodes"),
    [
        ("exec_host=n1/0+n1/1+n2/0", ["n1", "n2"]),
        ("exec_host=n1/0-15+n2/0-15", ["n1", "n2"]),
        ("exec_vnode=(n1[0]:ncpus=18:mem=1gb+n1[1]:ncpus=18)+(n2:ncpus=36)", ["n1", "n2"]),
        ("exec_vnode=(n1)", ["n1"]),
    ],
)
def test_where_a_job_of_pbs_ran(places: str, nodes: list[str]) -> None:
    jobs, rejected = read(
        pbs.PbsReader(UTC), record("E", "1.s", f"{WHO} start=1770110000 {places} end=1770113600 Exit_status=0")
    )
    assert rejected == []
    assert (hostlist.expand_hosts(jobs[0].node_list or ""), jobs[0].nodes) == (nodes, len(nodes))


def test_other_records_of_pbs_are_passed_over_and_bad_ones_rejected_with_their_place() -> None:
    good = record("E", "1.s", ENDED)
    others = (
        record("L", "license", "floating license hour:3")
        + record("B", "R9.s", "owner=eve@l")
        + record("Q", "R9.s", "queue=R9")
    )
    bad = ["garbage\n", record("E", "x.s", ENDED), record("E", "2.s", "exit"), record("E", "3.s", ENDED.replace("=1770113600", "=soon")),
           record("S", "4.s", RAN, "13/41/2026 10:00:00"), record("E", "5.s", ENDED.replace("_status=0", "_status=ok")), good[:60]]  # fmt: skip
    jobs, rejected = read(pbs.PbsReader(UTC), good + others + "".join(bad))
    assert [job.job_id for job in jobs] == ["1"]
    assert [where for where, _ in rejected] == [f"f1:{number}" for number in range(5, 12)]
    assert "the file is incomplete" in rejected[-1][1]
    with pytest.raises(BadInput, match="not a PBS accounting log"):
        read(pbs.PbsReader(UTC), "JobID|State\n1|COMPLETED\n")


def test_what_a_user_writes_does_not_change_who_he_is() -> None:
    log = record("E", "1.s", ENDED.replace("jobname=lammps", 'jobname="x user=root queue=debug"'))
    jobs, _ = read(pbs.PbsReader(UTC), log)
    assert (jobs[0].user, jobs[0].name, jobs[0].partition) == ("eve", "x user=root queue=debug", "large")


def test_jobs_of_pbs_that_are_open_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pbs, "_OPEN_JOBS", 10)
    reader = pbs.PbsReader(UTC)
    log = "".join(record("S", f"{number}.s", RAN) for number in range(100))
    given = [item[0].job_id for item in reader.read(io.BytesIO(log.encode()), "f") if isinstance(item, tuple)]
    assert given == [str(number) for number in range(90)]
    assert len(list(reader.rest())) == 10


HOSTS = st.lists(st.from_regex(r"[a-z]{1,3}[0-9]{1,4}", fullmatch=True), min_size=1, max_size=20, unique=True)
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters='"\r\n\x85', exclude_categories=["Cs", "Cc", "Zl", "Zp"]),
    min_size=1,
    max_size=20,
)


@given(HOSTS, st.integers(0, 255), st.integers(1, 10**6), NAMES, st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_record_of_pbs_says_what_was_written(
    hosts: list[str], status: int, length_s: int, name: str, by_vnode: bool
) -> None:
    name = name.strip() or "x"
    places = (
        "exec_vnode=" + "+".join(f"({host}:ncpus=4)" for host in hosts)
        if by_vnode
        else "exec_host=" + "+".join(f"{host}/0*4" for host in hosts)
    )
    text = f'user=eve jobname="{name}" ctime=1770109000 start=1770110000 {places} end={1770110000 + length_s} Exit_status={status} run_count=3'
    jobs, rejected = read(pbs.PbsReader(UTC), record("E", "12[7].s", text))
    assert rejected == []
    assert set(hostlist.expand_hosts(jobs[0].node_list or "")) == set(hosts)
    assert (jobs[0].name, jobs[0].exit_code, jobs[0].restart) == (name, f"{status}:0", 2)
    assert (jobs[0].end_s or 0) - (jobs[0].start_s or 0) == length_s


def forms(entries: list[dict[str, Any]]) -> list[str]:
    """What may hold several jobs of Flux: an object with a list, a list, objects behind one another."""
    return [json.dumps({"jobs": entries}, indent=1), json.dumps(entries), "\n".join(map(json.dumps, entries)) + "\n"]


@pytest.mark.parametrize("form", range(3))
def test_jobs_of_flux(form: int) -> None:
    jobs, rejected = read(flux.FluxReader("tuolumne"), forms([FLUX, RPC])[form])
    assert rejected == []
    assert jobs == [
        Job(
            "tuolumne", "6134598795264", "COMPLETED", 0, "eve", "chem", "lammps", "batch", "0:0", 1770109000.25, 1770110000.5,
            1770113600.75, 4, "tuolumne[1001-1004]",
        ),
        Job(
            "tuolumne", str(2**63 + 5), "CANCELLED", 0, "1000", None, "x", None, "0:15", 1770109000.25, 1770110000.5, 1770113600.75, 3,
            "n[1-2],m7",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "as_slurm", "started", "ended"),
    [
        ("DEPEND", "PENDING", False, False),
        (8, "PENDING", False, False),
        ("RUN", "RUNNING", True, False),
        (32, "COMPLETING", True, True),
    ],
)
def test_jobs_of_flux_that_are_not_over(state: Any, as_slurm: str, started: bool, ended: bool) -> None:
    jobs, _ = read(flux.FluxReader(), json.dumps([FLUX | {"state": state, "result": ""}]))
    assert (jobs[0].state, jobs[0].start_s is not None, jobs[0].end_s is not None) == (as_slurm, started, ended)


def test_ids_of_flux_in_each_of_its_forms() -> None:
    # F58 of flux-jobs(1): base58 behind ƒ.
    for number, text in ((0, "ƒ1"), (57, "ƒz"), (58, "ƒ21"), (6134598795264, None)):
        digits, rest = "", number
        while rest or not digits:
            digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[rest % 58] + digits
            rest //= 58
        assert text is None or text == f"ƒ{digits}"
        assert [flux.job_number(form) for form in (number, str(number), hex(number), f"ƒ{digits}", f"f{digits}")] == [
            number
        ] * 5
    for bad in (-1, True, 2**64, str(2**64), "ƒ0", "", None, "ƒzzzzzzzzzzz", "0x"):
        with pytest.raises(BadInput, match="job id of Flux"):
            flux.job_number(bad)


def test_bad_entries_of_flux_are_rejected_and_the_rest_is_read() -> None:
    bad: list[Any] = [
        {"x": 1},
        7,
        FLUX | {"state": "DANCING"},
        FLUX | {"t_run": "soon"},
        FLUX | {"nodelist": "n[1-"},
        FLUX | {"result": 3},
        FLUX | {"R": "{"},
    ]
    jobs, rejected = read(flux.FluxReader(), json.dumps({"jobs": [*bad, FLUX]}))
    assert (len(jobs), [where for where, _ in rejected]) == (1, [f"f1: jobs[{number}]" for number in range(len(bad))])
    whole = json.dumps({"jobs": [FLUX, FLUX | {"id": 2}]})
    jobs, rejected = read(flux.FluxReader(), whole[:-40])
    assert (len(jobs), rejected[0][0]) == (1, "f1: jobs[1]")
    jobs, rejected = read(flux.FluxReader(), whole[:-2])
    assert len(jobs) == 2 and rejected[0][0] == "f1: behind jobs[1]" and "the file is incomplete" in rejected[0][1]
    assert read(flux.FluxReader(), '{"jobs": [')[1][0][0] == "f1: jobs"
    stateless = {name: value for name, value in FLUX.items() if name != "state"}
    assert read(flux.FluxReader(), json.dumps({"jobs": [stateless]}))[1][0][1] == "has no state"
    with pytest.raises(BadInput, match="is not JSON"):
        read(flux.FluxReader(), "JOBID USER NAME\n")


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), NAMES), max_size=20), st.integers(0, 2), st.integers(1, 4000))
@settings(max_examples=100, deadline=None)
def test_entries_do_not_depend_on_blocks(found: list[tuple[int, str]], form: int, block: int) -> None:
    entries = [{"id": number, "name": name} for number, name in found]
    text = forms(entries)[form] if entries or form < 2 else "{}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_entries, "_BLOCK", max(block, 20))
        got = list(json_entries.stream_entries(io.BytesIO(text.encode()), "f"))
    assert [item[1] for item in got if isinstance(item, tuple)] == (entries or ([{}] if form == 2 else []))


def test_a_log_in_the_standard_workload_format() -> None:
    jobs, rejected = read(swf.SwfReader("m"), SWF)
    assert rejected == []
    assert jobs == [
        Job(
            "m", "1", "COMPLETED", 0, "3", "1", "executable 12", "2", None, 1770100000, 1770100100, 1770103700, 32, None
        ),
        Job("m", "2", "CANCELLED", 0, "4", "1", None, None, None, 1770100010, None, None, None, None),
        Job("m", "3", "FAILED", 0, None, None, None, None, None, 1770100020, 1770100025, 1770100085.5, 8, None),
    ]
    # Processors are nodes only where the machine has as many of them.
    jobs, _ = read(swf.SwfReader(), SWF.replace("MaxProcs: 64", "MaxProcs: 512"))
    assert [job.nodes for job in jobs] == [None, None, None]


def test_bad_lines_and_headers_of_the_standard_workload_format() -> None:
    bad = [
        "1 2 3\n",
        "x" + " 1" * 17 + "\n",
        "1 0 1 1 1 1 1 1 1 1 9 1 1 1 1 1 1 1\n",
        "-1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
        "1 0 1",
    ]
    jobs, rejected = read(swf.SwfReader(), SWF + "".join(bad))
    assert len(jobs) == 3 and [where for where, _ in rejected] == [f"f1:{number}" for number in range(11, 16)]
    for header, said in (
        ("; Version: 2\n", "no header with UnixStartTime"),
        ("; UnixStartTime: 844000000\n", "outside 2000 to 2100"),
    ):
        with pytest.raises(BadInput, match=said):
            read(swf.SwfReader(), header + SWF.splitlines()[6] + "\n")


@given(st.lists(st.integers(-1, 10**9), min_size=18, max_size=18), st.sampled_from([-1, 0, 1, 5]))
@settings(max_examples=200, deadline=None)
def test_any_numbers_are_a_job_or_a_reason(values: list[int], status: int) -> None:
    values[10] = status
    jobs, rejected = read(swf.SwfReader(), "; UnixStartTime: 1770100000\n" + " ".join(map(str, values)) + "\n")
    assert len(jobs) + len(rejected) == 1
    for job in jobs:
        assert job.submit_s is not None and (job.start_s is None or job.start_s >= job.submit_s)


def test_clustercockpits_jobs(tmp_path: Path) -> None:
    jobs, rejected = read(clustercockpit.ClusterCockpitReader(), json.dumps(META))
    assert rejected == []
    assert jobs == [
        Job(
            "fritz",
            "398764",
            "COMPLETED",
            0,
            "eve",
            "chem",
            "lammps",
            "multinode",
            None,
            None,
            1770110000,
            1770113600,
            2,
            "f[0720-0721]",
            limit_s=86400,
        )
    ]
    jobs, _ = read(clustercockpit.ClusterCockpitReader("other"), json.dumps(META | {"jobState": "running"}))
    assert (jobs[0].cluster, jobs[0].state, jobs[0].end_s) == ("other", "RUNNING", None)
    for place in ("fritz/398/764/1770110000/meta.json", "fritz/398/765/1/meta.json.gz", "fritz/cluster.json"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert [path.name for path in clustercockpit.find_job_files(tmp_path)] == ["meta.json", "meta.json.gz"]


@pytest.mark.parametrize(
    "meta",
    ["{", "[]", "{}", json.dumps(META | {"jobId": "x"}), json.dumps(META | {"jobState": "dancing"}), json.dumps(META | {"startTime": "soon"}),
     json.dumps(META | {"startTime": 5}), json.dumps(META | {"resources": [{"host": "f0720"}]}), json.dumps(META | {"duration": -1})],
)  # fmt: skip
def test_what_is_no_job_of_clustercockpit_is_rejected(meta: str) -> None:
    jobs, rejected = read(clustercockpit.ClusterCockpitReader(), meta)
    assert (jobs, len(rejected)) == ([], 1)


def test_xdmods_logs_of_sacct_are_known_by_their_columns() -> None:
    line = (
        "3_4|7|fritz|large|normal|chem|hpc|100|eve|1000|2026-02-03T08:00:00|2026-02-03T08:00:00|2026-02-03T09:00:00|2026-02-03T10:00:00|01:00:00|0:0|"
        "COMPLETED|2|144|144|100Gn|cpu=144,node=2|billing=144,cpu=144,node=2|1-00:00:00|f[0720-0721]|a name | with bars\n"
    )
    jobs, rejected = read(sacct.SacctReader(UTC), line, line.replace("3_4", "5"))
    assert rejected == []
    assert [job.job_id for job in jobs] == ["3_4", "5"]
    assert (jobs[0].name, jobs[0].start_s, jobs[0].node_list, jobs[0].user, jobs[0].cluster) == (
        "a name | with bars", 1770109200, "f[0720-0721]", "eve", "fritz",
    )  # fmt: skip
