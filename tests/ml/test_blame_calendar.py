"""Verdicts on variants with planted truth: users who may be named, and users who may not although they correlate with slow runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml.blame import CalendarBlame, ExposureBlame, controls
from flitwatch_ml.blame.blocks import block_orders, block_p_values
from flitwatch_ml.blame.calendar import _largest_step, _trend_basis, fit_calendar, orthonormal_basis, winsorise_values
from flitwatch_ml.blame.calibration import calibrate_blame, rank_drivers
from flitwatch_ml.blame.selection import Problem, one_sided_p
from flitwatch_ml.blame.strata import hour_and_weekend
from flitwatch_research.stress import draw_case

DAY_S, WEEK_S, MONDAY_S = 86_400.0, 604_800.0, 1_767_571_200.0

SEEDS = range(300, 320)


def judged(variant: str, seeds=SEEDS):
    return [
        (drawn := draw_case(variant, seed), CalendarBlame().fit(drawn.exposure, drawn.time_s, drawn.start_s))
        for seed in seeds
    ]


def named(fitted: CalendarBlame) -> np.ndarray:
    return np.flatnonzero(np.array(fitted.verdict_) == "named")


def figures(sets) -> tuple[float, float]:
    """Mean false share among those named, and mean recall of strong users."""
    false = [np.isin(named(f), d.null).sum() / max(1, len(named(f))) for d, f in sets]
    return float(np.mean(false)), float(np.mean([np.isin(d.strong, named(f)).mean() for d, f in sets]))


@pytest.fixture(scope="module")
def unstressed():
    return judged("none")


@pytest.mark.system("numeric")
@pytest.mark.parametrize("variant", ["shift-10", "shift-20"])
def test_an_upgrade_names_no_innocents_and_hides_few_of_the_guilty(unstressed, variant: str) -> None:
    false_share, recall = figures(judged(variant))
    without, found_without = figures(unstressed)
    assert false_share <= 0.1 and without <= 0.1
    assert recall >= 0.75 * found_without > 0.5


@pytest.mark.system("numeric")
def test_eight_strong_users_are_found_although_they_hide_one_another(unstressed) -> None:
    """0.89 of them are named, as many as when whom chance selected made the others surer."""
    assert figures(unstressed)[1] >= 0.87


@pytest.mark.system("numeric")
def test_the_same_draws_deceive_a_method_without_a_calendar() -> None:
    shares = []
    for seed in SEEDS:
        drawn = draw_case("shift-20", seed)
        q = ExposureBlame().fit(drawn.exposure, drawn.time_s, hour_and_weekend(drawn.start_s)).q_value_
        found = np.flatnonzero(q <= 0.05)
        shares.append(np.isin(found, drawn.null).sum() / max(1, len(found)))
    assert np.mean(shares) > 0.2


@pytest.mark.system("numeric")
@pytest.mark.parametrize("variant", ["drift", "heavy-tails"])
def test_drift_and_wild_runs_name_no_innocents(variant: str) -> None:
    false_share, recall = figures(judged(variant))
    assert false_share <= 0.1 and recall > 0.5


@pytest.mark.system("numeric")
def test_where_nobody_slows_anybody_hardly_a_set_has_a_name() -> None:
    assert sum(len(named(fitted)) > 0 for _, fitted in judged("nobody", range(300, 312))) <= 2


def bound(fitted: CalendarBlame, one: int, other: int) -> bool:
    """Whether the two are said to come together, each of the other."""
    return all(
        fitted.verdict_[user] == "cannot tell"
        and any(f"appears together with user {{{partner}}}" in reason for reason in fitted.reasons_[user])
        for user, partner in ((one, other), (other, one))
    )


@pytest.mark.parametrize("alike", [1.0, 0.9])
def test_of_two_who_are_always_there_together_neither_is_named_and_both_get_the_reason(alike: float) -> None:
    rng, start, exposure, time_s = one_user()
    time_s = time_s + 30 * (exposure[:, 0] > 0)
    exposure[:, 1] = exposure[:, 0] * rng.uniform(alike, 1.0, len(start))
    fitted = CalendarBlame().fit(exposure, time_s, start)
    assert bound(fitted, 0, 1) and not len(named(fitted))


def test_who_comes_alone_is_not_said_to_come_with_anybody() -> None:
    _, start, exposure, time_s = one_user()
    fitted = CalendarBlame().fit(exposure, time_s + 30 * (exposure[:, 0] > 0), start)
    assert named(fitted).tolist() == [0]
    assert not [reason for reasons in fitted.reasons_ for reason in reasons if "together" in reason]


@pytest.mark.system("numeric")
def test_of_each_pair_that_is_found_both_get_the_reason_or_the_guilty_one_is_distinguished() -> None:
    together, apart, innocent = 0, 0, 0
    for drawn, fitted in judged("pairs", range(300, 306)):
        assert len(drawn.partner) == 4
        for strong, partner in drawn.partner.items():
            found = [user for user in (strong, partner) if fitted.q_value_[user] <= 0.05 and fitted.score_[user] > 0]
            if fitted.verdict_[partner] == "named":
                innocent += 1
            elif fitted.verdict_[strong] == "named":
                apart += 1
            elif found:
                assert bound(fitted, strong, partner), (strong, fitted.reasons_[strong], fitted.reasons_[partner])
                together += 1
    assert together >= 12 and together + apart >= 21, "of 24 pairs"
    assert innocent <= 1, "one name in ten may be false; 2 of 120 pairs of other seeds"


@pytest.mark.system("numeric")
def test_intervals_hold_the_true_effect_about_as_often_as_they_say(unstressed) -> None:
    held = []
    for drawn, fitted in unstressed:
        low, high = fitted.effect_interval_s_.T
        held += ((low <= drawn.effect_s) & (drawn.effect_s <= high))[fitted.testable_].tolist()
    assert 0.9 <= np.mean(held) <= 0.99


#: By how much of its strength a user slows a run, from the share of the user's usual nodes that are there.
SLOWED = {
    "as much as there are": lambda share: np.minimum(share, 3.0),
    "half as much again for twice as much": lambda share: np.minimum(share, 3.0) ** 0.585,
    "whoever is there, by however many": lambda share: (share > 0) * 1.0,
}


@pytest.mark.system("numeric")
@pytest.mark.parametrize("law", SLOWED)
def test_intervals_of_those_who_slow_runs_hold_the_effect_however_it_grows_with_nodes(law: str) -> None:
    held, ratio = [], []
    for seed in range(4):
        rng = np.random.default_rng([27, seed])
        start = MONDAY_S + np.sort(rng.uniform(0, 26 * WEEK_S, 240))
        share = np.where(rng.random((240, 24)) < 0.25, rng.lognormal(0, 0.8, (240, 24)), 0.0)
        strength = np.where(np.arange(24) < 5, np.linspace(0.1, 0.25, 24)[::-1], 0.0)
        slowed = strength * SLOWED[law](share)
        time_s = 300 * np.exp(slowed.sum(1) + 0.04 * rng.normal(size=240))
        fitted = CalendarBlame().fit(np.ceil(60 * share), time_s, start)
        for user in range(5):
            effect = (time_s * (1 - np.exp(-slowed[:, user])))[share[:, user] > 0].mean()
            low, high = fitted.effect_interval_s_[user]
            held.append(low <= effect <= high)
            ratio.append(fitted.effect_s_[user] / effect)
    assert np.mean(held) >= 0.9
    assert 0.9 <= np.median(ratio) <= 1.1


def one_user(seed: int = 0, runs: int = 120):
    """Runs over 17 weeks; who is alongside them is up to the test."""
    rng = np.random.default_rng(seed)
    start = MONDAY_S + np.sort(rng.uniform(0, 17 * WEEK_S, runs))
    exposure = (rng.random((runs, 30)) < 0.3) * 10.0
    return rng, start, exposure, 300 * np.exp(0.03 * rng.normal(size=runs))


def test_a_steady_culprit_is_named_with_seconds_and_an_interval_around_them() -> None:
    _, start, exposure, time_s = one_user()
    time_s = time_s + 30 * (exposure[:, 0] > 0)
    fitted = CalendarBlame().fit(exposure, time_s, start)
    assert fitted.verdict_[0] == "named" and named(fitted).tolist() == [0]
    low, high = fitted.effect_interval_s_[0]
    assert low < 30 < high and high - low < 20
    assert fitted.reasons_[0] and fitted.ranking_[0] == 0


def test_who_was_there_only_in_the_slow_week_is_not_named() -> None:
    rng, start, exposure, time_s = one_user()
    week = (start - MONDAY_S) // WEEK_S == 8
    exposure[:, 0] = week * (rng.random(len(start)) < 0.9) * 10.0
    fitted = CalendarBlame().fit(exposure, time_s * np.where(week, 1.15, 1.0), start)
    assert fitted.verdict_[0] == "cannot tell" and fitted.reasons_[0]


def test_a_circumstance_of_the_runs_is_a_driver_and_clears_whom_it_brings_along() -> None:
    rng, start, exposure, time_s = one_user()
    spread = rng.uniform(0, 1, len(start))
    exposure[:, 0] = (spread + 0.1 * rng.normal(size=len(start)) > 0.6) * 10.0
    time_s = time_s * np.exp(0.2 * spread)
    assert 0 in named(CalendarBlame().fit(exposure, time_s, start))
    assert 0 not in named(CalendarBlame().fit(exposure, time_s, start, spread[:, None]))
    first = rank_drivers(["noise", "spread"], np.column_stack([rng.normal(size=len(start)), spread]), time_s, start)[0]
    assert first["name"] == "spread" and first["q"] < 0.01 and first["correlation"] > 0.5


def test_a_mark_that_an_operator_set_is_a_regime() -> None:
    _, start, _, time_s = one_user()
    marked = fit_calendar(start, np.log(time_s), marks_s=[start[60], start[61]])
    assert marked.regimes_s.tolist() == [start[60]]  # two at once are one
    assert marked.degrees_of_freedom < fit_calendar(start, np.log(time_s)).degrees_of_freedom


def test_order_of_runs_units_of_exposure_and_names_change_nothing() -> None:
    _, start, exposure, time_s = one_user()
    time_s = time_s + 20 * (exposure[:, 0] > 0)
    once = CalendarBlame().fit(exposure, time_s, start)
    order = np.random.default_rng(1).permutation(len(start))
    again = CalendarBlame().fit(1e3 * exposure[order], time_s[order], start[order])
    assert np.allclose(once.score_, again.score_) and once.verdict_ == again.verdict_


def everywhere(rng: np.random.Generator, runs: int, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of 15 weeks, and users who come and go from run to run with amounts of their own."""
    start = MONDAY_S + np.sort(rng.uniform(0, 15 * WEEK_S, runs))
    there = rng.random((runs, users)) < rng.uniform(0.05, 0.6, users)
    return there * rng.lognormal(3, 1, (runs, users)), start


