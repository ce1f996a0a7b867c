"""The sampling hash, the receivers and their statistics (Taffet 2021, sections 2.3 and 2.5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_core import sampling

words = st.integers(0, 2**32 - 1)
links = st.integers(1, 2**32 - 1)


def multiply_by_definition(a: int, b: int) -> int:
    """Carry-less product, then reduction: another way than the code under test."""
    product = 0
    for bit in range(32):
        if b >> bit & 1:
            product ^= a << bit
    for bit in range(62, 31, -1):
        if product >> bit & 1:
            product ^= (1 << 32 | sampling.POLYNOMIAL) << (bit - 32)
    return product


@given(words, words)
def test_multiplication_is_that_of_the_field(a, b):
    assert sampling.gf_multiply(a, b) == multiply_by_definition(a, b)


@given(words, links, st.sampled_from([sampling.DEFAULT_G, sampling.OTHER_G]))
def test_hash_is_the_top_bit_and_the_parity_of_the_mask(packet, link, g):
    product = multiply_by_definition(multiply_by_definition(packet, link), g)
    assert sampling.hash(packet, link, g) == bool(product >> 31)
    assert sampling.hash(packet, link, g) == bool((packet & sampling.mask_of(link, g)).bit_count() & 1)


def test_theorems_hold_for_all_16_bit_ids_and_links():
    # H(., d) is the parity under a mask, so it is 1 for exactly half of the ids if and only if the mask has a bit among them (theorem 2.1),
    # and two links agree on exactly half of the ids if and only if their masks differ there (theorem 2.2).
    masks = np.array([sampling.mask_of(d) & 0xFFFF for d in range(1, 2**16)])
    assert masks.min() > 0
    assert np.unique(masks).size == masks.size
    ids = np.arange(2**16)
    for d in (1, 2, 777, 2**16 - 1):
        ones = np.bitwise_count(ids & masks[d - 1]) & 1
        assert ones.sum() == 2**15


@given(links, links)
def test_theorems_hold_for_32_bit_links(one, other):
    assert sampling.mask_of(one) != 0
    assert (sampling.mask_of(one) == sampling.mask_of(other)) == (one == other)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 70), st.integers(0, 5000), st.integers(0, 2**31), st.booleans())
def test_simd_receiver_equals_the_scalar_one(count, packets, seed, wide):
    rng = np.random.default_rng(seed)
    names = rng.integers(1, 2**32, count, dtype=np.uint32)
    arrivals = (
        rng.integers(0, 2**32 if wide else 2**16, packets, dtype=np.uint32),
        rng.integers(0, 2, packets).astype(np.uint8),
        rng.integers(1, 17, packets).astype(np.uint8),
        rng.integers(0, 2, packets).astype(np.uint8),
    )
    fast, slow = sampling.OneBitReceiver(names), sampling.OneBitReceiver(names)
    fast.add(*arrivals)
    slow.add(*arrivals, simd=False)
    assert np.array_equal(fast.traffic(), slow.traffic())
    assert np.array_equal(fast.congested(), slow.congested())
    assert fast.tested == packets


def test_receiver_refuses_hop_counts_that_no_packet_carries():
    receiver = sampling.OneBitReceiver(np.array([1, 2], np.uint32))
    one = np.ones(1, np.uint8)
    with pytest.raises(ValueError, match="hop count"):
        receiver.add(np.ones(1, np.uint32), one, np.zeros(1, np.uint8), one)


def experiment(packets: int, seed: int, downsampling: int = 1) -> dict:
    run = sampling.Experiment()
    run.links = 8
    run.paths = [[0, 1, 2, 3], [0, 4, 5, 3], [6, 7]]
    run.sets = [[0, 1, 2, 3, 4, 5], [6, 7]]
    run.congested_share = [0.0, 0.5, 0.1, 0.0, 0.9, 0.0, 0.2, 0.0]
    run.add_flow(packets, 0, [0, 1])
    run.add_flow(packets // 2, 1, [2])
    run.downsampling = downsampling
    run.seed = seed
    return run.run()


def test_estimates_are_unbiased_with_the_variance_of_the_formulas():
    packets, runs = 2000, 300
    results = [experiment(packets, seed) for seed in range(runs)]
    standard = np.array([r["standard"]["traffic"] for r in results])
    one_bit = np.array([r["one_bit"]["traffic"] for r in results])
    exact = np.array([r["exact"]["traffic"] for r in results])
    # Link 0: N packets on paths of 4 links, all N of them tested.
    expected = sampling.standard_variance(packets, 4)
    assert np.var(standard[:, 0]) == pytest.approx(expected, rel=0.25)
    assert np.var(one_bit[:, 0]) == pytest.approx(sampling.one_bit_variance(packets, packets, 4), rel=0.25)
    for estimate, variance in ((standard, expected), (one_bit, 16 * packets)):
        error = (estimate - exact).mean(axis=0)
        assert np.all(np.abs(error[:6]) < 4 * np.sqrt(variance / runs))
    # Link 1 carries half of the packets, but all are tested: section 2.5.1's Q.
    assert np.var((one_bit - exact)[:, 1]) == pytest.approx(16 * packets - packets / 2, rel=0.3)
    congested = np.array([r["standard"]["congested"] for r in results]).mean(axis=0)
    assert congested[4] / standard[:, 4].mean() == pytest.approx(0.9, abs=0.02)


def test_downsampling_keeps_the_scale_and_costs_accuracy():
    full, thinned = experiment(200_000, 1), experiment(200_000, 1, 10)
    assert thinned["sampled"] == pytest.approx(30_000, rel=0.05)
    error = [abs(r["standard"]["traffic"][0] - 200_000) for r in (full, thinned)]
    assert error[1] < 5 * np.sqrt(sampling.standard_variance(200_000, 4) * 10)
    assert error[0] < 5 * np.sqrt(sampling.standard_variance(200_000, 4))


def test_threshold_hides_links_that_carry_nothing():
    result = experiment(100_000, 3)
    assert abs(result["one_bit"]["traffic"][7] - 50_000) < sampling.false_positive_threshold(2, 50_000) * 2
    assert sampling.false_positive_threshold(8, 10_000) == pytest.approx(8 * 100 * 2.33)
