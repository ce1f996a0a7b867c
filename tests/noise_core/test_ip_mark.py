"""Marks in IPv4 headers: the layout of figures 2.11 to 2.13 (Taffet 2021), checksums, and what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import DONT_FRAGMENT, MORE_FRAGMENTS, checksum, frame, header

from flitwatch_core import packet_path, sampling
from flitwatch_core.packet_path import Kind, Variant

words16 = st.integers(0, 2**16 - 1)
links = st.integers(1, 2**16 - 1)


frames = st.builds(
    frame,
    ds=st.integers(0, 255),
    identification=words16,
    payload=st.binary(max_size=40),
    options=st.integers(0, 10).map(lambda n: b"\x01" * 4 * n),
    tags=st.just(0),
)


@given(frames, words16, links, st.booleans())
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


@given(frames, words16, links, st.lists(st.tuples(st.integers(0, 2**32 - 1), links, st.booleans()), max_size=20))
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


@given(frames, links, st.lists(st.tuples(st.integers(0, 2**32 - 1), links), max_size=8))
def test_the_standard_variant_carries_the_link_itself(sent, first, way):
    marked, reservoir = packet_path.begin(sent, Variant.STANDARD, 4711, first), first
    for random, link in way:
        marked, taken = packet_path.forward(marked, Variant.STANDARD, random, link)
        reservoir = link if taken else reservoir
    assert packet_path.read_mark(marked)[0] == reservoir
    assert checksum(header(marked)) == 0


@given(frames, st.integers(1, 0xFFFF), links)
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
def test_other_frames_are_told_apart_and_carry_no_mark(sent, kind):
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
