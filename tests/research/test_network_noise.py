"""Hoefler 2009, sections 1 and 2, on the packet engine: the statements of the text about figures 1, 3 and 5."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_research.papers import network_noise
from flitwatch_research.papers.network_noise import SOURCES, measure_benchmark, notch, run_source


def test_both_kinds_of_noise_delay_the_same_two_processes_by_two_slices() -> None:
    """Figure 1: the second and the fourth process are two slices late, whether a host was interrupted or a link congested; the others are not."""
    quiet, host, network = (run_source(source) for source in SOURCES)
    # Computation of one slice, messages of two, and a slice between the first process' messages; the fourth process is last.
    assert quiet == pytest.approx([2, 3, 4, 5], abs=0.35)
    for noisy in (host, network):
        assert noisy - quiet == pytest.approx([0, 2, 0, 2], abs=0.05)


def test_the_effect_of_the_perturbation_grows_with_the_allocation() -> None:
    """Figure 5: at a perturbation ratio of a half, on a fat tree with full bisection."""
    machine = network_noise.build_benchmark_machine()
    slowdowns = [measure_benchmark(machine, np.arange(size), 0.5, 4).slowdown for size in (16, 64, 128)]
    assert slowdowns[0] < 1.2 < 0.5 * slowdowns[1] and slowdowns == sorted(slowdowns)


def test_a_split_without_perturbation_is_the_quiet_run() -> None:
    machine = network_noise.build_benchmark_machine()
    times = measure_benchmark(machine, np.arange(16), 0.0, 2)
    assert np.array_equal(times.quiet_us, times.perturbed_us) and times.slowdown == 1.0


def test_a_notch_is_narrow_for_many_alike_times() -> None:
    few, many = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    assert notch(few) == pytest.approx((3 - 1.57 * 2 / 5**0.5, 3 + 1.57 * 2 / 5**0.5))
    assert notch(many) == pytest.approx((3 - 1.57 * 2 / 10, 3 + 1.57 * 2 / 10))
