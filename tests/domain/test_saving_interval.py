"""The predicted saving of a remedy: its interval covers a planted delay, is not needlessly wide, and is unknown if the remaining steps are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_domain.explanation.slowdown import Slowdown, Steps, of_steps

COUNT, ONSET = 60, 10
CURVE = 10 * (1 + 0.3 * np.sin(np.arange(COUNT) / 7))


def planted(rng: np.random.Generator, slow_steps: int, factor: float, spread: float) -> tuple[Slowdown | None, float]:
    """Return what is found of a run with a planted slow stretch after some slow steps, and the true delay of the remaining ones."""
    seen, runs = ONSET + slow_steps, int(rng.integers(3, 30))
    earlier = CURVE * np.exp(rng.normal(0, 0.03, (runs, COUNT)) + rng.normal(0, 0.02, (runs, 1)))
    own = CURVE * math.exp(rng.normal(0, 0.02))
    excess = (factor - 1) * np.exp(rng.normal(-(spread**2) / 2, spread, COUNT)) * (np.arange(COUNT) >= ONSET)
    taken, free = (own * slow * np.exp(rng.normal(0, 0.03, COUNT)) for slow in (1 + excess, 1.0))
    return of_steps(Steps(np.arange(seen), taken[:seen], 0.0, earlier)), float((taken - free)[seen:].sum())


@pytest.mark.parametrize(("factor", "spread"), [(1.3, 0.0), (1.5, 0.5), (2.5, 0.3)])
def test_the_interval_covers_the_planted_saving_and_is_no_wider_than_it_must(factor: float, spread: float) -> None:
    rng = np.random.default_rng(1)
    drawn = [planted(rng, int(rng.integers(4, 30)), factor, spread) for _ in range(60)]
    found = [(one, one.saved_interval_s, true_s) for one, true_s in drawn if one is not None and one.end_s is None]
    assert len(found) >= 55
    covered = [low <= true_s <= high for _, (low, high), true_s in found]
    assert np.mean(covered) >= 0.9, "scaled from that of lost_s it covers 0.9, 0.52 and 0.32"
    assert np.median([one.saved_within_s / one.saved_s for one, _, _ in found]) <= 0.6


def test_steps_that_vary_more_widen_the_interval_of_the_saving() -> None:
    even, uneven = np.full(40, 10.0), np.full(40, 10.0)
    even[20:], uneven[20:] = 15.0, np.tile([12.0, 18.0], 10)
    usual = np.full((5, COUNT), 10.0)
    narrow, wide = (of_steps(Steps(np.arange(40), taken, 0.0, usual)) for taken in (even, uneven))
    assert narrow is not None and wide is not None and wide.saved_within_s > 4 * narrow.saved_within_s


def test_the_remaining_steps_are_those_of_the_median_run() -> None:
    """Three long runs of forty do not make all runs long; a run longer than all earlier ones has unknown steps ahead."""
    usual = np.full((40, 500), 10.0)
    usual[3:, COUNT:] = math.nan
    taken = np.full(70, 10.0)
    taken[20:] = 15.0

    def left_s(seen: int, runs: slice) -> float | None:
        found = of_steps(Steps(np.arange(seen), taken[:seen], 0.0, usual[runs]))
        assert found is not None
        return found.left_s

    assert left_s(40, slice(None)) == 200.0
    assert left_s(COUNT, slice(3, None)) == 0.0
    assert left_s(70, slice(3, None)) is None


def test_steps_that_two_earlier_runs_show_are_unknown_and_not_saved_already() -> None:
    usual = np.full((3, 31), 10.0)
    usual[0, 11:] = math.nan
    taken = np.full(10, 10.0)
    taken[4:] = 16.0
    found = of_steps(Steps(np.arange(10), taken, 0.0, usual))
    assert found is not None and found.left_s is None and found.saved_s is None