def in_windows(rng: np.random.Generator, runs: int, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Users who are there for three to eight weeks only."""
    exposure, start = everywhere(rng, runs, users)
    length = rng.uniform(3, 8, users) * WEEK_S
    begin = rng.uniform(-length / 2, 15 * WEEK_S - length / 2)
    since = start[:, None] - MONDAY_S - begin
    return exposure * ((since >= 0) & (since < length)), start


def on_few_days(rng: np.random.Generator, runs: int, users: int) -> tuple[np.ndarray, np.ndarray]:
    """All runs on 18 days of 15 weeks, and users who are there for whole days."""
    of_day = rng.random((105, users)) < 0.4
    day = np.sort(rng.choice(rng.choice(105, 18, replace=False), runs))
    start = MONDAY_S + DAY_S * (day + rng.random(runs))
    order = np.argsort(start)
    return (of_day[day] * rng.lognormal(3, 0.5, (runs, users)))[order], start[order]


def half_present(rng: np.random.Generator, runs: int, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Users alongside half of the runs, with amounts alike: no score is less certain than it looks."""
    start = np.sort(rng.uniform(0, 17 * WEEK_S, runs)) + MONDAY_S
    return (rng.random((runs, users)) < 0.5) * 10.0, start


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    ("made", "runs", "users", "times"),
    [
        (everywhere, 24, 40, "normal"),
        (everywhere, 24, 40, "heavy tails"),
        *(
            pytest.param(*larger, marks=pytest.mark.system("numeric"))
            for larger in (
                (half_present, 60, 300, "normal"),
                (everywhere, 60, 200, "normal"),
                (in_windows, 150, 150, "normal"),
                (on_few_days, 90, 80, "heavy tails"),
            )
        ),
    ],
)
def test_of_a_thousand_shuffled_sets_at_most_a_tenth_have_a_name(made, runs: int, users: int, times: str) -> None:
    """Literally what is promised. A method that names in 12 % of sets passes this with a chance of 3 %."""
    rng = np.random.default_rng([2027, runs, users])
    exposure, start = made(rng, runs, users)
    time_s = 300 * np.exp(0.05 * rng.normal(size=runs)) if times == "normal" else 300 + 60 * rng.pareto(1.2, runs)
    found = calibrate_blame(exposure, time_s, start, shuffles=1000)
    assert found["shuffles"] == 1000 and found["share"] <= 0.1


