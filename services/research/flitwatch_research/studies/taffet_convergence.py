"""How the error of a reconstruction falls while it is solved (Taffet 2021, figures 4.11 and 4.12)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published
from flitwatch_research.studies.parameters import known, number, text, texts
from flitwatch_research.studies.registry import Cancelled as Stop
from flitwatch_research.studies.registry import Parameters, Report
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.dives import solve_with_dives
from flitwatch_routing.reconstruction.limit import Limit
from flitwatch_routing.reconstruction.pdhg import solve, threads_for
from flitwatch_routing.reconstruction.program import Vectors
from flitwatch_routing.reconstruction.recover import Options, build_program
from flitwatch_routing.reconstruction.study import study

SEED, LEVELS = 1, 5
#: The text's two cases: pattern and basis. Figure 4.12 does not name its basis; its 256k variables are those of one alone.
CASES = {"bisection": ("bisection", "s"), "lulesh": ("lulesh-512", "scd")}
PAPER, PLACES = "taffet2021", {"lulesh": "figure 4.12"}


def run(parameters: Parameters, report: Report, cancelled: Stop) -> Parameters:
    """Relative error over seconds and iterations of the first-order solver, five SLs on five VLs; the solver never sees the truth.

    Parameters: case (lulesh; or bisection: the whole machine, nine million variables), devices (["cpu"]; cuda where there is a GPU), limit_s (60: of each
    device, building the program apart), tolerance (1e-5), topology (quartz1).
    """
    known(parameters, ("seed", "threads", "case", "devices", "limit_s", "tolerance", "topology"))
    case = text(parameters, "case", "lulesh")
    if case not in CASES:
        raise BadRequest(f"there is no case {case!r}", advice=f"Choose one of {', '.join(CASES)}.")
    devices = texts(parameters, "devices", ["cpu"])
    limit_s, tolerance = number(parameters, "limit_s", 60.0, 0.1, 3600.0), number(parameters, "tolerance", 1e-5, 0, 1)
    began, points = time.monotonic(), []
    for place, device in enumerate(devices):
        report(place, len(devices), device)
        points.append(course(text(parameters, "topology", "quartz1"), case, device, limit_s, tolerance, cancelled))
    return {
        "study": "taffet-convergence",
        "points": points,
        "seed": SEED,
        "simulated": True,
        "wall_s": time.monotonic() - began,
    }


def course(topology: str, case: str, device: str, limit_s: float, tolerance: float, cancelled: Stop) -> dict[str, Any]:
    """One curve of the solver alone, `seconds`, `iterations` and `error` at every look; `settled`: where it ends with fits of its largest coefficients."""
    pattern, basis = CASES[case]
    fabric = fabric_of(topology)
    ports = ftree_tables(fabric)
    truth = study(fabric, ports, pattern, LEVELS, LEVELS, 1, SEED)
    m = truth.measured
    began = time.monotonic()
    posed = build_program(fabric, ports, m.lanes, m.pairs, m.counters, Options(basis, device))
    if posed is None:
        raise BadRequest("no pair can have sent anything")
    built_s = time.monotonic() - began
    sent = torch.from_numpy(truth.size[np.searchsorted(m.pairs.key, posed.pairs.key)] / posed.scale).to(posed.target)
    size = float(np.linalg.norm(truth.size)) / posed.scale

    def error(x: torch.Tensor) -> float:
        return float(torch.linalg.vector_norm(x - sent)) / size

    looks: list[tuple[float, int, float]] = []
    began = time.monotonic()

    def look(iteration: int, x: Vectors) -> None:
        looks.append((time.monotonic() - began, iteration, error(x[0])))

    with threads_for(posed.program.places):
        found = solve(posed.program, tolerance, Limit.after(limit_s), lambda *_: not cancelled(), look=look)
        ended = time.monotonic() - began
        began_again = time.monotonic()
        settled, _ = solve_with_dives(posed.program, tolerance, Limit.after(limit_s), lambda *_: not cancelled())
        settled_s = time.monotonic() - began_again
    if found.stopped or settled.stopped:
        raise Cancelled("the study was cancelled")
    seconds, iterations, errors = (list(column) for column in zip(*looks, strict=True))
    return {
        "series": device,
        "device": device,
        "case": case,
        "topology": topology,
        "basis": basis,
        "variables": len(m.pairs),
        "built_s": built_s,
        "seconds": seconds,
        "iterations": iterations,
        "error": errors,
        "converged": found.converged,
        "ended_s": ended,
        "settled": {"seconds": settled_s, "error": error(settled.x[0]), "converged": settled.converged},
        "published": published.rows(PAPER, PLACES[case]) if case in PLACES else {},
    }


def draw(answer: dict[str, Any], folder: Path) -> list[Path]:
    """Error over seconds, a line a device, a marker where fits of the largest coefficients ended."""
    path = folder / f"{answer['study']}.png"
    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for one in answer["points"]:
        (line,) = axes.loglog(one["seconds"], one["error"], label=one["series"])
        axes.loglog([one["settled"]["seconds"]], [one["settled"]["error"]], "o", color=line.get_color())
    axes.set(xlabel="s", ylabel="relative error")
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return [path]
