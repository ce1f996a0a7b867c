"""A job's network noise from its network cards: planted latency and stalls are recovered, quiet cards have none, missing counters give no value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from flitwatch_domain.fabric import Technology
from flitwatch_domain.network_noise.observations import fitted_line, message_time_s, notched_box, t_quantile
from flitwatch_domain.network_noise.of_job import COLUMNS, NicCounts, job_noise

WINDOWS, CARDS = 20, 4

FLITS, PACKETS = 30_000_000.0, 10_000_000.0


def cards(stalls: np.ndarray, latency_us: np.ndarray) -> NicCounts:
    """Cards that send the same in every window, with stalls per flit and latency per request (windows, cards)."""
    whole = np.ones((WINDOWS, CARDS))
    counts = dict.fromkeys(COLUMNS, whole * np.nan)
    counts |= {"rq_flits": whole * FLITS, "rq_packets": whole * PACKETS}
    counts |= {"rq_stall_cycles": stalls * FLITS, "latency_us_sum": latency_us * PACKETS}
    return NicCounts(10, counts)


def planted(noisy: int, stalls: float, latency_us: float) -> NicCounts:
    s, latency = np.full((WINDOWS, CARDS), 0.5), np.full((WINDOWS, CARDS), 2.0)
    s[:noisy] += stalls
    latency[:noisy] += latency_us
    return cards(s, latency)


@pytest.mark.parametrize(("stalls", "latency_us"), [(3.0, 0.0), (0.0, 4.0), (3.0, 4.0)])
def test_planted_stalls_and_latency_come_back_in_seconds(stalls: float, latency_us: float) -> None:
    """Stalls are cycles of 800 MHz, latency is microseconds: 3 cycles on 30 million flits are 0.1125 s, 4 us cost a packet in 1,024."""
    made = job_noise(planted(8, stalls, latency_us), Technology.CRAY_XC, CARDS)
    truth = 8 * (FLITS * stalls / 800e6 + (PACKETS + 512) / 1024 * latency_us * 1e-6)
    assert made.noise_s == pytest.approx(truth, rel=1e-9) and made.worst_noise_s == pytest.approx(truth, rel=1e-9)
    assert made.latency_us is not None and made.waits is not None and made.unknown == {}
    assert made.latency_us.quiet == pytest.approx(2.0) and made.latency_us.mean == pytest.approx(2 + latency_us * 0.4)
    assert (made.waits.quiet, made.waits_unit) == (pytest.approx(0.5), "cycles / flit")
    quiet, noisy = message_time_s(65_536, 1600, 0.5), message_time_s(65_536, 1600 + 800 * latency_us, 0.5 + stalls)
    assert made.message_dispersion == pytest.approx((noisy - quiet) / (noisy + quiet))


def test_quiet_cards_have_no_noise() -> None:
    made = job_noise(planted(0, 0, 0), Technology.CRAY_XC, CARDS)
    assert (made.noise_s, made.message_dispersion) == (0.0, 0.0)
    # Self-made level differences between cards are no noise either: each is held against itself.
    level = np.linspace(0, 9, CARDS)[None, :].repeat(WINDOWS, 0)
    assert job_noise(cards(level, 1 + level), Technology.CRAY_XC, CARDS).noise_s == 0.0


def test_a_longer_job_has_no_more_noise_per_time() -> None:
    """Table 1 of the paper: twice the time doubles the counters; quotients and dispersions stay."""
    once = planted(8, 3, 4)
    twice = NicCounts(10, {name: 2 * held for name, held in once.counts.items()})
    a, b = (job_noise(one, Technology.CRAY_XC, CARDS) for one in (once, twice))
    assert a.latency_us == b.latency_us and a.waits == b.waits and a.message_dispersion == b.message_dispersion


def test_the_card_with_most_noise_is_distinguished_from_the_mean() -> None:
    s = np.full((WINDOWS, CARDS), 0.5)
    s[:6, 2] = 4.5
    made = job_noise(cards(s, np.full_like(s, 2.0)), Technology.CRAY_XC, CARDS)
    assert made.worst_noise_s == pytest.approx(6 * FLITS * 4 / 800e6)
    assert made.noise_s == pytest.approx(made.worst_noise_s / CARDS)


def test_what_was_not_counted_cannot_be_reported() -> None:
    without = planted(8, 3, 4)
    without.counts["latency_us_sum"][:] = np.nan
    made = job_noise(without, Technology.CRAY_XC, CARDS)
    assert made.latency_us is None and made.noise_s is None and made.waits is not None
    assert "latency_us_sum was not counted" in made.unknown["latency_us"] and "needs latency" in made.unknown["noise_s"]
    nothing = job_noise(
        NicCounts(10, {name: np.full((WINDOWS, CARDS), np.nan) for name in COLUMNS}), Technology.CRAY_XC, 4
    )
    assert nothing.noise_s is None and "None of its network cards" in nothing.unknown["noise_s"]
    few = NicCounts(10, {name: held[:3] for name, held in planted(1, 3, 4).counts.items()})
    assert "3 windows; 4 are needed" in job_noise(few, Technology.CRAY_XC, CARDS).unknown["noise_s"]
    assert "4 of its 10" in job_noise(planted(8, 3, 4), Technology.CRAY_XC, 10).unknown["noise_s"]


@pytest.mark.parametrize(
    ("technology", "unit"),
    [
        (Technology.INFINIBAND, "word times / packet"),
        (Technology.OPA, "flit times / packet"),
        (Technology.SLINGSHOT, "cycles / packet"),
    ],
)
def test_cards_without_latency_tell_their_waits_and_no_seconds(technology: Technology, unit: str) -> None:
    counts = {name: np.full((WINDOWS, CARDS), np.nan) for name in COLUMNS}
    counts["tx_packets"][:] = 1e6
    counts["tx_wait_cycles"][:] = 1e6
    counts["tx_wait_cycles"][:10] = 3e6
    made = job_noise(NicCounts(10, counts), technology, CARDS)
    assert made.waits is not None and made.waits_unit == unit
    assert (made.waits.mean, made.waits.quiet, made.waits.dispersion) == pytest.approx((2.0, 1.0, 0.5))
    assert made.noise_s is None and made.latency_us is None and set(made.unknown) == {
        "latency_us", "noise_s", "message_dispersion"
    }  # fmt: skip
    assert made.counters == ("tx_wait_cycles", "tx_packets")
    assert "no counters" in job_noise(NicCounts(10, counts), Technology.GENERIC, CARDS).unknown["waits"]


# Boxes and lines of measured collectives against SciPy, planted truths and samples without a difference.


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