@pytest.mark.system("numeric")
def test_shuffled_run_times_seldom_give_a_name_and_each_shuffle_is_reported() -> None:
    """The short form of what follows: sixty shuffles."""
    _, start, exposure, time_s = one_user()
    done: list[int] = []
    found = calibrate_blame(exposure, time_s, start, shuffles=60, report=done.append)
    assert found["share"] <= 0.1 and found["shuffles"] == 60 and done == list(range(1, 61))


@pytest.mark.system("numeric")
def test_users_alongside_three_runs_of_ten_who_slow_nobody_give_a_name_at_the_rate_that_is_claimed() -> None:
    """Here nothing makes the p-values less certain, so that a tenth of the sets has a name: neither more nor, by a method that is blind, far
    fewer."""
    _, start, exposure, time_s = one_user()
    assert 0.05 <= calibrate_blame(exposure, time_s, start, shuffles=1000)["share"] <= 0.1


def test_whom_chance_alone_selects_makes_nobody_else_surer() -> None:
    """Nobody slows anybody. With a bound so wide that some are selected all the same, nobody's chance is smaller than without any selection."""
    _, start, exposure, time_s = one_user(seed=5)
    many, none = (CalendarBlame(alpha=alpha).fit(exposure, time_s, start) for alpha in (3.0, 0.0))
    assert len(many.selected_) and not len(none.selected_) and not len(named(many))
    others = np.setdiff1d(np.arange(30), many.selected_)
    assert (many.score_[others] > none.score_[others]).any(), "given those selected, some of the others score higher"
    # Beyond a half, where faster runs are meant, a wider spread may make a chance smaller.
    assert (many.p_value_ >= np.minimum(none.p_value_, 0.5) - 1e-9).all()


