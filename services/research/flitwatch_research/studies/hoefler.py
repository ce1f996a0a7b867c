"""Figures 11, 13, 15 and 16 of Hoefler et al. 2009: a binomial tree with random perturbation.

The published curves came from a simulator that chains messages as in our `orcs` semantics. Both semantics are
computed, and every point contains its semantics.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from flitwatch_domain.errors import BadRequest
from flitwatch_research.studies.hoefler_sizes import TABLE1
from flitwatch_research.studies.parameters import (
    check_names,
    read_number,
    read_numbers,
    read_string,
    read_strings,
    read_whole_number,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_research.studies.sweep import Point, SweepRuns, assemble_points, compute_parts

#: Parameters of every sweep.
COMMON = ("runs", "seed", "threads", "semantics", "pattern", "routing")
RATIOS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]

#: Figure 11's machines are not public. These are trees of the same size and bisection from 24-port switches, built by a rule.
STAND_INS = {
    "132 endpoints, full bisection (as Odin)": "xgft:2;12,11;1,6;1,2",
    "576 endpoints, full bisection (as CHiC)": "xgft:3;12,12,4;1,12,2;1,1,6",
    "1,152 endpoints, full bisection (as Atlas)": "xgft:3;12,12,8;1,12,4;1,1,3",
    "3,456 endpoints, full bisection (as Ranger)": "xgft:3;12,12,24;1,12,12",
    "4,608 endpoints, half bisection (as Thunderbird)": "xgft:3;16,12,24;1,8,12",
}

#: Table 2: k of the k-ary n-cubes (for k = 9 and 17, n = 3, the paper prints one endpoint less than k x k x k).
TORI_2D: list[float] = [10, 14, 17, 20, 22, 24, 26, 28, 30, 31, 44, 54, 70, 77, 83, 89]
TORI_3D: list[float] = [4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 17, 18, 19, 20]


Place = tuple[str, float | None, str, float]  # series, x (None: the endpoints), topology, ratio


@dataclass(frozen=True)
class Sweep:
    """A figure with its points. Calling it computes them in this process; `plan` and `answer` let workers share them."""

    study: str
    x_label: str
    places: Callable[[Parameters], list[Place]]
    own: tuple[str, ...]  # the parameters that `places` reads

    def __call__(self, parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
        started = monotonic()
        points = self.plan(parameters)
        threads = read_whole_number(parameters, "threads", os.cpu_count() or 1, 1, 1024)
        return self.answer(points, compute_parts(points, threads, report, cancelled), parameters, monotonic() - started)

    def plan(self, parameters: Parameters) -> list[Point]:
        """Return the points. Defaults: `runs` 1000, `seed` 1, `semantics` both, `pattern` binomial-bcast."""
        check_names(parameters, {*COMMON, *self.own})
        rules = tuple(read_strings(parameters, "semantics", ["orcs", "longest-path"]))
        # A confidence interval needs at least two runs.
        runs, seed = (
            read_whole_number(parameters, "runs", 1000, 2, 10_000_000),
            read_whole_number(parameters, "seed", 1, 0, 2**63 - 1),
        )
        pattern = read_string(parameters, "pattern", "binomial-bcast")
        routing = None if parameters.get("routing") is None else read_string(parameters, "routing", "")
        return [
            Point(series, x, spec, ratio, runs, seed, rules, pattern, routing)
            for series, x, spec, ratio in self.places(parameters)
        ]

    def answer(
        self, points: list[Point], parts: list[list[SweepRuns]], parameters: Parameters, wall_s: float
    ) -> Parameters:
        """Return the study's JSON from the parts of every point."""
        answers = [
            point_answer
            for point, results in zip(points, parts, strict=True)
            for point_answer in assemble_points(point, results)
        ]
        cpu_s = sum(part["cpu_s"] for results in parts for part in results)
        increments = sum(part["increments"] for results in parts for part in results)
        return {
            "study": self.study,
            "x_label": self.x_label,
            "points": answers,
            "parameters": parameters,
            "simulated": True,
            "cpu_s": cpu_s,
            "increments_per_s": increments / cpu_s if cpu_s > 0 else None,
            "wall_s": wall_s,
        }


def fig11_places(parameters: Parameters) -> list[Place]:
    """Return points for stand-ins of the machines, and for `fabrics`, a list of {"name", "spec"} (file:PATH reads ibnetdiscover output)."""
    machines = dict(STAND_INS) if parameters.get("stand_ins", True) else {}
    fabrics = parameters.get("fabrics", [])
    if not isinstance(fabrics, list) or not (fabrics or machines):
        raise BadRequest(f"fabrics must list objects with name and spec, not {fabrics!r}")
    for fabric in fabrics:
        if not isinstance(fabric, dict) or not {"name", "spec"} <= fabric.keys():
            raise BadRequest(f"fabrics must list objects with name and spec, not {fabric!r}")
        machines[str(fabric["name"])] = fabric["spec"] if isinstance(fabric["spec"], str) else str(fabric["spec"])
    ratios = read_numbers(parameters, "ratios", RATIOS, 0.0, 1.0)
    return [(name, ratio, spec, ratio) for name, spec in machines.items() for ratio in ratios]


def fig13_places(parameters: Parameters) -> list[Place]:
    """Return points for table 1's fat trees (or `topologies`) at a fixed `ratio`, 0.5."""
    ratio = read_number(parameters, "ratio", 0.5, 0.0, 1.0)
    return [("fat tree", None, spec, ratio) for spec in read_strings(parameters, "topologies", list(TABLE1.values()))]


def fig15_places(parameters: Parameters) -> list[Place]:
    """Return points for the 100-ary 2-cube and the 20-ary 3-cube (or `topologies`, name to SPEC) over the `ratios`."""
    tori = parameters.get("topologies", {"100-ary 2-cube": "torus:100,100", "20-ary 3-cube": "torus:20,20,20"})
    if not isinstance(tori, dict) or not tori or not all(isinstance(spec, str) for spec in tori.values()):
        raise BadRequest(f"topologies must be an object of name and SPEC, not {tori!r}")
    ratios = read_numbers(parameters, "ratios", RATIOS, 0.0, 1.0)
    return [(name, ratio, spec, ratio) for name, spec in tori.items() for ratio in ratios]


def fig16_places(parameters: Parameters) -> list[Place]:
    """Return points for k-ary 2-cubes and 3-cubes of the sizes `k_2d` and `k_3d` at a fixed `ratio`, 0.5."""
    ratio = read_number(parameters, "ratio", 0.5, 0.0, 1.0)
    places: list[Place] = []
    for n, name, sizes in ((2, "k_2d", TORI_2D), (3, "k_3d", TORI_3D)):
        for k in read_numbers(parameters, name, sizes, 1, 1_000_000):
            side = read_whole_number({name: k}, name, 0, 1, 1_000_000)
            places.append((f"k-ary {n}-cube", side**n, "torus:" + ",".join([str(side)] * n), ratio))
    return places


FIG11 = Sweep("hoefler-fig11", "perturbation ratio", fig11_places, ("ratios", "fabrics", "stand_ins"))
FIG13 = Sweep("hoefler-fig13", "endpoints", fig13_places, ("ratio", "topologies"))
FIG15 = Sweep("hoefler-fig15", "perturbation ratio", fig15_places, ("ratios", "topologies"))
FIG16 = Sweep("hoefler-fig16", "endpoints", fig16_places, ("ratio", "k_2d", "k_3d"))
