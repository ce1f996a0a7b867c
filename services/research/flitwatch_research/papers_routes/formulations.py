"""How chapter 3's formulations come down to their routes (Taffet 2021, figure 3.4): Basic MCF alone and with Partitioned Binary beside it, on a small tree."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TypedDict

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing import milp
from flitwatch_routing.bounds import gap
from flitwatch_routing.optimise import Traffic
from flitwatch_routing.patterns import traffic

SEED = 1
#: The figure's pattern; of its thousand ranks as many as the tree has nodes, one after the other.
PATTERN, PATTERN_RANKS = "multigrid-1000", 1000
SHOWN = ("basic", "combined")
#: A tree of three levels, small enough for HiGHS.
TOPOLOGY = "xgft:3;8,4,4;1,4,2"


class RoutesCurve(TypedDict):
    """Seconds and gap against adaptive routing of each better set of routes, and the proven bound's gap at the end."""

    formulation: str
    topology: str
    seconds: list[float]
    gap: list[float | None]
    bound_gap: float | None
    ended_s: float


def main(argv: list[str] | None = None) -> int:
    """Measure and keep the curves."""
    parser = argparse.ArgumentParser(prog="formulations", description=__doc__)
    parser.add_argument("--topology", default=TOPOLOGY, help="a tree of three levels, small enough for HiGHS")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of each formulation (the text: 720)")
    parser.add_argument("--out", type=Path, default=Path("docs/papers-routes/formulations.json"), help="file of curves")
    chosen = parser.parse_args(argv)
    curves = [course(chosen.topology, one, chosen.limit) for one in SHOWN]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(curves) + "\n")
    return 0


def course(topology: str, formulation: str, limit_s: float) -> RoutesCurve:
    """Seconds and gap against adaptive routing of each better set of routes, and the proven bound's gap at the end."""
    fabric = fabric_of(topology)
    found = milp.optimise(fabric, first_ranks(len(fabric.endpoints)), limit_s, formulation)
    return {
        "formulation": formulation,
        "topology": topology,
        "seconds": [one.seconds for one in found.progress],
        "gap": [gap(one.z, found.z_ar) for one in found.progress],
        "bound_gap": gap(found.fixed_bound, found.z_ar),
        "ended_s": found.wall_s,
    }


def first_ranks(nodes: int) -> Traffic:
    """What the first ranks of the pattern send one another."""
    src, dst, size = traffic(PATTERN, PATTERN_RANKS, SEED)
    kept = (src < nodes) & (dst < nodes)
    return src[kept], dst[kept], size[kept]


if __name__ == "__main__":
    sys.exit(main())
