"""The bound by packing a leaf's entries into ports, against the exact optimum of a mixed-integer solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from flitwatch_routing.packing import least_busiest, longest_first


def optimum(sizes: np.ndarray, ports: int) -> float:
    """The busiest port's bytes when every entry takes one port, at least."""
    count = len(sizes)
    width = count * ports + 1
    once, loads = np.zeros((count, width)), np.zeros((ports, width))
    for entry in range(count):
        once[entry, entry * ports : (entry + 1) * ports] = 1
        loads[np.arange(ports), entry * ports + np.arange(ports)] = sizes[entry]
    loads[:, -1] = -1
    rules = [LinearConstraint(once, 1, 1), LinearConstraint(loads, -np.inf, 0)]
    box = Bounds(np.zeros(width), np.r_[np.ones(width - 1), np.inf])
    cost, whole = np.r_[np.zeros(width - 1), 1.0], np.r_[np.ones(width - 1), 0.0]
    return float(milp(cost, constraints=rules, integrality=whole, bounds=box).fun)


@pytest.mark.system("numeric")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 11), st.booleans())
def test_the_bound_never_passes_the_optimum(seed: int, ports: int, entries: int, few_sizes: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1.0, 1.7, 2.4, 0.1], entries) if few_sizes else rng.uniform(0.1, 3, entries)
    best = optimum(sizes, ports)
    known = max(sizes.sum() / ports, sizes.max())
    found = least_busiest([(sizes, ports)], known, lambda: True)
    assert known <= found <= best * (1 + 1e-6)
    assert best <= longest_first(sizes, ports) * (1 + 1e-9)


def test_entries_that_fill_no_port_evenly_force_more_than_an_even_share() -> None:
    """Ten entries of 3 on four ports: two to a port leave two over. Pigeonholes and packing say 9, an even share 7.5."""
    found = least_busiest([(np.full(10, 3.0), 4)], 7.5, lambda: True)
    assert found == pytest.approx(9, rel=1e-3)


def test_two_sizes_are_packed_together() -> None:
    """Sixteen ports, 16 entries of 6 and 24 of 4 (an even share is 12): 6 + 6 and 4 + 4 + 4 fill ports, so 12 it is; with one entry of 6 more it is above."""
    sizes = np.r_[np.full(16, 6.0), np.full(24, 4.0)]
    assert least_busiest([(sizes, 16)], 12.0, lambda: True) == 12.0
    assert least_busiest([(np.r_[sizes, 6.0], 16)], sizes.sum() / 16 + 6 / 16, lambda: True) == pytest.approx(
        14, rel=1e-2
    )


def test_the_busiest_leaf_counts_and_a_stop_keeps_what_was_known() -> None:
    leaves = [(np.full(9, 2.0), 4), (np.full(10, 3.0), 4), (np.full(0, 1.0), 0)]
    assert least_busiest(leaves, 1.0, lambda: True) == pytest.approx(9, rel=1e-3)
    assert least_busiest(leaves, 1.0, lambda: False) == 1.0
