"""Questions to performance-management agents: the same counters as libibmad, and a result for every device on any wire."""

from __future__ import annotations

import ctypes
import random
import struct
from types import SimpleNamespace

import pytest

from flitwatch_domain.errors import Unavailable
from flitwatch_ingest.collectors import conversations
from flitwatch_ingest.collectors.conversations import SILENT, TIMEOUT_S, TRIES, Conversations
from flitwatch_ingest.collectors.devices import Answer, Device
from flitwatch_ingest.sources import perfquery, pma

ALL = pma.Abilities(waits=True, dropped=True, casts=True, errors=True)
#: What prints each attribute in libibmad, and so in perfquery.
PRINTERS = {
    pma.PORT_COUNTERS: "mad_dump_perfcounters",
    pma.PORT_COUNTERS_EXTENDED: "mad_dump_perfcounters_ext",
    pma.DATA_BY_LEVEL: "mad_dump_perfcounters_xmt_sl",
    pma.WAITS_BY_LANE: "mad_dump_perfcounters_port_vl_xmit_wait_counters",
}


@pytest.mark.parametrize("number", PRINTERS)
def test_counters_are_libibmad_s(number: int) -> None:
    """Of any bytes: the library that perfquery prints with is the oracle."""
    try:
        library = ctypes.CDLL("libibmad.so.5")
    except OSError:
        pytest.skip("needs libibmad.so.5 (Debian: infiniband-diags)")
    draw = random.Random(number)
    for _ in range(50):
        attribute = draw.randbytes(pma.SIZE - 64)
        text = ctypes.create_string_buffer(8192)
        getattr(library, PRINTERS[number])(text, 8192, attribute, len(attribute))
        extended = " extended" if number == pma.PORT_COUNTERS_EXTENDED else ""
        printed = perfquery.parse_ports(f"# Port{extended} counters: Lid 1 port 1\n{text.value.decode()}")[1]
        assert pma.parse_counters(number, attribute, ALL) == printed and len(printed) >= 16


def test_counters_that_a_device_lacks_are_not_there() -> None:
    none = pma.Abilities(waits=False, dropped=False, casts=False, errors=False)
    attribute = bytes(192)
    assert list(pma.parse_counters(pma.PORT_COUNTERS_EXTENDED, attribute, none)) == [
        "PortXmitData",
        "PortRcvData",
        "PortXmitPkts",
        "PortRcvPkts",
    ]
    assert "PortXmitWait" not in pma.parse_counters(pma.PORT_COUNTERS, attribute, none)
    assert pma.clear_mask(none) == 0xFFFF and pma.clear_mask(ALL) == 0x3FFFF


class Agents:
    """A subnet's agents on a wire with a clock of its own: each counts its LID, attribute and port.

    `behave` gives for a question the replies that come of it (empty: it is lost).
    """

    def __init__(self, seed: int = 0) -> None:
        self.now, self.draw = 0.0, random.Random(seed)
        self.sent: list[pma.Target] = []
        self.waiting: list[tuple[bytes, bool]] = []
        self.lose = self.twice = self.give_up = 0.0
        self.dead: set[int] = set()
        self.moved: dict[int, pma.Target] = {}
        self.lost_after: int | None = None

    def send(self, target: pma.Target, mad: bytes, timeout_s: float) -> str:
        self.sent.append(target)
        self.now += 1e-5
        if target.lid == 0xBAD:
            return "Invalid argument"
        if target.lid in self.dead or self.draw.random() < self.lose:
            return ""
        if self.draw.random() < self.give_up:
            self.waiting.append((mad, False))
            return ""
        answer = bytearray(mad)
        if to := self.moved.get(target.lid):
            answer[4:6] = struct.pack(">H", pma.REDIRECT)
            answer[64 + 25 : 64 + 40] = struct.pack(">BxxHxxII", to.level << 4, to.lid, to.queue_pair, to.queue_key)
        else:
            attribute, port = struct.unpack(">H", mad[16:18])[0], mad[65]
            values = struct.pack(">7I", 0x12008200, *(target.lid * 1000 + port * 10 + n for n in range(6)))
            if attribute == pma.CLASS_PORT_INFO:
                values = struct.pack(">BBHI", 1, 1, 1 << 12 | 1 << 9, 0)
            answer[64 : 64 + len(values)] = values
            answer[65] = port
        self.waiting += [(bytes(answer), True)] * (2 if self.draw.random() < self.twice else 1)
        self.draw.shuffle(self.waiting)
        return ""

    def receive(self, timeout_s: float) -> tuple[bytes, bool] | None:
        if self.lost_after is not None and len(self.sent) > self.lost_after:
            raise Unavailable("lost the port")
        if not self.waiting:
            self.now += timeout_s
            return None
        return self.waiting.pop()


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Agents:
    found = Agents()
    monkeypatch.setattr(conversations, "time", SimpleNamespace(monotonic=lambda: found.now, time=lambda: found.now))
    return found


