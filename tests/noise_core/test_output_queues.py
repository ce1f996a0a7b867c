"""Trees with output queues against a plain specification of the switches of CODES (fattree.c), and closed forms."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_torus, build_xgft
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops

BYTES, BUFFER, LATENCY_NS, DELAY_NS = 4096, 65536, 10.0, 90.0
SERIAL_NS = BYTES / 12.5
TAPERED = (2, [4, 3], [1, 2])


@dataclass
class Port:
    """occupied: bytes of the queue and of packets whose credit has not returned; waiting: packets in the buffers of inputs."""

    occupied: int = 0
    busy: bool = False
    queue: deque[Any] = field(default_factory=deque)
    waiting: deque[Any] = field(default_factory=deque)
    congested: int = 0


class Switches:
    """Event by event, with equal packets on static paths; each path begins with the link of a node and ends with that to another."""

    def __init__(self) -> None:
        self.ports: dict[int, Port] = {}
        self.events: list[Any] = []
        self.order = count()
        self.latency_ns: list[float] = []
        self.now = 0.0

    def run(self, paths: list[list[int]], packets: int) -> None:
        for path in paths:
            self.ports.update({link: Port() for link in path if link not in self.ports})
            self.ports[path[0]].waiting.extend((path, 0) for _ in range(packets))
        for path in paths:
            self._inject(path[0])
        while self.events:
            self.now, _, act, *arguments = heapq.heappop(self.events)
            act(*arguments)

    def _after(self, delay: float, *event: Any) -> None:
        heapq.heappush(self.events, (self.now + delay, next(self.order), *event))

    def _inject(self, link: int) -> None:
        port = self.ports[link]
        if port.waiting and not port.busy and not port.queue and port.occupied + BYTES <= BUFFER:
            port.occupied += BYTES
            path, _ = port.waiting.popleft()
            port.queue.append((path, 0, self.now))
            self._send(link)

    def _send(self, link: int) -> None:
        port = self.ports[link]
        if port.busy or not port.queue:
            return
        path, hop, born = port.queue.popleft()
        port.busy = True
        self._after(SERIAL_NS, self._idle, path, hop)
        if hop + 1 == len(path):
            self._after(SERIAL_NS + LATENCY_NS, self._deliver, link, born)
        else:
            self._after(LATENCY_NS + DELAY_NS, self._arrive, path, hop + 1, born)

    def _idle(self, path: list[int], hop: int) -> None:
        self.ports[path[hop]].busy = False
        self._send(path[hop])
        if hop == 0:
            self._inject(path[0])

    def _deliver(self, link: int, born: float) -> None:
        self.latency_ns.append(self.now - born)
        self._after(LATENCY_NS, self._credit, link)

    def _arrive(self, path: list[int], hop: int, born: float) -> None:
        port = self.ports[path[hop]]
        port.congested += port.occupied + len(port.waiting) * BYTES > BUFFER
        port.waiting.append((path, hop, born))
        self._enter(path[hop])

    def _enter(self, link: int) -> None:
        port = self.ports[link]
        if port.waiting and port.occupied + BYTES <= BUFFER:
            path, hop, born = port.waiting.popleft()
            port.occupied += BYTES
            port.queue.append((path, hop, born))
            self._after(SERIAL_NS + LATENCY_NS, self._credit, path[hop - 1])
            self._send(link)

    def _credit(self, link: int) -> None:
        port = self.ports[link]
        port.occupied -= BYTES
        if port.waiting and len(port.waiting[0]) == 2:
            self._inject(link)
        else:
            self._enter(link)


def queued_machine(shape: tuple[int, list[int], list[int]] = TAPERED, routing: str = "ftree") -> Machine:
    return build_machine(build_xgft(*shape), routing, packet_bytes=BYTES, output_queues=True)


def run_flows(machine: Machine, pairs: list[tuple[int, int]], packets: int, **options: Any) -> packet.Result:
    src, dst = np.array(pairs).T
    workload = packet.Workload(flows=(src, dst, np.full(len(pairs), packets * BYTES)), default_mode=machine.mode)
    result = machine.core.run(workload, packet_bytes=BYTES, **options)
    assert result.conserved, result.violations
    return result


def static_path(machine: Machine, src: int, dst: int) -> list[int]:
    table, links, routers = machine.core.static_table(), machine.fabric.links, len(machine.fabric.routers)
    path = [int(np.flatnonzero(links.src == routers + src)[0])]
    while links.dst[path[-1]] < routers:
        path.append(int(table[dst, links.dst[path[-1]]]))
    return path


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 8), (1, 9), (2, 10), (3, 11)],  # two flows over each of two up links
        [(0, 8), (1, 8), (4, 8), (5, 8)],  # one receiver, and links from two spines to its leaf
        [(0, 4), (1, 6), (2, 8), (3, 10), (5, 8), (6, 0), (7, 4), (9, 4), (10, 0), (11, 6)],
    ],
)
def test_flows_are_the_specifications(pairs: list[tuple[int, int]]) -> None:
    machine = queued_machine()
    result = run_flows(machine, pairs, 100, sampling=True)
    switches = Switches()
    switches.run([static_path(machine, *pair) for pair in pairs], 100)
    assert len(switches.latency_ns) == result.packets
    assert result.time_s * 1e9 == pytest.approx(switches.now - LATENCY_NS, rel=0.01)
    assert result.latency_ns["mean"] == pytest.approx(np.mean(switches.latency_ns), rel=0.02)
    routers = len(machine.fabric.routers)
    inner = {link: port.congested for link, port in switches.ports.items() if machine.fabric.links.src[link] < routers}
    assert sum(inner.values()) > 100
    for link, congested in inner.items():
        assert result.raw["congested_packets"][link] == pytest.approx(congested, rel=0.05, abs=3)


def test_a_queue_and_the_buffers_of_its_inputs_are_filled_with_packets() -> None:
    """Two flows at half their rate: each packet waits for its own buffer at half rate and for the queue, 3 buffers in all; 2 if a buffer is kept until the
    packet departs."""
    pairs = [(0, 2), (1, 3)]
    longest_us = {
        queues: run_flows(
            build_machine(build_xgft(2, [2, 2], [1, 1]), "ftree", packet_bytes=BYTES, output_queues=queues), pairs, 400
        ).latency_ns["max"]
        / 1e3
        for queues in (False, True)
    }
    buffer_us = BUFFER / 12.5e3
    assert longest_us[False] == pytest.approx(2 * buffer_us, rel=0.1)
    assert longest_us[True] == pytest.approx(3 * buffer_us, rel=0.1)


@pytest.mark.parametrize(("packets", "marks"), [(14, False), (19, True)])
def test_a_port_is_congested_when_its_bytes_exceed_the_buffer(packets: int, marks: bool) -> None:
    """Half of the bytes of two flows wait at the up link: 14 packets fit in a buffer of 16, 19 do not."""
    result = run_flows(queued_machine((2, [2, 2], [1, 1])), [(0, 2), (1, 3)], packets, sampling=True)
    assert bool(result.raw["congested_packets"].any()) is marks


def test_adaptive_routing_takes_the_first_empty_port_and_spreads_a_load() -> None:
    machine = queued_machine((2, [4, 2], [1, 4]), "hw-adaptive")
    everyone = np.arange(8)
    messages = patterns.make_pattern("bisection", 8, 2_000_000)
    workload = packet.Workload(ops=to_ops([(messages, everyone)]), default_mode=machine.mode)
    result = machine.core.run(workload, packet_bytes=BYTES)
    assert result.conserved
    assert result.time_s == pytest.approx(2_000_000 / 12.5e9, rel=0.1)


@pytest.mark.parametrize("unfit", [{"threads": 1}, {"engine": packet.EngineKind.ORACLE_OLDEST_FIRST}])
def test_options_without_output_queues_are_refused(unfit: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="output queues go without threads"):
        run_flows(queued_machine(), [(0, 8)], 1, **unfit)


@pytest.mark.parametrize(("fabric", "routing"), [(build_torus([4, 4]), "dor"), (build_dragonfly(3), "adaptive0")])
def test_machines_other_than_trees_refuse_output_queues(fabric: Fabric, routing: str) -> None:
    with pytest.raises(BadRequest, match="output queues belong to trees"):
        build_machine(fabric, routing, packet_bytes=BYTES, output_queues=True)
