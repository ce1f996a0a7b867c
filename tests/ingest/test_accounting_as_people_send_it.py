"""Accounting from real sites: missing ends, names with line feeds, any delimiter, draining arrays; for all affected schedulers."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ingest.scheduler_records import (
    COLUMNS,
    ON_HOSTS,
    RAN_S,
    SCHEDULERS,
    START_S,
    UTC,
    read_only_job,
    rows,
    write_flux,
    write_pbs,
    write_sacct_json,
    write_sacct_text,
)
from support.databases import Server

from flitwatch.command_line import cli
from flitwatch.commands.imports import accounting
from flitwatch.commands.imports.accounting import Content
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import imports
from flitwatch_db.jobs import store
from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Links, Routers, Technology
from flitwatch_domain.importers.packed import open_plain
from flitwatch_domain.jobs import FINAL_STATES, OVER_STATES, RELEASED_STATES, Job, count_other_nodes
from flitwatch_ingest.sources import sacct
from flitwatch_ingest.sources.flux import FluxReader
from flitwatch_ingest.sources.pbs import PbsReader
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_ingest.sources.sacct_fields import STATES
from flitwatch_ingest.sources.swf import SwfReader

COLUMN = {name: at for at, name in enumerate(COLUMNS)}
FINAL = sorted(FINAL_STATES | RELEASED_STATES)


def read(text: str) -> tuple[list[Job], list[Rejection]]:
    return sacct.decode_jobs(text.encode(), "jobs.txt", zone=UTC)


#: Schedulers to which a kind does not apply.
DOES_NOT_APPLY = {
    "end before the start": {"swf": "has durations", "clustercockpit": "has durations"},
    "files of many jobs": {"clustercockpit": "has a file for each job"},
    "hosts": {"swf": "has no nodes"},
}


def test_each_scheduler_of_the_product_is_tested_with_each_kind() -> None:
    imported = set(accounting._NO_JOB)

    def tested(names: Iterable[str]) -> set[str]:
        return {"sacct" if name.startswith("squeue") else name.partition(" ")[0] for name in names}

    assert tested(SCHEDULERS) == imported
    assert tested(ENDS_WITH_A_TIME) | set(DOES_NOT_APPLY["end before the start"]) == imported
    assert tested(MANY) | set(DOES_NOT_APPLY["files of many jobs"]) == imported
    assert tested(ON_HOSTS) | set(DOES_NOT_APPLY["hosts"]) == imported


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("state", FINAL)
def test_a_final_state_without_an_end_ends_after_its_elapsed_time(scheduler: str, state: str) -> None:
    write, reader = SCHEDULERS[scheduler]
    job = read_only_job(reader(), write(state, None, RAN_S))
    if job.start_s is not None:
        assert job.state in FINAL and job.end_s == START_S + RAN_S


@pytest.mark.parametrize("state", FINAL)
@pytest.mark.parametrize("form", ["text", "JSON"])
def test_suspended_time_lasts_too(form: str, state: str) -> None:
    """Elapsed leaves out the time in which a job was suspended."""
    if form == "text":
        text = (
            write_sacct_text(state, None, RAN_S).replace("\n", "|Suspended\n", 1).removesuffix("\n") + "|1-00:10:00\n"
        )
    else:
        entry = json.loads(write_sacct_json(state, None, RAN_S))
        entry["jobs"][0]["time"]["suspended"] = 87_000
        text = json.dumps(entry)
    (job,), rejected = read(text)
    assert rejected == [] and job.end_s == START_S + RAN_S + 87_000


@pytest.mark.parametrize("write", [write_sacct_text, write_sacct_json])
def test_times_of_a_waiting_job_in_accounting_are_forecasts(
    write: Callable[[str, float | None, float | None], str],
) -> None:
    for end_s in (START_S + 60.0, START_S - 60.0):
        (job,), rejected = read(write("PENDING", end_s, None))
        assert rejected == [] and (job.start_s, job.end_s, job.submit_s is None) == (None, None, False)


@pytest.mark.parametrize("scheduler", ["sacct", "pbs"])
def test_names_in_an_older_locale_are_not_mixed_up(scheduler: str) -> None:
    """A log of many years has lines in Latin-1 and lines in UTF-8."""
    write, reader = SCHEDULERS[scheduler]
    text = write("FAILED", START_S + RAN_S, RAN_S)
    for name, encoding in (
        ("m\u00fcller", "latin-1"),
        ("m\u00f6ller", "latin-1"),
        ("m\u00fcller", "utf-8"),
        ("\u20acva", "cp1252"),
    ):
        raw = text.replace("user=uma" if scheduler == "pbs" else "uma", f"user={name}" if scheduler == "pbs" else name)
        own = reader()
        ((job, _),) = [*own.read(io.BytesIO(raw.encode(encoding)), "f"), *own.rest()]
        assert job.user == name


ENDS_WITH_A_TIME = ("sacct", "sacct --json", "flux", "pbs")


@pytest.mark.parametrize("scheduler", ENDS_WITH_A_TIME)
def test_an_end_before_the_start_is_rejected_with_its_reason(scheduler: str) -> None:
    write, reader = SCHEDULERS[scheduler]
    found = read_only_job(reader(), write("COMPLETED", START_S - 3600, None))
    assert isinstance(found, Rejection) and found.reason == "the job ends 3600 s before it starts"


#: Ways in which editors, shells and other systems hand a text over.
HANDED_OVER: dict[str, Callable[[bytes], bytes]] = {
    "no end of its last line": lambda text: text.removesuffix(b"\n"),
    "lines of Windows": lambda text: text.replace(b"\n", b"\r\n"),
    "lines of Windows, the last without its end": lambda text: text.replace(b"\n", b"\r\n").removesuffix(b"\r\n"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "compressed": lambda text: gzip.compress(b"\xef\xbb\xbf" + text),
    "blank lines": lambda text: b"\n" + text + b"\n \n",
}


@pytest.mark.parametrize("form", HANDED_OVER)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_text_says_the_same_however_it_is_handed_over(scheduler: str, form: str, tmp_path: Path) -> None:
    write, reader = SCHEDULERS[scheduler]
    text = write("FAILED", START_S + RAN_S, RAN_S)
    file = tmp_path / "accounting"
    file.write_bytes(HANDED_OVER[form](text.encode()))
    with open_plain(file) as plain:
        own = reader()
        (found,) = [*own.read(plain, "f"), *own.rest()]
    assert found[0] == read_only_job(reader(), text) and found[0].state == "FAILED"


#: By scheduler: many jobs, and what reads them.
MANY: dict[str, tuple[Callable[[int], str], Callable[[], Any]]] = {
    "sacct": (lambda count: rows(*({"JobID": str(n), "JobName": f"{n * n}"} for n in range(1, count + 1))), lambda: sacct.SacctReader(UTC)),
    "sacct --json": (
        lambda count: json.dumps(
            {"jobs": [json.loads(write_sacct_json("FAILED", None, n))["jobs"][0] | {"job_id": n} for n in range(1, count + 1)]}
        ),
        lambda: sacct.SacctReader(UTC),
    ),
    "flux": (
        lambda count: json.dumps(
            {"jobs": [json.loads(write_flux("FAILED", None, n))["jobs"][0] | {"id": n} for n in range(1, count + 1)]}
        ),
        FluxReader,
    ),
    "swf": (
        lambda count: f"; UnixStartTime: {START_S}\n"
        + "".join(f"{n} 0 2 {n * n} 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n" for n in range(1, count + 1)),
        SwfReader,
    ),
    "pbs": (
        lambda count: "".join(
            write_pbs("FAILED", START_S + n, n % 60).replace(";1.server;", f";{n}.server;") for n in range(1, count + 1)
        ),
        lambda: PbsReader(UTC),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda text: bz2.compress(text, 1), lzma.compress], ids=["gzip", "bzip2", "xz"]
)
@pytest.mark.parametrize("scheduler", MANY)
def test_what_comes_before_the_damage_of_a_file_is_read(
    scheduler: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    write, reader = MANY[scheduler]
    file = tmp_path / "accounting"
    packed = pack(write(4000).encode())
    file.write_bytes(packed[: len(packed) * 3 // 4])
    own = reader()
    items = [*Content().read([file], own), *own.rest()]
    jobs = [item[0] for item in items if not isinstance(item, Rejection)]
    assert len(jobs) > 500 and sorted(int(job.job_id) for job in jobs) == list(range(1, len(jobs) + 1))
    reasons = [item.reason for item in items if isinstance(item, Rejection)]
    assert len(reasons) <= 2 and "damaged or incomplete" in reasons[-1]
    file.write_bytes(packed[:12])
    with pytest.raises(BadInput, match="damaged or incomplete"):
        list(Content().read([file], reader()))


@given(st.integers(1, 400))
def test_a_last_record_of_pbs_is_whole_or_refused(cut: int) -> None:
    text = write_pbs("FAILED", START_S + RAN_S, RAN_S).removesuffix("\n")
    whole, kept = read_only_job(PbsReader(UTC), text + "\n"), text[:-cut]
    try:
        found = read_only_job(PbsReader(UTC), kept)
    except (BadInput, ValueError):
        return
    assert isinstance(found, Rejection) or replace(found, restart=0) == whole


@pytest.mark.parametrize("column", ["JobName", "User", "Partition"])
@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\na", "a|b"])
def test_a_line_feed_in_any_text_is_a_part_of_it(column: str, text: str) -> None:
    jobs, rejected = read(rows({"JobID": "1", column: text}, {"JobID": "2"}, delimiter="\x1f"))
    name = {"JobName": "name", "User": "user", "Partition": "partition"}[column]
    assert rejected == [] and [getattr(job, name) for job in jobs] == [text.strip(), getattr(jobs[1], name)]


def test_a_name_of_pbs_may_hold_a_line_feed() -> None:
    text = write_pbs("FAILED", None, RAN_S)
    broken = text.replace("jobname=a", 'jobname="one\ntwo"')
    reader = PbsReader(UTC)
    found = [*reader.read(io.BytesIO((broken + text.replace("1.server", "2.server")).encode()), "f"), *reader.rest()]
    assert [(job.job_id, job.name) for job, _ in found] == [("1", "one\ntwo"), ("2", "a")]
    cut = text.replace("jobname=a", 'jobname="a')
    reader = PbsReader(UTC)
    after = [*reader.read(io.BytesIO((cut + text.replace("1.server", "2.server")).encode()), "f"), *reader.rest()]
    assert [item[0].job_id for item in after if not isinstance(item, Rejection)][-1] == "2"


names_of_hosts = st.from_regex(r"[a-z]{1,4}-?[0-9]{1,3}", fullmatch=True)


@st.composite
def spelling_of(draw: st.DrawFn, name: str) -> str:
    """A way to write a host: any case, with an interface, with a domain."""
    cased = "".join(draw(st.sampled_from([char, char.upper()])) for char in name)
    return cased + draw(st.sampled_from(["", "-ib0", "-HSN1", "-opa"])) + draw(st.sampled_from(["", ".hpc.example"]))


@pytest.mark.parametrize("scheduler", ON_HOSTS)
@settings(max_examples=15)
@given(st.data(), st.lists(names_of_hosts, min_size=1, max_size=4, unique=True))
def test_a_host_of_any_scheduler_is_the_one_of_the_fabric(
    database: str, scheduler: str, data: st.DataObject, hosts: list[str]
) -> None:
    known, written = ([data.draw(spelling_of(host)) for host in hosts] for _ in range(2))
    # A host of another domain is another host: names of one domain differ in no more than their case.
    written = [
        other if "." in one and "." in other and one.lower() != other.lower() else one
        for one, other in zip(written, known, strict=True)
    ]
    write, reader = ON_HOSTS[scheduler]
    job = read_only_job(reader(), write(written))
    count = len(known)
    links = Links(src=[*range(1, count + 1), *[0] * count], dst=[*[0] * count, *range(1, count + 1)])
    with connect(database, role="writer") as conn:
        fabrics.save_fabric(
            conn,
            Fabric(
                "m", FabricKind.FAT_TREE, Technology.INFINIBAND, Routers(name=["leaf"], level=[0]), Endpoints([0] * count, node=known), links
            ),
        )  # fmt: skip
        store.upsert_jobs(conn, [job])
        placed = dict(conn.execute("SELECT node, endpoint FROM job_node").fetchall())
        conn.rollback()
    assert placed == dict(zip(written, range(count), strict=True)), known


#: By scheduler: writes the number of nodes into a job on hosts. PBS records a number of chunks.
NUMBERS: dict[str, Callable[[str, int], str]] = {
    "sacct": lambda text, count: re.sub(r"\|[0-9]+\|(?=[^|]*$)", f"|{count}|", text),
    "sacct --json": lambda text, count: text.replace('"job_id"', f'"allocation_nodes": {count}, "job_id"'),
    "squeue --json": lambda text, count: text.replace('"job_id"', f'"node_count": {count}, "job_id"'),
    "flux": lambda text, count: text.replace('"id"', f'"nnodes": {count}, "id"'),
    "clustercockpit": lambda text, count: text.replace('"jobId"', f'"numNodes": {count}, "jobId"'),
}


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("scheduler", NUMBERS)
def test_the_larger_of_number_and_list_is_a_job_s_size(scheduler: str, count: int) -> None:
    """A list that was cut off names too few hosts, and a number can be that of a request."""
    assert set(NUMBERS) | {"pbs"} == set(ON_HOSTS)
    write, reader = ON_HOSTS[scheduler]
    job = read_only_job(reader(), NUMBERS[scheduler](write(["c02", "c01", "c03"]), count))
    assert count_other_nodes(job) == (None if count == 3 else 3)
    record = sacct.to_job_record(job)
    assert record["nodes"] == max(count, 3) and hostlist.expand_hosts(record["node_list"] or "") != []
    assert count_other_nodes(replace(job, node_list=None)) is None


def test_an_import_counts_what_contradicts_itself_or_may_be_cut(embedded_db: str, tmp_path: Path) -> None:
    file = tmp_path / "jobs.txt"
    text = rows({}, {"JobID": "2", "NNodes": "4"}, {"JobID": "3", "NNodes": "1", "NodeList": "c[01-02]"})
    reports = []
    for content in (text, text.rstrip("\n"), rows()):
        file.write_text(content)
        done = CliRunner().invoke(cli, ["import", "sacct", str(file), "--json", "--db", embedded_db])
        report = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
        reports.append([report[key] for key in ("node_counts_differ", "node_counts_examples", "unfinished_files")])
        assert ("another number of nodes than hosts, such as 2 (4 nodes, 1 hosts)" in done.output) == bool(
            reports[-1][0]
        )
        assert ("the last line has no line end" in done.output) == bool(reports[-1][2])
    examples = ["2 (4 nodes, 1 hosts)", "3 (1 nodes, 2 hosts)"]
    assert reports == [[2, examples, []], [2, examples, [str(file)]], [0, [], []]]
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT nodes FROM job ORDER BY job_id").fetchall() == [(1,), (4,), (2,)]


@pytest.mark.shared
def test_a_cancelled_job_without_an_end_ran_for_its_elapsed_time(shared: Path) -> None:
    text = (shared / "cases/ended-job-without-end/jobs.txt").read_bytes()
    jobs, rejected = sacct.decode_jobs(text, "jobs.txt", zone=UTC)
    assert rejected == [] and [job.end_s - job.start_s for job in jobs] == [19, 3600]  # type: ignore[operator]


@pytest.mark.parametrize("state", FINAL)
def test_a_job_that_is_over_and_whose_end_no_record_tells_holds_nothing(state: str, embedded_db: str) -> None:
    from flitwatch_db.jobs.as_of import end_or

    with connect(embedded_db, role="writer") as conn:
        store.upsert_jobs(conn, [Job("c", "1", state, start_s=START_S), Job("c", "2", "RUNNING", start_s=START_S)])
        open_ = f"SELECT job_id FROM job WHERE {end_or(chr(39) + 'infinity' + chr(39) + '::timestamptz')} > now()"
        assert conn.execute(open_.encode()).fetchall() == [("2",)]


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\x1f\r\0", exclude_categories=["Cs"]), min_size=1, max_size=20
)


@given(st.lists(names, min_size=1, max_size=5))
def test_a_name_may_hold_line_feeds(given_names: list[str]) -> None:
    assume(
        all(
            name.strip() == name
            and name.lower() not in ("unknown", "none", "n/a", "invalid", "(null)", "none assigned")
            for name in given_names
        )
    )
    text = rows(*({"JobID": str(n), "JobName": name} for n, name in enumerate(given_names, 1)), delimiter="\x1f")
    jobs, rejected = read(text)
    assert rejected == [] and [job.name for job in jobs] == given_names


def test_a_short_line_does_not_swallow_the_next_record() -> None:
    whole = rows({"JobID": "1"}, {"JobID": "2"}).splitlines(keepends=True)
    jobs, rejected = read("".join([whole[0], "7|half|uma\n", whole[1], "8|cut|uma|p|COMPLETED\n", whole[2], "\n"]))
    assert [job.job_id for job in jobs] == ["1", "2"]
    assert [(bad.where, bad.raw) for bad in rejected] == [
        ("jobs.txt:2", b"7|half|uma\n"),
        ("jobs.txt:4", b"8|cut|uma|p|COMPLETED\n"),
    ]


delimiters = st.text(
    st.characters(codec="utf-8", exclude_categories=["L", "N", "Z", "Cs", "Cc"], exclude_characters="-:_[]./+'\"(),"),
    min_size=1,
    max_size=4,
)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["snowman", "caret-bar-caret", "tilde"])
def test_delimiters_that_were_refused(shared: Path, name: str) -> None:
    jobs, rejected = sacct.decode_jobs((shared / f"cases/other-delimiters/{name}.txt").read_bytes(), "f", zone=UTC)
    assert rejected == [] and [(job.job_id, job.name) for job in jobs] == [("63", "a|b")]


@pytest.mark.shared
def test_other_inputs_that_were_refused(shared: Path) -> None:
    def of(case: str) -> list[tuple[str, str | None]]:
        jobs, rejected = sacct.decode_jobs((shared / "cases" / case / "jobs.txt").read_bytes(), "f", zone=UTC)
        return [(job.job_id, job.name) for job in jobs] + [("rejected", bad.reason) for bad in rejected]

    assert of("newline-in-job-name") == [("51", "part one\npart two"), ("52", "plain")]
    assert of("last-line-without-end") == [("61", "a"), ("62", "b")]
    assert of("end-before-start") == [("rejected", "the job ends 3600 s before it starts")]


@given(
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.lists(st.text("ab,;\t\n|[]' ", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=4),
)
def test_a_table_of_another_program_says_the_same(delimiter: str, quoting: Any, given_names: list[str]) -> None:
    out = io.StringIO(newline="")
    table = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    for line in rows(*({"NNodes": "3", "NodeList": "c[1-2,4]"} for _ in given_names)).splitlines():
        table.writerow(line.split("|"))
    written = list(csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=delimiter))
    for number, name in enumerate(given_names, 1):
        written[number][:2] = str(number), name
    again = io.StringIO(newline="")
    csv.writer(again, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(written)
    jobs, rejected = read(again.getvalue())
    assert rejected == [] and [(job.name, job.node_list) for job in jobs] == [
        (name.strip(), "c[1-2,4]") for name in given_names
    ]


def test_commas_in_brackets_are_no_delimiters() -> None:
    text = rows({"JobID": "77_[1,3-5%2]", "State": "PENDING"}, {"NodeList": "c[1-2,4],d[1,3]"}, delimiter=",")
    jobs, rejected = read(text)
    assert rejected == [] and [(job.job_id, job.node_list) for job in jobs] == [
        ("77_[1,3-5%2]", "c01"),
        ("1", "c[1-2,4],d[1,3]"),
    ]


@pytest.mark.parametrize("word", ["Unknown", "INVALID", "None", "N/A", ""])
@pytest.mark.parametrize("column", ["Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "Submit"])
def test_a_word_for_nothing_loses_no_job(column: str, word: str) -> None:
    jobs, rejected = read(f"JobID|State|{column}|End\n1|FAILED|{word}|2024-06-07T09:00:02\n")
    assert rejected == [] and [(job.job_id, job.limit_s, job.submit_s) for job in jobs] == [("1", None, None)]


#: By scheduler: a job that ends, with a step of a state, an end and an elapsed time.
STEPS: dict[str, Callable[[str, float | None, float], str]] = {
    "sacct": lambda state, end_s, ran_s: rows(
        {},
        {
            "JobID": "1.batch",
            "State": state,
            "Start": str(START_S),
            "End": "Unknown" if end_s is None else str(int(end_s)),
            "Elapsed": f"00:00:{int(ran_s):02}",
        },
    ),
    "sacct --json": lambda state, end_s, ran_s: json.dumps(
        {
            "jobs": [
                json.loads(write_sacct_json("COMPLETED", START_S + 3600.0, None))["jobs"][0]
                | {
                    "steps": [
                        {
                            "step": {"id": "1.batch", "name": "batch"},
                            "state": [state],
                            "time": {"start": START_S, "end": int(end_s or 0), "elapsed": int(ran_s)},
                        }
                    ]
                }
            ]
        }
    ),
}


@pytest.mark.parametrize("scheduler", STEPS)
@pytest.mark.parametrize("state", FINAL)
def test_a_step_ends_as_a_job_does(scheduler: str, state: str) -> None:
    jobs, rejected = read(STEPS[scheduler](state, None, RAN_S))
    assert rejected == [] and [step.end_s for step in jobs[0].steps] == [START_S + RAN_S]
    jobs, rejected = read(STEPS[scheduler](state, START_S - 5.0, RAN_S))
    assert [bad.reason for bad in rejected] == ["the step ends 5 s before it starts"]
    assert [(job.job_id, job.steps) for job in jobs] == [("1", ())]


@pytest.mark.parametrize("base", [[], ["RUNNING"], ["PENDING"]])
@pytest.mark.parametrize("state", sorted(STATES))
def test_what_the_controller_foretells_is_no_time(state: str, base: list[str]) -> None:
    """Of a job that waits the start is a forecast, and of one that is not over the end is its limit."""
    forecast = {"submit_time": START_S - 2, "start_time": START_S, "end_time": START_S + 60, "time_limit": 1}
    entry = {"job_id": 1, "job_state": [*base, state], "nodes": "c01", **forecast}
    (job,), rejected = read(json.dumps({"jobs": [entry]}))
    assert rejected == []
    if job.state not in OVER_STATES:
        assert job.end_s is None
    if entry["job_state"][0] == "PENDING":
        assert job.start_s is None and job.end_s is None and job.node_list is None


@given(delimiters)
def test_any_delimiter_is_found_in_the_header(delimiter: str) -> None:
    assume(delimiter.strip() == delimiter and "|" not in delimiter)
    jobs, rejected = read(rows({"JobName": "a|b"}, delimiter=delimiter))
    assert rejected == [] and [(job.name, job.node_list) for job in jobs] == [("a|b", "c01")]


@given(delimiters)
def test_any_delimiter_is_found_without_a_header(delimiter: str) -> None:
    assume(delimiter.strip() == delimiter and "|" not in delimiter and "%" not in delimiter)
    text = rows({"JobName": "a|b"}, {"JobID": "2"}, delimiter=delimiter).split("\n", 1)[1]
    found = list(sacct.SacctReader(UTC, columns=COLUMNS).read(io.BytesIO(text.encode()), "jobs.txt"))
    jobs = [item[0] for item in found if not isinstance(item, Rejection)]
    assert len(found) == 2 and [(job.name, job.node_list) for job in jobs] == [("a|b", "c01"), ("a", "c01")]


def test_the_text_of_scontrol_is_refused_with_what_to_use() -> None:
    with pytest.raises(BadInput, match=r"scontrol show job.*scontrol show jobs --json"):
        read("JobId=64 JobName=two words\n   UserId=uma(1001)\n")


@pytest.mark.shared
def test_the_case_of_the_text_of_scontrol(shared: Path) -> None:
    with pytest.raises(BadInput, match=r"scontrol show job.*scontrol show jobs --json"):
        read((shared / "cases/scontrol-text/job.txt").read_text())


@pytest.mark.parametrize("first", ["JobID  ", "       JobID  ", "JobIDRaw     "])
def test_a_table_of_fixed_widths_is_refused_with_what_to_use(first: str) -> None:
    with pytest.raises(BadInput, match=r"columns of fixed width.*sacct --parsable2"):
        read(
            f"{first}  JobName  Partition      State\n------------ ---------- ---------- ----------\n1  a  p  COMPLETED\n"
        )


def look(done: int, running: int, count: int, throttle: int) -> str:
    """What sacct prints of array 77 of `count` tasks, of which `done` are over and `running` run."""
    waiting = f"77_[{done + running + 1}-{count}%{throttle}]" if done + running + 1 < count else f"77_[{count}]"
    held = (
        [{"JobID": waiting, "State": "PENDING", "Start": "Unknown", "End": "Unknown", "NodeList": "None assigned"}]
        if done + running < count
        else []
    )
    tasks = [
        {"JobID": f"77_{n}"} if n <= done else {"JobID": f"77_{n}", "State": "RUNNING", "End": "Unknown"}
        for n in range(1, done + running + 1)
    ]
    return rows(*held, *tasks)


@pytest.fixture(scope="module")
def database(_embedded_template: Server) -> Iterator[str]:
    url = _embedded_template.create()
    yield url
    _embedded_template.drop(url)


@given(st.data())
def test_a_draining_array_has_each_task_once_whatever_the_order_of_looks(database: str, data: st.DataObject) -> None:
    count, throttle = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    looks = [look(done, min(throttle, count - done), count, throttle) for done in range(count + 1)]
    order = data.draw(st.lists(st.sampled_from(range(count + 1)), min_size=1, max_size=6))
    with connect(database, role="writer") as conn:
        for at in order:
            store.upsert_jobs(conn, sacct.decode_jobs(looks[at].encode(), "f", zone=UTC)[0])
            seen = [job_id for (job_id,) in conn.execute("SELECT job_id FROM job").fetchall()]
            tasks = [task for job_id in seen for task in tasks_of(job_id)]
            assert sorted(tasks) == list(range(1, count + 1)), (order, at, seen)
        conn.rollback()


@pytest.mark.parametrize("form", ["text", "JSON"])
@settings(max_examples=15)
@given(st.data())
def test_an_array_that_slurm_does_not_print_whole_leaves_no_task_waiting(
    database: str, form: str, data: st.DataObject
) -> None:
    every = sorted(data.draw(st.sets(st.integers(1, 400), min_size=30, max_size=40)))
    begun = sorted(data.draw(st.sets(st.integers(1, len(every)), max_size=3)))
    with connect(database, role="writer") as conn:
        for count in [0, *begun, len(every)]:
            text = ",".join(map(str, every[count:]))
            length = data.draw(st.integers(20, 64))
            if len(text) > length:
                text = text[: length - 3] + "..."
            ended = [Job("c", f"77_{task}", "COMPLETED", submit_s=START_S) for task in every[:count]]
            store.upsert_jobs(conn, [*waiting_array(form, text), *ended])
            names = [job_id for (job_id,) in conn.execute("SELECT job_id FROM job WHERE state = 'PENDING'").fetchall()]
            tasks = [task for name in names for task in tasks_of(name)]
            assert len(names) <= 1 + len(begun) and len(set(tasks)) == len(tasks) and set(tasks) <= set(every[count:])
        assert names == []
        conn.rollback()


def waiting_array(form: str, text: str) -> list[Job]:
    """The row of array 77 as Slurm prints it while tasks wait."""
    if not text:
        return []
    if form == "text":
        printed = rows(
            {
                "JobID": f"77_[{text}%2]",
                "State": "PENDING",
                "Start": "Unknown",
                "End": "Unknown",
                "Submit": str(START_S),
            }
        )
    else:
        array = {"job_id": 77, "task_id": {"set": False}, "task": text}
        entry = {"job_id": 77, "array": array, "state": {"current": ["PENDING"]}, "time": {"submission": START_S}}
        printed = json.dumps({"jobs": [entry]})
    jobs, rejected = sacct.decode_jobs(printed.encode(), "f", zone=UTC, cluster="c")
    assert rejected == []
    return jobs


def tasks_of(job_id: str) -> list[int]:
    """Tasks that a row of array 77 stands for."""
    text = job_id.partition("_")[2].strip("[]")
    return [
        n
        for part in text.split(",")
        for span, _, step in [part.partition(":")]
        for low, _, high in [span.partition("-")]
        for n in range(int(low), int(high or low) + 1, int(step or 1))
    ]


@pytest.mark.shared
def test_the_looks_at_a_real_array_leave_none_pending(shared: Path, embedded_db: str) -> None:
    waiting = []
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for number in (1, 2, 3, 1):
            text = (shared / f"cases/array-placeholders/{number}.txt").read_bytes()
            store.upsert_jobs(conn, sacct.decode_jobs(text, "f", zone=UTC)[0])
            waiting.append([job_id for (job_id,) in conn.execute("SELECT job_id FROM job WHERE state = 'PENDING'")])
    assert waiting == [["77_[2-5]"], ["77_[4-5]"], [], []]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("0-9998:2", "0-9998:2"),
        ("1-1000%7", "1-1000"),
        ("1,3,5,9", "1-5:2,9"),
        ("2,5-9:2%3", "2,5,7,9"),
        ("7", "7"),
        ("1-3,5-7", "1-3,5-7"),
        ("0-4000000", "0-4000000"),
    ],
)
def test_waiting_tasks_have_a_short_id_and_huge_arrays_keep_their_text(database: str, text: str, named: str) -> None:
    with connect(database, role="writer") as conn:
        ((_, job),) = store.store_jobs(conn, [Job("c", f"77_[{text}]", "PENDING", submit_s=START_S)])
        assert job.job_id == f"77_[{named}]"
        conn.rollback()


def test_an_array_with_a_number_that_was_used_before_is_another_array(database: str) -> None:
    with connect(database, role="writer") as conn:
        old = [
            Job("c", f"77_{task}", "COMPLETED", submit_s=START_S, start_s=START_S, end_s=START_S + 9)
            for task in (1, 2, 3)
        ]
        store.upsert_jobs(conn, [*old, Job("c", "77_[4-5]", "CANCELLED", submit_s=START_S)])
        store.upsert_jobs(conn, [Job("c", "77_[1-5]", "PENDING", submit_s=START_S + 1e7)])
        rows = conn.execute("SELECT job_id, state FROM job ORDER BY 1").fetchall()
        assert rows == [
            ("77_1", "COMPLETED"),
            ("77_2", "COMPLETED"),
            ("77_3", "COMPLETED"),
            ("77_[1-5]", "PENDING"),
            ("77_[4-5]", "CANCELLED"),
        ]
        conn.rollback()


def test_a_requeued_task_takes_the_row_of_the_last_waiting_one(database: str) -> None:
    with connect(database, role="writer") as conn:
        store.upsert_jobs(conn, [Job("c", "77_[4]", "PENDING", submit_s=START_S)])
        store.upsert_jobs(conn, [Job("c", "77_4", "RUNNING", restart=1, submit_s=START_S + 60, start_s=START_S + 61)])
        assert conn.execute("SELECT job_id, restart, state, array_task FROM job").fetchall() == [
            ("77_4", 1, "RUNNING", 4)
        ]
        conn.rollback()


@pytest.mark.shared
def test_the_writer_stores_the_looks_at_an_array_without_a_dead_letter(shared: Path, embedded_db: str) -> None:
    from ingest.writing import drain_log

    from flitwatch_ingest.collectors.publisher import Publisher
    from flitwatch_ingest.collectors.sacct import publish_jobs
    from flitwatch_stream.backends import open_log

    for number in (1, 2, 3):
        jobs, _ = sacct.decode_jobs((shared / f"cases/array-placeholders/{number}.txt").read_bytes(), "f", zone=UTC)
        with open_log(embedded_db) as log, log.producer() as producer:
            publisher = Publisher(producer)
            publish_jobs(jobs, publisher)
            publisher.flush()
        drain_log(embedded_db, embedded_db)
    with connect(embedded_db, role="reader") as conn:
        assert conn.execute("SELECT count(*) FROM dead_letter").fetchone() == (0,)
        assert conn.execute("SELECT job_id, state FROM job ORDER BY 1").fetchall() == [
            (f"77_{task}", "COMPLETED") for task in range(1, 6)
        ]


@pytest.mark.parametrize("cells", ["JobID | State| Start", "JobID |State |Start", "cluster_name|jobid|state"])
def test_headers_with_blanks_or_other_first_columns(cells: str) -> None:
    jobs, rejected = read(
        cells + "\n" + ("c|5|COMPLETED" if cells.startswith("cluster") else "5|COMPLETED|1717747202") + "\n"
    )
    assert rejected == [] and [job.job_id for job in jobs] == ["5"]


def test_a_last_line_that_lost_some_of_its_nodes_is_refused() -> None:
    text = rows({"JobID": "5", "NNodes": "2", "NodeList": "n1,n2"})[:-1]
    assert read(text)[1] == [] and "incomplete" in read(text[:-3])[1][0].reason


@pytest.mark.parametrize("elapsed", ["99999999999", "9" * 18])
def test_a_job_does_not_last_beyond_the_calendar(elapsed: str) -> None:
    jobs, _ = read(rows({"State": "FAILED", "End": "Unknown", "Elapsed": elapsed}))
    assert not any(job.end_s is not None and job.end_s > 4.2e9 for job in jobs)


def test_an_import_does_not_count_waiting_tasks_of_an_earlier_one(embedded_db: str) -> None:
    waiting = Job("c", "77_[4-9]", "PENDING", submit_s=START_S - 60.0)
    started = Job("c", "77_4", "RUNNING", submit_s=START_S - 60.0, start_s=START_S)
    other = Job("c", "77_[10-12]", "PENDING", submit_s=START_S - 60.0)
    counted = []
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        for jobs in ([waiting], [started], [other, started]):
            imports.count_jobs_from_here(conn)
            store.upsert_jobs(conn, jobs)
            imports.count_jobs(conn, {(job.cluster, job.job_id, job.restart) for job in jobs})
            counted.append(imports.jobs_counted(conn).jobs)
    assert counted == [1, 1, 2]


@pytest.mark.shared
def test_each_public_case_is_a_test(shared: Path) -> None:
    texts = "".join(file.read_text() for file in Path(__file__).parents[1].rglob("*.py"))
    missing = [case.name for case in (shared / "cases").iterdir() if f"cases/{case.name}" not in texts]
    assert [name for name in missing if f'"{name}"' not in texts] == []
