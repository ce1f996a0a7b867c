"""Chapters 3 and 4: patterns, routes, bases, reconstructions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.papers_routes.beyond import SMALL, instances
from flitwatch_research.papers_routes.reconstructions import LANE_SCHEMES, Scheme, keep_portion, reconstruct_cell
from flitwatch_research.papers_routes.rows import CELL, Measure, Row, Size
from flitwatch_research.studies import published
from flitwatch_routing.compared import compare_baselines
from flitwatch_routing.optimise import Traffic, optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.reconstruction.bases import Basis

SEED = 1
#: The three counts of table 4.1, with the names of the published rows.
COUNTS = ("all", "at most 10 % error", "at least 90 % power")
#: The dissertation's names of our baselines, if different.
_COLUMNS = {"greedy": "AFAR"}
#: Portions of these reconstructions in pictures.
PORTIONS_FOLDER = Path("docs/papers-routes")


#: (fabric, size) -> traffic.
Made = Callable[[Fabric, Size], Traffic]

#: Share of the largest entry below which a value counts as zero.
NONZERO = 1e-9
#: Two measures of significance: error of the matrix without the other coefficients, or share of the coefficients' norm kept.
MOST_ERROR, LEAST_POWER = 0.1, 0.9


def count_coefficients(basis: Basis, x: Tensor) -> tuple[int, int, int]:
    """Return numbers of coefficients of x (places,): (all, for at most 10 % error, for at least 90 % power). The basis must have as many coefficients as places.

    The threshold is the highest one that satisfies the measure, found among the coefficients' sizes by bisection; coefficients of this size are kept.
    """
    y = basis(x)
    size = y.abs().numpy()
    there = size > NONZERO * float(x.abs().max())
    steps = _distinct_sizes(size[there])
    norm = float(torch.linalg.vector_norm(x))

    def wrong(threshold: float) -> bool:
        coefficients = torch.where(y.abs() >= threshold, y, 0.0)
        return float(torch.linalg.vector_norm(x - restore_matrix(basis, coefficients))) > MOST_ERROR * norm

    by_error = _lowest_of_most(steps, wrong)
    power = float(np.linalg.norm(size))
    by_power = _lowest_of_most(steps, lambda at: float(np.linalg.norm(size[size >= at])) < LEAST_POWER * power)
    return int(there.sum()), int((size >= by_error).sum()), int((size >= by_power).sum())


def restore_matrix(basis: Basis, y: Tensor) -> Tensor:
    """Return x (places,) from coefficients y (coefficients,) of a basis over whole matrices; the inverse of `basis.forward`."""
    if basis.mirror is not None:
        # Below the diagonal is the sum of a place and its mirror, above it the difference.
        other = y.index_select(0, basis.mirror)
        y = (y - basis.sign * other) / 2
    if basis.earlier is not None:
        # Sums along each chain of earlier places, by doubling the distance in each round.
        padded, back = torch.cat([y, y.new_zeros(1)]), torch.cat([basis.earlier.long(), torch.tensor([len(y)])])
        while bool((back[:-1] < len(y)).any()):
            padded, back = padded + padded.index_select(0, back), back.index_select(0, back)
        y = padded[:-1]
    return y


def _distinct_sizes(size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distinct sizes in descending order; of sizes equal up to rounding, the smallest is used."""
    ascending = np.sort(size)
    first = np.ones(len(ascending), bool)
    first[1:] = np.diff(ascending) > NONZERO * ascending[1:]
    return ascending[first][::-1]


def _lowest_of_most(steps: NDArray[np.float64], fails) -> float:  # type: ignore[no-untyped-def]
    """Return the highest threshold for which `fails` is false."""
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fails(float(steps[middle])) else (low, middle)
    return float(steps[low])


def _synthetic(pattern: str) -> Made:
    return lambda fabric, _: load_traffic(pattern, len(fabric.endpoints), SEED)


def _application(pattern: str, coupled: bool) -> Made:
    """Return a function for as many instances as fit, from the application's trace if given, else an approximation (section 3.5.1: trace, and coupled trace*)."""

    def make(fabric: Fabric, size: Size) -> Traffic:
        name, parts = (SMALL, 4) if size.quick else (size.source(pattern), 1)
        return instances(name, len(fabric.endpoints), parts, coupled)

    return make


def _measure_identity(made: Made) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        src, dst, _ = made(fabric, size)
        leaf, pod = np.asarray(fabric.endpoints.router), np.asarray(fabric.routers.group)
        hops = np.where(leaf[src] == leaf[dst], 2, np.where(pod[leaf[src]] == pod[leaf[dst]], 4, 6))
        return {"pairs": float(len(src)), "hops": float(hops.mean())}

    return measure


def _measure_gaps(made: Made) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        demand = made(fabric, size)
        routes = optimise_routes(fabric, demand, size.optimise_s, SEED)
        loads = {_COLUMNS.get(name, name): load for name, load in compare_baselines(fabric, [demand], SEED).items()}
        return {
            "ours": 100 * (routes.z / routes.z_ar - 1),
            "bound": 100 * (routes.fixed_bound / routes.z_ar - 1),
            **{name: 100 * (load / routes.z_ar - 1) for name, load in loads.items() if load is not None},
            "seconds": routes.wall_s,
        }

    return measure


def _name_column(basis: str, kind: str) -> str:
    return basis if kind == COUNTS[0] else f"{basis}, {kind}"


