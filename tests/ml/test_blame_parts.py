"""All figures of the parts of blame for many small random cases: `python -m ml.test_blame_parts` (in tests/) rewrites the file.

Small integers are drawn, so that ties, empty columns and bounds occur. An error in a part shows here in figures, while a whole set's verdict would hide it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_domain.neighbourhood import (
    Jobs,
    Windows,
    compute_neighbourhood,
    is_present,
    large_job_nodes,
    measure_circumstances,
    nodes_near,
)
from flitwatch_ml.blame import CalendarBlame, ExposureBlame, PresenceBlame, controls
from flitwatch_ml.blame.blocks import block_orders, block_p_values, design_effect, permuted_correlations
from flitwatch_ml.blame.calendar import DAY_S, WEEK_S, fit_calendar, orthonormal_basis, winsorise_values
from flitwatch_ml.blame.calibration import calibrate_blame, rank_drivers
from flitwatch_ml.blame.effects import estimate_effects
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits
from flitwatch_ml.blame.selection import (
    Problem,
    carrier_counts,
    conditional_scores,
    one_sided_p,
    select_users,
    sum_clusters,
)
from flitwatch_ml.blame.strata import centre_values, day_numbers, hour_and_weekend, normal_scores
from flitwatch_ml.blame.verdict import _permutation_count
from ml.golden_figures import differences, figures, plain

GOLDEN = Path(__file__).parent / "golden" / "blame_parts.json"
CASES = 24
THURSDAY_S = 1_699_488_000.0


def drawn_problem(rng: np.random.Generator) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    """A problem with its raw regressors, exposed runs and starts: users of few and many runs, two alike, one never there, one always."""
    runs = int(rng.integers(9, 60))
    start = THURSDAY_S + np.sort(rng.integers(0, int(rng.integers(2, 80)) * 4, runs)) * DAY_S / 4
    amounts = rng.integers(0, 4, (runs, 8)) * (rng.random((runs, 8)) < rng.random(8))
    amounts[:, 1] = np.where(rng.random(runs) < 0.85, amounts[:, 0], amounts[:, 1])
    amounts[:, 6], amounts[:, 7] = 0, 2
    raw = np.log1p(amounts.astype(float))
    times = rng.normal(size=runs) + rng.uniform(0, 3) * raw[:, 0] + rng.uniform(-2, 1) * raw[:, 2]
    axes = orthonormal_basis(np.column_stack([np.ones(runs), np.arange(runs) % 2, raw[:, 7]]))
    left, outcome = raw - axes @ (axes.T @ raw), times - axes @ (axes.T @ times)
    own = ((raw - raw.mean(0)) ** 2).sum(0)
    return Problem(left, outcome, axes, own, (day_numbers(start),)), raw, amounts > 0, start


def of_problem(seed: int) -> dict[str, Any]:
    """Scores, chances, selection and controls of a drawn problem, user by user."""
    rng = np.random.default_rng(seed)
    problem, raw, exposed, start = drawn_problem(rng)
    users = np.flatnonzero(exposed.sum(0) > 0).tolist()
    testable = exposed.sum(0) >= 3
    period, unit = controls.assign_periods(start)
    orders = [block_orders(day_numbers(start), 20, rng), block_orders(period, 30, rng)]
    freedom = problem.degrees_of_freedom
    z = problem.scores()
    spread = float(rng.uniform(1, 1.5))
    # What is left of the others is rounding, which differs from one processor to the next.
    known = np.flatnonzero((problem.regressors**2).sum(0) > 1e-6)
    seen, by_chance = permuted_correlations(problem, orders[0], known)
    picked = {
        f"{alpha:g} {most}": plain(select_users(problem, testable, alpha, most, spread))
        for alpha in (0.01, 0.5, 2.0)
        for most in (1, 3)
    }
    one, two = select_users(problem, testable, 0.5, 2), np.array([0, 3])
    effect, interval = estimate_effects(
        problem, raw, exposed, day_numbers(start), np.full(len(z), spread), np.exp(problem.outcome)
    )
    return {
        "unit": [unit, plain(np.unique(period, return_counts=True))],
        "z": plain(z),
        "day effect": plain(problem.day_effect(known)),
        "given": plain(problem.given(two).scores()),
        "chance": plain(
            [
                one_sided_p(z, freedom),
                one_sided_p(z, freedom, carrier_counts(raw)),
                one_sided_p(z, 1),
                one_sided_p(-z, 0),
            ]
        ),
        "selected": picked,
        "conditional": plain([*conditional_scores(problem, one), *conditional_scores(problem, two)]),
        "permuted": plain([seen, by_chance[:3], by_chance.std(0)]),
        "wander": plain(
            [design_effect(problem, orders, known), design_effect(problem, []), design_effect(problem, orders[1:], two)]
        ),
        "blocks": plain([block_p_values(problem, each, known) for each in orders]),
        "one period": [
            controls.depends_on_one_period(problem, user, exposed[:, user], period, spread) for user in users
        ],
        "one day": [
            controls.depends_on_one_period(problem, user, exposed[:, user], day_numbers(start), 1.0) for user in users
        ],
        "other weeks": [list(controls.other_weeks(problem, user, raw[:, user], start, spread)) for user in users],
        "stand-ins": [plain(controls.proxy_users(problem, user, testable, spread)) for user in users],
        "effects": plain([effect, interval]),
        "sums": plain(sum_clusters(raw, period[::-1])),
    }


def of_weeks(seed: int) -> dict[str, Any]:
    """Users who come every week, some weeks, or a week later: what the other weeks say of them."""
    rng = np.random.default_rng([7, seed])
    runs = int(rng.integers(30, 90))
    start = THURSDAY_S + np.sort(rng.uniform(0, runs / 5 * WEEK_S, runs))
    weekday = np.floor(start / DAY_S) % 7
    raw = np.column_stack(
        [weekday == 1, (weekday == 1) & (np.floor(start / WEEK_S) % 2 == 0), weekday >= 4, rng.random(runs) < 0.3]
    ).astype(float)
    times = rng.normal(0, rng.uniform(0.2, 1), runs) + raw[:, int(rng.integers(0, 4))]
    axes = orthonormal_basis(np.ones((runs, 1)))
    problem = Problem(
        raw - raw.mean(0), times - times.mean(), axes, ((raw - raw.mean(0)) ** 2).sum(0), (day_numbers(start),)
    )
    period, unit = controls.assign_periods(start)
    return {
        "unit": unit,
        "other weeks": [list(controls.other_weeks(problem, user, raw[:, user], start, 1.0)) for user in range(4)],
        "one period": [
            controls.depends_on_one_period(problem, user, raw[:, user] > 0, period, 1.0) for user in range(4)
        ],
    }


def of_calendar(seed: int) -> dict[str, Any]:
    """Strata, trend, regimes and drivers of drawn starts, with steps in the times."""
    rng = np.random.default_rng([8, seed])
    runs = int(rng.integers(10, 120))
    start = THURSDAY_S + np.sort(rng.uniform(0, rng.uniform(1, 30) * WEEK_S, runs))
    times = np.exp(
        rng.normal(0, 0.02, runs)
        + 0.2 * (np.arange(runs) > runs * rng.random())
        + 0.1 * (np.arange(runs) > runs * rng.random())
    )
    times[rng.integers(0, runs)] *= 9
    groups = rng.integers(1, 5, (runs, 2)).astype(float)
    marks = np.sort(rng.choice(start, 2) + 1)
    plainly, marked = (
        fit_calendar(start, np.log(times)),
        fit_calendar(start, np.log(times), groups, marks, rng.normal(0, 0.01, runs)),
    )
    values = rng.normal(size=runs)
    return {
        "plain": [
            plainly.axes.shape[1],
            plain(plainly.regimes_s),
            plainly.strata,
            plainly.degrees_of_freedom,
            plain(plainly.without(values)),
        ],
        "marked": [marked.axes.shape[1], plain(marked.regimes_s), marked.strata, plain(marked.without(values))],
        "pulled": plain(winsorise_values(np.log(times))),
        "strata": plain(hour_and_weekend(start)),
        "centred": plain(centre_values(values, hour_and_weekend(start, 12))),
        "ranks": plain(normal_scores(np.round(values))),
        "drivers": rank_drivers(["one", "two"], groups, times, start) if runs >= 30 else [],
    }


def of_neighbours(seed: int) -> dict[str, Any]:
    """Overlap, exposure and circumstances of drawn jobs, edges that meet among them."""
    rng = np.random.default_rng([9, seed])
    runs, jobs, names = 6, 30, 5
    begin = rng.integers(0, 40, jobs).astype(float)
    end = np.where(rng.random(jobs) < 0.1, np.inf, begin + rng.integers(1, 20, jobs))
    group_nodes = rng.integers(0, 3, (jobs, 4)) * (rng.random((jobs, 1)) < 0.8) * 64.0
    table = Jobs(rng.integers(-1, names, jobs), begin, end, group_nodes.sum(1) + rng.integers(0, 2, jobs), group_nodes)
    own = rng.integers(-1, jobs, runs)
    windows = Windows(
        np.where(own >= 0, begin[own], 10.0), np.where((own >= 0) & np.isfinite(end[own]), end[own], 45.0), own
    )
    nowhere = Windows(windows.begin_s, windows.end_s, np.full(runs, -1))
    found, elsewhere = (
        compute_neighbourhood(windows, table, names, 129),
        compute_neighbourhood(nowhere, table, names, 65),
    )
    return {
        "overlap": plain([found.overlap, elsewhere.overlap]),
        "exposure": plain([found.exposure, elsewhere.exposure]),
        "circumstances": plain(measure_circumstances(windows, table)),
        "near": plain(nodes_near(group_nodes, group_nodes[0])),
        "present": plain([is_present(found.overlap, rule).sum(0) for rule in ("any", "throughout")]),
    }


def of_estimators(seed: int) -> dict[str, Any]:
    """Whole fits of few runs and users, and what is refused."""
    rng = np.random.default_rng([10, seed])
    runs = int(rng.integers(20, 70))
    start = THURSDAY_S + np.sort(rng.uniform(0, rng.uniform(2, 100) * DAY_S, runs))
    amounts = rng.integers(0, 3, (runs, 6)) * (rng.random((runs, 6)) < rng.random(6)) * 10.0
    amounts[:, 5] = np.where(rng.random(runs) < 0.9, amounts[:, 0], 0)
    amounts[:3, 5] = [30.0, 0.0, 10.0]
    times = np.exp(
        rng.normal(5, 0.05, runs) + 0.02 * amounts[:, 0] + (0.3 if seed % 2 else 0.0) * (np.arange(runs) > runs / 2)
    )
    marks = [float(start[runs // 2])] if seed % 3 == 0 else []
    whole = CalendarBlame(seed=seed).fit(amounts, times, start, marks_s=marks)
    words = "score p_value q_value effect_s effect_interval_s verdict reasons selected ranking testable"
    slow = times >= times.mean()
    return {
        "whole": figures(whole, words),
        "scores": figures(CalendarBlame(min_exposed=3, max_selected=1, alpha=0.1).fit_scores(amounts, times, start, below=0.2), "score p_value q_value selected"),
        "exposure": figures(ExposureBlame(min_exposed=3).fit(amounts, times, hour_and_weekend(start)), "score q_value selected ranking sign testable"),
        "presence": figures(PresenceBlame(rule="throughout", tau=1.05, min_exposed=3).fit(amounts / 20, times), "mi_bits p_value q_value sign ranking"),
        "information": plain([mutual_information_bits(amounts > 0, slow), association_sign(amounts > 0, slow), exact_p_values(amounts > 0, slow, day_numbers(start) % 3)]),
        "calibration": calibrate_blame(amounts, times, start, shuffles=2 if seed % 4 else 0, seed=seed),
    }  # fmt: skip


def of_bounds() -> dict[str, Any]:
    """Permutations by runs, large jobs by machines, and inputs at their bounds."""
    said = []
    for runs, users in ((7, 1), (8, 1), (19, 2), (20, 2), (20, 0)):
        for times in (np.full(runs, 3.0), np.arange(runs) + 0.0, np.arange(runs) + 1.0):
            for estimator in (PresenceBlame(min_exposed=1), ExposureBlame(min_exposed=1), CalendarBlame()):
                starts = [np.arange(runs) * DAY_S] if isinstance(estimator, CalendarBlame) else []
                try:
                    estimator.fit((np.arange(runs * users).reshape(runs, users) % 2).astype(float), times, *starts)
                    said.append("fitted")
                except (BadInput, NotEnoughData) as refused:
                    said.append(str(refused))
    machines = [None, 1, 32, 64, 96, 1000, 4127, 4128, 4200, 10_000]
    return {
        "permutations": [_permutation_count(runs, 100, 400) for runs in (20, 5_000, 24_999, 25_001, 60_000, 200_000)],
        "large jobs": [large_job_nodes(machine) for machine in machines],
        "input": said,
    }


PARTS = {
    "problem": of_problem,
    "weeks": of_weeks,
    "calendar": of_calendar,
    "neighbours": of_neighbours,
    "estimators": of_estimators,
}


def committed(part: str, seed: int) -> dict[str, Any]:
    """A case, as JSON gives it back."""
    return json.loads(json.dumps(PARTS[part](seed)))


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_number_of_a_part_is_as_committed(part: str) -> None:
    kept = json.loads(GOLDEN.read_text())[part]
    assert len(kept) == CASES
    assert [one for seed, case in enumerate(kept) for one in differences(committed(part, seed), case, f"/{seed}")] == []


def test_bounds_are_as_committed() -> None:
    assert differences(json.loads(json.dumps(of_bounds())), json.loads(GOLDEN.read_text())["bounds"]) == []


if __name__ == "__main__":
    cases = {part: [committed(part, seed) for seed in range(CASES)] for part in PARTS}
    GOLDEN.write_text(json.dumps({**cases, "bounds": of_bounds()}) + "\n")
