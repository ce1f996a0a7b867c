"""Boxes and lines of measured collectives against SciPy, planted truths and samples without a difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from flitwatch_domain.network_noise.collectives import fitted_line, notched_box, t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 30, 126, 1001])
def test_quantiles_of_t_are_scipys(degrees: int) -> None:
    for share in (0.6, 0.9, 0.975, 0.999):
        assert t_quantile(share, degrees) == pytest.approx(stats.t.ppf(share, degrees), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_line_is_scipys_and_its_band_is_narrowest_in_the_middle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratios = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    values = 1 + 0.8 * ratios + rng.normal(0, 0.2, ratios.size)
    line, oracle = fitted_line(ratios.tolist(), values.tolist()), stats.linregress(ratios, values)
    assert line is not None
    assert (line.slope, line.intercept) == pytest.approx((oracle.slope, oracle.intercept))
    half = stats.t.ppf(0.975, ratios.size - 2) * oracle.stderr
    assert line.slope_ci95 == pytest.approx((oracle.slope - half, oracle.slope + half))
    widths = [high - low for _, low, _, high in line.band]
    assert widths.index(min(widths)) == 2 and widths[0] == pytest.approx(widths[-1])


def test_the_slopes_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    ratios = np.tile([0.25, 0.5, 0.75], 5)
    held = 0
    for _ in range(400):
        line = fitted_line(ratios.tolist(), (1 + 0.5 * ratios + rng.normal(0, 0.3, ratios.size)).tolist())
        assert line is not None
        held += line.slope_ci95[0] <= 0.5 <= line.slope_ci95[1]
    assert 0.92 < held / 400 < 0.98


def test_notches_of_equal_samples_overlap_and_of_shifted_ones_do_not() -> None:
    rng = np.random.default_rng(2)

    def box(shift: float) -> tuple[float, float]:
        sample = rng.normal(shift, 1, 128)
        return notched_box(np.percentile(sample, [0, 25, 50, 75, 100]).tolist(), sample.size).notch

    apart = [box(0)[1] < box(1)[0] for _ in range(50)]
    alike = [max(a[0], b[0]) <= min(a[1], b[1]) for a, b in ((box(0), box(0)) for _ in range(50))]
    assert sum(apart) > 45 and sum(alike) > 45


@pytest.mark.parametrize(("ratios", "values"), [([], []), ([0.5, 0.6], [1, 2]), ([0.5] * 4, [1, 2, 3, 4])])
def test_too_little_has_no_line(ratios: list[float], values: list[float]) -> None:
    assert fitted_line(ratios, values) is None
