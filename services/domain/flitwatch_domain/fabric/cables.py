"""Cables that run slower than others of their kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flitwatch_domain.fabric.model import Fabric

#: A slow cable runs at this part of what its kind runs at, or less: a lane of four is lost, or a generation of speed.
SLOW = 0.5
#: Part of the cables of a kind that may be slow by mistake; more of them are older devices. One always may.
MOST_SLOW = 0.05


class SlowCable(NamedTuple):
    """A cable by the link of one direction; bits per second that it runs at, and that most cables of its kind run at."""

    link: int
    bandwidth_bps: float
    usual_bps: float


def find_slow_cables(fabric: Fabric) -> list[SlowCable]:
    """Find the cables that run at half the speed of most others of their link class or less; of each cable one direction."""
    links, slow_cables = fabric.links, []
    node = np.maximum(links.src, links.dst) >= len(fabric.routers)
    for kind in np.unique(np.stack((links.link_class, node)), axis=1).T.tolist():
        of = np.flatnonzero((links.link_class == kind[0]) & (node == kind[1]) & np.isfinite(links.bandwidth_bps))
        speeds, counts = np.unique(links.bandwidth_bps[of], return_counts=True)
        if len(speeds) < 2:
            continue
        usual = float(speeds[np.argmax(counts)])
        slow = of[links.bandwidth_bps[of] <= SLOW * usual]
        if len(slow) <= max(2, MOST_SLOW * len(of)):
            forward = [link for link in slow.tolist() if links.src[link] > links.dst[link]]
            slow_cables += [SlowCable(link, float(links.bandwidth_bps[link]), usual) for link in forward]
    return slow_cables


def describe_slow_cables(fabric: Fabric, most: int = 20) -> list[str]:
    """Describe the slow cables, one sentence each for at most `most` of them."""
    slow, links = find_slow_cables(fabric), fabric.links
    sentences = [
        f"the cable between {fabric.vertex_name(int(links.src[cable.link]))} and {fabric.vertex_name(int(links.dst[cable.link]))} runs at"
        f" {cable.bandwidth_bps / 1e9:g} Gb/s; most cables of its kind run at {cable.usual_bps / 1e9:g} Gb/s"
        for cable in slow[:most]
    ]
    return sentences + ([f"{len(slow) - most} more cables are as slow"] if len(slow) > most else [])