def _measure_sparsity(pattern: str, ranks: int) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        src, dst, amount = load_traffic(size.source(pattern), ranks, SEED)
        key = np.flatnonzero(~np.eye(ranks, dtype=bool).reshape(-1))
        matrix = torch.zeros(ranks, ranks, dtype=torch.float64)
        matrix.index_put_(
            (torch.from_numpy(src.astype(np.int64)), torch.from_numpy(dst.astype(np.int64))),
            torch.from_numpy(amount),
            True,
        )
        x = matrix.reshape(-1)[torch.from_numpy(key)]
        densities = {}
        for name in ("i", "s", "cd", "scd", "cs", "scs"):
            if name in ("cs", "scs") and ranks & (ranks - 1):
                continue  # these bases need a power of two
            for kind, count in zip(
                COUNTS, count_coefficients(Basis(name, np.array([ranks]), key).double(), x), strict=True
            ):
                densities[_name_column(name, kind)] = count / ranks
        return densities

    return measure


def _make_cells(pattern: str, basis: str, share: float) -> dict[str, Measure]:
    """Return measurements of the error in % for each lane scheme; `share` is a factor on the time limit."""

    def cell(way: Scheme) -> Measure:
        def measure(size: Size) -> dict[str, float]:
            name = "shift" if size.quick else size.source(pattern)
            outcome = reconstruct_cell(size.topology, name, way, basis, size.reconstruct_s * share, size.device)
            if not size.quick:
                keep_portion(PORTIONS_FOLDER, pattern, basis, way.ours, outcome.matrix)
            return {
                CELL: 100 * outcome.error,
                "seconds": outcome.seconds,
                "limit_s": size.reconstruct_s * share,
                "iterations": float(outcome.iterations),
                "converged": float(outcome.converged),
            }

        return measure

    return {way.ours: cell(way) for way in LANE_SCHEMES}


#: Patterns that have changed since their reconstructions were measured (tables 4.2 and 4.3).
EARLIER = {
    "multigrid-1000": "measured with ranks in the grid's order",
    "nekbone-1024": "measured with recursive doubling in place of the crystal router",
}
#: Our pattern, the dissertation's name, ranks, its basis in table 4.2, and a remark.
APPLICATIONS = (
    ("lulesh-512", "LULESH", 512, "scd", ""),
    ("partisn-168", "PARTISN", 168, "scd", "the amounts of rank 0 are ours"),
    ("amg-1728", "AMG", 1728, "scd", "coarse levels approximated"),
    ("boxlib-mg-1024", "BoxLib MG C", 1024, "cs", ""),
    ("multigrid-1000", "MultiGrid C", 1000, "s", "coarse levels approximated"),
    ("nekbone-1024", "Nekbone", 1024, "scd", "approximated: faces of all axes are alike"),
    ("boxlib-cns-1024", "BoxLib CNS", 1024, "s", "approximated: five levels of refinement"),
)


def _load_published(place: str, name: str, **columns: str) -> dict[str, float]:
    return published.published_row("taffet2021", place, name, **columns)


def _of_routes(name: str) -> dict[str, float]:
    return _load_published("table 3.3", name, ours="Combined", AFAR="AFAR", ftree="Ftree", random="Random")


def _of_lanes(place: str, name: str) -> dict[str, float]:
    published_row = _load_published(place, name)
    return {way.ours: published_row[way.published] for way in LANE_SCHEMES}


ROWS = [
    *(Row("3.1", ours, _load_published("table 3.1", theirs, pairs="pairs", hops="mean hops"), _measure_identity(_synthetic(pattern))) for ours, theirs, pattern in
      (("stencil 16x16x12", "Stencil", "stencil3d"), ("bisection", "Bisection", "bisection"), ("random shuffle", "BS Rand Shuf", "bisection-shuffle"), ("all-to-all", "All-to-all", "alltoall"))),
    *(Row("3.3", ours, _of_routes(theirs), _measure_gaps(_synthetic(pattern)), note) for ours, theirs, pattern, note in
      (("stencil", "Stencil", "stencil3d", "our AFAR: greedy moves from ftree as the dissertation describes them, not its code"), ("bisection", "Bisection", "bisection", ""),
       ("random shuffle", "BS Rand Shuf", "bisection-shuffle", ""), ("random shuffle, noise of 5 %", "BS RS+noise", "noisy-shuffle", ""), ("all-to-all", "All-to-all", "alltoall", ""))),
    *(Row("3.1", f"{kind} {name}", _load_published("table 3.1", f"{kind} {name}", pairs="pairs", hops="mean hops"), _measure_identity(_application(pattern, kind == "Trace*")), note)
      for kind in ("Trace", "Trace*") for pattern, name, _, _, note in APPLICATIONS),
    *(Row("3.3", f"{kind} {name}", _of_routes(f"{kind} {name}"), _measure_gaps(_application(pattern, kind == "Trace*")), note)
      for kind in ("Trace", "Trace*") for pattern, name, _, _, note in APPLICATIONS),
    *(Row("4.1", f"{name} {ranks}", {_name_column(basis, kind): value for kind in COUNTS for basis, value in _load_published("table 4.1", f"{name}, {kind}").items() if basis != "od"}, _measure_sparsity(pattern, ranks), note)
      for pattern, name, ranks, _, note in APPLICATIONS),
    *(Row("4.2", f"{name} {ranks}", _of_lanes("table 4.2", name), None, EARLIER.get(pattern, note), _make_cells(pattern, basis, 2.0)) for pattern, name, ranks, basis, note in APPLICATIONS),
    *(Row("4.3", f"{name} {ranks}", _of_lanes("table 4.3", name), None, EARLIER.get(pattern, note), _make_cells(pattern, "od", 1.0)) for pattern, name, ranks, _, note in APPLICATIONS),
]  # fmt: skip