def devices(*lids: int, ports: int = 4) -> list[Device]:
    return [Device(f"leaf{lid}", f"{lid:#x}", lid, tuple(range(1, ports + 1))) for lid in lids]


def read(agents: Agents, *lids: int, parallel: int = 8, lanes: bool = True) -> dict[int, Answer]:
    answers = list(Conversations(agents, parallel, lanes, set()).read(devices(*lids)))
    assert sorted(answer.device.lid for answer in answers) == sorted(lids)
    return {answer.device.lid: answer._replace(at_s=0.0) for answer in answers}


def test_a_wire_that_loses_doubles_and_reorders_changes_no_counter(agents: Agents) -> None:
    truth = read(agents, *range(1, 40))
    assert all(not answer.why and len(answer.lanes) == 8 for answer in truth.values())
    whole = 0
    for seed in range(20):
        agents.draw = random.Random(seed)
        agents.lose, agents.twice, agents.give_up = 0.02, 0.2, 0.05
        found = read(agents, *range(1, 40))
        whole += sum(found[lid] == truth[lid] for lid in truth)
        for lid, answer in found.items():
            assert answer.why in ("", SILENT)
            assert answer.wide.items() <= truth[lid].wide.items()
            assert answer.narrow.items() <= truth[lid].narrow.items()
    assert whole > 0.9 * 20 * 39


def test_the_dead_are_named_and_hold_nobody_up(agents: Agents) -> None:
    """Silent devices are waited for together, and the living are read as if alone."""
    truth = read(agents, 5, 6, parallel=2)
    agents.dead, agents.now, agents.sent = set(range(100, 750)), 0.0, []
    found = read(agents, *agents.dead, 5, 6, parallel=2)
    assert {lid for lid, answer in found.items() if answer.why == SILENT} == agents.dead
    assert all(found[lid] == truth[lid] for lid in truth)
    asked = [target.lid for target in agents.sent]
    assert all(asked.count(lid) == TRIES for lid in agents.dead)
    # One after the other they would take 650 times three seconds; two at a time give way after a fifth of one.
    assert agents.now < 0.25 * 650 / 2 * TRIES + 2 * TRIES * TIMEOUT_S


def test_an_agent_that_redirects_is_asked_where_it_says(agents: Agents) -> None:
    elsewhere = pma.Target(77, 0x3456, 0x80020003, 5)
    agents.moved = {5: elsewhere, 8: pma.Target(9), 9: pma.Target(8), 10: pma.Target(0)}
    found = read(agents, 5, 8, 10)
    assert found[5].why == "" and found[5].wide[2]["PortRcvData"] == (77_023 << 32) + 77_024
    assert elsewhere in agents.sent and agents.sent.count(pma.Target(5)) == 1
    assert found[8].why == "redirects in a loop"
    assert found[10].why == "redirects to a GID, which is not supported"


def test_a_lost_adapter_ends_the_round_with_a_reason(agents: Agents) -> None:
    agents.lost_after = 300
    found = read(agents, *range(1, 40), 0xBAD)
    why = {answer.why for answer in found.values()}
    assert why <= {"", "lost the port", "Invalid argument"} and {"", "lost the port"} <= why
    assert len(agents.sent) <= 310
    agents.lost_after = None
    assert read(agents, 3, 0xBAD)[0xBAD].why == "Invalid argument"
