"""Curves of a reconstruction's error during solving (Taffet 2021, figures 4.11 and 4.12)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.dives import solve_with_dives
from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.pdhg import solve_program, threads_for
from flitwatch_routing.reconstruction.program import Vectors
from flitwatch_routing.reconstruction.recover import Options, build_program
from flitwatch_routing.reconstruction.study import build_study

SEED, LEVELS = 1, 5
#: The dissertation's two cases: pattern and basis. Figure 4.12 does not name its basis; only one basis has its 256k variables.
CASES = {"bisection": ("bisection", "s"), "lulesh": ("lulesh-512", "scd")}


def main(argv: list[str] | None = None) -> int:
    """Measure curves and store them with those of other devices and cases."""
    parser = argparse.ArgumentParser(prog="convergence", description=__doc__)
    parser.add_argument(
        "--case", choices=[*CASES], action="append", help="bisection is the whole machine; default both"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where the program is solved")
    parser.add_argument("--called", help="name of the device in the picture (default: --device)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each solver, building the program apart")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="relative, of residual, gap and infeasibility")
    parser.add_argument("--topology", default="quartz1", help="machine of the job")
    parser.add_argument("--out", type=Path, default=Path("docs/papers-routes/convergence.json"), help="file of curves")
    chosen = parser.parse_args(argv)
    curves = json.loads(chosen.out.read_text()) if chosen.out.exists() else []
    for case in chosen.case or CASES:
        point = measure_error_curve(chosen.topology, case, chosen.device, chosen.limit, chosen.tolerance)
        point["device"] = chosen.called or chosen.device
        curves = [curve for curve in curves if (curve["case"], curve["device"]) != (case, point["device"])] + [point]
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(json.dumps(curves) + "\n")
    return 0


def measure_error_curve(topology: str, case: str, device: str, limit_s: float, tolerance: float) -> dict[str, Any]:
    """Return one curve of the solver: `seconds`, `iterations` and `error` at every check; `settled`: its end with fits of the largest coefficients."""
    pattern, basis = CASES[case]
    fabric = fabric_of(topology)
    ports = ftree_tables(fabric)
    truth = build_study(fabric, ports, pattern, LEVELS, LEVELS, 1, SEED)
    m = truth.measured
    began = time.monotonic()
    posed = build_program(fabric, ports, m.lanes, m.pairs, m.counters, Options(basis, device))
    if posed is None:
        raise BadRequest("no pair can have sent anything")
    built_s = time.monotonic() - began
    true_x = torch.from_numpy(truth.size[np.searchsorted(m.pairs.key, posed.pairs.key)] / posed.scale).to(posed.target)
    size = float(np.linalg.norm(truth.size)) / posed.scale

    def error(x: torch.Tensor) -> float:
        return float(torch.linalg.vector_norm(x - true_x)) / size

    looks: list[tuple[float, int, float]] = []
    began = time.monotonic()

    def look(iteration: int, x: Vectors) -> None:
        looks.append((time.monotonic() - began, iteration, error(x[0])))

    with threads_for(posed.program.places):
        result = solve_program(posed.program, tolerance, Limit.after(limit_s), look=look)
        ended = time.monotonic() - began
        began_again = time.monotonic()
        settled, _ = solve_with_dives(posed.program, tolerance, Limit.after(limit_s))
        settled_s = time.monotonic() - began_again
    seconds, iterations, errors = (list(column) for column in zip(*looks, strict=True))
    return {
        "device": device,
        "case": case,
        "topology": topology,
        "basis": basis,
        "variables": len(m.pairs),
        "built_s": built_s,
        "seconds": seconds,
        "iterations": iterations,
        "error": errors,
        "converged": result.converged,
        "ended_s": ended,
        "settled": {"seconds": settled_s, "error": error(settled.x[0]), "converged": settled.converged},
    }


if __name__ == "__main__":
    sys.exit(main())
