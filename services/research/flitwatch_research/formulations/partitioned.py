"""Chapter 3's Partitioned Binary (Taffet 2021, section 3.3.3, algorithm 7): static routes of a three-level tree in steps, each an integer program in HiGHS.

First, traffic is assigned to core groups, on the tree with merged spines of each pod and group, and merged cores of each group. Then each pod and group
chooses paths from leaves to spines, each group from spines to cores, and finally all cores the paths down. The result of a step is the traffic of the next
one. A step's objectives are optimised one after the other, with earlier ones fixed at their optimum. The method is fast, but does not guarantee optimal routes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import connected_components

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import Fabric
from flitwatch_research.formulations.integer import Program
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.optimise import Traffic

Ints = NDArray[np.int64]
#: Limit of binaries in one step: with more, HiGHS finds no first routes within minutes.
MOST_BINARIES = 200_000
#: Traffic is rounded to multiples of the largest divided by this, so that few distinct values remain.
_ROUNDED_TO = 5000
#: The dissertation's seconds, of 720, for each step: core groups, leaves to spines, spines to cores, and down.
_SHARES = {"groups": 15 / 720, "leaves": 300 / 720, "spines": 300 / 720, "down": 105 / 720}
Stopped = Callable[[], bool]
#: Tolerance of an objective above its optimum while the next one is optimised.
_HELD = 1e-6


class Cancelled(Exception):
    """The routes are no longer needed."""


class NoRoutes(BadRequest):
    """The limit ended before HiGHS found routes of a step."""


@dataclass
class Step:
    """One integer program: binaries that choose one of several places for each flow, and rows that no sum may exceed.

    Attributes
    ----------
    flows : a flow -> its binaries; exactly one of them is 1
    rows : objective -> row -> (binary, units), whose sum is limited by the row's bound; `fixed` is added to the sum, `scale` multiplies the bound
    """

    objectives: tuple[str, ...]
    flows: dict[Hashable, list[int]] = field(default_factory=dict)
    rows: dict[str, dict[Hashable, list[tuple[int, float]]]] = field(default_factory=dict)
    fixed: dict[tuple[str, Hashable], float] = field(default_factory=dict)
    scale: dict[tuple[str, Hashable], float] = field(default_factory=dict)
    #: Objectives with a separate bound per group of rows (the sum counts), by the rows' key; the others have one bound for all rows.
    shared_by: dict[str, dict[Hashable, Hashable]] = field(default_factory=dict)
    binaries: int = 0

    def choose(self, flow: Hashable) -> int:
        """Add a possible place for a flow; return its number."""
        self.flows.setdefault(flow, []).append(self.binaries)
        self.binaries += 1
        if self.binaries > MOST_BINARIES:
            raise TooCostly(
                f"a step of the integer program has more than {MOST_BINARIES:,} binary variables",
                advice="Use a smaller tree, or --engine search.",
            )
        return self.binaries - 1

    def add(self, objective: str, row: Hashable, binary: int, units: float, bound: Hashable = None) -> None:
        """Add units to a row of an objective if the binary is 1; rows with the same bound share it."""
        self.rows.setdefault(objective, {}).setdefault(row, []).append((binary, units))
        self.shared_by.setdefault(objective, {})[row] = bound

    def solve(self, limit_s: float, stopped: Stopped) -> Ints:
        """Return the indices of the binaries that are 1. The objectives are optimised in order, each within an equal share of the limit.

        Raises
        ------
        Cancelled
            `stopped` returned true.
        NoRoutes
            HiGHS found no solution within the limit.
        """
        if not self.flows:
            return np.zeros(0, np.int64)
        bounds: dict[tuple[str, Hashable], int] = {}
        for objective, rows in self.rows.items():
            for row in rows:
                bounds.setdefault((objective, self.shared_by[objective][row]), self.binaries + len(bounds))
        width = self.binaries + len(bounds)
        places = self._one_place(width)
        load_rows, most = self._build_load_rows(bounds, width)
        matrix, lower = (
            vstack([places, load_rows]),
            np.concatenate([np.ones(len(self.flows)), np.full(len(most), -np.inf)]),
        )
        upper = np.concatenate([np.ones(len(self.flows)), most])
        binary = np.arange(width) < self.binaries
        chosen = None
        for objective in self.objectives:
            goal = np.zeros(width)
            goal[[column for (name, _), column in bounds.items() if name == objective]] = 1.0
            if not goal.any():
                continue
            program = Program(goal, matrix, lower, upper, np.where(binary, 1.0, np.inf), binary)
            result = program.minimise(max(limit_s / len(self.objectives), 0.05), stopped)
            if stopped():
                raise Cancelled
            if result.x is None:
                break
            chosen = result.x
            matrix = vstack([matrix, coo_array(goal[None, :])])
            lower, upper = np.append(lower, -np.inf), np.append(upper, result.value * (1 + _HELD) + _HELD)
        if chosen is None:
            raise NoRoutes(
                "HiGHS found no routes of a step within its limit",
                advice="Give it more time, a smaller tree, or --engine search.",
            )
        return np.flatnonzero(chosen[: self.binaries] > 0.5)

    def _one_place(self, width: int) -> coo_array:
        row = np.repeat(np.arange(len(self.flows)), [len(binaries) for binaries in self.flows.values()])
        column = np.concatenate([np.array(binaries) for binaries in self.flows.values()])
        return coo_array((np.ones(row.size), (row, column)), (len(self.flows), width))

    def _build_load_rows(
        self, bounds: Mapping[tuple[str, Hashable], int], width: int
    ) -> tuple[coo_array, NDArray[np.float64]]:
        most: list[float] = []
        rows, columns, values = [], [], []
        for objective, objective_rows in self.rows.items():
            for row, parts in objective_rows.items():
                at = len(most)
                rows += [at] * (len(parts) + 1)
                columns += [binary for binary, _ in parts] + [bounds[objective, self.shared_by[objective][row]]]
                values += [units for _, units in parts] + [-self.scale.get((objective, row), 1.0)]
                most.append(-self.fixed.get((objective, row), 0.0))
        return coo_array((values, (rows, columns)), (len(most), width)), np.array(most)


@dataclass(frozen=True)
class _Tree:
    """A three-level fabric in the steps' form, with one link between neighbours."""

    level: Ints
    pod: Ints
    group: Ints
    leaf_of: Ints
    out: dict[int, list[tuple[int, int]]]

    def up(self, switch: int, group: int | None = None) -> list[tuple[int, int]]:
        """Return (link, switch) one level up, optionally in one core group."""
        here = self.level[switch]
        return [
            (link, to)
            for link, to in self.out[switch]
            if self.level[to] == here + 1 and (group is None or self.group[to] == group)
        ]

    def down(self, switch: int, pod: int) -> list[tuple[int, int]]:
        """Return (link, switch) one level down into a pod."""
        return [
            (link, to)
            for link, to in self.out[switch]
            if self.level[to] == self.level[switch] - 1 and self.pod[to] == pod
        ]


