"""The study of advice: what is planted is saved by who knows it, what is not there is claimed by nobody, and no served adviser sees the truth."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from flitwatch_research.advice_value.advisers import Answer, Served
from flitwatch_research.advice_value.closed_loop import Loop
from flitwatch_research.advice_value.oracle import Oracle
from flitwatch_research.advice_value.pieces import POLICIES, make_adviser, simulate_month, summarize_month
from flitwatch_research.advice_value.study import compare_policies, decide_verdict, mean_interval
from flitwatch_research.advice_value.worlds import QUIET, make_month

TICK_S = 600.0


@pytest.fixture(scope="module")
def strong():
    """Three days beside aggressors that are always there and send all they can, and nobody else."""
    month = make_month("plain", 3, 3, TICK_S)
    users = month.users
    aggressor = np.isin(np.arange(len(users)), month.aggressors)
    rate, duty = np.where(aggressor, 2.0, 0.02), np.where(aggressor, 0.95, users.duty)
    jobs = tuple(job for job in month.jobs if job.application or job.user in month.aggressors)
    return replace(month, users=replace(users, rate=rate, duty=duty), jobs=jobs)


def test_who_knows_a_strong_aggressor_saves_node_hours(strong) -> None:
    rows = [summarize_month(strong, policy, simulate_month(strong, policy)) for policy in ("none", "oracle")]
    none, oracle = (one["feeling_node_hours"] for one in rows)
    assert oracle < 0.99 * none
    assert rows[1]["preferred"] > 10


@pytest.mark.system("numeric")
def test_where_nothing_interferes_no_policy_saves_anything() -> None:
    month = make_month(QUIET, 1, 2, TICK_S)
    rows = {policy: summarize_month(month, policy, simulate_month(month, policy)) for policy in POLICIES}
    hours = [one["node_hours"] for one in rows.values()]
    assert hours == pytest.approx([hours[0]] * len(hours), rel=1e-9)
    # Three copies of a seed: the narrowest interval that there is, and still nothing is claimed.
    told = compare_policies([one for one in rows.values() for _ in range(3)])
    assert {one["verdict"] for policy, one in told.items() if policy != "none"} <= {"cannot tell", "does harm"}
    assert rows["counters"]["asked"] > 100


class Waits:
    """Delays every job for as long as it may."""

    def counted(self, *_) -> None:
        pass

    started = ended = carded = counted

    def answer(self, question, now_s) -> Answer:
        return Answer(again_s=now_s + 600.0)

    def routed(self, *_) -> None:
        return None


def test_waiting_that_saves_nothing_is_harm() -> None:
    rows = []
    for seed in (1, 2, 3):
        month = make_month(QUIET, seed, 2, TICK_S)
        told = (("none", simulate_month(month, "none")), ("all", Loop(month, Waits()).run()))
        rows += [summarize_month(month, policy, outcome) for policy, outcome in told]
        assert rows[-1]["wait_mean_s"] > rows[-2]["wait_mean_s"]
    found = compare_policies(rows)["all"]
    assert found["verdict"] == "does harm"
    assert found["node_hours_saved_share"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert found["worst_user"]["wait_change_mean_s"] > 1000


def test_every_job_runs_once_and_gives_back_its_nodes(strong) -> None:
    outcome = simulate_month(strong, "counters")
    submit = np.array([job.submit_s for job in strong.jobs])
    alone = np.array([job.alone_s for job in strong.jobs])
    assert (outcome.start_s >= submit).all()
    assert (outcome.end_s - outcome.start_s >= alone - 1e-6).all()
    nodes = np.array([job.nodes for job in strong.jobs])
    for at in np.linspace(0, strong.span_s, 200):
        assert nodes[(outcome.start_s <= at) & (outcome.end_s > at)].sum() <= strong.machine.nodes


class Tape:
    """An adviser that notes what it is told, what it is asked, and what another one answers."""

    def __init__(self, inner: Served) -> None:
        self._inner = inner
        self.calls: list[tuple[str, tuple, object]] = []

    def _pass(self, name: str, *arguments):
        answer = getattr(self._inner, name)(*arguments)
        self.calls.append((name, arguments, answer))
        return answer

    def counted(self, *arguments):
        return self._pass("counted", *arguments)

    def started(self, *arguments):
        return self._pass("started", *arguments)

    def ended(self, *arguments):
        return self._pass("ended", *arguments)

    def carded(self, *arguments):
        return self._pass("carded", *arguments)

    def answer(self, *arguments):
        return self._pass("answer", *arguments)

    def routed(self, *arguments):
        return self._pass("routed", *arguments)


@pytest.mark.system("numeric")
def test_decisions_rest_on_what_is_seen_and_a_scrambled_truth_changes_none() -> None:
    month = make_month("plain", 2, 9, TICK_S)
    tape = Tape(make_adviser(month, "all"))
    Loop(month, tape).run()
    _scramble(month)
    again = make_adviser(month, "all")
    answers = [(getattr(again, name)(*arguments), told) for name, arguments, told in tape.calls]
    assert all(one == told for one, told in answers)
    asked = [told for name, _, told in tape.calls if name == "answer"]
    assert any(told.preferred is not None for told in asked), "no advice was given: the test asks nothing"
    assert again._modes == tape._inner._modes and again._modes, "no job alternated: the test asks nothing"
    assert again._blamed == tape._inner._blamed
    assert again._drivers == tape._inner._drivers and again._drivers, "no driver was found: the test asks nothing"
    assert again._renew_basis(1e6).residents == tape._inner._renew_basis(1e6).residents


def _scramble(month) -> None:
    """Everything that is true and that no site records, in place."""
    rng = np.random.default_rng(0)
    for name in (field.name for field in fields(month.users)):
        values = getattr(month.users, name)
        if isinstance(values, np.ndarray):
            rng.shuffle(values)
    for values in (
        month.level,
        month.counted,
        month.counted_apart,
        *(cause.sensitivity for cause in month.causes.values()),
    ):
        rng.shuffle(values)


def test_the_scrambled_truth_would_have_changed_the_month() -> None:
    month = make_month("plain", 2, 2, TICK_S)
    before = simulate_month(month, "none").end_s
    _scramble(month)
    assert not np.allclose(before, simulate_month(month, "none").end_s)


def test_the_same_seed_gives_the_same_month() -> None:
    first, second = (simulate_month(make_month("everything", 4, 3, TICK_S), "all") for _ in range(2))
    assert np.array_equal(first.end_s, second.end_s) and np.array_equal(first.start_s, second.start_s)
    assert first.delayed == second.delayed and first.preferred == second.preferred


@pytest.mark.parametrize(
    "part", ["pattern", *(pytest.param(part, marks=pytest.mark.system("numeric")) for part in ("running", "drivers"))]
)
def test_each_new_part_acts_alone_once_it_knows_something(part: str) -> None:
    month = make_month("plain", 2, 9, TICK_S)
    outcome = simulate_month(month, part)
    assert outcome.asked > 300 and outcome.preferred > 0


def test_regret_is_what_the_oracle_saves_beyond(strong) -> None:
    made = []
    for policy in ("none", "counters", "oracle"):
        outcome = simulate_month(strong, policy)
        made += [{**summarize_month(strong, policy, outcome), "seed": seed} for seed in (1, 2, 3)]
    found = compare_policies(made)
    for policy in ("none", "counters", "oracle"):
        saved, best = (found[name]["node_hours_saved_share"]["mean"] for name in (policy, "oracle"))
        assert found[policy]["regret"]["mean"] == pytest.approx(best - saved)
    assert found["none"]["regret"]["mean"] > 0.005 and found["oracle"]["regret"]["mean"] == 0


def test_the_oracle_chooses_as_the_oracle_and_who_asks_nobody_does_not(strong) -> None:
    told = compare_policies(
        [summarize_month(strong, policy, simulate_month(strong, policy)) for policy in ("none", "oracle")]
    )
    none, oracle = (told[policy]["decisions"] for policy in ("none", "oracle"))
    assert none["count"] == oracle["count"] == sum(bool(job.application) for job in strong.jobs)
    assert oracle["place_as_the_oracle"]["mean"] == oracle["mode_as_the_oracle"]["mean"] == 1.0
    assert oracle["regret"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert none["place_as_the_oracle"]["mean"] < 0.9 and none["regret"]["mean"] > 0.005


def test_a_judge_changes_nothing(strong) -> None:
    judged = Loop(strong, make_adviser(strong, "served"), Oracle()).run()
    alone = Loop(strong, make_adviser(strong, "served")).run()
    assert np.array_equal(judged.start_s, alone.start_s) and np.array_equal(judged.end_s, alone.end_s)
    assert judged.choices.count > 0 and alone.choices.count == 0


def test_of_placement_and_delays_only_one_is_followed(strong) -> None:
    placement, delays = (simulate_month(strong, policy) for policy in ("placement", "delays"))
    assert placement.preferred > 0 and placement.delayed == 0
    assert delays.preferred == 0


def test_verdicts() -> None:
    def saved(*values):
        return mean_interval(np.array(values))

    calm = saved(0.0, 1.0, -1.0)
    assert decide_verdict(saved(0.02, 0.03, 0.025), calm) == "pays"
    assert decide_verdict(saved(-0.02, -0.03, -0.025), calm) == "does harm"
    assert decide_verdict(saved(0.02, -0.03, 0.0), calm) == "cannot tell"
    assert decide_verdict(saved(0.02, -0.03, 0.0), saved(600.0, 620.0, 610.0)) == "does harm"
    assert decide_verdict(saved(0.5, 0.5), saved(0.0, 0.0)) == "cannot tell", "two seeds are none"
