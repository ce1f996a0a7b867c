"""Invariants of backfill for any submissions: no node is used twice, no node-hour is lost, and the reserved job is never delayed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_research.advice_value.backfill import Backfill, Waiting

NODES = 16
JOBS = st.lists(
    st.tuples(
        st.integers(1, NODES),  # nodes
        st.integers(1, 20),  # limit
        st.floats(0.1, 1.0),  # share of the limit that the job takes
        st.integers(0, 30),  # submitted
        st.integers(0, 5),  # may begin so long after
    ),
    min_size=1,
    max_size=20,
)


def lowest(job, free):
    return free[: job.nodes]


@settings(max_examples=60, deadline=None)
@given(JOBS)
def test_no_node_twice_nothing_lost_and_the_reserved_job_is_not_delayed(drawn):
    machine = Backfill(NODES)
    waiting = {
        number: Waiting(number, n, limit, at, at + later) for number, (n, limit, _, at, later) in enumerate(drawn)
    }
    lasts = {number: limit * share for number, (_, limit, share, _, _) in enumerate(drawn)}
    started: dict[int, tuple[float, np.ndarray]] = {}
    ends: dict[int, float] = {}
    promised: tuple[int, float] | None = None
    for tick in range(3000):
        now = tick / 2
        for number in [number for number, at in ends.items() if at <= now]:
            machine.end(number)
            del ends[number]
        for job in [one for one in waiting.values() if one.submit_s <= now]:
            machine.submit(waiting.pop(job.job))
        order = machine.ordered(now)
        begun = machine.start_ready(now, lowest)
        for one in begun:
            held = [nodes for other, (_, nodes) in started.items() if other in ends]
            assert not set(one.nodes) & set(np.concatenate([*held, np.zeros(0, int)]).tolist())
            assert len(one.nodes) == drawn[one.job][0]
            started[one.job] = now, one.nodes
            ends[one.job] = now + lasts[one.job]
        assert machine.free_nodes == NODES - sum(len(one.nodes) for one in machine.running.values())
        # The first that could not start has its reservation; only a job of higher priority may push it back.
        left = [job for job in order if job.job not in started]
        if left and left[0].nodes > machine.free_nodes:
            at = machine.reservation(left[0].nodes, now).start_s
            places = [job.job for job in order]
            overtaken = any(places.index(one.job) < places.index(left[0].job) for one in begun)
            if promised is not None and promised[0] == left[0].job and not overtaken:
                assert at <= promised[1] + 1e-9
            promised = left[0].job, at
        else:
            promised = None
        if not waiting and not machine.queue and not ends:
            break
    assert len(started) == len(drawn)
    asked = sum(n * lasts[number] for number, (n, *_) in enumerate(drawn))
    used = sum(len(nodes) * lasts[number] for number, (_, nodes) in started.items())
    assert used == pytest.approx(asked)


def test_the_pass_itself_does_not_move_the_reservation():
    rng = np.random.default_rng(0)
    moved = 0
    for _ in range(300):
        machine = Backfill(NODES)
        for number in range(3):
            machine.submit(Waiting(number, int(rng.integers(1, 6)), float(rng.integers(1, 30)), 0))
        machine.start_ready(0.0, lowest)
        head = Waiting(10, int(rng.integers(machine.free_nodes + 1, NODES + 1)), 5.0, 0.5)
        machine.submit(head)
        before = machine.reservation(head.nodes, 1.0).start_s
        for number in range(11, 18):
            machine.submit(Waiting(number, int(rng.integers(1, 4)), float(rng.integers(1, 40)), 1e6))
        moved += len(machine.start_ready(1.0, lowest))
        assert machine.reservation(head.nodes, 1.0).start_s == before
    assert moved > 100, "nothing was backfilled: the test asks nothing"


def test_a_short_job_goes_before_a_large_one_and_a_long_one_does_not():
    machine = Backfill(4)
    machine.submit(Waiting(0, 3, 10.0, 0.0))
    assert [one.job for one in machine.start_ready(0.0, lowest)] == [0]
    machine.submit(Waiting(1, 4, 10.0, 1.0))
    machine.submit(Waiting(2, 1, 100.0, 2.0))
    assert machine.start_ready(2.0, lowest) == []
    machine.submit(Waiting(3, 1, 8.0, 2.0))
    assert [one.job for one in machine.start_ready(2.0, lowest)] == [3]


def test_priority_grows_with_age_and_size():
    machine = Backfill(100)
    old, young, large = Waiting(0, 10, 1, 0.0), Waiting(1, 10, 1, 80_000.0), Waiting(2, 90, 1, 80_000.0)
    machine.queue += [young, old, large]
    assert [job.job for job in machine.ordered(86_400.0)] == [2, 0, 1]


def test_a_job_that_is_to_wait_is_passed_over_and_keeps_its_place():
    machine = Backfill(4)
    machine.submit(Waiting(0, 2, 10.0, 0.0))
    machine.submit(Waiting(1, 2, 10.0, 1.0))

    def not_the_first(job, free):
        if job.job == 0 and not job.begin_s:
            job.begin_s = 50.0
            return None
        return lowest(job, free)

    assert [one.job for one in machine.start_ready(1.0, not_the_first)] == [1]
    assert machine.start_ready(49.0, not_the_first) == []
    assert [one.job for one in machine.start_ready(50.0, not_the_first)] == [0]


def test_nodes_that_are_taken_are_refused():
    machine = Backfill(4)
    machine.submit(Waiting(0, 2, 10.0, 0.0))
    machine.start_ready(0.0, lowest)
    machine.submit(Waiting(1, 2, 10.0, 0.0))
    with pytest.raises(ValueError, match="cannot have these nodes"):
        machine.start_ready(0.0, lambda job, free: np.array([0, 1]))
    with pytest.raises(ValueError, match="asks for 5 nodes of 4"):
        machine.submit(Waiting(2, 5, 10.0, 0.0))