def _build_tree(fabric: Fabric) -> _Tree:
    level = np.asarray(fabric.routers.level, np.int64)
    between = np.flatnonzero(fabric.router_links())
    src, dst = (np.asarray(ends)[between].astype(np.int64) for ends in (fabric.links.src, fabric.links.dst))
    single = np.unique(src * len(level) + dst).size == src.size and np.all(np.asarray(fabric.links.multiplicity) == 1)
    if (
        level.size == 0
        or level.min() != 0
        or level.max() != 2
        or not np.all(np.abs(level[src] - level[dst]) == 1)
        or not single
    ):
        raise BadRequest(
            f"Partitioned Binary is for trees of three levels with one cable between two switches, which {fabric.name} is not",
            advice="Use --formulation basic, or --engine search.",
        )

    def parts(low: int) -> Ints:
        """Return the number of each switch's part of the tree between levels `low` and `low` + 1; -1 elsewhere."""
        inside = (level[src] >= low) & (level[src] <= low + 1) & (level[dst] >= low) & (level[dst] <= low + 1)
        joined = csr_array((np.ones(inside.sum()), (src[inside], dst[inside])), (level.size, level.size))
        _, number = connected_components(joined, directed=False)
        return np.where((level >= low) & (level <= low + 1), number, -1)

    out: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for link, at, to in zip(between.tolist(), src.tolist(), dst.tolist(), strict=True):
        out[at].append((link, to))
    return _Tree(level, parts(0), parts(1), np.asarray(fabric.endpoints.router).astype(np.int64), out)