@pytest.mark.system("numeric")
def test_a_culprit_among_whom_chance_selects_is_named_and_nobody_else() -> None:
    """A bound so wide that all are selected, and one who slows their runs by a twelfth: a name that the others neither lend nor take."""
    _, start, exposure, time_s = one_user(seed=5)
    fitted = CalendarBlame(alpha=30.0).fit(exposure, time_s + 25 * (exposure[:, 0] > 0), start)
    assert len(fitted.selected_) > 5 and named(fitted).tolist() == [0]


@pytest.mark.system("numeric")
def test_hardly_a_shuffled_set_has_a_name_that_it_would_not_have_without_selection() -> None:
    """Thirty runs alongside three hundred users: a column that chance selects explains a third of the noise. Of sets, 5 % had such a name when all
    scores were given it."""
    rng = np.random.default_rng(2028)
    exposure, start = half_present(rng, 30, 300)
    lent = 0
    for _ in range(300):
        time_s = 300 * np.exp(0.05 * rng.normal(size=30))
        found, alone = (CalendarBlame(alpha=alpha).fit_scores(exposure, time_s, start, below=0.1) for alpha in (0.5, 0))
        lent += bool((found.q_value_ <= 0.1).any() and not (alone.q_value_ <= 0.1).any())
    assert lent <= 6, "2 %"


def test_sets_with_a_name_are_counted_from_none() -> None:
    """Of users who meet one run each nobody can be named, however the times are dealt out."""
    _, start, _, time_s = one_user()
    found = calibrate_blame(np.eye(len(start))[:, :3], time_s, start, shuffles=3)
    assert (found["sets_with_a_name"], found["share"]) == (0, 0)
    assert calibrate_blame(np.eye(len(start)), time_s, start, shuffles=0)["share"] is None


@pytest.mark.parametrize("runs", [8, 19])
def test_fewer_than_twenty_runs_get_one_clear_line(runs: int) -> None:
    _, start, exposure, time_s = one_user()
    with pytest.raises(NotEnoughData, match=f"needs 20 runs, has {runs}"):
        CalendarBlame().fit(exposure[:runs], time_s[:runs], start[:runs])


def test_runs_of_one_day_name_nobody() -> None:
    _, start, exposure, time_s = one_user()
    time_s = time_s + 60 * (exposure[:, 0] > 0)
    fitted = CalendarBlame().fit(exposure, time_s, MONDAY_S + np.arange(len(start)) * 60.0)
    assert not len(named(fitted)) and "4 are needed" in fitted.reasons_[0][-1]


