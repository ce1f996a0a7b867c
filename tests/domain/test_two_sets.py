"""Two sets of observations: planted differences are found, equal sets are not distinguished, and different allocations are never compared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import cauchy, false_discovery_control

from flitwatch_domain.blame import benjamini_hochberg, combine_p_values, several_sets
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
def test_equal_sets_are_distinguished_as_seldom_as_the_interval_says(
    allocations: int, first_each: int, second_each: int
) -> None:
    """However few observations an allocation has, one each among them; allocations have levels of their own."""
    wrong, draws = 0, 600
    for seed in range(draws):
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
    assert wrong <= 0.09 * draws


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


def test_a_set_alongside_itself_does_not_differ() -> None:
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


# Names of several sets: who is listed, what all sets together say, and nobody where nobody was planted.


def entry(exe: str, verdict: str = "no evidence", p: float | None = 0.5, q: float | None = 0.9, **more: Any) -> dict:
    score = 0.0 if p is None else -math.log10(p)
    paper = {"mi_bits": 0.01, "mi_sign": 1, "mi_p": 0.5, "mi_q": 0.9}
    return {"exe": exe, "verdict": verdict, "score": score, "p": p, "q": q, "testable": p is not None, **paper, **more}


def named(exe: str) -> dict:
    return entry(exe, "named", 1e-6, 1e-4)


def in_doubt(exe: str) -> dict:
    return entry(exe, "cannot tell", 1e-6, 1e-4)


def test_who_is_named_in_two_sets_is_listed_with_the_evidence_of_every_set() -> None:
    entries = [("ann", named("amg")), ("bob", named("amg")), ("eve", entry("amg"))]
    entries += [("ann", named("milc")), ("bob", entry("milc", p=0.2)), ("eve", named("umt"))]
    entries += [("ann", entry("umt", p=0.3))]
    (ann,) = several_sets(entries)
    assert (ann.name, ann.found_in, ann.tested_in, ann.verdict) == ("ann", 2, 3, "named")
    assert [one["exe"] for one in ann.evidence] == ["amg", "milc", "umt"]
    assert [(row.name, row.found_in) for row in several_sets(entries, least_sets=1)] == [
        ("ann", 2),
        ("bob", 1),
        ("eve", 1),
    ]
    assert len(several_sets(entries, least_sets=0)) == 3


def test_the_papers_list_asks_for_information_that_goes_with_slow_runs() -> None:
    strong = {"mi_bits": 0.2, "mi_p": 1e-5, "mi_q": 1e-3}
    entries = [
        *(("ann", entry(exe, **strong, mi_sign=1)) for exe in ("amg", "milc")),
        *(("bob", entry(exe, **strong, mi_sign=-1)) for exe in ("amg", "milc")),
        *(("eve", entry(exe, mi_bits=0.2, mi_sign=1, mi_p=0.06, mi_q=0.06)) for exe in ("amg", "milc")),
    ]
    found = several_sets(entries, "paper")
    assert [row.name for row in found] == ["ann"]
    # What the paper lists is no name where no set names it.
    assert found[0].verdict == "cannot tell" and "no single set names it" in found[0].reasons[0]
    assert several_sets(entries, "ours") == []


def test_a_set_that_doubts_is_not_outvoted_and_weak_sets_make_no_name_together() -> None:
    quiet = [(f"user{n}", entry("amg")) for n in range(3)]
    doubted = several_sets(
        [*quiet, ("ann", named("amg")), ("ann", named("milc")), ("ann", in_doubt("umt"))], least_sets=1
    )
    assert [(row.name, row.verdict) for row in doubted] == [("ann", "cannot tell")]
    assert doubted[0].reasons == ("named in 2 sets, in doubt in one set",)
    weak = several_sets([*quiet, *(("bob", entry(exe, p=0.004, q=0.08)) for exe in ("amg", "milc"))], least_sets=0)
    assert weak[0].name == "bob" and weak[0].q is not None and weak[0].q <= 0.05 and weak[0].verdict == "cannot tell"
    untested = several_sets([("eve", entry("amg", "cannot tell", None, None))], least_sets=0)[0]
    assert (untested.p, untested.q, untested.tested_in, untested.verdict) == (None, None, 0, "cannot tell")


def test_p_values_are_combined_as_by_cauchys_law_and_one_set_stays_as_it_is() -> None:
    rng = np.random.default_rng(0)
    for p in (rng.random(5) * 0.9, rng.random(2) * 1e-3, np.array([1e-12, 0.5])):
        assert combine_p_values(p) == pytest.approx(cauchy.sf(np.mean(cauchy.isf(p))), rel=1e-9)
    assert combine_p_values([0.03]) == pytest.approx(0.03)
    assert combine_p_values([1e-40, 1e-40]) == pytest.approx(1e-40)
    assert combine_p_values([1e-4, 1.0]) < 1e-3, "a set that says nothing takes little away"


def test_of_sets_that_depend_entirely_no_more_is_found_than_of_one() -> None:
    p = np.random.default_rng(1).random(4000)
    together = np.array([combine_p_values([one, one, one]) for one in p.tolist()])
    assert (together <= 0.05).mean() == pytest.approx((p <= 0.05).mean())


def test_q_values_are_those_of_scipy() -> None:
    p = np.random.default_rng(2).random(50) ** 2
    assert np.allclose(benjamini_hochberg(p), false_discovery_control(p))
    p[7] = np.nan
    assert np.isnan(benjamini_hochberg(p)[7]) and np.isfinite(np.delete(benjamini_hochberg(p), 7)).all()
    assert np.isnan(benjamini_hochberg(np.array([np.nan, np.nan]))).all()
