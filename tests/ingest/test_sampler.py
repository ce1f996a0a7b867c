"""The receiving host: plan, contexts, decoding by reason, sums by slice and context."""

from __future__ import annotations

import os
import socket
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import frame

from flitwatch_core import packet_path, sampling
from flitwatch_core.packet_path import Capture, Variant
from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_ingest.sampler.contexts import Context, Contexts, Declaration, parse_declaration
from flitwatch_ingest.sampler.plan import SamplerPlan, make_plan
from flitwatch_research.namespaces import figure_214

HOSTS = {"h1": "10.0.0.1", "h2": "10.0.0.2", "h3": "10.0.0.3"}
needs_socket = pytest.mark.skipif(os.geteuid() != 0, reason="a packet socket needs root")
SECOND = 1_000_000_000


def plan(**changes) -> SamplerPlan:
    made = make_plan(figure_214(), "h2", HOSTS)
    return SamplerPlan.model_validate(made.model_dump() | changes)


def capture(**changes) -> Capture:
    return Capture(plan(**changes).spec("lo", "", 10))


def marked(packet: int, link: int, variant=Variant.ONE_BIT, **more) -> bytes:
    return packet_path.begin(frame(**more), variant, packet, link)


def outcome(made: Capture, found: bytes) -> str:
    made.add(found, SECOND)
    (one,) = (name for name, count in made.outcomes().items() if count)
    return one


def checked(head: bytes) -> bytes:
    """A frame whose header checksum is right again."""
    total = sum(int.from_bytes(head[at : at + 2], "big") for at in range(14, 34, 2) if at != 24)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return head[:24] + (~total & 0xFFFF).to_bytes(2, "big") + head[26:]


def test_a_plan_names_all_links_of_the_shortest_ways():
    made = plan()
    by_network = {str(source.networks[0]): source.links for source in made.sources}
    assert by_network == {"10.0.0.1/32": (0, 2, 4, 6, 8, 13), "10.0.0.3/32": (6, 13, 16)}
    assert SamplerPlan.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("host", "addresses", "error"),
    [("h9", HOSTS, NotFound), ("h2", {"h1": "10.0.0.1"}, NotFound), ("h2", HOSTS | {"h3": "10.0.0.300"}, BadInput)],
)
def test_a_plan_refuses_what_the_fabric_lacks(host, addresses, error):
    with pytest.raises(error):
        make_plan(figure_214(), host, addresses)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"fabric": "f"}', '{"fabric":"f","host":"h","addresses":["1.2.3"],"sources":[]}']
)
def test_a_broken_plan_says_where(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"plan\.json"):
        SamplerPlan.read(path)


@needs_socket
def test_every_bad_packet_is_counted_by_its_reason():
    made = capture()
    good = marked(77, 9)
    no_hops = checked(good[:15] + bytes([good[15] & 0x87]) + good[16:])
    stranger = checked(good[:26] + bytes([10, 0, 0, 9]) + good[30:])
    for_another = checked(good[:30] + bytes([10, 0, 0, 7]) + good[34:])
    assert outcome(made, good) == "decoded"
    assert outcome(made, frame()) == "unmarked"
    assert outcome(made, marked(77, 9)[:24] + b"\0\0" + good[26:]) == "wrong_checksum"
    assert outcome(made, no_hops) == "no_hops"
    assert outcome(made, stranger) == "unknown_source"
    assert outcome(made, for_another) == "not_ours"
    assert outcome(made, frame(flags=0x2000)) == "fragment"
    assert (
        outcome(made, frame(ds=0xFF, flags=0)) == "unmarked"
    )  # a router may have cut it: its identification is no packet id
    assert outcome(made, good[:20]) == "truncated"
    assert outcome(made, b"") == "not_ipv4"
    standard = capture(variant="standard")
    assert outcome(standard, marked(0, 9, Variant.STANDARD)) == "decoded"
    assert outcome(standard, marked(0, 17, Variant.STANDARD)) == "unknown_link"


@needs_socket
def test_any_frame_has_one_outcome():
    made = capture()

    @given(st.one_of(st.binary(max_size=60), st.binary(max_size=60).map(lambda tail: marked(7, 9)[:16] + tail)))
    def holds(found: bytes) -> None:
        made.add(found, SECOND)
        assert sum(made.outcomes().values()) == 1

    holds()


