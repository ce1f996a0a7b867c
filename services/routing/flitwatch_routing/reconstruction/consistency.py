"""Do counters agree with one another: every switch sends what it receives."""

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


def noise_of(fabric: Fabric, counters: Sequence[Floats]) -> float:
    """The relative error of a counter (link, VL), from the imbalance of switches: var(in - out) = noise^2 sum(counter^2).

    Raises
    ------
    BadInput
        Naming the switch whose counters do not balance.
    """
    routers, links = len(fabric.routers.name), fabric.links
    differences, squares = [], []
    for counted in counters:
        total, square = counted.sum(axis=1), (counted**2).sum(axis=1)
        received, sent, energy = np.zeros(fabric.vertices), np.zeros(fabric.vertices), np.zeros(fabric.vertices)
        for ends, flow in ((links.dst, received), (links.src, sent)):
            np.add.at(flow, ends, total)
            np.add.at(energy, ends, square)
        flow = received[:routers] + sent[:routers]
        gap = received[:routers] - sent[:routers]
        busy = flow > 1e-3 * flow.max(initial=0)
        bad = busy & (np.abs(gap) > IMBALANCE * flow)
        if bad.any():
            at = int(np.argmax(np.where(bad, np.abs(gap), 0)))
            raise BadInput(
                f"counters conflict: {fabric.routers.name[at]} received {received[at]:.6g} and sent {sent[at]:.6g} bytes",
                advice="Read all ports at the same moments, before any counter wraps, and give the tables that were loaded",
            )
        differences.append(gap[busy])
        squares.append(energy[:routers][busy])
    energy = np.concatenate(squares)
    noise = float(np.sqrt((np.concatenate(differences) ** 2).sum() / energy.sum())) if energy.sum() > 0 else 0.0
    return 0.0 if noise < EXACT else noise
