"""Minimum of the largest link load in a damaged tree if traffic can split over all up/down paths: a linear program by destination leaf.

Flows to one leaf merge, so that there is one flow per link and destination leaf: about 300,000 on quartz1. The result is not the solver's objective but
the bound proved by its link prices: for prices w >= 0 of links with c cables, sum(w c) = 1, no routing has a largest load
of a cable below sum(demand x cheapest path at w). It holds for any prices, including those of a solver that ran out of time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flitwatch_routing.tree import Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: watch(seconds, nothing known yet, no moves) -> whether to continue, as in the optimiser
Watch = Callable[[float, float, int], bool]


@dataclass
class _Program:
    """A linear program. Columns are flows; rows balance them, then sum them by link."""

    columns: int = 0
    rows: int = 0
    at: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    sent: list[Floats] = field(default_factory=list)
    carried: list[tuple[Ints, Ints]] = field(default_factory=list)

    def flows(self, count: int) -> Ints:
        first, self.columns = self.columns, self.columns + count
        return np.arange(first, self.columns)

    def balances(self, sent: Floats) -> Ints:
        first, self.rows = self.rows, self.rows + len(sent)
        self.sent.append(sent)
        return np.arange(first, self.rows)

    def enter(self, row: Ints, column: Ints, sign: float) -> None:
        self.at.append((row, column, np.full(len(row), sign)))

    def load(self, link: Ints, column: Ints) -> None:
        self.carried.append((link, column))


def least_load(tree: Tree, demand: Floats, time_limit_s: float, watch: Watch | None = None) -> tuple[float, bool]:
    """Return (bound, exact) for demand (leaves, leaves) from row to column. `exact` is False if time ran out; the bound may then be weak.

    The bound is infinite if no up/down path connects two communicating leaves.
    """
    has_demand = demand > 0
    if not has_demand.any():
        return 0.0, True
    if np.isinf(_price_cheapest_ways(tree, np.ones(len(tree.cables())))[has_demand]).any():
        return math.inf, True
    leaves = tree.shape[1]
    program = _Program()
    source, to = np.nonzero(demand)
    near = source // leaves == to // leaves
    _within_pods(program, tree, demand, source[near], to[near])
    if not near.all():
        _across_pods(program, tree, demand, source[~near], to[~near])
    cables = tree.cables().astype(float)
    prices, exact = _solve_prices(program, cables, time_limit_s, watch)
    if prices is None:
        return 0.0, False
    way = _price_cheapest_ways(tree, prices)
    return float((demand[has_demand] * way[has_demand]).sum() / (prices * cables).sum()), exact


def _within_pods(program: _Program, tree: Tree, demand: Floats, source: Ints, to: Ints) -> None:
    """Add flows leaf to spine to leaf: one flow per pair and spine, over two links."""
    up, _, _, down = tree.link_numbers()
    leaves, spines = tree.shape[1], tree.shape[3]
    pair, spine = np.nonzero((up[source] >= 0) & (down.reshape(-1, spines, leaves)[to // leaves, :, to % leaves] >= 0))
    flow = program.flows(len(pair))
    program.enter(program.balances(demand[source, to])[pair], flow, 1.0)
    program.load(up[source[pair], spine], flow)
    program.load(down[to[pair] // leaves * spines + spine, to[pair] % leaves], flow)


def _across_pods(program: _Program, tree: Tree, demand: Floats, source: Ints, to: Ints) -> None:
    """Add flows leaf to spine, spine to core, core to spine and leaf. Flows merge by destination leaf at every switch."""
    up, over, back, down = tree.link_numbers()
    pods, leaves, _, spines, groups, cores = tree.shape
    each = spines // groups
    # Leaf to spine.
    pair, spine = np.nonzero(up[source] >= 0)
    rising = program.flows(len(pair))
    program.enter(program.balances(demand[source, to])[pair], rising, 1.0)
    program.load(up[source[pair], spine], rising)
    # Spine to core: one balance per (spine, destination leaf) with traffic from a leaf of the pod.
    merged, at = np.unique((source[pair] // leaves * spines + spine) * (pods * leaves) + to[pair], return_inverse=True)
    from_spine, dest = np.divmod(merged, pods * leaves)
    balance = program.balances(np.zeros(len(merged)))
    program.enter(balance[at], rising, 1.0)
    row, core = np.nonzero(over[from_spine] >= 0)
    crossing = program.flows(len(row))
    program.enter(balance[row], crossing, -1.0)
    program.load(over[from_spine[row], core], crossing)
    # Core to a spine of the destination's pod, then to the leaf.
    number = from_spine[row] % spines // each * cores + core
    merged, at = np.unique(number * (pods * leaves) + dest[row], return_inverse=True)
    from_core, dest = np.divmod(merged, pods * leaves)
    balance = program.balances(np.zeros(len(merged)))
    program.enter(balance[at], crossing, 1.0)
    pod = dest // leaves
    below = pod[:, None] * spines + (from_core // cores * each)[:, None] + np.arange(each)
    row, place = np.nonzero((back[from_core, pod] >= 0) & (down[below, (dest % leaves)[:, None]] >= 0))
    falling = program.flows(len(row))
    program.enter(balance[row], falling, -1.0)
    program.load(back[from_core[row], pod[row], place], falling)
    program.load(down[below[row, place], dest[row] % leaves], falling)


def _solve_prices(
    program: _Program, cables: Floats, time_limit_s: float, watch: Watch | None
) -> tuple[Floats | None, bool]:
    """Return prices of links with `cables` (links,) working cables; None if there are none. HiGHS' interior-point method without crossover suffices for prices."""
    import highspy
    from scipy.sparse import csc_matrix

    links = len(cables)
    rows = program.rows + links
    link, carried = (np.concatenate(part) for part in zip(*program.carried, strict=True))
    parts = [*program.at, (program.rows + link, carried, np.ones(len(link)))]
    parts.append((program.rows + np.arange(links), np.full(links, program.columns), -cables))
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    matrix = csc_matrix((value, (row, column)), shape=(rows, program.columns + 1))
    supply = np.concatenate(program.sent)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = matrix.shape[1], rows
    model.col_cost_ = np.append(np.zeros(program.columns), 1.0)
    model.col_lower_, model.col_upper_ = np.zeros(matrix.shape[1]), np.full(matrix.shape[1], highspy.kHighsInf)
    model.row_lower_ = np.append(supply, np.full(links, -highspy.kHighsInf))
    model.row_upper_ = np.append(supply, np.zeros(links))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    for name, setting in (
        ("output_flag", False),
        ("solver", "ipm"),
        ("run_crossover", "off"),
        ("threads", 1),
        ("time_limit", time_limit_s),
    ):
        solver.setOptionValue(name, setting)
    if watch is not None:
        started = time.monotonic()
        solver.cbIpmInterrupt += lambda event: event.interrupt(not watch(time.monotonic() - started, math.inf, 0))
    solver.passModel(model)
    solver.run()
    prices = np.maximum(-np.asarray(solver.getSolution().row_dual)[program.rows :], 0.0)
    if len(prices) != links or not np.isfinite(prices).all() or not (prices * cables).sum() > 0:
        return None, False
    return prices, solver.getModelStatus() == highspy.HighsModelStatus.kOptimal


