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
