"""The fluid engine: its stall curve against the packet engine, and its sums against explicit summation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_core.fluid import Gather, PatternLoads, link_state
from flitwatch_research.stall_fit import common_cases, fit_curve, measure_error
from flitwatch_twin.flows import Pattern
from flitwatch_twin.pattern_table import PatternTable
from flitwatch_twin.stall import CURVE_FILE, StallCurve, load_curve, waiting

UNSEEN_SEED = 9


def test_the_stored_curve_keeps_its_error_on_a_seed_that_it_was_not_fitted_to() -> None:
    stored = json.loads(CURVE_FILE.read_text())
    assert stored["fitted_to"]["seed"] != UNSEEN_SEED
    found = measure_error(load_curve(), common_cases(UNSEEN_SEED, loads=(0.3, 0.7, 1.0)))
    stated = stored["error"]
    assert found.case_median < stated["case_median"] + 0.1
    assert found.router < stated["router"] + 0.1
    assert found.correlation > 0.6


def test_a_fit_on_a_small_instance_comes_near_the_stored_curve_and_beats_the_plain_queue() -> None:
    cases = common_cases(11, loads=(0.4, 0.7, 0.9), groups=3)
    curve = fit_curve(cases)
    utilisation = np.array([0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(curve.waiting(utilisation), load_curve().waiting(utilisation), rtol=0.6)
    assert measure_error(curve, cases).router < 0.35
    assert measure_error(curve, cases).case_median < measure_error(StallCurve(), cases).case_median


def test_the_curve_rises_and_the_campaigns_is_the_plain_queue() -> None:
    utilisation = np.linspace(0, 1.5, 200)
    waited = load_curve().waiting(utilisation)
    assert waited[0] == 0 and (np.diff(waited) > 0).all()
    assert waiting(np.array([0.5]))[0] == pytest.approx(0.25)  # M/D/1 at half load


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_equal_sums_one_by_one_whatever_was_released_meanwhile(seed: int) -> None:
    rng = np.random.default_rng(seed)
    links, kept = 50, PatternTable(50)
    alive: dict[Pattern, tuple[np.ndarray, np.ndarray]] = {}
    for _ in range(40):
        if alive and rng.random() < 0.45:
            gone = list(alive)[int(rng.integers(len(alive)))]
            kept.release(gone)
            del alive[gone]
            continue
        pattern = Pattern(np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1))
        count = int(rng.integers(0, 2000)) % 51
        alive[pattern] = rng.permutation(links)[:count].astype(np.int32), rng.random(count)
        kept.add(pattern, alive[pattern])
    assert len(kept) == len(alive)
    patterns = tuple(alive)
    rate, columns = rng.random(len(patterns)), kept.columns(patterns)
    expected = np.zeros(links)
    for (link, share), factor in zip(alive.values(), rate, strict=True):
        expected[link] += factor * share
    total = kept.sum(columns, rate)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-15)
    fullest = [total[link].max(initial=0.0) for link, _ in alive.values()]
    np.testing.assert_array_equal(kept.highest_utilisation(columns, total), fullest)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_step_s_waiting_is_the_curve_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    curve = StallCurve(rng.uniform(0.2, 3), rng.uniform(0.5, 0.99), rng.uniform(1, 50))
    offered, capacity = rng.uniform(0, 2e10, 257), rng.uniform(1e9, 1e10, 257)
    utilisation, wait, highest = link_state(offered, capacity, curve.scale, curve.knee, curve.slope_above_knee)
    np.testing.assert_array_equal(utilisation, offered / capacity)
    np.testing.assert_allclose(wait, curve.waiting(offered / capacity), rtol=1e-14)
    assert highest == utilisation.max()


def test_loads_gather_each_link_once_and_refuse_links_outside_the_fabric() -> None:
    gather = Gather(6)
    for _ in range(2):  # the second call finds the memory of the first empty
        link, share = gather(np.array([4, 1, 4, 0]), np.array([0.5, 0.25, 0.125, 0.0]))
        np.testing.assert_array_equal(link, [1, 4])
        np.testing.assert_array_equal(share, [0.25, 0.625])
    with pytest.raises(ValueError, match="outside"):
        gather(np.array([6]), np.ones(1))
    loads = PatternLoads(3)
    with pytest.raises(ValueError, match="outside"):
        loads.add(np.array([-1], np.int32), np.ones(1))
    column = loads.add(np.array([2], np.int32), np.ones(1))
    np.testing.assert_array_equal(loads.sum(np.array([column, column]), np.array([1.0, 2.0])), [0, 0, 3])
    loads.release(column)
    with pytest.raises(ValueError, match="a column is unknown"):
        loads.sum(np.array([column]), np.ones(1))