@needs_socket
def test_sums_are_those_of_the_receiver_by_slice_and_context():
    rng = np.random.default_rng(4)
    made = capture()
    contexts = Contexts()
    contexts.declare(Declaration(job="42", ports=[{"first": 7000, "last": 7001, "tag": "2"}]))
    made.set_contexts(*contexts.table())
    oracles: dict[tuple[int, bool], list[tuple[int, int, int, int]]] = {}
    for _ in range(3000):
        ours, second = bool(rng.integers(2)), int(rng.integers(30))
        port = (7001 if ours else 80).to_bytes(2, "big")
        found = marked(int(rng.integers(2**16)), 9, payload=b"\0\0" + port + bytes(8))
        found, _ = packet_path.forward(found, Variant.ONE_BIT, int(rng.integers(2**32)), 1, bool(rng.integers(2)))
        made.add(found, second * SECOND)
        oracles.setdefault((second // 10, ours), []).append(packet_path.read_mark(found)[:4])
    taken = made.take(2)
    assert {one["slice"] for one in taken} == {0, 1}
    taken += made.take(99)
    links = plan().sources[0].links
    for one in taken:
        context = contexts.of(one["context"])
        assert context == (Context("42", "2", None) if one["context"] else Context(None, None, None))
        packets = np.array(oracles.pop((one["slice"], bool(one["context"]))))
        receiver = sampling.OneBitReceiver(np.array(links, np.uint32) + 1)
        ids, hops, bits, congested = (packets[:, column] for column in range(4))
        receiver.add(ids.astype(np.uint32), bits.astype(np.uint8), hops.astype(np.uint8), congested.astype(np.uint8))
        np.testing.assert_array_equal(one["traffic"], receiver.traffic())
        np.testing.assert_array_equal(one["congested"], receiver.congested())
        np.testing.assert_array_equal(one["traffic_variance"], np.maximum(4 * len(packets) - receiver.traffic(), 0))
        assert one["packets"] == len(packets) and one["longest_path"] == 2
    assert not oracles


@needs_socket
def test_what_arrived_before_the_stop_is_counted():
    made = capture()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(600):  # more than one turn of the loop takes
            sender.sendto(b"", ("127.0.0.1", 9))
    made.stop()
    made.run()
    assert sum(made.outcomes().values()) + made.overruns() >= 600


@needs_socket
def test_what_nobody_takes_is_bounded_and_counted():
    spec = plan().spec("lo", "", 10)
    spec.most_held_links = 13  # two slices of the six links
    made = Capture(spec)
    for second in (0, 10, 20, 25):
        made.add(marked(7, 9), second * SECOND)
    counts = made.outcomes()
    assert (counts["decoded"], counts["not_held"]) == (2, 2)
    assert Counter(one["slice"] for one in made.take(99)) == {0: 1, 1: 1}
    made.add(marked(7, 9), 30 * SECOND)
    assert made.outcomes()["decoded"] == 1


def test_contexts_follow_declarations():
    contexts = Contexts()
    assert contexts.table()[1] == 0
    contexts.declare(parse_declaration(b'{"job": "1", "phase": "setup"}'))
    by_port, other = contexts.table()
    assert not by_port.size and contexts.of(other) == Context("1", None, "setup")
    contexts.declare(
        parse_declaration(b'{"job": "2", "ports": [{"first": 10, "last": 11, "tag": "x"}, {"first": 12, "last": 12}]}')
    )
    contexts.declare(parse_declaration(b'{"job": "2", "phase": "solve"}'))  # the ports stay
    by_port, other = contexts.table()
    seen = {port: contexts.of(int(by_port[port])) for port in (9, 10, 11, 12, 13)}
    assert seen[10] == seen[11] == Context("2", "x", "solve") and seen[12] == Context("2", None, "solve")
    assert seen[9] == seen[13] == contexts.of(other) == Context("1", None, "setup")
    contexts.declare(parse_declaration(b'{"job": "3"}'))
    assert contexts.of(contexts.table()[1]) == Context(None, None, None)  # two jobs without ports: nobody knows whose
    for job in ("1", "2", "3"):
        contexts.declare(Declaration(job=job, end=True))
    assert contexts.table()[1] == 0


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"job": ""}',
        b'{"job": "1", "ports": [{"first": 5, "last": 4}]}',
        b'{"job": "1", "port": 5}',
        b'{"job": "a\\u0000"}',
        b'{"job": "1", "ports": [{"first": 5, "last": 65536}]}',
    ],
)
def test_bad_declarations_are_refused_with_the_field(said):
    with pytest.raises(BadInput, match="control socket"):
        parse_declaration(said)
