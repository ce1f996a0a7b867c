"""Scheduler, submissions, traffic and progress of the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_research.campaign.simulate import step_end_times
from flitwatch_twin.applications import APPLICATIONS, combine_stalls, find_application, saturate_slowdown
from flitwatch_twin.calendar import DAY_S, WEEK_S, day_load
from flitwatch_twin.progress import Progress
from flitwatch_twin.scheduler import Placement, Request, Scheduler
from flitwatch_twin.traffic import QUIET, Bursts, Checkpoints
from flitwatch_twin.users import MECHANISMS, Population, Role, Schedule, draw_users
from flitwatch_twin.workload import CROWD, OfferedLoad, draw_submissions, schedule_weight


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 60), st.booleans(), st.sampled_from([None, *Placement])), min_size=1, max_size=60
    ),
    headroom=st.integers(0, 40),
    seed=st.integers(0, 1000),
)
def test_no_node_is_given_twice_and_none_is_lost(sizes: list, headroom: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scheduler = Scheduler(np.ones(100, bool), rng, depth=5, headroom=headroom)
    running: list = []
    for nodes, urgent, placement in sizes:
        scheduler.submit(Request(0, nodes, 10.0, 0.0, placement=placement, urgent=urgent))
        running.extend(scheduler.start_ready(0.0))
        if running and rng.random() < 0.5:
            scheduler.release(running.pop(int(rng.integers(len(running)))))
        held = np.concatenate([allocation.nodes for allocation in running]) if running else np.empty(0, int)
        assert len(np.unique(held)) == len(held) == 100 - scheduler.free_nodes
        ordinary = sum(len(a.nodes) for a in running if not a.request.urgent)
        assert ordinary <= 100 - headroom
    for allocation in running:
        assert len(allocation.nodes) == allocation.request.nodes
        assert (np.diff(allocation.nodes) > 0).all() or allocation.request.placement is not Placement.LOWEST


def test_lowest_takes_the_lowest_and_backfill_passes_over() -> None:
    scheduler = Scheduler(np.ones(10, bool), np.random.default_rng(0))
    scheduler.submit(Request(0, 6, 1, 0, placement=Placement.LOWEST))
    scheduler.submit(Request(1, 9, 1, 0))
    scheduler.submit(Request(2, 4, 1, 0))
    started = scheduler.start_ready(0.0)
    assert [a.request.user for a in started] == [0, 2] and started[0].nodes.tolist() == [0, 1, 2, 3, 4, 5]
    assert scheduler.waiting == 1


def test_load_presence_and_schedules() -> None:
    users, roles = draw_users(np.random.default_rng(1), Population(count=60))
    presence = np.full(60, np.nan)
    presence[7] = 0.3
    span = 6 * WEEK_S
    requests = draw_submissions(np.random.default_rng(2), users, presence, 12_000, 0.0, span, OfferedLoad())
    times = np.array([r.submit_s for r in requests])
    assert (np.diff(times) >= 0).all() and times.min() >= 0 and times.max() < span
    work = sum(r.nodes * r.duration_s for r in requests) / (12_000 * span)
    assert 0.5 < work < 1.0
    small = sum(r.nodes * r.duration_s for r in requests if r.user == CROWD) / (12_000 * span)
    assert small == pytest.approx(0.3, abs=0.08)
    expected = -np.log1p(-0.3) * span / users.duration_s[7]
    assert sum(r.user == 7 for r in requests) == pytest.approx(expected, rel=0.5)
    assert len(roles) == 60


def test_schedules_differ_by_day_and_night() -> None:
    hours = np.arange(0, WEEK_S, 3600.0) + 1800
    day = (hours % DAY_S // 3600 >= 9) & (hours % DAY_S // 3600 < 17) & (hours < 5 * DAY_S)
    working = schedule_weight(Schedule.WORKING_HOURS, hours)
    nights = schedule_weight(Schedule.NIGHTS, hours)
    weekends = schedule_weight(Schedule.WEEKENDS, hours)
    assert working[day].mean() > 8 * working[~day].mean()
    assert nights[day].mean() < nights[~day].mean()
    assert weekends[hours >= 5 * DAY_S].mean() > 5 * weekends[hours < 5 * DAY_S].mean()
    assert day_load(hours).max() <= 1 and day_load(hours).min() >= 0.6


def test_planted_users() -> None:
    users, roles = draw_users(np.random.default_rng(3), Population(count=300))
    assert [sum(role is mechanism for role in roles) for mechanism in MECHANISMS] == [4, 3, 3]
    assert sum(role is Role.INNOCENT for role in roles) == 10
    index = {role: [k for k, r in enumerate(roles) if r is role] for role in Role}
    assert users.rate[index[Role.BANDWIDTH]].min() > 5 * np.median(users.rate)
    assert (users.incast_rate > 0).sum() == 3
    assert users.io_rate[index[Role.IO]].min() > 10 * np.median(users.io_rate)


@settings(max_examples=40, deadline=None)
@given(duty=st.floats(0.2, 0.95), on=st.floats(5, 400), seed=st.integers(0, 10_000))
def test_bursts_keep_their_duty(duty: float, on: float, seed: int) -> None:
    life = 4000 * on
    bursts = Bursts.draw(np.random.default_rng(seed), duty, on, life)
    values = bursts.at(np.linspace(0, life, 50_000))
    assert set(np.unique(values)) <= {QUIET, 1.0}
    assert (values == 1.0).mean() == pytest.approx(duty, abs=0.12)


def test_checkpoints_repeat() -> None:
    writes = Checkpoints(100.0, 25.0, 0.0).at(np.arange(0, 1000.0))
    assert writes.mean() == pytest.approx(0.25) and writes[:25].all() and not writes[25:100].any()


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(APPLICATIONS)), seed=st.integers(0, 1000), f=st.floats(0, 4))
def test_progress_and_march_agree(name: str, seed: int, f: float) -> None:
    app = find_application(name)
    progress = Progress(app, np.random.default_rng(seed))
    compute, communicate = progress._compute_s.copy(), progress._communicate_s.copy()
    steps = []
    while not progress.finished:
        done, moved = progress.advance(1.0, f)
        assert 0 <= moved <= 1
        steps += done
    expected = compute + communicate * (1 + f)
    np.testing.assert_allclose([step.time_s for step in steps], expected, rtol=1e-6)
    points = int(expected.sum() / 2) + 3
    ends = step_end_times(np.full((2, points), f), 2.0, compute, communicate)
    assert ends is not None
    np.testing.assert_allclose(np.diff(ends[1], prepend=0), expected, rtol=1e-6, atol=1e-6)
    assert step_end_times(np.full((1, 10), f), 2.0, compute, communicate) is None


def test_march_varies_with_time_like_small_steps() -> None:
    rng = np.random.default_rng(0)
    f = rng.uniform(0, 4, (3, 400))
    compute, communicate = rng.uniform(1, 3, 20), rng.uniform(2, 9, 20)
    ends = step_end_times(f, 2.0, compute, communicate)
    assert ends is not None
    for row in range(3):
        now = 0.0
        for step in range(20):
            now += compute[step]
            left = communicate[step]
            while left > 1e-9:
                place = int(now // 2.0 + 1e-12)
                span = min(2.0 * (place + 1) - now, left * (1 + f[row, place]))
                now += span
                left -= span / (1 + f[row, place])
            assert ends[row, step] == pytest.approx(now, abs=1e-5)


@settings(deadline=None)
@given(st.lists(st.floats(0, 50), min_size=1, max_size=40))
def test_felt_lies_between_mean_and_worst(stalls: list[float]) -> None:
    values = np.array(stalls)
    weight = np.full(len(values), 1 / len(values))
    assert values.mean() * (1 - 1e-9) - 1e-9 <= combine_stalls(values, weight) <= values.max() + 1e-9
    assert 0 <= saturate_slowdown(values.sum(), 4.0) <= 4.0
