"""Reconstruction of a traffic matrix from per-VL switch counters, with an estimate of its reliability. The truth is never an input."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest, Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction.alternatives import furthest_distance, has_many_solutions
from flitwatch_routing.reconstruction.bases import Basis, choose_dictionary
from flitwatch_routing.reconstruction.consistency import PLENTY, QUIET, management_bytes, noise_of, too_little
from flitwatch_routing.reconstruction.dives import solve_with_dives
from flitwatch_routing.reconstruction.lanes import Lanes
from flitwatch_routing.reconstruction.lanes_by_pair import PairLanes
from flitwatch_routing.reconstruction.limit import Follow, Limit, Watch
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.pdhg import Solution, threads_for
from flitwatch_routing.reconstruction.program import Program
from flitwatch_routing.reconstruction.refine import compute_intervals, find_possible_pairs, refine_support
from flitwatch_routing.reconstruction.sensing import Groups, LinkCounters, groups_of

Floats = NDArray[np.float64]
#: Limit of places for which the second part of a dictionary covers all places of the jobs; above it, only pairs that can carry traffic.
EVERYWHERE = 1_200_000
#: Below this many pairs, double precision has no relevant cost.
DOUBLE = 60_000
#: Share of rows omitted from the second solution, whose distance estimates the error.
HELD_OUT = 0.1
#: Shares of the time left after reading, at which each step ends: the intervals, which need only the counters; the solution, with and without an error
#: estimate; the fit of its support; the second solution. The rest is for a step in progress when the time is over.
BOUNDED, SOLVED, SOLVED_ALONE, FITTED, SOLVED_AGAIN = 0.1, 0.6, 0.9, 0.7, 0.95
#: Time limit of the search for other matrices in seconds, and as a multiple of the time spent before.
OTHERS_S, OTHERS = 1.0, 2.0
#: A residual above this is not noise: the counters do not belong to these routes.
CONTRADICTION = 0.05


@dataclass(frozen=True)
class Options:
    """basis: i, s, cd, scd, cs, scs or od;  noise: relative error of a counter, None to estimate it from the switches' balance

    floor : possible bytes of managers and collectors over a link; smaller amounts do not contradict the routes
    """

    basis: str = "od"
    device: str = "cpu"
    tolerance: float = 1e-5
    time_limit_s: float = 900.0
    noise: float | None = None
    estimate: bool = True
    floor: float = management_bytes()


@dataclass(frozen=True)
class Reconstruction:
    """The matrix and its reliability.

    Attributes
    ----------
    pairs : Pairs that can carry traffic;  size, low, high : (pairs,) bytes, and an interval that contains them if the counters are exact
        NaN if they are unknown
    estimated_error : the maximum of: the relative distance to a second solution from nine tenths of the rows, the distance to other matrices of the
    same minimal
        sum, the residual, and, if there are too few counters for sparsity to be informative, the uncertainty left by the intervals (at most 1);
        None if unknown
    unknown : reasons by unknown value (estimated_error, intervals, others)
    residual : |R x - t| / |t|
    noise : assumed relative error of counters
    """

    pairs: Pairs
    size: Floats
    low: Floats
    high: Floats
    estimated_error: float | None
    residual: float
    gap: float
    converged: bool
    iterations: int
    noise: float
    unknowns: int
    wall_s: float
    unknown: dict[str, str] = field(default_factory=dict)


def reconstruct_matrix(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Sequence[Lanes | PairLanes],
    pairs: Pairs,
    counters: Sequence[Floats],
    options: Options = Options(),
    watch: Watch | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Reconstruction:
    """Return the sparsest matrix in a basis that explains the counters.

    The time limit covers all steps. The reliability estimates get a share of the time and are unknown if it does not suffice.

    Parameters
    ----------
    ports : (routers, endpoints) forwarding tables
    lanes, counters : one per sensing epoch; counters (links, VLs) in bytes

    Raises
    ------
    BadInput
        Counters contradict the routes or each other, are too small to decide, or were not explained within the time; or tables have loops or
        holes.
    BadRequest
        The time limit ends before the solution begins.
    Cancelled
        The watch stops the work.
    """
    started, limit = clock(), Limit.after(options.time_limit_s, clock)
    posed = build_program(fabric, ports, lanes, pairs, counters, options, Follow(limit, watch, "reading counters"))
    if posed is None:
        counted = any(part.any() for part in counters)
        return _empty_reconstruction(
            pairs.kept(np.zeros(len(pairs), bool)), len(pairs), options.noise or 0.0, counted, clock() - started
        )
    total, pairs, noise = len(pairs), posed.pairs, posed.noise
    program, sensing, target, scale = posed.program, posed.sensing, posed.target, posed.scale
    slack = noise * target
    first = SOLVED if options.estimate else SOLVED_ALONE
    bounding, solving, fitting, again = (limit.part(share) for share in (BOUNDED, first, FITTED, SOLVED_AGAIN))
    unknown: dict[str, str] = {}
    bounds = compute_intervals(sensing, target, slack, Follow(bounding, watch, "bounding pairs").may_continue)
    if bounds is None:
        unknown["intervals"] = "the time limit ended before any was found"
    solution, estimate = solve_with_threads(program, options.tolerance, solving, watch, "reconstructing")
    unsolved = not solution.converged and solution.iterations > 2000
    late = unsolved and solving.over()
    fit = Follow(fitting if options.estimate else limit, watch, "fitting the support", solution.residual, solution.gap)
    x = refine_support(sensing, solution.x[0], target, slack, fit.may_continue)
    residual = float(torch.linalg.vector_norm(sensing(x) - target) / torch.linalg.vector_norm(target))
    if unsolved and residual > CONTRADICTION + 5 * noise:
        raise _unexplained_error(late, fabric, posed, x, lanes[0].vls, options.floor)
    if not options.estimate:
        estimate, unknown["estimated_error"] = None, "it was not requested"
    elif not bool(x.any()):
        estimate = 1.0  # all sent traffic is missing
    elif estimate is None:
        estimate = _measure_disagreement(
            program, solution, x, options.tolerance, again.at_most(max(1.0, clock() - started)), watch
        )
        if estimate is None:
            unknown["estimated_error"] = "the time limit ended before a second solution was close enough"
    if options.estimate and bool(x.any()):
        others = furthest_distance(program, x, again.at_most(max(OTHERS_S, OTHERS * (clock() - started))))
        estimate = others if estimate is None else max(estimate, others or 0.0)
        if others is None:
            unknown["others"] = (
                "whether other matrices explain the counters equally well: the program is too large, or time ended"
            )
        if estimate is not None and bounds is not None and has_many_solutions(program, [x, *solution.x[1:]]):
            estimate = max(estimate, min(1.0, _interval_distance(x, *bounds)))
        if estimate is not None:
            unknown.pop("estimated_error", None)
    low, high = bounds or 2 * (torch.full_like(x, torch.nan),)
    size, least, most = (part.double().cpu().numpy() * scale for part in (x, low, high))
    return Reconstruction(
        pairs,
        size,
        least,
        most,
        estimated_error=None if estimate is None else max(estimate, residual),
        residual=residual,
        gap=solution.gap,
        converged=solution.converged,
        iterations=solution.iterations,
        noise=noise,
        unknowns=total,
        wall_s=clock() - started,
        unknown=unknown,
    )


@dataclass(frozen=True)
class Problem:
    """Input of the solver: counters in units of `scale` bytes, the pairs that can carry traffic, and their program."""

    pairs: Pairs
    program: Program
    sensing: LinkCounters
    target: torch.Tensor
    scale: float
    noise: float


def build_program(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Sequence[Lanes | PairLanes],
    pairs: Pairs,
    counters: Sequence[Floats],
    options: Options,
    follow: Follow = Follow(Limit(), None, ""),
) -> Problem | None:
    """Check the counters' consistency with each other and the routes, and build the program; None if no pair can have traffic. Raises the errors of
    `reconstruct_matrix`."""
    total = len(pairs)

    def in_time() -> None:
        if not follow.may_continue():
            raise BadRequest(
                f"the time limit ended while a program of {total:,} pairs was written: nothing was reconstructed",
                advice="Give a longer --time-limit, or --jobs with fewer endpoints",
            )

    measured = _stack_counters(fabric, lanes, counters)
    noise = noise_of(fabric, counters, options.floor) if options.noise is None else options.noise
    in_time()
    groups = groups_of(fabric, ports, lanes, pairs)
    in_time()
    _check_unreached_rows(fabric, groups, measured, lanes[0].vls, noise, options.floor)
    keep = find_possible_pairs(groups, measured)
    pairs = pairs.kept(keep)
    device, dtype = _select_device(options.device), torch.float64 if len(pairs) <= DOUBLE else torch.float32
    if not len(pairs):
        return None
    in_time()
    sensing = LinkCounters(groups.kept(keep)).to(device)
    in_time()
    target = torch.from_numpy(measured[sensing.row]).to(device, dtype)
    scale = float(target[target > 0].median())
    target = target / scale
    program = _assemble_program(sensing, pairs, options.basis, target, noise * target).to(device)
    in_time()
    return Problem(pairs, program, sensing, target, scale, noise)


def _stack_counters(fabric: Fabric, lanes: Sequence[Lanes | PairLanes], counters: Sequence[Floats]) -> Floats:
    if len(lanes) != len(counters) or not lanes:
        raise BadRequest(
            f"{len(lanes)} SL-to-VL tables for {len(counters)} sets of counters",
            advice="Give one of each per sensing epoch",
        )
    for lane, counted in zip(lanes, counters, strict=True):
        if counted.shape != (len(fabric.links.src), lane.vls) or lane.vls != lanes[0].vls:
            raise BadInput(
                f"counters of shape {counted.shape}; the fabric has {len(fabric.links.src)} links and the tables {lane.vls} VLs"
            )
        if not np.isfinite(counted).all() or (counted < 0).any():
            raise BadInput("a counter is negative or not a number")
    return np.concatenate([np.asarray(counted, float).reshape(-1) for counted in counters])


def _check_unreached_rows(
    fabric: Fabric, groups: Groups, measured: Floats, vls: int, noise: float, floor: float
) -> None:
    """Raise BadInput if a row that no pair uses has more traffic than managers send and than the share `QUIET` of the busiest: it contradicts the routes."""
    reached = np.zeros(groups.rows, bool)
    reached[groups.turn_rows] = True
    astray = np.where(reached, 0.0, measured)
    if astray.sum() <= max(1e-6, noise * 1e-2) * measured.sum():
        return
    row, busiest = int(np.argmax(astray)), int(np.argmax(measured))
    if astray[row] > max(floor, QUIET * measured[busiest]):
        raise BadInput(
            f"counters contradict the routes: {_describe_link(fabric, row, vls)}, virtual lane {row % vls}, counted {astray[row]:.6g} "
            f"bytes, but no pair's path goes there",
            advice="Give the tables, jobs and SL-to-VL tables that were loaded while the counters ran",
        )
    if measured[busiest] < PLENTY * floor:
        raise too_little(float(measured[busiest]), floor, f"the busiest link, {_describe_link(fabric, busiest, vls)},")


def _unexplained_error(late: bool, fabric: Fabric, posed: Problem, x: torch.Tensor, vls: int, floor: float) -> BadInput:
    """Return the error for unexplained counters. With `late`, the solver ran out of time, so the counters need not contradict the routes."""
    missed = (posed.sensing(x) - posed.target).abs()
    worst = int(torch.argmax(missed))
    ends = _describe_link(fabric, int(posed.sensing.row[worst]), vls)
    if float(missed[worst]) * posed.scale <= floor:
        return too_little(float(posed.target.max()) * posed.scale, floor, "the busiest link")
    if late:
        return BadInput(
            f"the time limit ended before any traffic explained the counters, least of all those of {ends}: they need more time, "
            f"or contradict the routes",
            advice="Give a longer --time-limit",
        )
    return BadInput(f"counters contradict the routes: no traffic explains them, least of all those of {ends}")


def _describe_link(fabric: Fabric, row: int, vls: int) -> str:
    """Return a description of the ends of a row's link."""
    link = row // vls % len(fabric.links.src)
    return f"{fabric.vertex_name(int(fabric.links.src[link]))} to {fabric.vertex_name(int(fabric.links.dst[link]))}"


