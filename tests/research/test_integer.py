"""Our use of HiGHS: it reports progress, accepts solutions while it runs, and can be stopped."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import coo_array

from flitwatch_research.formulations.integer import Program


def knapsack(items: int, seed: int) -> tuple[Program, np.ndarray, np.ndarray, np.ndarray]:
    """Several full knapsacks at once: hard enough that nothing ends by itself."""
    rng = np.random.default_rng(seed)
    weight, worth = rng.integers(1, 100, (30, items)).astype(float), rng.integers(1, 100, items).astype(float)
    full = weight.sum(axis=1) / 2
    program = Program(-worth, coo_array(weight), np.full(30, -np.inf), full, np.ones(items), np.ones(items, dtype=bool))
    return program, weight, worth, full


def test_a_small_program_ends_at_its_optimum_with_its_way_there() -> None:
    # Two of three: the two most worth.
    rows = coo_array(np.ones((1, 3)))
    program = Program(
        -np.array([3.0, 1.0, 2.0]), rows, np.array([-np.inf]), np.array([2.0]), np.ones(3), np.ones(3, dtype=bool)
    )
    found = program.minimise(10.0)
    assert found.x is not None and found.x.round().tolist() == [1, 0, 1]
    assert found.value == found.bound == -5


@pytest.mark.system("numeric")
def test_what_is_handed_over_is_taken_where_it_is_better_and_left_where_it_breaks_a_rule() -> None:
    """The best known packing, handed over in a later and shorter search, is at least kept; one that is too heavy is not taken."""
    program, weight, _, full = knapsack(120, 1)
    known = program.minimise(4.0)
    assert known.x is not None and list(known.progress) == sorted(known.progress, key=lambda one: (one[0], -one[1]))
    values = [value for _, value in known.progress]
    assert values == sorted(values, reverse=True) and values[-1] == known.value
    asked: list[float] = []

    def offered() -> np.ndarray | None:
        asked.append(time.monotonic())
        return known.x

    again = program.minimise(1.0, offered=offered)
    assert len(asked) == 1 and again.value <= known.value
    heavy = program.minimise(1.0, offered=lambda: np.ones(120))
    assert heavy.x is not None and (weight @ heavy.x <= full + 1e-6).all()


def test_a_search_ends_when_it_is_asked_to() -> None:
    program, *_ = knapsack(120, 2)
    asked: list[bool] = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > 3

    found = program.minimise(600.0, stopped)
    assert found.bound < found.value and 3 < len(asked) < 100
