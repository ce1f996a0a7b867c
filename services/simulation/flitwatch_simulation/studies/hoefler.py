"""Figures 11, 13, 15 and 16 of Hoefler et al. 2009: a binomial tree beside random perturbation.

The published curves came from a simulator that chains messages as our `orcs` semantics does; both semantics are
computed, and every point says which it is.
"""

from __future__ import annotations

import os
from time import monotonic

from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.studies.hoefler_sizes import TABLE1
from flitwatch_simulation.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.studies.sweep import Point, compute, numbers

RATIOS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]

#: Figure 11's machines are not public. These are trees of their size and bisection from 24-port switches, by rule.
STAND_INS = {
    "132 endpoints, full bisection (as Odin)": "xgft:2;12,11;1,6;1,2",
    "576 endpoints, full bisection (as CHiC)": "xgft:3;12,12,4;1,12,2;1,1,6",
    "1,152 endpoints, full bisection (as Atlas)": "xgft:3;12,12,8;1,12,4;1,1,3",
    "3,456 endpoints, full bisection (as Ranger)": "xgft:3;12,12,24;1,12,12",
    "4,608 endpoints, half bisection (as Thunderbird)": "xgft:3;16,12,24;1,8,12",
}

#: Table 2: k of the k-ary n-cubes (the paper prints 728 endpoints for k = 9, n = 3; 9 x 9 x 9 is 729).
TORI_2D = [10, 14, 17, 20, 22, 24, 26, 28, 30, 31, 44, 54, 70, 77, 83, 89]
TORI_3D = [4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 17, 18, 19, 20]


def run_fig11(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Slowdown over the perturbation ratio on machines: stand-ins, and the imported fabrics in `fabrics`.

    `fabrics` is a list of {"name", "spec"}; file:PATH reads ibnetdiscover output.
    """
    machines = dict(STAND_INS)
    for one in parameters.get("fabrics", []):
        if not isinstance(one, dict) or not {"name", "spec"} <= one.keys():
            raise BadRequest(f"fabrics must list objects with name and spec, not {one!r}")
        machines[str(one["name"])] = str(one["spec"])
    ratios = numbers(parameters, "ratios", RATIOS)
    places = [(name, ratio, spec, ratio) for name, spec in machines.items() for ratio in ratios]
    return _run("hoefler-fig11", "perturbation ratio", places, parameters, report, cancelled)


def run_fig13(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Slowdown over the size of table 1's fat trees, at a fixed ratio (`ratio`, 0.5)."""
    ratio = float(parameters.get("ratio", 0.5))
    layouts = parameters.get("topologies", list(TABLE1.values()))
    places = [("fat tree", None, spec, ratio) for spec in layouts]
    return _run("hoefler-fig13", "endpoints", places, parameters, report, cancelled)


def run_fig15(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Slowdown over the perturbation ratio on the 100-ary 2-cube and the 20-ary 3-cube."""
    tori = parameters.get("topologies", {"100-ary 2-cube": "torus:100,100", "20-ary 3-cube": "torus:20,20,20"})
    ratios = numbers(parameters, "ratios", RATIOS)
    places = [(name, ratio, spec, ratio) for name, spec in tori.items() for ratio in ratios]
    return _run("hoefler-fig15", "perturbation ratio", places, parameters, report, cancelled)


def run_fig16(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Slowdown over the size of k-ary 2-cubes and k-ary 3-cubes, at a fixed ratio (`ratio`, 0.5)."""
    ratio = float(parameters.get("ratio", 0.5))
    flat, deep = numbers(parameters, "k_2d", TORI_2D), numbers(parameters, "k_3d", TORI_3D)
    places = [("k-ary 2-cube", k**2, f"torus:{k:.0f},{k:.0f}", ratio) for k in flat]
    places += [("k-ary 3-cube", k**3, f"torus:{k:.0f},{k:.0f},{k:.0f}", ratio) for k in deep]
    return _run("hoefler-fig16", "endpoints", places, parameters, report, cancelled)


def _run(
    study: str,
    x_label: str,
    places: list[tuple[str, float | None, str, float]],
    parameters: Parameters,
    report: Report,
    cancelled: Cancelled,
) -> Parameters:
    started = monotonic()
    threads = int(parameters.get("threads", os.cpu_count() or 1))
    answers = compute(plan(places, parameters), threads, report, cancelled)
    for answer in answers:
        answer["x"] = answer["endpoints"] if answer["x"] is None else answer["x"]
    cpu_s, increments = (sum(answer.pop(key) for answer in answers) for key in ("cpu_s", "increments"))
    return {
        "study": study,
        "x_label": x_label,
        "points": answers,
        "simulated": True,
        "cpu_s": cpu_s,
        "increments_per_s": increments / cpu_s if cpu_s > 0 else None,
        "threads": threads,
        "wall_s": monotonic() - started,
    }


def plan(places: list[tuple[str, float | None, str, float]], parameters: Parameters) -> list[Point]:
    """The points at (series, x, topology, ratio); `runs` 1000, `seed` 1, `semantics` both unless given."""
    semantics = parameters.get("semantics", ["orcs", "longest-path"])
    runs, seed = int(parameters.get("runs", 1000)), int(parameters.get("seed", 1))
    if runs < 2:
        raise BadRequest("a confidence interval needs at least 2 runs")
    common = {
        "pattern": str(parameters.get("pattern", "binomial-bcast")),
        "routing": parameters.get("routing"),
    }
    return [
        Point(series, x, spec, ratio, runs, seed, rule, **common)  # type: ignore[arg-type]
        for series, x, spec, ratio in places
        for rule in ([semantics] if isinstance(semantics, str) else semantics)
    ]