def partitioned_tables(fabric: Fabric, traffic: Traffic, time_limit_s: float, stopped: Stopped = lambda: False) -> Ints:
    """Return output ports (routers, endpoints), chosen by Partitioned Binary for entries with traffic, and by ftree elsewhere.

    stopped : polled repeatedly; returns whether the tables are no longer needed

    Raises
    ------
    BadRequest
        The tree does not have three levels with one cable between neighbours, or (`NoRoutes`) HiGHS finds no routes of a step within the limit.
    TooCostly
        A step has more than `MOST_BINARIES` binaries.
    Cancelled
        `stopped` returned true.
    """
    tree = _build_tree(fabric)
    demand: dict[tuple[int, int], float] = defaultdict(float)
    for src, dst, size in zip(*(np.asarray(column).tolist() for column in traffic[:3]), strict=True):
        if tree.leaf_of[src] != tree.leaf_of[dst] and size > 0:
            demand[int(tree.leaf_of[src]), int(dst)] += size
    ports = ftree_tables(fabric).copy()
    if not demand:
        return ports
    unit = max(demand.values()) / _ROUNDED_TO
    flows = {flow: max(1.0, round(size / unit)) for flow, size in demand.items()}
    chosen = _lay_flows(tree, flows, time_limit_s, stopped)
    for (switch, end), link in chosen.items():
        ports[switch, end] = fabric.links.src_port[link]
    return ports


Flows = dict[tuple[int, int], float]


def _lay_flows(tree: _Tree, flows: Flows, limit_s: float, stopped: Stopped) -> dict[tuple[int, int], int]:
    """Return (switch, endpoint) -> link of all steps."""
    started = time.monotonic()
    group_of = _core_groups(tree, flows, limit_s * _SHARES["groups"], stopped)
    parts = sorted({(int(tree.pod[leaf]), group_of[leaf, end]) for leaf, end in flows})
    chosen: dict[tuple[int, int], int] = {}
    climbed: Flows = defaultdict(float)
    for pod, group in parts:
        own = {f: x for f, x in flows.items() if tree.pod[f[0]] == pod and group_of[f] == group}
        for (leaf, end), (link, spine) in _leaves_up(
            tree, own, group, limit_s * _SHARES["leaves"] / len(parts), stopped
        ).items():
            chosen[leaf, end] = link
            climbed[spine, end] += own[leaf, end]
    far = {(s, d): x for (s, d), x in climbed.items() if tree.pod[s] != tree.pod[tree.leaf_of[d]]}
    near = {f: x for f, x in climbed.items() if f not in far}
    at_core: Flows = defaultdict(float)
    groups = sorted({int(tree.group[s]) for s, _ in far})
    for group in groups:
        own = {f: x for f, x in far.items() if tree.group[f[0]] == group}
        for (spine, end), (link, core) in _spines_up(
            tree, own, limit_s * _SHARES["spines"] / len(groups), stopped
        ).items():
            chosen[spine, end] = link
            at_core[core, end] += own[spine, end]
    rest_s = max(limit_s * _SHARES["down"], limit_s - (time.monotonic() - started))
    chosen |= _lay_down_links(tree, at_core, near, rest_s, stopped)
    return chosen


