"""A sweep over simulated collectives: points, their parts, and assembling points from parts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

import numpy as np

from flitwatch_domain.errors import Cancelled
from flitwatch_research import flow, routings, topologies
from flitwatch_research.collectives import CollectiveMeans, MeanFigure, mean_with_ci95, simulate_all

#: Number of runs in one part, a worker's unit of work.
RUNS_PER_PART = 1000


class SweepPart(TypedDict):
    """A worker's unit of work in a point: the point's fields, the first run and the number of runs; `semantics` is a list after JSON."""

    series: str
    x: float | None
    topology: str
    ratio: float
    runs: int
    seed: int
    semantics: Sequence[str]
    pattern: str
    routing: str | None
    first_run: int
    part_runs: int


class SweepRuns(TypedDict):
    """Costs of a part's runs by semantics, CPU seconds, increments, and the topology."""

    quiet: list[list[int]]
    perturbed: list[list[int]]
    cpu_s: float
    increments: int
    routing: str
    endpoints: int


class SweepPoint(TypedDict):
    """A point of a figure: means and their confidence intervals over all runs."""

    series: str
    x: float
    semantics: str
    slowdown: MeanFigure
    overhead: MeanFigure
    cost: CollectiveMeans
    topology: str
    routing: str
    endpoints: int
    pattern: str
    ratio: float
    runs: int
    seed: int


@dataclass(frozen=True)
class Point:
    """One place of a figure: a series, an x, and the simulated collective; it has one point per semantics.

    The seed is derived from the study's seed and the point's text, so points are independent of each other and
    of their order.
    """

    series: str
    x: float | None  # None: the topology's endpoints
    topology: str
    ratio: float
    runs: int
    seed: int
    semantics: tuple[str, ...]
    pattern: str = "binomial-bcast"
    routing: str | None = None

    @property
    def own_seed(self) -> int:
        text = f"{self.seed}/{self.topology}/{self.routing}/{self.pattern}/{self.ratio!r}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1

    def parts(self) -> list[SweepPart]:
        """Return the parts as JSON descriptions, which any worker can compute in any order."""
        return [
            {
                "series": self.series,
                "x": self.x,
                "topology": self.topology,
                "ratio": self.ratio,
                "runs": self.runs,
                "seed": self.seed,
                "semantics": self.semantics,
                "pattern": self.pattern,
                "routing": self.routing,
                "first_run": first,
                "part_runs": min(RUNS_PER_PART, self.runs - first),
            }
            for first in range(0, self.runs, RUNS_PER_PART)
        ]


@lru_cache(maxsize=2)
def _build_routes(topology: str, routing: str | None) -> flow.Routes:
    return routings.routes_of(topologies.parse_topology(topology), routing)


def compute_part(part: SweepPart, threads: int = 1, watch: Callable[[int, int], bool] | None = None) -> SweepRuns:
    """Simulate one part. Return the costs of single runs, because parts are joined before means are computed.

    Raises
    ------
    Cancelled
        `watch` returned false.
    """
    first_run, runs = part["first_run"], part["part_runs"]
    point = Point(
        part["series"],
        part["x"],
        part["topology"],
        part["ratio"],
        part["runs"],
        part["seed"],
        tuple(part["semantics"]),  # JSON has lists
        part["pattern"],
        part["routing"],
    )
    results = simulate_all(
        _build_routes(point.topology, point.routing),
        point.pattern,
        point.ratio,
        runs,
        seed=point.own_seed,
        first_run=first_run,
        threads=threads,
        semantics=point.semantics,  # type: ignore[arg-type]
        watch=watch,
    )
    return {
        "quiet": [result.quiet.tolist() for result in results],
        "perturbed": [result.perturbed.tolist() for result in results],
        "cpu_s": results[0].cpu_s,
        "increments": results[0].increments,
        "routing": _build_routes(point.topology, point.routing).name,
        "endpoints": _build_routes(point.topology, point.routing).endpoints,
    }


def assemble_points(point: Point, parts: Sequence[SweepRuns]) -> list[SweepPoint]:
    """Return means and 95 % confidence intervals over all runs of a place's parts, given in order: one point per semantics."""
    return [_assemble_point(point, name, number, parts) for number, name in enumerate(point.semantics)]


def _assemble_point(point: Point, semantics: str, number: int, parts: Sequence[SweepRuns]) -> SweepPoint:
    quiet = np.concatenate([np.array(part["quiet"][number], np.uint32) for part in parts])
    perturbed = np.concatenate([np.array(part["perturbed"][number], np.uint32) for part in parts])
    return {
        "series": point.series,
        "x": parts[0]["endpoints"] if point.x is None else point.x,
        "semantics": semantics,
        "slowdown": mean_with_ci95(perturbed / quiet).as_json(),
        "overhead": mean_with_ci95(perturbed.astype(np.int64) - quiet).as_json(),
        "cost": {"quiet": float(quiet.mean()), "perturbed": float(perturbed.mean())},
        "topology": point.topology,
        "routing": parts[0]["routing"],
        "endpoints": parts[0]["endpoints"],
        "pattern": point.pattern,
        "ratio": point.ratio,
        "runs": len(quiet),
        "seed": point.own_seed,
    }


def compute_parts(
    points: Sequence[Point], threads: int, report: Callable[[int, int, str], None], cancelled: Callable[[], bool]
) -> list[list[SweepRuns]]:
    """Compute the parts of all points on this host, in the given order.

    Raises
    ------
    Cancelled
        `cancelled` returned true; it is also polled inside a point.
    """
    total, done = sum(point.runs for point in points), 0
    answers: list[list[SweepRuns]] = []
    for point in points:
        parts = []
        for part in point.parts():
            message = f"{point.series}, ratio {point.ratio:g}"

            def watch(runs: int, _: int, done: int = done, message: str = message) -> bool:
                report(done + runs, total, message)
                return not cancelled()

            if cancelled():
                raise Cancelled("the study was cancelled")
            parts.append(compute_part(part, threads, watch))
            done += int(part["part_runs"])
        answers.append(parts)
    return answers