def _price_cheapest_ways(tree: Tree, prices: Floats) -> Floats:
    """Return the price (leaves, leaves) of the cheapest up/down path at prices (links,); infinite if there is none."""
    pods, leaves, _, spines, groups, cores = tree.shape
    count = pods * leaves
    price = np.where(tree.cables() == 0, np.inf, prices)
    ends = np.cumsum(
        [count * spines, pods * spines * cores, groups * cores * pods * (spines // groups if groups else 0)]
    )
    up, over, back, down = np.split(price, ends)
    falls = np.full((pods, spines, count), np.inf)  # from a spine of the leaf's own pod
    for pod in range(pods):
        falls[pod, :, pod * leaves : (pod + 1) * leaves] = down.reshape(pods, spines, leaves)[pod]
    above = falls.copy()  # from any spine, over cores if necessary
    if groups:
        each = spines // groups
        link = back.reshape(groups, cores, pods, each)
        crossing = over.reshape(pods, groups, each, cores)
        for pod in range(pods):
            here = slice(pod * leaves, (pod + 1) * leaves)
            landing = falls[pod, :, here].reshape(groups, 1, each, leaves)
            best = (link[:, :, pod, :, None] + landing).min(axis=2)  # (groups, cores, leaves)
            others = [index for index in range(pods) if index != pod]
            for other in others:
                # (groups, each, cores, leaves) -> (spines, leaves)
                above[other, :, here] = (crossing[other][..., None] + best[:, None]).min(axis=2).reshape(spines, leaves)
    rises = up.reshape(pods, leaves, spines)
    return np.concatenate([(rises[pod][:, :, None] + above[pod][None]).min(axis=1) for pod in range(pods)])