def _core_groups(tree: _Tree, flows: Flows, limit_s: float, stopped: Stopped) -> dict[tuple[int, int], int]:
    """Return the core group of each flow of a leaf (equations 3.3.5 to 3.3.7), on the tree with merged switches of a group."""
    step, what = Step(("maxval", "imbalance")), []
    leaf_units: dict[int, float] = defaultdict(float)
    for (leaf, _), units in flows.items():
        leaf_units[leaf] += units
    for (leaf, end), units in flows.items():
        goal = int(tree.leaf_of[end])
        for group in sorted({int(tree.group[spine]) for _, spine in tree.up(leaf)}):
            binary = step.choose((leaf, end))
            what.append((leaf, end, group))
            rows = [("up", leaf, group), ("leaf", goal, group)]
            if tree.pod[goal] != tree.pod[leaf]:
                rows += [("pod up", int(tree.pod[leaf]), group), ("pod down", int(tree.pod[goal]), group)]
            for row in rows:
                step.add("maxval", row, binary, units)
                step.scale["maxval", row] = _count_merged_links(tree, row)
            step.add("imbalance", (leaf, group), binary, units)
            step.scale["imbalance", (leaf, group)] = leaf_units[leaf]
    return {(leaf, end): group for leaf, end, group in (what[k] for k in step.solve(limit_s, stopped))}


def _count_merged_links(tree: _Tree, row: tuple[str, int, int]) -> float:
    """Count the links merged into one: C of equation 3.3.6."""
    kind, number, group = row
    if kind in ("up", "leaf"):
        return float(len(tree.up(number, group)))
    spines = np.flatnonzero((tree.level == 1) & (tree.pod == number) & (tree.group == group))
    return float(sum(len(tree.up(int(spine))) for spine in spines))


def _leaves_up(
    tree: _Tree, flows: Flows, group: int, limit_s: float, stopped: Stopped
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the link and spine of each flow of one pod in one core group (equations 3.3.8 to 3.3.12)."""
    step, what = Step(("maxval", "leaf", "lid")), []
    for (leaf, end), units in flows.items():
        goal = int(tree.leaf_of[end])
        for link, spine in tree.up(leaf, group):
            binary = step.choose((leaf, end))
            what.append(((leaf, end), (link, spine)))
            step.add("maxval", link, binary, units)
            step.add("lid", (spine, end), binary, units, end)
            if tree.pod[goal] == tree.pod[leaf]:
                step.add("leaf", (spine, goal), binary, units, goal)
    return dict(what[k] for k in step.solve(limit_s, stopped))


def _spines_up(tree: _Tree, flows: Flows, limit_s: float, stopped: Stopped) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the link and core of each flow of one core group that leaves its pod (equations 3.3.13 to 3.3.17)."""
    step, what = Step(("maxval", "lid", "pod")), []
    for (spine, end), units in flows.items():
        pod = int(tree.pod[tree.leaf_of[end]])
        for link, core in tree.up(spine):
            binary = step.choose((spine, end))
            what.append(((spine, end), (link, core)))
            step.add("maxval", link, binary, units)
            step.add("lid", (core, end), binary, units, end)
            step.add("pod", (core, pod), binary, units, pod)
    return dict(what[k] for k in step.solve(limit_s, stopped))


def _lay_down_links(
    tree: _Tree, at_core: Flows, near: Flows, limit_s: float, stopped: Stopped
) -> dict[tuple[int, int], int]:
    """Return links from cores to spines (equations 3.3.18 and 3.3.19) and from there to leaves, including traffic within a pod."""
    step, what = Step(("maxval",)), []
    last = {
        (spine, leaf): link
        for spine in np.flatnonzero(tree.level == 1).tolist()
        for link, leaf in tree.down(spine, int(tree.pod[spine]))
    }
    for (core, end), units in at_core.items():
        goal = int(tree.leaf_of[end])
        for link, spine in tree.down(core, int(tree.pod[goal])):
            binary = step.choose((core, end))
            what.append(((core, end), (link, spine)))
            step.add("maxval", ("core", link), binary, units)
            step.add("maxval", ("spine", last[spine, goal]), binary, units)
    for (spine, end), units in near.items():
        row = ("spine", last[spine, int(tree.leaf_of[end])])
        if row in step.rows.get("maxval", {}):
            step.fixed["maxval", row] = step.fixed.get(("maxval", row), 0.0) + units
    down = dict(what[k] for k in step.solve(limit_s, stopped))
    ways = {(core, end): link for (core, end), (link, _) in down.items()}
    arrived = {(spine, end) for (_, end), (_, spine) in down.items()} | set(near)
    return ways | {(spine, end): last[spine, int(tree.leaf_of[end])] for spine, end in arrived}
