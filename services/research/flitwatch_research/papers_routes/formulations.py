"""Convergence of chapter 3's formulations (Taffet 2021, figure 3.4): Basic MCF with and without Partitioned Binary, on a small tree."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.formulations import milp
from flitwatch_routing.bounds import relative_gap
from flitwatch_routing.optimise import Traffic
from flitwatch_routing.patterns import load_traffic

SEED = 1
#: The figure's pattern; the first of its thousand ranks are used, one per node of the tree.
PATTERN, PATTERN_RANKS = "multigrid-1000", 1000
SHOWN = ("basic", "combined")
#: A three-level tree, small enough for HiGHS.
TOPOLOGY = "xgft:3;8,8,8;1,4,2"


class RoutesCurve(TypedDict):
    """Seconds and gap to adaptive routing of each improvement, and the proved bound's gap at the end."""

    formulation: str
    topology: str
    seconds: list[float]
    gap: list[float | None]
    bound_gap: float | None
    ended_s: float


def main(argv: list[str] | None = None) -> int:
    """Measure and store the curves."""
    parser = argparse.ArgumentParser(prog="formulations", description=__doc__)
    parser.add_argument("--topology", default=TOPOLOGY, help="a tree of three levels, small enough for HiGHS")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of each formulation (the text: 720)")
    parser.add_argument("--out", type=Path, default=Path("docs/papers-routes/formulations.json"), help="file of curves")
    chosen = parser.parse_args(argv)
    curves = [measure_gap_curve(chosen.topology, formulation, chosen.limit) for formulation in SHOWN]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(curves) + "\n")
    return 0


def measure_gap_curve(topology: str, formulation: str, limit_s: float) -> RoutesCurve:
    """Return seconds and gap to adaptive routing of each improvement, and the proved bound's gap at the end."""
    fabric = fabric_of(topology)
    with _one_core():
        routes = milp.optimise_with_highs(fabric, first_ranks(len(fabric.endpoints)), limit_s, formulation)
    return {
        "formulation": formulation,
        "topology": topology,
        "seconds": [step.seconds for step in routes.progress],
        "gap": [relative_gap(step.z, routes.z_ar) for step in routes.progress],
        "bound_gap": relative_gap(routes.fixed_bound, routes.z_ar),
        "ended_s": routes.wall_s,
    }


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep this thread and those that it starts on one core: formulations compete for it, as they do for the solver's threads in the text."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def first_ranks(nodes: int) -> Traffic:
    """Return the traffic among the first ranks of the pattern."""
    src, dst, size = load_traffic(PATTERN, PATTERN_RANKS, SEED)
    inside = (src < nodes) & (dst < nodes)
    return src[inside], dst[inside], size[inside]


if __name__ == "__main__":
    sys.exit(main())
