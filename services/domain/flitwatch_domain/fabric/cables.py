"""Cables that are slower than others of their kind, or whose link fails repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flitwatch_domain.fabric.model import Fabric

#: A slow cable runs at this share of its kind's usual speed or less: it lost lanes, or a speed generation.
SLOW = 0.5
#: Share of a kind's cables that can be faulty; if more are slow, they belong to older devices. One slow cable always counts.
MOST_SLOW = 0.05
#: Times a day that a link goes down, recovers from errors, or changes its speed or width, from which on it flaps. A node that is restarted takes its link
#: down once or twice, and each time to another speed and back.
DOWNS, RECOVERIES, SPEED_CHANGES = 3, 10, 5


class SlowCable(NamedTuple):
    """Cable, as the link of one direction, with its speed and the usual speed of its kind in bits per second."""

    link: int
    bandwidth_bps: float
    usual_bps: float


class SlowLimit(NamedTuple):
    """Speed up to which cables of a kind are slow (0: none), and their usual speed, in bits per second."""

    limit_bps: float
    usual_bps: float


def find_slow_limit(speeds_bps: Sequence[float], counts: Sequence[int]) -> SlowLimit:
    """Return the slow cables' limit from the kind's speeds and the number of links at each; 0 if more than `MOST_SLOW` are slow, because they are older devices."""
    usual_bps = min(zip(counts, speeds_bps, strict=True), key=lambda pair: (-pair[0], pair[1]))[1]
    slow = sum(count for speed, count in zip(speeds_bps, counts, strict=True) if speed <= SLOW * usual_bps)
    return SlowLimit(SLOW * usual_bps if slow <= max(2, MOST_SLOW * sum(counts)) else 0.0, usual_bps)


def is_flapping(downs: int, recoveries: int, speed_changes: int) -> bool:
    """Return whether a link flaps, from how often it went down, recovered from errors, and changed its speed or width in a day."""
    return downs >= DOWNS or recoveries >= RECOVERIES or speed_changes >= SPEED_CHANGES


def describe_condition(bandwidth_bps: float, usual_bps: float | None, failures: tuple[int, int, int] | None) -> str:
    """Describe a slow cable (`usual_bps`) or a flapping one (`failures`: link down, recovered, speed changed), as the page, the API, `flitwatch top` and alerts do."""
    parts = [] if usual_bps is None else [f"{usual_bps / bandwidth_bps:.3g}x slower than most cables of its kind"]
    if failures is not None:
        downs, recoveries, changes = (f"{number} time{'s' * (number != 1)}" for number in failures)
        parts.append(f"link down {downs}, recovered {recoveries}, changed speed {changes} in 24 h")
    return "; ".join(parts)


def find_slow_cables(fabric: Fabric) -> list[SlowCable]:
    """Return the cables at half of the usual speed of their link class or less, one direction of each."""
    links, slow_cables = fabric.links, []
    node = np.maximum(links.src, links.dst) >= len(fabric.routers)
    for kind in np.unique(np.stack((links.link_class, node)), axis=1).T.tolist():
        of = np.flatnonzero((links.link_class == kind[0]) & (node == kind[1]) & np.isfinite(links.bandwidth_bps))
        speeds, counts = np.unique(links.bandwidth_bps[of], return_counts=True)
        if len(of):
            limit = find_slow_limit(speeds.tolist(), counts.tolist())
            slow = of[links.bandwidth_bps[of] <= limit.limit_bps]
            forward = [link for link in slow.tolist() if links.src[link] > links.dst[link]]
            slow_cables += [SlowCable(link, float(links.bandwidth_bps[link]), limit.usual_bps) for link in forward]
    return slow_cables


def describe_slow_cables(fabric: Fabric, most: int = 20) -> list[str]:
    """Describe the slow cables, one sentence each, for at most `most` cables."""
    slow, links = find_slow_cables(fabric), fabric.links
    sentences = [
        f"the cable between {fabric.vertex_name(int(links.src[cable.link]))} and {fabric.vertex_name(int(links.dst[cable.link]))} runs at"
        f" {cable.bandwidth_bps / 1e9:g} Gb/s; most cables of its kind run at {cable.usual_bps / 1e9:g} Gb/s"
        for cable in slow[:most]
    ]
    return sentences + ([f"{len(slow) - most} more cables are equally slow"] if len(slow) > most else [])
