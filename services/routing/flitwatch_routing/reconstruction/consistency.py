"""Consistency checks: every switch must send its received bytes, and counters must be large enough to contradict the routes.

A subnet manager and collectors query every switch, over paths that no pair of endpoints uses. Their possible traffic over a link is a floor: smaller
amounts contradict nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric

Floats = NDArray[np.float64]
#: Larger relative differences of inflow and outflow mean that a switch was not counted completely.
IMBALANCE = 0.05
#: Counters that balance within this count as exact.
EXACT = 1e-6
#: Bytes of a management packet: 256 bytes plus datagram headers, LRH 8, BTH 12, DETH 8, ICRC 4 (InfiniBand Architecture Specification, chapter 9).
MANAGEMENT_BYTES = 288
#: Management packets over one link in one direction, per port of the subnet in ten seconds: a collector that reads four counters every second. The sweeps of
#: a subnet manager add little.
PACKETS_A_PORT = 40
#: Management packets over one link if the duration of counting is unknown.
PACKETS = 1000
#: Margin in standard deviations of the random number of packets: one link in three million exceeds it.
DEVIATIONS = 5.0
#: Links below this share of the busiest one are quiet: routes do not matter for their traffic.
QUIET = 1e-4
#: If the busiest link has less than this multiple of possible management traffic, misrouted bytes prove nothing.
PLENTY = 10.0


def management_bytes(ports: int = 0, seconds: float | None = None) -> float:
    """Return the possible bytes of managers and collectors over one link of a subnet with this many ports; `seconds` is None for an unknown duration."""
    packets = PACKETS if seconds is None else PACKETS_A_PORT * ports * max(seconds, 10.0) / 10
    return (packets + DEVIATIONS * packets**0.5) * MANAGEMENT_BYTES


def too_little(counted: float, floor: float, where: str) -> BadInput:
    """Return the error for counters that may contain only management traffic."""
    return BadInput(
        f"too little traffic to tell: {where} counted {counted:.6g} bytes, and managers and collectors may send {floor:.6g} over a link meanwhile",
        advice="Count while programs communicate, or for longer",
    )


def noise_of(fabric: Fabric, counters: Sequence[Floats], floor: float = 0.0) -> float:
    """Return the relative error of a counter (link, VL), from the imbalance of switches: var(in - out) = noise^2 sum(counter^2).

    An imbalance of at most `floor` bytes may be management traffic and is not a conflict. Raise BadInput if a switch's counters do not balance (the
    message names it), or there is too little traffic to decide.
    """
    routers, links = len(fabric.routers.name), fabric.links
    differences, squares = [], []
    for counted in counters:
        total, square = counted.sum(axis=1), (counted**2).sum(axis=1)
        received, sent_bytes, energy = np.zeros(fabric.vertices), np.zeros(fabric.vertices), np.zeros(fabric.vertices)
        for ends, flow in ((links.dst, received), (links.src, sent_bytes)):
            np.add.at(flow, ends, total)
            np.add.at(energy, ends, square)
        flow = received[:routers] + sent_bytes[:routers]
        gap = received[:routers] - sent_bytes[:routers]
        busy = flow > 1e-3 * flow.max(initial=0)
        bad = busy & (np.abs(gap) > IMBALANCE * flow)
        if bad.any() and np.abs(gap[bad]).max() <= floor:
            if total.max(initial=0) < PLENTY * floor:
                raise too_little(float(total.max()), floor, "the busiest link")
        elif bad.any():
            at = int(np.argmax(np.where(bad, np.abs(gap), 0)))
            raise BadInput(
                f"counters conflict: {fabric.routers.name[at]} received {received[at]:.6g} and sent {sent_bytes[at]:.6g} bytes",
                advice="Read all ports at the same times, before any counter wraps, and use the loaded tables",
            )
        differences.append(gap[busy])
        squares.append(energy[:routers][busy])
    energy = np.concatenate(squares)
    noise = float(np.sqrt((np.concatenate(differences) ** 2).sum() / energy.sum())) if energy.sum() > 0 else 0.0
    return 0.0 if noise < EXACT else noise
