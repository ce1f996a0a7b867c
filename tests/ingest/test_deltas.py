"""Cumulative counters into additive sums: the noise core's engine against an account in plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ingest.deltas import METRICS, SECOND_US, Bench, Sample, expected

from flitwatch_core.codec import Code

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


def test_samples_from_before_a_reset_that_arrive_after_it_are_no_clock_set_back() -> None:
    bench = Bench()
    bench.give([s.json() for s in after_reset_first().samples])
    bench.feed.give_up_held()
    seconds, _, gaps = bench.settle().plain()
    begin = START_S * SECOND_US
    assert gaps == {(begin + 9_000_000, begin + 9_900_000, "reset", None)}
    assert [s - START_S for s in sorted(seconds)] == list(range(11))
    assert seconds[START_S + 10]["rt_flits"] == 3


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
