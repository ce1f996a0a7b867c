"""Table 1 and the worked example of Hoefler et al. 2009: exact numbers without random draws."""

from __future__ import annotations

import json
from importlib import resources
from time import monotonic
from typing import Any

import numpy as np

from flitwatch_research import core_topology as topology
from flitwatch_research import flow, topologies
from flitwatch_research.studies import published
from flitwatch_research.studies.registry import Cancelled, Parameters, Report

#: Table 1: the paper's short form (it omits m1 = 12 and w1 = 1) and ours with the number of cables per pair, for 24-port switches.
TABLE1 = {
    "XGFT(2,12,6)": "xgft:2;12,12;1,6;1,2",
    "XGFT(2,24,12)": "xgft:2;12,24;1,12;1,1",
    "XGFT(3,12,8,12,4)": "xgft:3;12,12,8;1,12,4;1,1,3",
    "XGFT(3,12,16,12,8)": "xgft:3;12,12,16;1,12,8;1,1,1.5",
    "XGFT(3,12,24,12,12)": "xgft:3;12,12,24;1,12,12;1,1,1",
    "XGFT(4,12,12,6,12,12,3)": "xgft:4;12,12,12,6;1,12,12,3;1,1,1,4",
    "XGFT(4,12,12,12,12,12,6)": "xgft:4;12,12,12,12;1,12,12,6;1,1,1,2",
}


def run_table1(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Build every tree of table 1 and count its endpoints, switches and ports."""
    started = monotonic()
    printed = published.published_rows("hoefler2009", "table 1")
    points = []
    for done, (layout, spec) in enumerate(TABLE1.items()):
        report(done, len(TABLE1), layout)
        core = topologies.parse_topology(spec).core
        ports = np.bincount(core.src[core.src < core.routers], minlength=core.routers)
        points.append(
            {
                "layout": layout,
                "topology": spec,
                "endpoints": core.endpoints,
                "switches": core.routers,
                "switch_ports": sorted({int(port_count) for port_count in ports}),
                "published": printed[layout],
                "agrees": {"endpoints": core.endpoints, "switches": core.routers} == printed[layout],
            }
        )
    return {"study": "hoefler-table1", "points": points, "simulated": True, "wall_s": monotonic() - started}


def run_example(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run the worked example on 16 nodes, with one explicit balanced table, under both semantics."""
    started = monotonic()
    example = json.loads(resources.files(__package__).joinpath("hoefler_example.json").read_text())
    routes = example_routes(example)
    rounds, src, dst = flow.pattern("binomial-bcast", example["ranks"])
    offsets = np.searchsorted(rounds, np.arange(rounds.max() + 2)).astype(np.uint64)
    mapping = np.array(example["mapping"], np.uint32)
    senders, receivers = np.array(example["perturbation"], np.uint32).T.copy()
    points = []
    for semantics in ("longest-path", "orcs"):
        quiet, perturbed, _, weights = flow.annotate(
            routes, example["ranks"], src, dst, offsets, mapping, senders, receivers, semantics
        )
        edges = {f"{a}-{b}": int(weight) for a, b, weight in zip(src, dst, weights, strict=True)}
        points.append(
            {"semantics": semantics, "cost": {"quiet": quiet, "perturbed": perturbed}, "perturbed_weights": edges}
        )
    return {"study": "hoefler-example", "points": points, "simulated": True, "wall_s": monotonic() - started}


def example_routes(example: dict[str, Any]) -> flow.Routes:
    """Return the routes of the example's explicit table."""
    core = topologies.parse_topology(example["topology"]).core
    ports = np.array(example["ports"], np.uint16)
    router, endpoint = (axis.ravel().astype(np.uint32) for axis in np.indices(ports.shape))
    return flow.table_routes(core, topology.table_from_ports(core, router, endpoint, ports.ravel()), "example")
