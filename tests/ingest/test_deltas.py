"""Conversion of cumulative counters to additive sums: the noise core's engine against a plain-Python implementation."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ingest.deltas import METRICS, SECOND_US, Bench, Sample, expected
from support.ethernet import PORTS
from support.scheduler_logs import ENDED, record

from flitwatch_core.codec import Code
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

START_S = 1_795_000_000

WIDTH = len(METRICS)


def nonzero(seconds: dict, ports: dict) -> tuple[dict, dict]:
    """Without zeros: taking back leaves a zero where a single booking leaves nothing."""
    return (
        {k: {c: v for c, v in row.items() if v} for k, row in seconds.items() if row["samples"]},
        {k: {c: v for c, v in row.items() if v} for k, row in ports.items() if any(row.values())},
    )


def check(bench: Bench, samples: list[Sample]) -> None:
    seconds, ports, gaps = bench.settle().plain()
    wanted_seconds, wanted_ports, wanted_gaps = expected(samples).plain()
    assert nonzero(seconds, ports) == nonzero(wanted_seconds, wanted_ports)
    assert gaps == wanted_gaps


@st.composite
def timelines(draw: st.DrawFn, most: int = 14) -> list[Sample]:
    """Samples of an instance: steady seconds, pauses, wraps, resets and jumps, some counters idle."""
    values = [draw(st.sampled_from([0, 10**9, 2**53 + 1, 2**63 - 5, 2**64 - 3])) + 10**6 for _ in range(WIDTH)]
    values = [v % 2**64 for v in values]
    time_us = START_S * SECOND_US + draw(st.integers(0, SECOND_US - 1))
    out = []
    for _ in range(draw(st.integers(1, most))):
        out.append(Sample(time_us, tuple(values)))
        event = draw(st.sampled_from(["step", "step", "step", "step", "pause", "reset", "idle", "jump"]))
        time_us += SECOND_US * draw(st.integers(6, 400)) if event == "pause" else draw(st.integers(900_000, 1_100_000))
        if event == "reset":
            values = [draw(st.integers(0, 999)) for _ in range(WIDTH)]
        elif event == "jump":
            values = [(v + draw(st.integers(2**45, 2**51))) % 2**64 for v in values]
        elif event != "idle":
            values = [(v + draw(st.integers(1, 10**4))) % 2**64 for v in values]
    return out


@dataclass(frozen=True)
class Arrivals:
    """Samples in the order in which they arrive; the sums of the first `cut` are taken before the others arrive."""

    samples: tuple[Sample, ...]
    signed: tuple[bool, ...]
    cut: int


@st.composite
def arrivals(draw: st.DrawFn) -> Arrivals:
    """A shuffled timeline with repeats."""
    samples = draw(timelines())
    random = draw(st.randoms(use_true_random=False))
    arrival = list(samples)
    random.shuffle(arrival)
    for sample in draw(st.lists(st.sampled_from(samples), max_size=4)):
        arrival.insert(random.randrange(arrival.index(sample) + 1, len(arrival) + 1), sample)
    signed = tuple(random.random() < 0.5 for _ in arrival)
    return Arrivals(tuple(arrival), signed, random.randrange(len(arrival) + 1))


def after_reset_first() -> Arrivals:
    """The counters reset between 9.0 s and 9.9 s; the first sample after the reset arrives before most of the older ones."""
    counts = [*(10**6 + i for i in range(10)), 10**6 + 2**45 + 9, 0, 1]
    line = [Sample(START_S * SECOND_US + 900_000 * i, (count,) * WIDTH) for i, count in enumerate(counts)]
    order = (11, 1, 2, 10, 4, 5, 6, 7, 8, 9, 3, 0, 12)
    return Arrivals(tuple(line[i] for i in order), (False,) * len(order), 0)


@pytest.mark.system("processes")
@settings(max_examples=300, deadline=None)
@given(arrivals())
@example(after_reset_first())
def test_any_order_of_arrival_ends_in_the_same_sums(arrived: Arrivals) -> None:
    bench = Bench()
    records = [sample.json(signed=signed) for sample, signed in zip(arrived.samples, arrived.signed, strict=True)]
    bench.give(records[: arrived.cut])
    bench.settle()
    bench.give(records[arrived.cut :])
    bench.feed.give_up_held()
    assert bench.feed.take_letters() == [] and bench.letters == [] and bench.refused == []
    check(bench, list(arrived.samples))


@pytest.mark.shared
def test_the_case_of_late_samples_is_the_example(shared: Path) -> None:
    lines = (shared / "cases/reset-then-late-samples/arrivals.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [json.loads(sample.json()) for sample in after_reset_first().samples]


def test_samples_from_before_a_reset_that_arrive_after_it_are_no_clock_set_back() -> None:
    bench = Bench()
    bench.give([s.json() for s in after_reset_first().samples])
    bench.feed.give_up_held()
    seconds, _, gaps = bench.settle().plain()
    begin = START_S * SECOND_US
    assert gaps == {(begin + 9_000_000, begin + 9_900_000, "reset", None)}
    assert [s - START_S for s in sorted(seconds)] == list(range(11))
    assert seconds[START_S + 10]["rt_flits"] == 3


@pytest.mark.system("processes")
@settings(max_examples=60, deadline=None)
@given(timelines(most=60), st.randoms(use_true_random=False))
def test_local_disorder_in_a_long_feed(samples: list[Sample], random) -> None:
    """Samples displaced by less than the sixteen that are kept."""
    keyed = sorted(range(len(samples)), key=lambda i: i + random.uniform(0, 8))
    bench = Bench()
    bench.give([samples[i].json() for i in keyed])
    bench.feed.give_up_held()
    assert bench.feed.take_letters() == [] and bench.refused == []
    check(bench, samples)


@pytest.mark.system("processes")
@settings(max_examples=60, deadline=None)
@given(timelines(most=40), st.randoms(use_true_random=False), st.data())
def test_replay_rebuilds_what_was_in_memory(samples: list[Sample], random, data: st.DataObject) -> None:
    """A writer that is killed and reads [replay_from, position) again silently ends where it would have."""
    keyed = sorted(range(len(samples)), key=lambda i: i + random.uniform(0, 5))
    records = [samples[i].json() for i in keyed]
    cut = data.draw(st.integers(0, len(records)))
    before = Bench()
    before.give(records[:cut])
    seconds = before.ledger.take_routers()
    closed = data.draw(st.integers(START_S - 20, START_S + 60)) // 10 * 10
    before.ledger.ports_closed_s = closed
    before.feed.ports_closed(closed)
    ports = before.ledger.take_ports(1, closed)
    gaps = before.feed.take_gaps()
    begin = before.feed.replay_from(0, cut)

    after = Bench()
    after.offset = begin
    after.ledger.ports_closed_s = closed
    after.feed.replay(True, closed)
    after.give(records[begin:cut], replaying=True)
    after.feed.replay(False)
    assert after.ledger.take_routers()[0].size == 0 and after.feed.take_gaps()[0].size == 0
    after.give(records[cut:])
    after.feed.give_up_held()
    assert after.feed.take_letters() == []
    # The killed writer's committed rows and the new one's together.
    whole = _Joined(after, seconds, ports, gaps)
    check(whole, samples)  # type: ignore[arg-type]


class _Joined:
    """Committed rows of a killed writer before those of its successor."""

    def __init__(self, after: Bench, seconds: tuple, ports: tuple, gaps: tuple) -> None:
        self._bench, self._rows = after, (seconds, ports, gaps)

    def settle(self):
        seconds, ports, gaps = self._rows
        bench = self._bench
        ledger, feed = bench.ledger, bench.feed
        later = (ledger.take_routers(), ledger.take_ports(1, 2**40), feed.take_gaps())

        class Given:
            take_routers = staticmethod(lambda: _concatenated(seconds, later[0]))
            take_ports = staticmethod(lambda *_: _concatenated(ports, later[1]))
            take_gaps = staticmethod(lambda: _concatenated(gaps, later[2]))

        bench.ledger = bench.feed = Given()  # type: ignore[assignment]
        return bench.settle()


def _concatenated(a: tuple, b: tuple) -> tuple:
    return tuple(np.concatenate([x, y]) for x, y in zip(a, b, strict=True))


def steady(count: int, begin: int = 0, base: int = 10**12, rate: int = 1000, shift_us: int = 0) -> list[Sample]:
    """One sample a second; every counter grows by `rate`."""
    return [
        Sample((START_S + begin + i) * SECOND_US + shift_us, tuple(base + (begin + i) * rate + k for k in range(WIDTH)))
        for i in range(count)
    ]


def test_counts_are_conserved_when_the_clock_jumps_back_an_hour() -> None:
    before, after = steady(40), steady(40, begin=40, shift_us=-3600 * SECOND_US)
    bench = Bench()
    bench.give([s.json() for s in before + after])
    bench.feed.give_up_held()
    seconds, _, gaps = bench.settle().plain()
    assert bench.letters == [] and bench.feed.take_letters() == [] and bench.refused == []
    assert [reason for *_, reason, _ in gaps] == ["clock_back"]
    flits = sum(row["rt_flits"] for row in seconds.values()) + sum(gap[3] or 0 for gap in gaps)
    assert flits == 79 * 1000 * 3
    assert sum(row["samples"] for row in seconds.values()) == 78


@pytest.mark.parametrize("back_s", [2, 5, 12])
def test_counts_are_conserved_when_the_clock_jumps_back_within_what_is_kept(back_s: int) -> None:
    before, after = steady(40), steady(40, begin=40, shift_us=-back_s * SECOND_US + 1000)
    bench = Bench()
    bench.give([s.json() for s in before + after])
    seconds, _, gaps = bench.settle().plain()
    assert bench.letters == [] and bench.refused == []
    flits = sum(row["rt_flits"] for row in seconds.values()) + sum(gap[3] or 0 for gap in gaps)
    assert flits == 79 * 1000 * 3
    assert {gap[2] for gap in gaps} == {"clock_back"}


def test_a_clock_back_by_whole_seconds_repeats_timestamps_but_loses_nothing() -> None:
    before, after = steady(40), steady(40, begin=40, shift_us=-6 * SECOND_US)
    bench = Bench()
    bench.give([s.json() for s in before + after])
    seconds, _, gaps = bench.settle().plain()
    assert bench.letters == [] and bench.refused == []
    assert sum(row["rt_flits"] for row in seconds.values()) + sum(gap[3] or 0 for gap in gaps) == 79 * 1000 * 3


def test_a_whole_feed_sent_twice_counts_once() -> None:
    feed = steady(60)
    bench = Bench()
    bench.give([s.json() for s in feed])
    bench.give([s.json() for s in feed])
    bench.feed.give_up_held()
    letters = bench.feed.take_letters()
    check(bench, feed)
    assert bench.counts["repeats"] + len(bench.refused) + len(bench.letters) + len(letters) == 60


def test_a_whole_feed_with_a_reset_sent_twice_counts_once() -> None:
    feed = steady(40) + steady(40, begin=40, base=0)
    bench = Bench()
    bench.give([s.json() for s in feed])
    bench.give([s.json() for s in feed])
    bench.feed.give_up_held()
    bench.letters += bench.feed.take_letters()
    check(bench, feed)
    assert bench.counts["repeats"] + len(bench.refused) + len(bench.letters) == 80


def test_older_than_what_is_kept_goes_to_the_dead_letters_with_its_raw_bytes() -> None:
    feed = steady(40)
    bench = Bench()
    late = feed.pop(3)
    bench.give([s.json() for s in feed] + [late.json()])
    bench.give([steady(1, begin=40)[0].json()])
    assert [refused[2] for refused in bench.refused] == [Code.LATE]
    assert bench.letters == []
    check(bench, [*feed, steady(1, begin=40)[0]])


def test_repeats_with_other_values_are_refused() -> None:
    feed = steady(5)
    other = Sample(feed[2].time_us, tuple(v - 1 for v in feed[2].values))
    bench = Bench()
    bench.give([s.json() for s in [*feed, other, feed[4]]])
    assert [refused[2] for refused in bench.refused] == [Code.CONFLICT]
    assert bench.counts["repeats"] == 1
    check(bench, feed)


def test_four_nodes_that_all_sample_their_router_count_once() -> None:
    feed = steady(20)
    bench = Bench()
    for component in range(4):
        bench.give([s.json(component) for s in feed])
    check(bench, feed)


def test_four_nodes_that_share_the_tiles_add_up() -> None:
    feed = steady(20)
    bench = Bench()
    parts = [METRICS[0:2], METRICS[2:5], METRICS[5:7]]
    for sample in feed:
        begin = 0
        for component, part in enumerate(parts):
            values = sample.values[begin : begin + len(part)]
            bench.give([Sample(sample.time_us, values).json(component, part)])
            begin += len(part)
    seconds, ports, _ = bench.settle().plain()
    wanted, wanted_ports, _ = expected(feed).plain()
    for row in (*seconds.values(), *wanted.values()):
        del row["samples"]
        row.pop("tile_us")
    assert seconds == wanted and ports == wanted_ports


def test_an_instance_that_stops_leaves_a_gap_that_ends_when_it_is_heard_again() -> None:
    bench = Bench()
    bench.give([s.json() for s in steady(20)])
    bench.feed.check_silence((START_S + 25) * SECOND_US)
    assert bench.settle().gaps == set()
    bench.feed.check_silence((START_S + 40) * SECOND_US)
    assert bench.settle().gaps == {((START_S + 19) * SECOND_US, (START_S + 40) * SECOND_US, "silence", None)}
    assert bench.feed.silent == 1
    bench.feed.check_silence((START_S + 400) * SECOND_US)
    bench.give([s.json() for s in steady(3, begin=500)])
    gaps = bench.settle().gaps
    assert gaps == {((START_S + 19) * SECOND_US, (START_S + 500) * SECOND_US, "silence", 481 * 1000 * 3)}
    assert bench.feed.silent == 0


def test_a_silence_that_a_killed_writer_noted_ends_when_its_successor_hears_the_instance() -> None:
    first = Bench()
    records = [s.json() for s in steady(20)]
    first.give(records)
    first.feed.check_silence((START_S + 40) * SECOND_US)
    noted = first.feed.take_gaps()
    after = Bench()
    after.feed.replay(True, -1)
    after.give(records, replaying=True)
    after.feed.replay(False)
    assert after.feed.take_gaps()[0].size == 0
    after.give([s.json() for s in steady(21)][20:])
    instance, reason, put, begin, *_ = after.feed.take_gaps()
    assert [a.tolist() for a in (instance, reason, begin)] == [a.tolist() for a in (noted[0], noted[1], noted[3])]
    assert put.tolist() == [False]
    after.give([s.json() for s in steady(22)][21:])
    assert after.feed.take_gaps()[0].size == 0


def test_slow_samplers_are_not_silent() -> None:
    feed = [Sample((START_S + 60 * i) * SECOND_US, tuple(10**9 + 1000 * i for _ in METRICS)) for i in range(10)]
    bench = Bench()
    bench.give([s.json() for s in feed])
    assert bench.settle().gaps == set()
    check(bench, feed)


# Numbers as `int` and `float` take them and no source writes them, from every source: the record is refused with its place and reason, and the rest is read.


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
