"""Flows through a lab, and sums of the receivers' captures."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet_path
from flitwatch_domain.sampling import Reach, link_number
from flitwatch_research.namespaces.lab import CONGESTED_BYTES, Lab

#: Ethernet, IPv4 and UDP headers.
HEADER_BYTES = 42
#: Longest delay that a delayed sender catches up.
MOST_LATE_S = 0.02
#: Datagrams sent at once: a larger burst, due to a busy host, would itself congest the link.
BURST_BYTES = CONGESTED_BYTES // 2
_DRAIN_S = 0.3

Cancelled = Callable[[], bool]


@dataclass(frozen=True)
class Flow:
    """Datagrams at a steady rate; `frame_bytes` is the Ethernet frame's length."""

    sender: str
    receiver: str
    packets_per_s: float
    frame_bytes: int
    begin_s: float
    end_s: float


@dataclass
class Observation:
    """Sums over the receivers by time slice (S slices, L links).

    Attributes
    ----------
    traffic, traffic_variance, congested, congested_variance : float[S, L]
        Estimates and their variances from the formulas of sections 2.3.2 and 2.5.1.
    received : dict of (sender, receiver) to int[S]
        Arrived marked packets, the truth for the estimates.
    bytes : int
        Bytes of all arrived marked packets.
    exact : dict of link to dict
        Counts of switches and NICs on each link, including dropped packets.
    overruns : int
        Frames lost by captures or switches because the host was busy.
    """

    slice_s: float
    traffic: NDArray[np.float64]
    traffic_variance: NDArray[np.float64]
    congested: NDArray[np.float64]
    congested_variance: NDArray[np.float64]
    received: dict[tuple[str, str], NDArray[np.int64]]
    bytes: int = 0
    exact: dict[int, dict[str, int]] = field(default_factory=dict)
    overruns: int = 0

    def true_traffic(self, lab: Lab, slices: slice = slice(None)) -> NDArray[np.float64]:
        """Return arrived marked packets on every link of their path: float[L]."""
        reach = Reach(lab.fabric)
        true = np.zeros(self.traffic.shape[1])
        for (sender, receiver), packets in self.received.items():
            way = reach.path(lab.hosts.index(sender), lab.hosts.index(receiver))
            true[way] += packets[slices].sum()
        return true


def observe_flows(
    lab: Lab, flows: Sequence[Flow], receivers: Sequence[str], slice_s: float, cancelled: Cancelled = lambda: False
) -> Observation:
    """Send the flows in real time and decode at `receivers`, with every link of the fabric as a candidate for every packet.

    Parameters
    ----------
    lab : Lab
    flows : sequence of Flow
    receivers : sequence of str
        Hosts whose captures are read. Packets received by other hosts stay unknown, like those of another user.
    slice_s : float
    cancelled : callable
        Polled often; returning True ends the sending early.
    """
    captures = {host: _make_capture(lab, host, slice_s) for host in receivers}
    threads = [threading.Thread(target=capture.run, daemon=True) for capture in captures.values()]
    for thread in threads:
        thread.start()
    begin_ns = time.time_ns()
    try:
        _send_flows(lab, flows, cancelled)
        time.sleep(_DRAIN_S)
    finally:
        for capture in captures.values():
            capture.stop()
        for thread in threads:
            thread.join()
    slice_ns = round(slice_s * 1e9)
    first, last = begin_ns // slice_ns, time.time_ns() // slice_ns
    shape = (int(last - first) + 1, len(lab.fabric.links))
    observation = Observation(slice_s, np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), {})
    for host, capture in captures.items():
        for part in capture.take(2**62):
            _add_part(observation, part, int(part["slice"] - first), lab.hosts[part["set"]], host)
        observation.overruns += capture.overruns()
    observation.exact = lab.link_counts()
    observation.overruns += lab.overruns()
    return observation


def _add_part(found: Observation, part: dict[str, Any], row: int, sender: str, receiver: str) -> None:
    for name in ("traffic", "traffic_variance", "congested", "congested_variance"):
        getattr(found, name)[row] += part[name]
    count = found.received.setdefault((sender, receiver), np.zeros(len(found.traffic), np.int64))
    count[row] += part["packets"]
    found.bytes += part["bytes"]


def _make_capture(lab: Lab, host: str, slice_s: float) -> packet_path.Capture:
    spec = packet_path.CaptureSpec()
    spec.interface, spec.network_namespace, spec.variant = "app0", lab.namespace(host), lab.variant
    spec.slice_ns = round(slice_s * 1e9)
    every = [link_number(link) for link in range(len(lab.fabric.links))]
    # One set per sender, so that the arrivals of each are known in addition to the estimates.
    spec.sets = [every for _ in lab.hosts]
    spec.addresses = [_address_number(lab.address(host))]
    for place, sender in enumerate(lab.hosts):
        spec.add_source(_address_number(lab.address(sender)), 32, place)
    return packet_path.Capture(spec)


def _send_flows(lab: Lab, flows: Sequence[Flow], cancelled: Cancelled) -> None:
    sockets = [lab.udp(flow.sender) for flow in flows]
    ports = [7000 + number for number in range(len(flows))]
    sinks = [lab.udp(flow.receiver, port) for flow, port in zip(flows, ports, strict=True)]
    try:
        begin = time.monotonic()
        planned = [begin + flow.begin_s for flow in flows]
        due = [(at, number) for number, at in enumerate(planned)]
        heapq.heapify(due)
        payloads = [bytes(flow.frame_bytes - HEADER_BYTES) for flow in flows]
        rates = [lab.link_rate_bps(flow.sender) for flow in flows]
        link_free = [begin] * len(flows)
        while due:
            at, number = due[0]
            flow, now = flows[number], time.monotonic()
            if at > now:
                if cancelled():
                    return
                time.sleep(min(at - now, 0.1))
                continue
            sockets[number].sendto(payloads[number], (lab.address(flow.receiver), ports[number]))
            planned[number] = max(planned[number] + 1 / flow.packets_per_s, now - MOST_LATE_S)
            link_free[number] = max(link_free[number], now) + 8 * flow.frame_bytes / rates[number]
            at = max(planned[number], link_free[number] - 8 * BURST_BYTES / rates[number])
            if at < begin + flow.end_s:
                heapq.heapreplace(due, (at, number))
            else:
                heapq.heappop(due)
    finally:
        for sock in (*sockets, *sinks):
            sock.close()


def _address_number(address: str) -> int:
    return int.from_bytes(bytes(int(part) for part in address.split(".")), "big")
