"""Hard variants plant exactly their documented effects."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_research.campaign import (
    COUNTER_NAMES,
    VARIANTS,
    Campaign,
    CampaignTruth,
    demand,
    find_variant,
    split_scenario,
)
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.dataset import write_campaign, write_truth
from flitwatch_research.campaign.simulate import drop_samples
from flitwatch_research.campaign.variants import Demand, Era, Variant
from flitwatch_twin.applications import find_application
from flitwatch_twin.calendar import DAY_S, WEEK_S
from flitwatch_twin.machine import Machine
from flitwatch_twin.scheduler import Placement, Request, Scheduler
from flitwatch_twin.users import MECHANISMS, Population, Role, Users, draw_users

DAYS, USERS = 120, 60
Drawn = tuple[Users, tuple[Role, ...], list[Request]]


@pytest.fixture
def drawn() -> Drawn:
    """Users, their roles, and forty jobs of each at any time, besides an instrumented run a day."""
    users, roles = draw_users(np.random.default_rng(1), Population(count=USERS))
    rng = np.random.default_rng(2)
    requests = [
        Request(user, int(users.nodes[user]), 3600.0, float(at))
        for user in range(USERS)
        for at in rng.uniform(0, DAYS * DAY_S, 40)
    ]
    return (
        users,
        roles,
        requests + [Request(USERS, 128, 600.0, day * DAY_S + 5.0, "amg-128", urgent=True) for day in range(DAYS)],
    )


def _dated(submissions: Demand, drawn: Drawn) -> list[Request]:
    _, roles, requests = drawn
    by_day = demand.day_demand(submissions, np.random.default_rng(3), DAYS)
    return demand.move_requests(submissions, np.random.default_rng(4), requests, roles, by_day)


def _times(requests: list[Request], user: int) -> np.ndarray:
    return np.sort([request.submit_s for request in requests if request.user == user])


def test_without_demand_nothing_moves(drawn: Drawn) -> None:
    assert _dated(Demand(), drawn) == drawn[2]
    assert (demand.background_by_day(Demand(), np.ones(DAYS)) == 1).all()


def test_users_of_windows_keep_their_jobs_and_hours_but_come_for_eight_weeks_at_most(drawn: Drawn) -> None:
    moved = _dated(Demand(windows=0.5), drawn)
    spans = np.array([np.ptp(_times(moved, user)) for user in range(USERS)]) / WEEK_S
    assert 0.25 <= (spans <= 8).mean() <= 0.75 and (spans > 12).any()
    for user in range(USERS):
        before, after = _times(drawn[2], user), _times(moved, user)
        assert np.allclose(np.sort(before % WEEK_S), np.sort(after % WEEK_S))
    assert np.array_equal(_times(moved, USERS), _times(drawn[2], USERS)), "instrumented runs were moved"


def test_partners_come_when_their_aggressors_do(drawn: Drawn) -> None:
    roles, moved = drawn[1], _dated(Demand(paired=True), drawn)
    aggressors = [user for user, role in enumerate(roles) if role in MECHANISMS]
    innocents = [user for user, role in enumerate(roles) if role is Role.INNOCENT]
    for aggressor, partner in zip(aggressors, innocents, strict=True):
        leaders, followers = _times(moved, aggressor), _times(moved, partner)
        late = followers - leaders[np.searchsorted(leaders, followers, side="right") - 1]
        assert (late <= demand.WITHIN_S).all() and 0.6 * len(leaders) < len(followers) <= len(leaders)


def test_on_busy_days_more_is_submitted_and_the_background_is_higher(drawn: Drawn) -> None:
    submissions = Demand(busy_days=0.5)
    by_day = demand.day_demand(submissions, np.random.default_rng(3), DAYS)
    moved = [request for request in _dated(submissions, drawn) if not request.urgent]
    submitted = np.bincount([int(request.submit_s // DAY_S) for request in moved], minlength=DAYS)
    assert np.corrcoef(submitted, demand.background_by_day(submissions, by_day))[0, 1] > 0.7
    assert by_day.mean() == pytest.approx(1) and by_day.std() > 0.3


def test_graded_strengths_reach_from_weak_to_strong_without_a_gap() -> None:
    users, roles = draw_users(np.random.default_rng(1), Population(count=200))
    graded, now = demand.grade_strengths(np.random.default_rng(2), users, roles)
    many = [user for user, role in enumerate(now) if role in MECHANISMS]
    assert len(many) == sum(role in MECHANISMS for role in roles) + demand.WEAK_AGGRESSORS
    strength = np.sort([max(graded.rate[user], graded.io_rate[user], graded.incast_rate[user]) for user in many])
    assert strength[-1] / strength[0] > 5 and np.diff(np.log(strength)).max() < 0.8
    assert users.rate.max() > graded.rate.max() and len(users) == len(graded), "the users given were changed"


def test_placement_that_follows_load_takes_the_group_with_the_least_traffic() -> None:
    group_of_node = np.repeat(np.arange(4, dtype=np.int16), 10)
    place = np.array([3, 0, 2, 1], np.int16)
    scheduler = Scheduler(np.ones(40, bool), np.random.default_rng(0), preference=lambda: place[group_of_node])
    scheduler.submit(Request(0, 15, 60.0, 0.0, placement=Placement.PREFERRED))
    (started,) = scheduler.start_ready(0.0)
    assert sorted(group_of_node[started.nodes].tolist()) == [1] * 10 + [3] * 5


def test_traffic_is_that_of_running_jobs() -> None:
    machine = Machine(
        np.array([0, 0, 1, 1], np.int32),
        np.arange(4, dtype=np.int32),
        *(np.zeros(0, np.int32),) * 2,
        2,
        1,
        1,
        np.array([0, 1], np.int32),
        *(np.zeros(2, np.int32),) * 2,
    )
    traffic = demand.Traffic(machine, np.array([10.0, 0.0]))
    scheduler = Scheduler(np.ones(4, bool), np.random.default_rng(0))
    scheduler.submit(Request(0, 2, 60.0, 0.0, placement=Placement.LOWEST))
    (started,) = scheduler.start_ready(0.0)
    traffic.started(started)
    assert traffic.order().tolist() == [1, 0]
    traffic.ended(started)
    assert traffic.order().tolist() == [0, 1]


def test_an_era_changes_pace_and_counters_once_and_a_plain_one_never() -> None:
    era = Era.draw(VARIANTS["drift"], np.random.default_rng(5), 100.0, 13)
    assert 25 <= era.upgrade_s <= 75 and era.pace_at(0) == 1 and abs(np.log(era.pace_at(100))) == pytest.approx(0.15)
    assert np.std(np.log(era.gain_at(100.0))) > 0.1 and era.gain_at(0) == 1
    plain = Era.draw(VARIANTS["plain"], np.random.default_rng(5), 100.0, 13)
    assert plain.pace_at(100) == 1 and (plain.gain_at(100) == 1).all()


def test_lost_readings_are_about_as_many_as_was_said_and_come_in_stretches() -> None:
    counters, io, rest = np.ones((200, 20, 13)), np.ones((200, 20, 4)), np.ones((200, 20, 4))
    drop_samples(np.random.default_rng(0), 0.2, counters, io, rest)
    gone = np.isnan(counters)
    assert 0.15 < gone.mean() < 0.35
    whole_steps = gone.all(axis=2)
    follows = whole_steps[:, 1:][whole_steps[:, :-1]].mean()
    assert follows > 3 * whole_steps.mean(), "losses are not in stretches"
    assert gone[:20].all(axis=(0, 1)).sum() == 2 and not gone[-20:].all(axis=(0, 1)).any()


def test_the_packet_engines_law_has_two_to_four_causes_and_is_no_plain_queue() -> None:
    app, load = find_application("amg-128"), np.linspace(0.1, 1.2, 12)
    plain = Cause.of(app, VARIANTS["plain"], np.random.default_rng(0))
    assert not plain.sensitivity[4:].any() and not plain.own(np.random.default_rng(0), 9).any()
    counts = set()
    for seed in range(30):
        cause = Cause.of(app, VARIANTS["law"], np.random.default_rng(seed))
        ratio = cause.waiting(load) / plain.waiting(load)
        assert ratio.max() / ratio.min() > 2, "the same law in other units"
        counts.add(int((cause.sensitivity[[0, 1]] > 1).sum() + (cause.sensitivity[4:] > 0).sum()))
    assert counts == {2, 3, 4}


def test_variants_go_from_easy_to_hard_and_every_hard_one_differs_from_the_plain() -> None:
    grades = [variant.grade for variant in VARIANTS.values()]
    assert grades == sorted(grades) and grades[0] == 0
    plain = Variant(0, "")
    for name, variant in VARIANTS.items():
        changed = [
            field
            for field in Variant.__dataclass_fields__
            if field not in ("grade", "summary") and getattr(variant, field) != getattr(plain, field)
        ]
        assert bool(changed) == (name != "plain"), name
    assert split_scenario("amg-128@drift") == ("amg-128", "drift") and split_scenario("amg-128") == ("amg-128", "plain")
    with pytest.raises(BadRequest, match="everything"):
        find_variant("amg-128@mars")


def test_a_campaign_as_files_holds_its_truth_in_one_of_its_own(tmp_path: Path) -> None:
    counters = np.full((2, 3, 13), 5.0)
    counters[1, 2, 4] = np.nan
    campaign = Campaign(
        "amg-128@drift", 1, "amg-128", "amg", 128, ("a", "b"), np.array([10, 20]), np.ones((2, 3)), counters, np.ones((2, 2)),
        np.ones((2, 3, 4)), np.ones((2, 3, 4)), ("u1", "bench"), np.zeros((2, 2)), np.array([[0.0, 2.5], [1.5, 0]]), np.ones((2, 3)), np.ones(2),
    )  # fmt: skip
    truth = CampaignTruth(
        "amg-128@drift",
        1,
        ("io", "owner"),
        np.zeros((2, 2)),
        np.zeros((2, 2)),
        np.array([0.4, 0]),
        np.array([1, 1]),
        ("grey", "null"),
        np.full(6, 1 / 6),
        "RT_RB_STL",
        ("RT_RB_STL",),
        np.zeros(2),
    )
    write_campaign(tmp_path, campaign)
    write_truth(tmp_path, truth, campaign.user_names)
    tables = {name: list(csv.DictReader((tmp_path / f"{name}.csv").open())) for name in ("runs", "exposure", "steps")}
    assert tables["runs"][1] == {"run": "b", "start": "20", "time_s": "3", "nodes": "128"}
    assert tables["exposure"] == [
        {"run": "a", "user": "bench", "amount": "2.5"},
        {"run": "b", "user": "u1", "amount": "1.5"},
    ]
    assert tables["steps"][5][COUNTER_NAMES[4]] == "" and len(tables["steps"]) == 6
    stored = json.loads((tmp_path / "truth.json").read_text())
    assert (
        stored["simulated"] and stored["users"][0]["effect_sd"] == 0.4 and stored["planted_counters"] == ["RT_RB_STL"]
    )
    assert not any("role" in (tmp_path / f"{name}.csv").read_text() for name in tables)
