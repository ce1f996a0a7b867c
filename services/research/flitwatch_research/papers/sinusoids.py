"""Figure 4.1 and equation 4.2.1 of Taffet 2021: a sum of three sinusoids from few samples, and how sparse a signal must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The figure's signal: amplitude, frequency in units of pi, and phase of each sinusoid; its number of values, and of random samples.
SINUSOIDS = ((2.2, 1.0, 0.0), (3.0, 3.0, 0.75 * np.pi), (1.0, 7.0, -1.0))
VALUES, SAMPLES = 1000, 35
#: The text does not state the interval of x: this one has whole periods, so that three frequencies express the signal.
SPAN = 10.0
SEED = 1
STEPS = 1500


def make_signal() -> tuple[Floats, Floats]:
    """Return x and the signal."""
    x = np.arange(VALUES) * SPAN / VALUES
    return x, sum((size * np.sin(of_pi * np.pi * x + phase) for size, of_pi, phase in SINUSOIDS), np.zeros(VALUES))


def count_frequencies(signal: Floats) -> int:
    """Return the number of frequencies with a nonzero coefficient."""
    size = np.abs(np.fft.rfft(signal))
    return int((size > 1e-9 * size.max()).sum())


def recover_sparse(at: NDArray[np.int64], samples: Floats) -> Floats:
    """Return the signal with these samples and the smallest sum of its frequencies' amplitudes (equation 4.3.2 in the Fourier basis), by Douglas-Rachford steps."""
    whole = np.zeros(VALUES)
    threshold = float(np.abs(samples).max(initial=0.0)) / 3
    for _ in range(STEPS):
        fitted = whole.copy()
        fitted[at] = samples
        frequencies = np.fft.rfft(2 * fitted - whole, norm="ortho")
        amplitude = np.maximum(np.abs(frequencies), np.finfo(float).tiny)
        whole += np.fft.irfft(frequencies * np.maximum(1 - threshold / amplitude, 0), VALUES, norm="ortho") - fitted
    whole[at] = samples
    return whole


def recover_densest(at: NDArray[np.int64], samples: Floats) -> Floats:
    """Return the signal of least energy below the highest frequency's band limit, the classical answer for samples at these places."""
    band = round(max(of_pi for _, of_pi, _ in SINUSOIDS) / 2 * SPAN)
    angle = 2 * np.pi * np.outer(np.arange(VALUES), np.arange(1, band + 1)) / VALUES
    terms = np.hstack([np.ones((VALUES, 1)), np.cos(angle), np.sin(angle)])
    return np.asarray(terms @ np.linalg.lstsq(terms[at], samples, rcond=None)[0])


def recover_evenly(count: int) -> Floats:
    """Return the trigonometric interpolation of `count` evenly spaced samples of the signal."""
    places = np.arange(count) * SPAN / count
    samples = sum((size * np.sin(of_pi * np.pi * places + phase) for size, of_pi, phase in SINUSOIDS), np.zeros(count))
    return np.fft.irfft(np.fft.rfft(samples), VALUES) * (VALUES / count)


def least_even_samples() -> int:
    """Return the number of evenly spaced samples that the highest frequency requires: more than two a period."""
    return int(max(of_pi for _, of_pi, _ in SINUSOIDS) * SPAN) + 1


@dataclass(frozen=True)
class Recovered:
    """The figure's signal, the places of its random samples, and both signals recovered from them."""

    x: Floats
    signal: Floats
    at: NDArray[np.int64]
    sparse: Floats
    classical: Floats


def recover_figure(seed: int = SEED) -> Recovered:
    """Return the figure's four parts for one draw of the samples."""
    x, signal = make_signal()
    at = np.sort(np.random.default_rng(seed).choice(VALUES, SAMPLES, replace=False))
    return Recovered(x, signal, at, recover_sparse(at, signal[at]), recover_densest(at, signal[at]))


def relative_difference(ours: Floats, signal: Floats) -> float:
    """Return |ours - signal| / |signal|."""
    return float(np.linalg.norm(ours - signal) / np.linalg.norm(signal))


def compute_coherence(measuring: NDArray[Any], representing: NDArray[Any]) -> float:
    """Return mu of two orthonormal bases (n, n), whose rows are their elements: the largest inner product of one of each, times the root of n; from 1 to that root."""
    return float(np.sqrt(len(representing)) * np.abs(measuring @ representing.conj().T).max())


def bound_sparsity(measurements: int, unknowns: int, coherence: float, constant: float = 1.0) -> float:
    """Return equation 4.2.1: the largest number of nonzeros S <= m / (C mu^2 log n) that m measurements of n unknowns can recover."""
    return float(measurements / (constant * coherence**2 * np.log(unknowns)))
