"""The sampling hash, the receivers and their statistics (Taffet 2021, sections 2.3 and 2.5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import DONT_FRAGMENT, MORE_FRAGMENTS, checksum, frame, header

from flitwatch_core import packet_path, sampling
from flitwatch_core.packet_path import Kind, Variant

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
    # Link 0: N packets on paths of l = 4 links, all N of them tested: N (l - 1) in section 2.3.2, N l^2 - N in section 2.5.1.
    expected = 3 * packets
    assert np.var(standard[:, 0]) == pytest.approx(expected, rel=0.25)
    assert np.var(one_bit[:, 0]) == pytest.approx(15 * packets, rel=0.25)
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
    assert error[1] < 5 * np.sqrt(3 * 200_000 * 10)
    assert error[0] < 5 * np.sqrt(3 * 200_000)


def test_threshold_hides_links_that_carry_nothing():
    result = experiment(100_000, 3)
    assert abs(result["one_bit"]["traffic"][7] - 50_000) < sampling.false_positive_threshold(2, 50_000) * 2
    assert sampling.false_positive_threshold(8, 10_000) == pytest.approx(8 * 100 * 2.33)


# Marks in IPv4 headers: the layout of figures 2.11 to 2.13 (Taffet 2021), checksums, and what is left alone.


words16 = st.integers(0, 2**16 - 1)

marked_links = st.integers(1, 2**16 - 1)

frames = st.builds(
    frame,
    ds=st.integers(0, 255),
    identification=words16,
    payload=st.binary(max_size=40),
    options=st.integers(0, 10).map(lambda n: b"\x01" * 4 * n),
    tags=st.just(0),
)


@given(frames, words16, marked_links, st.booleans())
def test_a_begun_mark_has_the_paper_s_layout_and_a_right_checksum(sent, packet, link, congested):
    marked = packet_path.begin(sent, Variant.ONE_BIT, packet, link, congested)
    before, after = header(sent), header(marked)
    bit = sampling.hash(packet, link)
    assert after[1] == 1 << 7 | 1 << 3 | bit << 2 | (3 if congested else 1)
    assert after[4:6] == packet.to_bytes(2, "big")
    assert checksum(after) == 0
    untouched = [i for i in range(len(before)) if i not in (1, 4, 5, 10, 11)]
    assert [before[i] for i in untouched] == [after[i] for i in untouched]
    assert marked[14 + len(after) :] == sent[14 + len(before) :]


@given(
    frames,
    words16,
    marked_links,
    st.lists(st.tuples(st.integers(0, 2**32 - 1), marked_links, st.booleans()), max_size=20),
)
def test_switches_follow_algorithm_5(sent, packet, first, way):
    marked, hops = packet_path.begin(sent, Variant.ONE_BIT, packet, first), 1
    reservoir, waits = first, False
    for random, link, congested in way:
        marked, taken = packet_path.forward(marked, Variant.ONE_BIT, random, link, congested)
        assert taken == (random * (hops + 1) >> 32 == 0)
        if taken:
            reservoir, waits = link, congested
        hops = min(hops + 1, packet_path.MOST_HOPS)
    assert packet_path.read_mark(marked) == (packet, hops, sampling.hash(packet, reservoir), waits, True)


@given(frames, marked_links, st.lists(st.tuples(st.integers(0, 2**32 - 1), marked_links), max_size=8))
def test_the_standard_variant_carries_the_link_itself(sent, first, way):
    marked, reservoir = packet_path.begin(sent, Variant.STANDARD, 4711, first), first
    for random, link in way:
        marked, taken = packet_path.forward(marked, Variant.STANDARD, random, link)
        reservoir = link if taken else reservoir
    assert packet_path.read_mark(marked)[0] == reservoir
    assert checksum(header(marked)) == 0


@given(frames, st.integers(1, 0xFFFF), marked_links)
def test_a_wrong_checksum_stays_wrong(sent, error, link):
    field = int.from_bytes(sent[24:26], "big") ^ error
    # One's complement has two zeros: a header that differs in them only is not wrong.
    broken = sent[:24] + field.to_bytes(2, "big") + sent[26:]
    marked = packet_path.begin(broken, Variant.ONE_BIT, 77, link)
    assert (checksum(header(marked)) == 0) == (checksum(header(broken)) == 0)
    assert packet_path.read_mark(marked)[4] == (checksum(header(broken)) == 0)


@pytest.mark.parametrize("tags", [0, 1, 2])
def test_datagrams_are_found_behind_vlan_tags(tags):
    marked = packet_path.begin(frame(tags=tags), Variant.ONE_BIT, 5, 9)
    assert checksum(header(marked, tags)) == 0
    assert packet_path.read_mark(marked)[:2] == (5, 1)


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (frame(flags=0), Kind.FRAGMENTABLE),
        (frame(flags=MORE_FRAGMENTS), Kind.FRAGMENT),
        (frame(flags=185), Kind.FRAGMENT),
        (frame(flags=DONT_FRAGMENT | MORE_FRAGMENTS), Kind.FRAGMENT),
        (b"\0" * 12 + b"\x86\xdd" + b"\x60" + b"\0" * 39, Kind.IPV6),
        (b"\0" * 12 + b"\x08\x06" + b"\0" * 28, Kind.NOT_IP),
        (frame()[:33], Kind.TRUNCATED),
        (frame()[:14] + b"\x44" + frame()[15:], Kind.TRUNCATED),
        (frame()[:16] + b"\xff\xff" + frame()[18:], Kind.TRUNCATED),
        (b"", Kind.NOT_IP),
    ],
)
def test_other_frames_are_distinguished_and_carry_no_mark(sent, kind):
    assert packet_path.kind_of(sent) == kind
    with pytest.raises(ValueError, match="atomic"):
        packet_path.begin(sent, Variant.ONE_BIT, 1, 1)


@given(st.binary(max_size=80))
def test_any_bytes_have_a_kind(found):
    packet_path.kind_of(found)
    packet_path.read_mark(found)


def test_code_points_of_others_are_no_marks():
    for code_point in range(64):
        for ecn in (0b00, 0b10):
            assert packet_path.read_mark(frame(ds=code_point << 2 | ecn)) is None
