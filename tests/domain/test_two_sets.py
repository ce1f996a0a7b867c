"""Two sets of observations: planted differences are found, equal sets are not told apart, and other allocations are never compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flitwatch_domain.network_noise.observations import NicObservation
from flitwatch_domain.network_noise.two_sets import LEAST_OBSERVATIONS, Observed, compare_sets


def observed(
    rng: np.random.Generator, count: int, latency_us: float, where: str = "a", seconds: float = 10.0
) -> list[Observed]:
    packets = 100_000
    return [
        Observed(
            NicObservation((where,), seconds, 300_000, packets, int(rng.lognormal(0, 0.2) * 150_000), latency_us * packets * rng.lognormal(0, 0.2)),
            float(rng.lognormal(0, 0.1)),
        )
        for _ in range(count)
    ]  # fmt: skip


def test_a_planted_difference_is_found_and_its_interval_holds_it() -> None:
    held = found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        made = compare_sets(observed(rng, 12, 2.0), observed(rng, 12, 4.0), 65_536)
        latency = made.figures[0]
        assert latency.low is not None and latency.high is not None
        held += latency.low <= 2.0 <= latency.high
        found += latency.verdict == "higher"
    assert found == 60 and held >= 50


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    ("allocations", "first_each", "second_each"),
    [(1, 4, 4), (4, 1, 1), (12, 1, 1), (2, 2, 2), (1, 12, 12), (1, 4, 20), (3, 1, 4)],
)
def test_equal_sets_are_told_apart_as_seldom_as_the_interval_says(
    allocations: int, first_each: int, second_each: int
) -> None:
    """However few observations an allocation has, one each among them; allocations have levels of their own."""
    wrong, worlds = 0, 600
    for seed in range(worlds):
        rng = np.random.default_rng(1000 + seed)
        first, second = (
            [
                one
                for at in range(allocations)
                for one in observed(rng, each + (at == 0 and allocations == 3), 2.0 + at, str(at))
            ]
            for each in (first_each, second_each)
        )
        wrong += compare_sets(first, second, 65_536).verdict != "cannot tell"
    assert wrong <= 0.09 * worlds


@pytest.mark.parametrize(("allocations", "each"), [(1, 4), (6, 1), (2, 3)])
def test_a_planted_difference_is_found_by_few_observations(allocations: int, each: int) -> None:
    found = held = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        sides = [
            [one for at in range(allocations) for one in observed(rng, each, latency * (1 + at), str(at))]
            for latency in (2.0, 6.0)
        ]
        latency = compare_sets(sides[0], sides[1], 65_536).figures[0]
        assert latency.low is not None and latency.high is not None
        found += latency.verdict == "higher"
        held += latency.low <= 3.0 <= latency.high
    assert found >= 45 and held >= 43


def test_one_allocation_is_compared_as_by_welch_and_pairs_as_pairs() -> None:
    rng = np.random.default_rng(11)
    alone = compare_sets(observed(rng, 9, 2.0), observed(rng, 9, 2.5), 65_536).figures[0]
    pairs = [(observed(rng, 1, 2.0 + at, str(at)), observed(rng, 1, 2.5 + at, str(at))) for at in range(9)]
    paired = compare_sets([one for a, _ in pairs for one in a], [one for _, b in pairs for one in b], 65_536).figures[0]
    assert alone.ratio and alone.low and paired.ratio and paired.low
    logs = [np.log([one.counts.latency_cycles for pair in pairs for one in pair[side]]) for side in (0, 1)]
    oracle = stats.ttest_rel(logs[1], logs[0]).confidence_interval(0.95)
    assert (paired.low, paired.high) == pytest.approx((np.exp(oracle.low), np.exp(oracle.high)), rel=1e-9)
    rng = np.random.default_rng(11)
    logs = [np.log([one.counts.latency_cycles for one in observed(rng, 9, us)]) for us in (2.0, 2.5)]
    oracle = stats.ttest_ind(logs[1], logs[0]).confidence_interval(
        0.95
    )  # of equal sizes Welch's variance is the pooled one
    assert (alone.low, alone.high) == pytest.approx((np.exp(oracle.low), np.exp(oracle.high)), rel=1e-9)


def test_a_set_beside_itself_does_not_differ() -> None:
    rng = np.random.default_rng(12)
    one = observed(rng, 4, 2.0) + observed(rng, 1, 3.0, "b")
    assert {figure.verdict for figure in compare_sets(one, one, 65_536).figures} == {"cannot tell"}


def test_other_allocations_are_left_out() -> None:
    """Each allocation has its own latency: a comparison across them would find what is not there."""
    rng = np.random.default_rng(3)
    first = observed(rng, 10, 2.0, "a") + observed(rng, 2, 9.0, "b") + observed(rng, 50, 1.0, "only first")
    second = observed(rng, 2, 2.0, "a") + observed(rng, 10, 9.0, "b") + observed(rng, 50, 80.0, "only second")
    made = compare_sets(first, second, 65_536)
    assert made.verdict == "cannot tell" and made.shared == (12, 12) and made.counted == (62, 62)
    apart = compare_sets(observed(rng, 30, 2.0, "a"), observed(rng, 30, 9.0, "b"), 65_536)
    assert apart.verdict == "cannot tell" and apart.guidelines[0].holds is False and apart.figures[0].ratio is None


def test_longer_intervals_change_nothing() -> None:
    rng = [np.random.default_rng(5) for _ in range(2)]
    base = observed(np.random.default_rng(6), 8, 2.0)
    made = [
        compare_sets(base, observed(one, 8, 2.0, seconds=seconds), 65_536)
        for one, seconds in zip(rng, (10.0, 40.0), strict=True)
    ]
    assert made[0].figures[0] == made[1].figures[0] and made[0].figures[3] == made[1].figures[3]
    assert "4.00 times as long" in made[1].guidelines[1].text


@given(st.integers(0, 8), st.integers(0, 8), st.booleans())
def test_any_sets_have_an_answer(one: int, other: int, silent: bool) -> None:
    rng = np.random.default_rng(7)
    first, second = observed(rng, one, 2.0), observed(rng, other, 2.0)
    if silent and first:
        first[0] = Observed(NicObservation(("a",), 10.0, 0, 0, 0, 0.0), None)
    made = compare_sets(first, second, 65_536)
    if min(one, other) < LEAST_OBSERVATIONS or (silent and first):
        assert made.verdict == "cannot tell" and made.why and made.figures[3].ratio is None
    else:
        assert made.figures[3].ratio == pytest.approx(1.0, rel=1.0)
