"""Numbers as `int` and `float` take them and no source writes them, at every door: the record is refused with its place and reason, and the rest is read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.ethernet import PORTS
from support.scheduler_logs import ENDED, record

from flitwatch_domain import hostlist
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers import ibnetdiscover, ufm
from flitwatch_ingest.exporters import otlp
from flitwatch_ingest.exporters.limits import Refused
from flitwatch_ingest.exporters.pages import BadPage, samples_of
from flitwatch_ingest.sources import flux, ldms_csv, pbs, perfquery, sacct_fields, sacct_json, sacct_text, swf
from flitwatch_ingest.sources.ethernet import Reading
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_routing import patterns
from flitwatch_routing.reconstruction.files import read_counters

UTC = ZoneInfo("UTC")
ODD = ("1_000", "١٢٣", "1２3", "²")
PORT = f"Ethernet{PORTS[0]}"


@pytest.mark.parametrize("odd", ODD)
def test_counters_of_a_switch(odd: str) -> None:
    reading = Reading(1.0)
    for name, value in (("out-octets", odd), ("in-octets", "7"), ("out-pkts", 8)):
        reading.add(PORT, name, value)
    assert reading.ports == {PORT: {"in-octets": 7, "out-pkts": 8}} and reading.bad == {"out-octets": odd}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "column", ["JobID", "State", "ExitCode", "Submit", "Start", "NNodes", "NodeList", "Elapsed", "NCPUS"]
)
def test_sacct(odd: str, column: str) -> None:
    columns = ["JobID", "JobName", "State", "ExitCode", "Submit", "Start", "NNodes", "NodeList", "Elapsed", "NCPUS"]
    good = dict(
        zip(
            columns,
            ["7", "x", "COMPLETED", "0:0", "1769900000", "1769900100", "2", "n[1-2]", "00:10", "4"],
            strict=True,
        )
    )
    # A row of digits, in each column's own form.
    forms = {"ExitCode": f"{odd}:0", "NodeList": f"n[{odd}-2]", "Elapsed": f"{odd}:10", "Submit": f"{odd}9900000"}
    forms |= {"Start": f"2026-01-{odd}T00:00:00", "State": f"CANCELLED{odd}"}
    lines = ["|".join(columns), "|".join((good | {column: forms.get(column, odd)}).values()), "|".join(good.values())]
    found = list(sacct_text.read_text_jobs([f"{line}\n".encode() for line in lines], "jobs.txt", UTC, "c"))
    bad = [one for one in found if isinstance(one, Rejection)]
    if column == "JobID" and odd == "1_000":  # the last task of an array
        return
    if column == "Elapsed":  # nothing is kept of it: it chooses between two readings of a time
        assert bad == [] and sacct_fields.elapsed_s(forms[column]) is None
        return
    assert [one.where for one in bad] == ["jobs.txt:2"] and column.lower() in bad[0].reason
    assert [one[0].job_id for one in found if not isinstance(one, Rejection)] == ["7"]


@pytest.mark.parametrize("odd", [*ODD, "3.7", 3.7, True])
def test_sacct_in_json(odd: object) -> None:
    entry = {
        "job_id": 8,
        "state": {"current": "COMPLETED"},
        "time": {"submission": 1769900000, "start": 1769900100, "end": 1769900200},
        "array": {},
        "het": {},
    }
    body = json.dumps({"jobs": [entry | {"job_id": odd}, entry | {"array": {"job_id": odd, "task_id": 1}}, entry]})
    found, rejected = sacct_json.decode_json_jobs(body.encode(), "jobs.json", "c")
    assert [job.job_id for job, _ in found] == ["8"]
    assert [one.where for one in rejected] == ["jobs.json: jobs[0]", "jobs.json: jobs[1]"]


@pytest.mark.parametrize("odd", ODD)
def test_other_schedulers(odd: str) -> None:
    def places(reader: object, text: str) -> tuple[list[str], int]:
        found = [*reader.read(io.BytesIO(text.encode()), "f"), *reader.rest()]  # type: ignore[attr-defined]
        return [one.where for one in found if isinstance(one, Rejection)], sum(isinstance(one, tuple) for one in found)

    ended = record("E", "12.pbs01", ENDED)
    for text in (
        record("E", f"{odd}.pbs01", ENDED),
        record("E", f"12[{odd}].pbs01", ENDED),
        record("E", "12.pbs01", ENDED, at=f"02/03/{odd}6 10:00:00"),
        record("E", "12.pbs01", ENDED.replace("Exit_status=0", f"Exit_status={odd}")),
        record("E", "12.pbs01", ENDED.replace("run_count=1", f"run_count={odd}")),
        record("E", "12.pbs01", ENDED.replace("end=1770113600", f"end={odd}0113600")),
    ):
        assert places(pbs.PbsReader(UTC), ended + text + ended) == (["f:2"], 2), text
    line = "1 0 5 60 4 -1 -1 4 60 -1 1 7 1 1 1 1 -1 -1"
    log = "; UnixStartTime: 1769900000\n" + "".join(f"{one}\n" for one in (line.replace("60", odd, 1), line))
    assert places(swf.SwfReader(), log) == (["f:2"], 1)
    entries = [{"id": one, "state": "SCHED", "t_submit": 1769900000.0} for one in (odd, 5)]
    rejected, jobs = places(flux.FluxReader(), json.dumps({"jobs": entries}))
    assert len(rejected) == 1 and jobs == 1


@pytest.mark.parametrize("odd", ODD)
def test_pages_of_exporters(odd: str) -> None:
    def page(text: str, maps: bool = True) -> list[float]:
        return [one.value for one in samples_of(text.encode(), "i", 1, lambda name: maps)]

    for text in (f'a{{l="1_0٣"}} {odd}\n', f"a {odd}\n", f"a 5 {odd}\n", f"port_guid,c\n0x1,{odd}\n"):
        with pytest.raises(BadPage, match="not a number"):
            page(text)
    assert page('# HELP a 1_000\na{l="1_0٣}"} 5\nb_1 6 7\n') == [5, 6]
    assert page("port_guid,c\n0x1,5\n") == [5]
    # A column that nobody maps may hold anything, and words are no numbers at all.
    assert page(f"port_guid,c\n0x1,{odd}\n", maps=False) == [] and page("port_guid,c\n0x1,Active\n") == []


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["asInt", "asDouble", "timeUnixNano"])
def test_otlp_in_json(odd: str, name: str) -> None:
    def body(value: str) -> bytes:
        point = {"asInt": "5", "timeUnixNano": "1769900000000000000"} | {name: value}
        if name == "asDouble":
            del point["asInt"]
        total = {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point]}
        return json.dumps(
            {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a", "sum": total}]}]}]}
        ).encode()

    with pytest.raises(Refused):
        otlp.decode_export(otlp.JSON, body(odd))
    assert len(otlp.decode_export(otlp.JSON, body("6")).samples) == 1


@pytest.mark.parametrize("odd", ODD)
def test_topologies(odd: str, tmp_path: Path) -> None:
    assert ufm._whole_or_zero(odd, 10_000) == 0 and ufm._whole_or_zero("12", 64) == ufm._whole_or_zero(12, 64) == 12
    with pytest.raises(BadInput):
        hostlist.expand_hosts(f"n[{odd}]")
    switches = [
        'Switch 4 "S-0000000000000001"  # "a" x lid 1 lmc 0',
        'Switch 4 "S-0000000000000002"  # "b" x lid 2 lmc 0',
    ]
    cables = '[1] "S-0000000000000002"[1]  # "b" lid 2 4xHDR', f'[{odd}] "S-0000000000000002"[2]  # "b" lid 2 4xHDR'
    text = "\n".join([switches[0], *cables, "", switches[1], '[1] "S-0000000000000001"[1]  # "a" lid 1 4xHDR', ""])
    fabric = ibnetdiscover.parse_fabric(text, "f", "f")
    assert len(fabric.links) == 2 and "f:3: skipped" in fabric.warnings[0]


@pytest.mark.parametrize("odd", ODD)
def test_perfquery(odd: str) -> None:
    text = f"# Port counters: Lid 1 port 1 (CapMask: 0x1000)\nPortXmitData:....{odd}\nPortRcvData:....7\n"
    assert perfquery.parse_ports(text) == {1: {"PortRcvData": 7}}
    assert perfquery.parse_ports(text.replace("0x1000", "0xZZ"))[1]["PortRcvData"] == 7


@pytest.mark.parametrize("odd", ODD)
def test_matrices_and_counters_of_ports(odd: str, tmp_path: Path) -> None:
    from flitwatch_domain.generators import build_xgft

    file = tmp_path / "t.csv"
    file.write_text(f"src,dst,bytes\n0,1,5\n1,0,{odd}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"t\.csv:3"):
        patterns.read_csv(file, 4)
    fabric = build_xgft(1, [2], [1])
    file.write_text(f"switch,port,vl,bytes\ns,0,0,{odd}\n", encoding="utf-8")
    with pytest.raises(BadInput):
        read_counters(file, fabric, 1)


def test_ldms_keeps_what_is_no_number_as_the_text_it_is() -> None:
    decoder = ldms_csv.Decoder("f")
    head = b"#Time,Time_usec,ProducerName,component_id,job_id,a\n"
    assert decoder.line(head, 1) is None
    found = [decoder.line(f"1769900000.000001,1,n,{one},0,5\n".encode(), 2) for one in (*ODD, "7")]
    assert all(isinstance(one, Rejection) and "component_id" in one.reason for one in found[:-1])
    assert json.loads(found[-1])["component_id"] == 7
