"""Real packets through the software switch: network namespaces, kernel sockets, marks (Taffet 2021, section 2.6)."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter

import numpy as np
import pytest

from flitwatch_core import packet_path, sampling
from flitwatch_core.packet_path import Variant
from flitwatch_research.namespaces import Lab, figure_214, why_not

pytestmark = [pytest.mark.system("processes"), pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

EVERY_PROTOCOL = 3
SO_RCVBUFFORCE = 33
LOCAL_EXPERIMENT = b"\x88\xb5"  # an Ethernet type that no kernel reads


@pytest.fixture(scope="module")
def lab():
    with Lab(figure_214(100), queue_bytes=1 << 20) as made:
        yield made


def listen(lab: Lab, host: str) -> socket.socket:
    """Every frame that comes to a host's programs."""
    with lab.inside(host):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    raw.bind(("app0", 0))
    raw.settimeout(5)
    return raw


def send_frames(lab: Lab, host: str, frames: list[bytes]) -> None:
    with lab.inside(host), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("app0", 0))
        for frame in frames:
            raw.send(frame)


def mac(lab: Lab, host: str) -> bytes:
    return bytes((2, 0xF1, 0x17, 0, 0, lab.hosts.index(host) + 1))


def marks(lab: Lab, packets: int) -> list[tuple[int, int, bool, bool, bool]]:
    """What h2 finds in datagrams from h1."""
    found = []
    with listen(lab, "h2") as raw, lab.udp("h2", 7000), lab.udp("h1") as sender:
        for sent in range(packets):
            sender.sendto(bytes(100), (lab.address("h2"), 7000))
            if sent % 20 == 0:
                time.sleep(0.002)
        while len(found) < packets:
            if (mark := packet_path.read_mark(raw.recv(65536))) is not None:
                found.append(mark)
    return found


def test_frames_that_are_not_ip_and_fragments_pass_unharmed(lab):
    to_h2 = mac(lab, "h2") + mac(lab, "h1")
    ipv6 = to_h2 + b"\x86\xdd\x6b\xf0\x00\x00\x00\x08\x11\x40" + bytes(range(40))
    strange = to_h2 + LOCAL_EXPERIMENT + bytes(range(200))
    fragment = bytes.fromhex("45ff0030 1234 2005 4011 0000 0a000001 0a000002".replace(" ", "")) + bytes(28)
    cut = to_h2 + b"\x08\x00" + fragment
    broken = to_h2 + b"\x08\x00" + b"\x4f" + bytes(10)
    frames = [ipv6, strange, cut, broken]
    got = []
    with listen(lab, "h2") as raw:
        send_frames(lab, "h1", frames)
        while len(got) < len(frames):
            frame = raw.recv(65536)
            if frame[:12] == to_h2:
                got.append(frame)
    assert got == frames


def test_a_datagram_in_fragments_arrives_whole(lab):
    payload = np.random.default_rng(1).bytes(9000)
    with lab.udp("h2", 7001) as receiver, lab.udp("h1") as sender:
        receiver.settimeout(5)
        sender.sendto(payload, (lab.address("h2"), 7001))
        assert receiver.recv(65536) == payload


def test_a_tcp_stream_arrives_whole(lab):
    payload = np.random.default_rng(2).bytes(2_000_000)
    with lab.inside("h2"):
        server = socket.create_server((lab.address("h2"), 7002))
    with lab.inside("h3"):
        client = socket.socket()
    got = bytearray()

    def receive() -> None:
        conn, _ = server.accept()
        with conn:
            while part := conn.recv(65536):
                got.extend(part)

    thread = threading.Thread(target=receive)
    thread.start()
    with contextlib.closing(server), client:
        client.settimeout(30)
        client.connect((lab.address("h2"), 7002))
        client.sendall(payload)
        client.shutdown(socket.SHUT_WR)
        thread.join(30)
    assert bytes(got) == payload
    assert lab.link_counts()[16]["marked"] > 1000  # h3's uplink: the segments were marked all the same


def test_the_hash_bit_recovers_the_links_of_the_way(lab):
    packets = 4000
    found = marks(lab, packets)
    ids, hops, bits, congested, right = (np.array(column) for column in zip(*found, strict=True))
    assert right.all()
    assert set(hops) == {4}
    receiver = sampling.OneBitReceiver(np.arange(1, len(lab.fabric.links) + 1, dtype=np.uint32))
    receiver.add(ids.astype(np.uint32), bits.astype(np.uint8), hops.astype(np.uint8), congested.astype(np.uint8))
    way = {lab.fabric.links.src.tolist().index(4), 0, 2, 13}  # h1 -> s1 -> s4 -> s2 -> h2
    for link, traffic in enumerate(receiver.traffic()):
        true = packets if link in way else 0
        # Variance for paths of 4 links: section 2.5.1.
        assert abs(traffic - true) < 5 * (packets * 4**2 - true) ** 0.5, link


def test_the_standard_variant_samples_every_link_of_the_way_alike():
    packets = 3000
    with Lab(figure_214(100), variant=Variant.STANDARD, seed=3) as lab:
        found = marks(lab, packets)
    sampled = Counter(mark[0] - 1 for mark in found)
    assert set(sampled) == {8, 0, 2, 13}
    for link, times in sampled.items():
        assert abs(4 * times - packets) < 5 * (3 * packets) ** 0.5, link


def test_hosts_that_take_no_part_send_no_marks():
    with Lab(figure_214(100), sampling_hosts=["h2"]) as lab, lab.udp("h2", 7000) as receiver, lab.udp("h1") as sender:
        receiver.settimeout(5)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xFF)  # a program that claims the code point
        with listen(lab, "h2") as raw:
            sender.sendto(b"x", (lab.address("h2"), 7000))
            assert receiver.recv(10) == b"x"
            while b"\x1b\x58" not in (frame := raw.recv(65536)):  # UDP to port 7000
                pass
        assert packet_path.read_mark(frame) is None
        assert all(counts["marked"] == 0 for link, counts in lab.link_counts().items() if link == 0)


def test_an_interface_that_is_not_there_is_named():
    port = packet_path.PortSpec()
    port.interface = "no-such"
    with pytest.raises(RuntimeError, match="no-such"):
        packet_path.Switch([port], {}, Variant.ONE_BIT)