def _select_device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise BadRequest("this machine has no usable GPU", advice="Use --device cpu")
    return torch.device(name)


def _assemble_program(
    sensing: LinkCounters, pairs: Pairs, basis: str, target: torch.Tensor, slack: torch.Tensor
) -> Program:
    names = choose_dictionary(pairs.sizes) if basis == "od" else (basis,)
    key, place_of = pairs.key, None
    if len(names) == 2 and int((pairs.sizes**2).sum()) <= EVERYWHERE:
        key = np.concatenate(
            [
                _off_diagonal(int(n)) + base
                for n, base in zip(pairs.sizes, np.cumsum(pairs.sizes**2) - pairs.sizes**2, strict=True)
            ]
        )
        if len(key) != len(pairs.key):
            place_of = torch.from_numpy(np.searchsorted(key, pairs.key)).to(target.device)
    bases = [Basis(name, pairs.sizes, key).to(target.device, target.dtype) for name in names]
    return Program(sensing, bases, place_of, len(key), target, slack)


def _off_diagonal(n: int) -> NDArray[np.int64]:
    at = np.arange(n * n)
    return at[at // n != at % n]


def solve_with_threads(
    program: Program, tolerance: float, limit: Limit, watch: Watch | None, phase: str, norm: float | None = None
) -> tuple[Solution, float | None]:
    """Solve with a suitable number of threads, see `solve_with_dives`; raise Cancelled if the watch stops it."""
    follow = None if watch is None else lambda i, r, g: watch(phase, i, r, g)
    with threads_for(program.places):
        solution, estimate = solve_with_dives(program, tolerance, limit, follow, norm)
    if solution.stopped:
        raise Cancelled("the reconstruction was cancelled")
    return solution, estimate


def _measure_disagreement(
    program: Program, found: Solution, x: torch.Tensor, tolerance: float, limit: Limit, watch: Watch | None
) -> float | None:
    """Solve again without a tenth of the rows. Return the relative distance of the two matrices.

    The result is None (unknown, not bad) if time ran out before the second solution reached a quarter of the first's iterations.
    """
    if limit.over():
        return None
    generator = torch.Generator().manual_seed(7)
    kept_rows = (torch.rand(len(program.target), generator=generator) >= HELD_OUT).to(program.target)
    scale, target, slack = program.row_scale.clone(), program.target.clone(), program.slack.clone()
    for buffer in (program.row_scale, program.target, program.slack):
        buffer.mul_(kept_rows)
    # Omitting rows does not increase the operator's norm.
    again, _ = solve_with_threads(program, max(10 * tolerance, 1e-4), limit, watch, "estimating the error", found.norm)
    for buffer, was in ((program.row_scale, scale), (program.target, target), (program.slack, slack)):
        buffer.copy_(was)
    if not again.converged and again.iterations < found.iterations / 4:
        return None
    return float(torch.linalg.vector_norm(again.x[0] - x) / torch.linalg.vector_norm(x))


def _interval_distance(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> float:
    """Return the largest relative distance of the matrix to a matrix within the intervals."""
    return float(torch.linalg.vector_norm(torch.maximum(high - x, x - low)) / torch.linalg.vector_norm(x))


def _empty_reconstruction(pairs: Pairs, total: int, noise: float, counted: bool, wall_s: float) -> Reconstruction:
    """Return the result if no pair can have traffic: either all counted traffic is missing, or nothing was counted."""
    none, missing = np.zeros(0), 1.0 if counted else 0.0
    return Reconstruction(
        pairs,
        none,
        none,
        none,
        1.0 if counted else None,
        missing,
        0.0,
        not counted,
        0,
        noise,
        total,
        wall_s,
        {} if counted else {"estimated_error": "nothing was counted"},
    )
