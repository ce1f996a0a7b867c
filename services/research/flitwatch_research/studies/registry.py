"""The table of studies. A study is a module that plans, computes and draws; a row here registers it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitwatch_domain.errors import NotFound

Report = Callable[[int, int, str], None]
Cancelled = Callable[[], bool]
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """One study.

    Attributes
    ----------
    name, summary : str
    run : callable (parameters, report(done, total, message), cancelled()) -> dict
        Computes the study; the answer is JSON and has `study`, `points` and `simulated`.
    draw : callable (answer, folder) -> list of paths, or None
        Draws the answer's figures.
    plan, answer : callables, or None
        A sweep's `plan(parameters)` lists its points, whose parts any worker can compute; `answer(points, results by point,
        parameters, wall_s)` computes the result of `run`.
    """

    name: str
    summary: str
    run: Callable[[Parameters, Report, Cancelled], Parameters]
    draw: Callable[[Parameters, Path], list[Path]] | None
    plan: Callable[..., Any] | None
    answer: Callable[..., Parameters]


#: name -> (module:function or module:Sweep to run it, module:function to draw it or "", summary); modules of this package
STUDIES: dict[str, tuple[str, str, str]] = {
    "hoefler-table1": ("hoefler_sizes:run_table1", "", "Endpoints and switches of table 1's fat trees."),
    "hoefler-example": ("hoefler_sizes:run_example", "", "The worked example of section 3: costs 5 and 3."),
    "hoefler-fig11": ("hoefler:FIG11", "hoefler_figures:draw", "Slowdown by perturbation ratio, several machines."),
    "hoefler-fig13": ("hoefler:FIG13", "hoefler_figures:draw", "Slowdown by size of fat trees."),
    "hoefler-fig15": ("hoefler:FIG15", "hoefler_figures:draw", "Slowdown by perturbation ratio, two tori."),
    "hoefler-fig16": ("hoefler:FIG16", "hoefler_figures:draw", "Slowdown by size of 2D and 3D tori."),
    "hoefler-ebb": (
        "hoefler_bisection:run",
        "",
        "Effective bisection bandwidth of any topology, by random bisections.",
    ),
    "taffet-table2.1": (
        "taffet_sampling:run_table21",
        "packet_figures:draw",
        "Sampling error of both variants by downsampling, and the formulas.",
    ),
    "taffet-fig3.4": (
        "taffet_routes:run_formulations",
        "",
        "The formulations of chapter 3 side by side: gap of the best routes over time.",
    ),
    "taffet-table4.3": (
        "taffet_routes:run_lanes",
        "packet_figures:draw",
        "Error of reconstructions with lanes by service level, at random and by Galois fields.",
    ),
    "taffet-table5.1": (
        "taffet:run_table51",
        "packet_figures:draw",
        "Bisection shift and shuffle on quartz1: ftree and adaptive routes.",
    ),
    "taffet-table5.2": (
        "taffet_stencil:run",
        "packet_figures:draw",
        "Cyclic stencil in large and small messages: ftree, optimised, adaptive and random routes.",
    ),
    "taffet-pf3d": (
        "taffet:run_pf3d",
        "packet_figures:draw",
        "All-to-all groups alongside incasts: diagnosis and remapping.",
    ),
    "taffet-minighost": (
        "taffet_minighost:run_minighost",
        "packet_figures:draw",
        "27-point stencil: mappings and synchrony.",
    ),
    "wang-fig2": ("wang:run_fig2", "wang_figures:draw", "Who sends how much to whom, and a rank's load over time."),
    "wang-fig3": (
        "wang:run_fig3",
        "wang_figures:draw",
        "Figures 3 to 6: placement against routing on Theta, three applications; times, hops, channels.",
    ),
    "wang-fig7": ("wang:run_fig7", "wang_figures:draw", "The slowest rank over message loads, to random adaptive."),
    "wang-fig8-10": ("wang:run_fig8", "wang_figures:draw", "Figure 3's combinations alongside background traffic."),
    "wang-table2": ("wang:run_table2", "", "Peak loads of the background traffic."),
    "desensi-fig3": ("desensi:run_fig3", "packet_figures:draw", "Ping-pong by allocation."),
    "desensi-fig4": ("desensi:run_fig4", "packet_figures:draw", "All-to-all inside one node: noise of the host alone."),
    "desensi-fig5": ("desensi:run_fig5", "packet_figures:draw", "Dispersion of times and latencies by message size."),
    "desensi-fig7": (
        "desensi:run_fig7",
        "packet_figures:draw",
        "Adaptive against high bias: time, stalls, latency, model.",
    ),
    "desensi-fig8": ("desensi:run_fig8", "packet_figures:draw", "Application-aware routing alongside both modes."),
    "desensi-fig8-collectives": (
        "desensi_applications:run_fig8",
        "packet_figures:draw",
        "Figure 8's collectives of all sizes on two allocations, three ways to route.",
    ),
    "desensi-fig10": (
        "desensi_applications:run_fig10",
        "packet_figures:draw",
        "Applications with their computation on two allocations, three ways to route.",
    ),
    "desensi-calibration": (
        "desensi_calibration:run",
        "packet_figures:draw",
        "Lambda and sigma of the choice, fitted on pairs of runs, with the fit's error.",
    ),
    "desensi-model": (
        "desensi:run_model",
        "packet_figures:draw",
        "Correlation of the message model with simulated ping-pongs.",
    ),
}

#: Short names.
ALIASES = {short: f"hoefler-{short}" for short in ("table1", "example", "fig11", "fig13", "fig15", "fig16", "ebb")}


def find_study(name: str) -> Study:
    """Return the study with this name or alias; its module is imported.

    Raises
    ------
    NotFound
        The study does not exist; the message lists the studies.
    """
    name = ALIASES.get(name, name)
    if name not in STUDIES:
        raise NotFound(f"there is no study {name!r}", advice=f"Choose one of {', '.join(sorted(STUDIES))}.")
    run, draw, summary = STUDIES[name]
    runner = _import_function(run)
    plan, answer = getattr(runner, "plan", None), getattr(runner, "answer", None)
    return Study(name, summary, runner, _import_function(draw) if draw else None, plan, answer or _no_sweep)


def _no_sweep(*_: Any) -> Parameters:
    raise NotFound("this study is not a sweep")


def _import_function(place: str) -> Callable[..., Any]:
    module, function = place.split(":")
    return getattr(importlib.import_module(f"flitwatch_research.studies.{module}"), function)