def test_more_circumstances_than_runs_can_bear_are_refused() -> None:
    rng, start, exposure, time_s = one_user(runs=24)
    with pytest.raises(BadInput, match="12 circumstances for 24 runs"):
        CalendarBlame().fit(exposure, time_s, start, rng.normal(size=(24, 12)))


def test_block_permutations_are_exact_for_what_is_alike_within_a_week() -> None:
    rng = np.random.default_rng(0)
    week = np.repeat(np.arange(20), 6)
    p_values = []
    for _ in range(100):
        alike, presence = rng.normal(size=20)[week], rng.normal(size=(20, 1))[week]
        axes = np.full((120, 1), 120**-0.5)
        problem = Problem(presence - presence.mean(0), alike - alike.mean(), axes, np.ones(1))
        p_values.append(block_p_values(problem, block_orders(week, 199, rng), np.array([0]))[0])
        assert p_values[-1] >= 1 / 200
    assert (
        0.01 <= np.mean(np.array(p_values) <= 0.1) <= 0.2
    )  # a test that takes runs as independent finds more than half


def test_blocks_stay_together_but_for_the_one_that_the_shift_cuts() -> None:
    block = np.repeat(np.arange(5), [3, 1, 4, 2, 5])
    for order in block_orders(block, 50, np.random.default_rng(0)):
        assert sorted(order.tolist()) == list(range(15))
        changes = int((np.diff(block[order]) != 0).sum())
        assert changes <= 5


def test_a_score_carried_by_few_runs_is_less_certain() -> None:
    z = np.array([3.5, 3.5])
    many, few = one_sided_p(z, 150, np.array([150.0, 7.0]))
    assert many < 0.001 < few < 0.02
    assert one_sided_p(np.array([0.0]), 50)[0] == 0.5


# Weeks, days, steps and trends that a calendar takes out, by hand.


FIRST_MONDAY_S = 4 * DAY_S  # the epoch was a Thursday


def test_weeks_run_from_six_of_them_on_and_days_below() -> None:
    starts = np.arange(6) * WEEK_S + 5
    assert controls.assign_periods(starts)[1] == "week" and controls.assign_periods(starts)[0].tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert controls.assign_periods(starts[:5])[1] == "day" and controls.assign_periods(starts[:5])[0].tolist() == [
        0,
        7,
        14,
        21,
        28,
    ]


def test_parts_of_days_and_weekends_are_strata() -> None:
    starts = FIRST_MONDAY_S + np.array([0, 6, 12, 18, 23.9, 24]) * 3600
    assert hour_and_weekend(starts).tolist() == [0, 1, 2, 3, 3, 0]
    assert hour_and_weekend(FIRST_MONDAY_S + np.array([4.99, 5, 6.99, 7]) * DAY_S).tolist() == [3, 4, 7, 0]
    assert hour_and_weekend(FIRST_MONDAY_S + np.array([5, 5.9]) * DAY_S, 12).tolist() == [2, 3]
    with pytest.raises(ValueError, match="divide 24"):
        hour_and_weekend(starts, 5)


def test_wild_values_are_pulled_to_four_robust_deviations() -> None:
    values = np.array([-100.0, -1, 0, 1, 2, -2, 100])
    # Median 0; the median of the distances 0 1 1 2 2 100 100 is 2; 1.4826 of it is a normal deviation (Hampel 1974).
    assert winsorise_values(values) == pytest.approx([-4 * 1.4826 * 2, -1, 0, 1, 2, -2, 4 * 1.4826 * 2])
    assert winsorise_values(np.array([1.0, 1, 1, 9])).tolist() == [1, 1, 1, 9]


def test_a_basis_spans_its_columns_and_leaves_out_dependent_and_empty_ones() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(9, 2)) * [1e-9, 1e9]
    basis = orthonormal_basis(np.column_stack([columns, columns[:, 0] * 3, np.zeros(9)]))
    assert basis.shape == (9, 2) and np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(basis @ (basis.T @ columns / [1e-9, 1e9]), columns / [1e-9, 1e9])
    assert orthonormal_basis(np.zeros((9, 2))).shape == (9, 0)
    assert orthonormal_basis(np.column_stack([columns[:, 1], columns[:, 1] * (1 + 1e-9)])).shape[1] == 1


