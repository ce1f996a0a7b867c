"""Roots of congestion trees and their causes.

A packet is marked at the link in whose queue it waits, so packets wait for a dark link. Congestion spreads backwards. A root is a switch behind dark
links whose onward links are light, or not dark with at least one fully used by the job. A dark link to an endpoint is a root too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric

#: Congested fraction from which a link counts as dark, and to which it counts as light (section 2.4.1: roots had 0.86 to 1.00 and 0.06).
DARK, LIGHT = 0.5, 0.25
#: Utilisation from which a link counts as full, and up to which it counts as thin.
FULL, THIN = 0.7, 0.4


@dataclass(frozen=True)
class CongestionMap:
    """Congestion and utilisation of each directed link: arrays of length L; NaN is unknown.

    Attributes
    ----------
    congested_fraction : float[L]
    utilisation : float[L]
        The observed job's own bytes over the link's capacity in the interval.
    """

    fabric: Fabric
    congested_fraction: NDArray[np.float64]
    utilisation: NDArray[np.float64]


@dataclass(frozen=True)
class Diagnosis:
    """Root of a congestion tree.

    Attributes
    ----------
    vertex : str
        The endpoint or switch at the root.
    cause : str
        `communication-pattern`, `mapping-or-bandwidth`, `static-routes` or `background-traffic`.
    evidence : dict
        Links and values that lead to this conclusion.
    advice : str
    endpoint : int, or None at a switch
    before : tuple of int
        Dark links that end there.
    """

    vertex: str
    cause: str
    evidence: dict[str, object]
    advice: str
    endpoint: int | None = None
    before: tuple[int, ...] = ()


_ADVICE = {
    "communication-pattern": "Several senders send to one node. Spread the messages over time or over more receivers, or remove a synchronisation.",
    "mapping-or-bandwidth": "The job sends more up from these switches than their links can carry. Place ranks that communicate "
    "under one leaf switch.",
    "static-routes": "Some up links are congested while others are idle. Optimise the static routes or use adaptive routing.",
    "background-traffic": "The job hardly uses the congested links, because another job's traffic fills them. Wait, or move ranks away from them.",
}


def diagnose_congestion(congestion: CongestionMap) -> list[Diagnosis]:
    """Find the roots of all congestion trees, heaviest first.

    Raises
    ------
    BadRequest
        If the arrays do not match the fabric.
    """
    fabric, links = congestion.fabric, congestion.fabric.links
    dark_fraction, use = congestion.congested_fraction, congestion.utilisation
    if dark_fraction.shape != (len(links),) or use.shape != (len(links),):
        raise BadRequest("congested_fraction and utilisation need one entry per link")
    routers = len(fabric.routers)
    src, dst = np.asarray(links.src), np.asarray(links.dst)
    dark = np.nan_to_num(dark_fraction, nan=0.0) >= DARK
    roots: list[tuple[float, Diagnosis]] = []

    for link in np.flatnonzero(dark & (dst >= routers)):  # endpoint roots
        roots.append(
            _make_diagnosis(congestion, int(dst[link]), np.array([link]), "communication-pattern", np.array([link]))
        )

    into_router = dark & (dst < routers)
    for router in np.unique(dst[into_router]):
        before = np.flatnonzero(into_router & (dst == router))
        after = np.flatnonzero(src == router)
        leads_on = after[~np.isin(dst[after], src[before])]
        if np.any(dark[leads_on]):
            continue  # the congestion comes from further on
        lighter = bool(np.all(np.nan_to_num(dark_fraction[leads_on]) <= LIGHT))
        if not lighter and not np.any(np.nan_to_num(use[leads_on]) >= FULL):
            continue  # the next link is neither light nor fully used: the samples do not show a root
        thin = bool(np.nanmedian(use[before]) <= THIN and np.all(np.nan_to_num(use[leads_on]) < FULL))
        if thin:
            roots.append(_make_diagnosis(congestion, int(router), before, "background-traffic", leads_on))
        else:
            roots.append(
                _make_diagnosis(congestion, int(router), before, _interior_cause(congestion, before), leads_on)
            )
    roots.sort(key=lambda one: -one[0])
    return [diagnosis for _, diagnosis in roots]


def _interior_cause(congestion: CongestionMap, before: NDArray[np.int64]) -> str:
    """Return the cause: mapping or bandwidth if all up links are dark; static routes if dark and light links of the same switch are mixed."""
    links = congestion.fabric.links
    src, dst = np.asarray(links.src), np.asarray(links.dst)
    routers = len(congestion.fabric.routers)
    level = np.asarray(congestion.fabric.routers.level)
    up = (src < routers) & (dst < routers)
    if level.size and level.min() >= 0:
        up &= np.where(up, level[np.minimum(dst, routers - 1)] > level[np.minimum(src, routers - 1)], False)
    shares = []
    for router in np.unique(src[before][src[before] < routers]):
        siblings = np.flatnonzero(up & (src == router))
        if siblings.size > 1:
            shares.append(np.mean(np.nan_to_num(congestion.congested_fraction[siblings]) >= DARK))
    return "static-routes" if shares and np.median(shares) < 0.5 else "mapping-or-bandwidth"


def _make_diagnosis(
    congestion: CongestionMap, vertex: int, before: NDArray[np.int64], cause: str, after: NDArray[np.int64]
) -> tuple[float, Diagnosis]:
    fraction, use = congestion.congested_fraction, congestion.utilisation
    name = congestion.fabric.vertex_name
    links = congestion.fabric.links
    evidence: dict[str, object] = {
        "congested_before": round(float(np.nanmax(fraction[before])), 3),
        "links_before": [f"{name(int(links.src[number]))} -> {name(int(links.dst[number]))}" for number in before[:8]],
        "own_use_before": round(float(np.nan_to_num(np.nanmedian(use[before]))), 3),
    }
    if cause != "communication-pattern" and after.size:
        evidence["congested_after"] = _largest_known(fraction[after])
        evidence["own_use_after"] = _largest_known(use[after])
    weight = float(np.nansum(fraction[before]))
    routers = len(congestion.fabric.routers)
    return weight, Diagnosis(
        name(vertex),
        cause,
        evidence,
        _ADVICE[cause],
        vertex - routers if vertex >= routers else None,
        tuple(int(link) for link in before),
    )


def _largest_known(values: NDArray[np.float64]) -> float | None:
    """Return the largest known value; None if all are unknown."""
    numbers = values[~np.isnan(values)]
    return round(float(numbers.max()), 3) if numbers.size else None
