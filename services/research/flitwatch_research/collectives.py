"""One collective under perturbation: the figures of the command line, tasks and studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_domain.task_models.simulations import Collective, CollectiveOptions
from flitwatch_research import collectives, flow, routings, topologies

Watch = Callable[[int, int], bool]


class MeanFigure(TypedDict):
    """A mean as JSON; the interval is None for one value."""

    mean: float
    ci95: list[float] | None


class CollectiveMeans(TypedDict):
    """Mean cost of a collective without and with perturbation."""

    quiet: float
    perturbed: float


class CollectiveReport(TypedDict):
    """Means with confidence intervals, and the cost of the runs."""

    slowdown: MeanFigure
    overhead: MeanFigure
    cost: CollectiveMeans
    semantics: str
    runs: int
    cpu_s_per_run: float
    increments_per_s: float | None


class CollectiveResult(CollectiveReport):
    """Output of `flitwatch sim collective --json`: the run's options and its report."""

    topology: str
    routing: str
    pattern: str
    endpoints: int
    ratio: float
    ranks: int
    perturbing: int
    seed: int
    simulated: bool


@dataclass(frozen=True)
class Mean:
    """A mean with its two-sided 95 % confidence interval (Student's t; unbounded for one value: NaN)."""

    mean: float
    low: float
    high: float

    def as_json(self) -> MeanFigure:
        ci95 = None if np.isnan(self.low) else [self.low, self.high]
        return {"mean": self.mean, "ci95": ci95}


def mean_with_ci95(values: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint32]) -> Mean:
    """Return the mean and 95 % confidence interval of independent values, shape (n,)."""
    n = len(values)
    mean = float(np.mean(values))
    if n < 2:
        return Mean(mean, float("nan"), float("nan"))
    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n))
    return Mean(mean, mean - half, mean + half)


def split_endpoints(endpoints: int, ratio: float) -> tuple[int, int]:
    """Return (ranks, perturbing): the perturbation ratio is perturbing endpoints over all endpoints.

    Raises
    ------
    BadRequest
        The ratio leaves fewer than two ranks, or is outside [0, 1).
    """
    if not 0.0 <= ratio < 1.0:
        raise BadRequest(f"the perturbation ratio {ratio} is outside [0, 1)")
    perturbing = round(ratio * endpoints)
    if endpoints - perturbing < 2:
        raise BadRequest(f"ratio {ratio} of {endpoints} endpoints leaves fewer than two ranks")
    return endpoints - perturbing, perturbing


def simulate_collective(
    routes: flow.Routes,
    pattern: str,
    ratio: float,
    runs: int,
    *,
    seed: int = 1,
    first_run: int = 0,
    threads: int = 1,
    semantics: flow.Semantics = "longest-path",
    wait_for_own_send: bool = False,
    perturbation: str = "permutation",
    random_mapping: bool = True,
    watch: Watch | None = None,
) -> flow.Collective:
    """Run a collective under one semantics; see `simulate_all`."""
    return simulate_all(
        routes,
        pattern,
        ratio,
        runs,
        seed=seed,
        first_run=first_run,
        threads=threads,
        semantics=[semantics],
        wait_for_own_send=wait_for_own_send,
        perturbation=perturbation,
        random_mapping=random_mapping,
        watch=watch,
    )[0]


def simulate_all(
    routes: flow.Routes,
    pattern: str,
    ratio: float,
    runs: int,
    *,
    seed: int = 1,
    first_run: int = 0,
    threads: int = 1,
    semantics: Sequence[flow.Semantics] = ("longest-path",),
    wait_for_own_send: bool = False,
    perturbation: str = "permutation",
    random_mapping: bool = True,
    watch: Watch | None = None,
) -> list[flow.Collective]:
    """Run a collective on the endpoints left by `ratio`; see `flitwatch_research.flow.run_collectives`.

    Raises
    ------
    BadRequest
        Parameters are incompatible.
    Cancelled
        `watch` returned false.
    """
    ranks, perturbing = split_endpoints(routes.endpoints, ratio)
    try:
        results = flow.run_collectives(
            routes,
            pattern,
            ranks,
            perturbing,
            runs,
            seed=seed,
            first_run=first_run,
            threads=threads,
            semantics=semantics,
            wait_for_own_send=wait_for_own_send,
            perturbation=perturbation,  # type: ignore[arg-type]
            random_mapping=random_mapping,
            watch=watch,
        )
    except ValueError as bad:
        raise BadRequest(str(bad)) from bad
    if results is None:
        raise Cancelled("the simulation was cancelled")
    return results


def report_collective(result: flow.Collective) -> CollectiveReport:
    """Return means with confidence intervals, and the cost of the runs."""
    return {
        "slowdown": mean_with_ci95(result.slowdown).as_json(),
        "overhead": mean_with_ci95(result.overhead).as_json(),
        "cost": {"quiet": float(result.quiet.mean()), "perturbed": float(result.perturbed.mean())},
        "semantics": result.semantics,
        "runs": len(result.quiet),
        "cpu_s_per_run": result.cpu_s / len(result.quiet),
        "increments_per_s": result.increments / result.cpu_s if result.cpu_s > 0 else None,
    }


def run_collective(
    asked: CollectiveOptions, named: topologies.NamedTopology, routes: flow.Routes, watch: Watch | None = None
) -> CollectiveResult:
    """Run the simulation of a command or task with these options, and return their JSON result."""
    result = simulate_collective(
        routes,
        asked.pattern,
        asked.ratio,
        asked.runs,
        seed=asked.seed,
        first_run=asked.first_run,
        threads=asked.threads,
        semantics=asked.semantics,
        wait_for_own_send=asked.wait_for_own_send,
        perturbation=asked.perturbation,
        random_mapping=asked.mapping == "random",
        watch=watch,
    )
    ranks, perturbing = split_endpoints(routes.endpoints, asked.ratio)
    return {
        "topology": named.spec,
        "routing": routes.name,
        "pattern": asked.pattern,
        "endpoints": routes.endpoints,
        "ratio": asked.ratio,
        "ranks": ranks,
        "perturbing": perturbing,
        "seed": asked.seed,
        "simulated": True,
        **report_collective(result),
    }


def run_collective_task(args: dict[str, Any], context: TaskContext) -> collectives.CollectiveResult:
    """Run `sim.collective` with the options of `flitwatch sim collective`."""
    request = Collective.of(args)

    def watch(done: int, total: int) -> bool:
        context.report(done, total, "runs")
        return not context.cancelled()

    named = topologies.parse_topology(request.topology)
    return run_collective(request, named, routings.routes_of(named, request.routing), watch)
