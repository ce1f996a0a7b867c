"""Effective bisection bandwidth (Hoefler 2009, section 3.1): share of the full bandwidth in random bisections with the fabric's own routes.

The endpoints are split randomly into two halves, and each endpoint of one half sends to one of the other, all at once. A message gets 1/c of a link's
bandwidth, where c is the largest number of messages on a link of its path. The mean over the messages is the bisection's share of the full bandwidth.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_research import flow, routings, topologies
from flitwatch_research.collectives import MeanFigure, mean_with_ci95
from flitwatch_research.studies import published
from flitwatch_research.studies.hoefler import STAND_INS
from flitwatch_research.studies.parameters import check_names, read_string, read_whole_number
from flitwatch_research.studies.registry import Cancelled as IsCancelled
from flitwatch_research.studies.registry import Parameters, Report

#: Number of bisections between checks for cancellation.
STEP = 50


def bisection_shares(routes: flow.Routes, bisections: int, seed: int, first: int = 0) -> NDArray[np.float64]:
    """Return the share of the full bandwidth (bisections,), each with its own seed. With an odd number of endpoints, one is unused."""
    half = routes.endpoints // 2
    src, dst = np.arange(half, dtype=np.uint32), np.arange(half, 2 * half, dtype=np.uint32)
    offsets, nobody = np.array([0, half], np.uint64), np.zeros(0, np.uint32)
    shares_by_run = np.empty(bisections)
    for number in range(bisections):
        order = np.random.default_rng([seed, first + number]).permutation(routes.endpoints)[: 2 * half]
        *_, most = flow.annotate(
            routes, 2 * half, src, dst, offsets, order.astype(np.uint32), nobody, nobody, "longest-path"
        )
        shares_by_run[number] = np.mean(1 / most)
    return shares_by_run


def run(parameters: Parameters, report: Report, cancelled: IsCancelled) -> Parameters:
    """Run the bisections of a topology or fabric file, or by default of the stand-ins of figure 11's machines, with the published shares.

    Parameters: runs (bisections, 1000), seed, topology, routing.
    """
    check_names(parameters, ("runs", "seed", "threads", "topology", "routing"))
    started = monotonic()
    runs, seed = (
        read_whole_number(parameters, "runs", 1000, 2, 1_000_000),
        read_whole_number(parameters, "seed", 1, 0, 2**63 - 1),
    )
    spec = None if parameters.get("topology") is None else read_string(parameters, "topology", "")
    routing = None if parameters.get("routing") is None else read_string(parameters, "routing", "")
    machines = STAND_INS if spec is None else {str(spec): spec}
    points = []
    for place, (name, machine_spec) in enumerate(machines.items()):
        routes = routings.routes_of(topologies.parse_topology(machine_spec), routing)
        if routes.endpoints < 2:
            raise BadRequest(f"{machine_spec} has fewer than two endpoints, so there is nothing to bisect")
        parts = []
        for first in range(0, runs, STEP):
            if cancelled():
                raise Cancelled("the study was cancelled")
            report(place * runs + first, len(machines) * runs, name)
            parts.append(bisection_shares(routes, min(STEP, runs - first), seed, first))
        points.append(_make_point(name, str(machine_spec), routes, np.concatenate(parts), seed))
    answer: dict[str, Any] = {
        "study": "hoefler-ebb",
        "points": points,
        "published": published_shares(),
        "simulated": True,
        "wall_s": monotonic() - started,
    }
    return (
        answer
        if spec is None
        else {**answer, "effective_bisection_bandwidth": points[0]["effective_bisection_bandwidth"]}
    )


def published_shares() -> dict[str, float]:
    """Return the paper's machines and their shares of the full bandwidth, for comparison with any fabric."""
    column = "effective bisection bandwidth"
    return {
        # The percentage has one decimal, as in the paper.
        machine: round(row[column] / 100, 3)
        for machine, row in published.published_rows("hoefler2009", "section 3.1").items()
        if column in row
    }


class BisectionPoint(TypedDict):
    """A topology's effective bisection bandwidth as a share of the links' bandwidth, over random bisections, and the published one."""

    series: str
    topology: str
    routing: str
    endpoints: int
    runs: int
    seed: int
    effective_bisection_bandwidth: MeanFigure
    smallest: float
    largest: float
    published: float | None


def _make_point(name: str, spec: str, routes: flow.Routes, share: NDArray[np.float64], seed: int) -> BisectionPoint:
    return {
        "series": name,
        "topology": spec,
        "routing": routes.name,
        "endpoints": routes.endpoints,
        "runs": len(share),
        "seed": seed,
        "effective_bisection_bandwidth": mean_with_ci95(share).as_json(),
        "smallest": float(share.min()),
        "largest": float(share.max()),
        "published": next((share for machine, share in published_shares().items() if machine in name), None),
    }
