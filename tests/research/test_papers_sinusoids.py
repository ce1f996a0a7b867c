"""Taffet 2021, figure 4.1 and equation 4.2.1: a sparse signal comes back from few samples, a dense one does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_research.papers import sinusoids


def test_three_sinusoids_come_back_from_35_random_samples_as_the_text_says() -> None:
    """The statements about figure 4.1: three nonzeros in frequency, dense in time, exact by sparsity, extremely poor without it, and well with 80 to 100 even ones."""
    _, signal = sinusoids.make_signal()
    assert sinusoids.count_frequencies(signal) == len(sinusoids.SINUSOIDS) == 3
    assert (np.abs(signal) > 1e-9 * np.abs(signal).max()).mean() > 0.99
    for seed in range(5):
        both = sinusoids.recover_figure(seed)
        assert len(both.at) == 35 and len(both.signal) == 1000
        assert sinusoids.relative_difference(both.sparse, signal) < 1e-6
        assert sinusoids.relative_difference(both.classical, signal) > 0.3
    assert all(sinusoids.relative_difference(sinusoids.recover_evenly(n), signal) < 1e-9 for n in (80, 100))
    least = sinusoids.least_even_samples()
    assert 2 * sinusoids.SAMPLES < least < 80
    assert sinusoids.relative_difference(sinusoids.recover_evenly(least), signal) < 1e-9
    assert sinusoids.relative_difference(sinusoids.recover_evenly(least - 2), signal) > 0.1


def test_the_bound_on_nonzeros_is_the_equations() -> None:
    """S <= m / (C mu^2 log n): what it says of each of its terms."""
    assert sinusoids.bound_sparsity(35, 1000, 1.0) == pytest.approx(35 / math.log(1000))
    assert sinusoids.bound_sparsity(70, 1000, 1.0) == pytest.approx(2 * sinusoids.bound_sparsity(35, 1000, 1.0))
    assert sinusoids.bound_sparsity(35, 1000, 2.0, 0.5) == pytest.approx(sinusoids.bound_sparsity(35, 1000, 1.0) / 2)


def test_coherence_is_least_between_time_and_frequency_and_largest_within_one() -> None:
    n = 64
    time, frequency = np.eye(n), np.fft.fft(np.eye(n), norm="ortho")
    assert sinusoids.compute_coherence(time, frequency) == pytest.approx(1.0)
    assert sinusoids.compute_coherence(frequency, frequency) == pytest.approx(math.sqrt(n))


def test_a_signal_within_the_bound_is_recovered_and_one_far_beyond_it_is_not() -> None:
    bound = sinusoids.bound_sparsity(sinusoids.SAMPLES, sinusoids.VALUES, 1.0)
    assert 3 <= bound < 20
    rng, missed = np.random.default_rng(1), []
    for nonzeros in (3, 4 * int(bound)):
        frequencies = np.zeros(sinusoids.VALUES // 2 + 1, complex)
        frequencies[rng.choice(np.arange(1, 500), nonzeros, replace=False)] = np.exp(1j * rng.uniform(0, 6, nonzeros))
        signal = np.fft.irfft(frequencies, sinusoids.VALUES, norm="ortho")
        at = np.sort(rng.choice(sinusoids.VALUES, sinusoids.SAMPLES, replace=False))
        missed.append(sinusoids.relative_difference(sinusoids.recover_sparse(at, signal[at]), signal))
    assert missed[0] < 1e-6 and missed[1] > 0.3
