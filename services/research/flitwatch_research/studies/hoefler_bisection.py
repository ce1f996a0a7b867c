"""Effective bisection bandwidth (Hoefler 2009, section 3.1): share of the full bandwidth in random bisections with the fabric's own routes.

The endpoints are split randomly into two halves, and each endpoint of one half sends to one of the other, all at once. A message gets 1/c of a link's
bandwidth, where c is the largest number of messages on a link of its path. The mean over the messages is the bisection's share of the full bandwidth.

The paper's machines had their own tables. Their stand-ins have those of OpenSM's default, minhop, which takes the endpoints by GUID. GUIDs do not follow places,
so each draw has another order. As many endpoints take part as were active.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research import core_topology, flow, routings, topologies
from flitwatch_research.collectives import MeanFigure, mean_with_ci95
from flitwatch_research.studies import published
from flitwatch_research.studies.hoefler import STAND_INS
from flitwatch_research.studies.parameters import check_names, read_string, read_whole_number
from flitwatch_research.studies.registry import Cancelled as IsCancelled
from flitwatch_research.studies.registry import Parameters, Report
from flitwatch_routing.compared import minhop_tables

#: The published figures' place in the paper.
PLACE = "section 3.1"
#: Stand-ins of the machines. Ranger has two switches of 3,456 ports: every leaf switch has half of its cables to each.
MACHINES = {name: spec for name, spec in STAND_INS.items() if "Ranger" not in name} | {
    "4,032 endpoints, full bisection (as Ranger)": "xgft:4;12,7,12,4;1,12,12,2;1,1,1,6"
}
#: Number of bisections between checks for cancellation, with the same order of GUIDs.
STEP = 50


def bisection_shares(
    routes: flow.Routes, bisections: int, seed: int, first: int = 0, active: int | None = None
) -> NDArray[np.float64]:
    """Return the share of the full bandwidth (bisections,), each with its own seed. active: number of endpoints in a bisection (default: all); if odd, one is unused."""
    half = (routes.endpoints if active is None else active) // 2
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

    Parameters: runs (bisections, 1000), seed, topology, routing (for the stand-ins: minhop with GUIDs in another order every 50 bisections).
    """
    check_names(parameters, ("runs", "seed", "threads", "topology", "routing"))
    started = monotonic()
    runs, seed = (
        read_whole_number(parameters, "runs", 1000, 2, 1_000_000),
        read_whole_number(parameters, "seed", 1, 0, 2**63 - 1),
    )
    spec = None if parameters.get("topology") is None else read_string(parameters, "topology", "")
    routing = None if parameters.get("routing") is None else read_string(parameters, "routing", "")
    machines = MACHINES if spec is None else {str(spec): spec}
    points = []
    for place, (name, machine_spec) in enumerate(machines.items()):
        machine = _machine_of(name) if spec is None else None
        by_guid = machine is not None and routing is None
        active = None if machine is None else int(published.published_value("hoefler2009", PLACE, machine, "endpoints"))
        routes = routings.routes_of(topologies.parse_topology(machine_spec), routing)
        if routes.endpoints < 2:
            raise BadRequest(f"{machine_spec} has fewer than two endpoints, so there is nothing to bisect")
        parts = []
        for first in range(0, runs, STEP):
            if cancelled():
                raise Cancelled("the study was cancelled")
            report(place * runs + first, len(machines) * runs, name)
            if by_guid:
                routes = route_by_guid(str(machine_spec), np.random.default_rng([seed, first]))
            parts.append(bisection_shares(routes, min(STEP, runs - first), seed, first, active))
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


def route_by_guid(spec: str, rng: np.random.Generator) -> flow.Routes:
    """Return the routes of OpenSM's minhop if the endpoints' GUIDs are in random order."""
    fabric = fabric_of(spec)
    ports = minhop_tables(fabric, rng.permutation(len(fabric.endpoints)))
    router, endpoint = np.nonzero(ports >= 0)
    core = topologies.of_fabric(fabric).core
    columns = (router.astype(np.uint32), endpoint.astype(np.uint32), ports[router, endpoint].astype(np.uint16))
    return flow.table_routes(core, core_topology.table_from_ports(core, *columns), "minhop")


def published_shares() -> dict[str, float]:
    """Return the paper's machines and their shares of the full bandwidth, for comparison with any fabric."""
    column = "effective bisection bandwidth"
    return {
        # The percentage has one decimal, as in the paper.
        machine: round(row[column] / 100, 3)
        for machine, row in published.published_rows("hoefler2009", PLACE).items()
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


def _machine_of(name: str) -> str | None:
    """Return the paper's machine that a stand-in's name contains, if any."""
    return next((machine for machine in published.published_rows("hoefler2009", PLACE) if machine in name), None)


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
        "published": published_shares().get(_machine_of(name) or ""),
    }
