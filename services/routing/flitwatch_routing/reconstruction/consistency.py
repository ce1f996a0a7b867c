"""Do counters agree with one another, every switch sending what it receives, and do they say enough to accuse the routes.

A subnet manager and collectors ask every switch, by ways that no pair of endpoints takes. What they may have sent over a link is a floor: less
contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric

Floats = NDArray[np.float64]
#: A switch whose inflow and outflow differ by more was not counted completely.
IMBALANCE = 0.05
#: Counters that balance to this are exact.
EXACT = 1e-6
#: What a management packet counts as: 256 bytes with the headers of a datagram, LRH 8, BTH 12, DETH 8, ICRC 4 (InfiniBand Architecture Specification, chapter 9).
MANAGEMENT_BYTES = 288
#: Management packets over one link, one way, for each port of the subnet in ten seconds: a collector that asks for four counters once a second, and beside it the
#: sweeps of a subnet manager are few.
PACKETS_A_PORT = 40
#: Management packets over one link where nobody says for how long was counted.
PACKETS = 1000
#: Standard deviations of the number of packets, which come as chance has it: above them is one link in three million.
DEVIATIONS = 5.0
#: Links that carry less than this of the busiest are quiet: no traffic that routes matter for.
QUIET = 1e-4
#: Where the busiest link carries less than this many times what managers may have sent, what went astray there proves nothing.
PLENTY = 10.0


def management_bytes(ports: int = 0, seconds: float | None = None) -> float:
    """Return bytes that managers and collectors may have sent over one link of a subnet of this many ports; without `seconds` for a time that is unknown."""
    packets = PACKETS if seconds is None else PACKETS_A_PORT * ports * max(seconds, 10.0) / 10
    return (packets + DEVIATIONS * packets**0.5) * MANAGEMENT_BYTES


def too_little(counted: float, floor: float, where: str) -> BadInput:
    """Return the error for counters that may hold nothing but management traffic."""
    return BadInput(
        f"too little traffic to tell: {where} counted {counted:.6g} bytes, and managers and collectors may send {floor:.6g} over a link meanwhile",
        advice="Count while programs communicate, or for longer",
    )


def noise_of(fabric: Fabric, counters: Sequence[Floats], floor: float = 0.0) -> float:
    """Return the relative error of a counter (link, VL), from the imbalance of switches: var(in - out) = noise^2 sum(counter^2).

    An imbalance of `floor` bytes or less may be management, and conflicts with nothing.

    Raises
    ------
    BadInput
        Naming the switch whose counters do not balance; or that there is too little traffic to tell.
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