def test_the_largest_step_is_the_one_of_least_squares() -> None:
    rng = np.random.default_rng(5)
    response = rng.normal(size=20) + 3 * (np.arange(20) >= 12)
    order, candidates = np.arange(20), np.arange(6, 15)
    best, z = _largest_step(candidates, response, np.full((20, 1), 1 / math.sqrt(20)), order)
    scores = [np.corrcoef(order >= place, response)[0, 1] * math.sqrt(18) for place in candidates]
    assert best == candidates[np.argmax(np.abs(scores))] == 12 and z == pytest.approx(max(scores))
    assert _largest_step(candidates, -response, np.full((20, 1), 1 / math.sqrt(20)), order)[1] == pytest.approx(-z)
    assert _largest_step(np.zeros(0, np.int64), response, np.full((20, 1), 0.2), order) == (None, 0.0)
    # A step that the axes explain already is none: a change at 12 leaves nothing of 12.
    axes = orthonormal_basis(np.column_stack([np.ones(20), order >= 12]))
    assert _largest_step(np.array([12]), response, axes, order)[1] == 0.0
    for taken, found in ((17, 10), (18, None)):
        axes = np.linalg.qr(rng.normal(size=(20, taken)))[0]
        assert _largest_step(np.array([10]), response, axes, order)[0] == found
    # Days whose runs vary together are worth a run each; what the step itself explains is none of that.
    day, four = np.repeat(order, 4), np.repeat(response, 4)
    everything = np.full((80, 1), 1 / math.sqrt(80))
    at, alike = _largest_step(4 * candidates, four, everything, day)
    assert at == 48 and alike == pytest.approx(z * math.sqrt(78 / 18) / 2)


def test_a_calendar_takes_a_step_out_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    start = FIRST_MONDAY_S + (np.arange(120) + rng.uniform(0, 1, 120)) * DAY_S
    noise = rng.normal(size=120) * 0.01
    quiet, stepped = fit_calendar(start, noise), fit_calendar(start, noise + 0.2 * (np.arange(120) >= 60))
    assert len(quiet.regimes_s) == 0 and start[60] in stepped.regimes_s.tolist()
    assert quiet.degrees_of_freedom == 120 - quiet.axes.shape[1] and stepped.strata
    assert np.allclose(quiet.axes.T @ quiet.axes, np.eye(quiet.axes.shape[1]))
    # Hours and weekends from 32 days on.
    assert [fit_calendar(start[:runs], noise[:runs]).strata for runs in (31, 32)] == [False, True]
    # What an operator marked is a regime where runs lie on both sides.
    assert fit_calendar(start, noise, marks_s=[start[50]]).regimes_s.tolist() == [start[50]]
    assert fit_calendar(start, noise, marks_s=[start[5]]).regimes_s.tolist() == []
    assert fit_calendar(start, noise, marks_s=[start[6], start[114]]).regimes_s.tolist() == [start[6], start[114]]
    assert fit_calendar(start, noise, marks_s=[start[115]]).regimes_s.tolist() == []
    # Ten runs a day are no more days.
    often = np.repeat(start, 10)
    assert fit_calendar(often, np.repeat(noise, 10), marks_s=[start[5]]).regimes_s.tolist() == []
    assert fit_calendar(often, np.repeat(noise, 10), marks_s=[start[6]]).regimes_s.tolist() == [start[6]]
    assert [fit_calendar(often[: 10 * runs], np.repeat(noise, 10)[: 10 * runs]).strata for runs in (31, 32)] == [
        False,
        True,
    ]


def test_what_is_known_of_times_is_no_regime() -> None:
    rng = np.random.default_rng(0)
    start = FIRST_MONDAY_S + np.sort(rng.uniform(0, 8 * WEEK_S, 120))
    step = 0.2 * (np.arange(120) >= 60)
    times = rng.normal(size=120) * 0.01 + step
    assert len(fit_calendar(start, times, known=step).regimes_s) == 0


@pytest.mark.parametrize(
    ("weeks", "runs", "directions"), [(2.9, 30, 2), (3.1, 30, 3), (6.1, 30, 4), (9.1, 30, 4), (9.1, 31, 4)]
)
def test_the_trend_bends_once_in_three_weeks_and_twelve_runs(weeks: float, runs: int, directions: int) -> None:
    """Below one bend it is a line: with the mean two directions; quadratic splines of n pieces have n + 2, the mean among them."""
    start = np.linspace(0, weeks * WEEK_S, runs)
    assert orthonormal_basis(np.column_stack([np.ones(runs), _trend_basis(start)])).shape[1] == directions


def test_runs_of_one_moment_have_no_trend() -> None:
    assert fit_calendar(np.full(25, 9.0), np.random.default_rng(1).normal(size=25)).axes.shape[1] == 1
