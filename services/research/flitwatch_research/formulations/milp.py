"""Chapter 3's integer programs of static routes (Taffet 2021, sections 3.3 and 3.4), solved by HiGHS: exact results for small trees.

`basic` is the Basic Multi-commodity Flow, and `partitioned` is Partitioned Binary (`partitioned`). `combined` runs both in parallel: the basic one uses the
partitioned one's routes as soon as it polls for solutions; if it never polls, they are compared at the end (section 3.4).

Variables are the flow T[s, p, d] over port p of switch s to destination d for every valid (s, p, d), and the largest load of a link between switches.
Instead of SOS1 sets, the big-M form of section 3.3.3 is used: one binary x[s, p, d] per port, exactly one of them 1 at each (s, d), and T <= M x, where M
is the sum of bytes for d from leaves that reach d through s.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import shortest_path

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import Fabric
from flitwatch_research.formulations import partitioned
from flitwatch_research.formulations.integer import GAP, Program
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import ROUNDING, compute_bounds, relative_gap
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import Progress, Routes, Slot, Traffic
from flitwatch_routing.switch_lids import complete_tables, towards_switches

Ints = NDArray[np.int64]
FORMULATIONS = ("basic", "partitioned", "combined")
#: Limit of binaries: with more, HiGHS finds no first routes within minutes.
MOST_BINARIES = 200_000


@dataclass(frozen=True)
class _Program:
    """Valid (switch, link, destination) with traffic, arrays of one length; `most`: bytes that can arrive; injected (routers, endpoints)."""

    at: Ints
    link: Ints
    to: Ints
    most: NDArray[np.float64]
    injected: NDArray[np.float64]
    into: Ints

    def next_keys(self, endpoints: int) -> Ints:
        """Return switch * endpoints + destination after each link."""
        return self.into * endpoints + self.to

    @property
    def unit(self) -> float:
        """Bytes per unit in the program."""
        return float(self.most.max())

    def solution(self, fabric: Fabric, ports: Ints) -> NDArray[np.float64]:
        """Return tables as values of the program's variables: flows, binaries, largest load."""
        chosen = ports[self.at, self.to] == np.asarray(fabric.links.src_port)[self.link]
        flow_left, flow = self.injected / self.unit, np.zeros(len(self.at))
        for k in np.flatnonzero(chosen):  # for each destination, more distant ones come first
            flow[k] = flow_left[self.at[k], self.to[k]]
            flow_left[self.into[k], self.to[k]] += flow[k]
        return np.concatenate([flow, chosen, [np.bincount(self.link, flow).max()]])


@dataclass(frozen=True)
class _Offer:
    """Partitioned Binary's tables, their time, and their largest load."""

    ports: Ints
    found: Progress


def optimise_with_highs(
    fabric: Fabric, traffic: Traffic, time_limit_s: float = 60.0, formulation: str = "basic"
) -> Routes:
    """Return the best tables that HiGHS finds within the limit, with its proved bound; `moves` is the number of branch-and-bound nodes.

    Parameters
    ----------
    formulation : one of `FORMULATIONS`; `partitioned` proves no bound

    Raises
    ------
    BadInput
        The fabric is not a fat tree, or the traffic does not fit it.
    BadRequest
        The limit is not a positive number of seconds, the formulation does not exist or does not fit the tree, or HiGHS finds no routes within
        the limit.
    TooCostly
        There are more than `MOST_BINARIES` binaries.
    """
    started = time.monotonic()
    if not 0 < time_limit_s < math.inf:
        raise BadRequest(f"the time limit is {time_limit_s:g} s; expected a finite number above 0")
    if formulation not in FORMULATIONS:
        raise BadRequest(f"unknown formulation {formulation!r}", advice=f"Use {', '.join(FORMULATIONS)}.")
    least, between = compute_bounds(fabric, traffic), fabric.router_links()
    ended = Event()

    def offer() -> _Offer:
        tables = partitioned.partitioned_tables(fabric, traffic, time_limit_s, ended.is_set)
        z = float(check_routes(fabric, tables, traffic).load[between].max(initial=0.0))
        return _Offer(tables, Progress(time.monotonic() - started, z))

    nodes, proven, progress = 0, least.fixed, []
    ports = ftree_tables(fabric).copy()
    program = None if formulation == "partitioned" else _build_program(fabric, traffic)
    if program is None:
        best = offer()
        ports, progress = best.ports, [best.found]
    elif len(program.at):
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(offer) if formulation == "combined" else None
            began = time.monotonic()
            chosen, nodes, dual, improvements = _solve_program(
                fabric, program, time_limit_s - (began - started), coming, proven
            )
            proven = max(proven, dual)
            if improvements and improvements[-1].z <= proven * (1 + 2 * GAP):
                ended.set()
        progress = [Progress(began - started + step.seconds, step.z) for step in improvements]
        if chosen is not None:
            ports[program.at[chosen], program.to[chosen]] = np.asarray(fabric.links.src_port)[program.link[chosen]]
        late = None if coming is None else _await_offer(coming)
        if late is not None and (not progress or late.found.z < progress[-1].z * (1 - GAP)):
            ports, progress = late.ports, [*progress, Progress(time.monotonic() - started, late.found.z)]
        if not progress:
            raise BadRequest(
                "HiGHS found no routes within the limit",
                advice="Give it more time, a smaller tree, or --engine search.",
            )
    ports = complete_tables(fabric, ports, towards_switches(fabric))
    load = check_routes(fabric, ports, traffic).load[between]
    z = float(load.max(initial=0.0))
    fixed = min(proven, z)
    return Routes(
        z=z,
        z_ar=least.z_ar,
        z_ar_exact=least.exact,
        fixed_bound=fixed,
        ar_gap=relative_gap(z, least.z_ar),
        bound_gap=relative_gap(z, fixed),
        proven=z <= fixed * (1 + 2 * GAP),
        worst_links=int((load >= z * (1 - ROUNDING)).sum()) if z else 0,
        slots=(Slot(z, least.z_ar, fixed),),
        wall_s=time.monotonic() - started,
        moves=nodes,
        ports=ports,
        progress=tuple(progress),
    )


def _await_offer(coming: Future[_Offer]) -> _Offer | None:
    """Return Partitioned Binary's tables; None if it was cancelled or had too little time."""
    try:
        return coming.result()
    except (partitioned.Cancelled, partitioned.NoRoutes):
        return None


def _build_program(fabric: Fabric, traffic: Traffic) -> _Program:
    """Return the program. Valid ports lead one hop closer to the destination's leaf switch; those without traffic are omitted."""
    routers, links = len(fabric.routers), fabric.links
    leaf = np.asarray(fabric.endpoints.router).astype(np.int64)
    src, dst = np.asarray(traffic[0], np.int64), np.asarray(traffic[1], np.int64)
    injected = np.zeros((routers, len(leaf)))
    crossing = leaf[src] != leaf[dst]
    np.add.at(injected, (leaf[src][crossing], dst[crossing]), np.asarray(traffic[2], float)[crossing])
    between = np.flatnonzero(fabric.router_links())
    from_, into = np.asarray(links.src)[between].astype(np.int64), np.asarray(links.dst)[between].astype(np.int64)
    hops = shortest_path(csr_array((np.ones(len(between)), (from_, into)), (routers, routers)), unweighted=True)
    at, link, to, most = [], [], [], []
    for end in np.flatnonzero(injected.any(axis=0)):
        closer = hops[into, leaf[end]] == hops[from_, leaf[end]] - 1
        # Bytes that can arrive at each switch: those of each leaf, once.
        comes = np.diag(injected[:, end])
        for distance in range(int(hops[injected[:, end] > 0, leaf[end]].max()), 0, -1):
            for index in np.flatnonzero(closer & (hops[from_, leaf[end]] == distance)):
                if comes[:, from_[index]].any():
                    comes[:, into[index]] = np.maximum(comes[:, into[index]], comes[:, from_[index]])
                    at.append(from_[index])
                    link.append(between[index])
                    to.append(end)
                    most.append(comes[:, from_[index]].sum())
        if len(at) > MOST_BINARIES:
            raise TooCostly(
                f"the integer program has more than {MOST_BINARIES:,} binary variables",
                advice="Use a smaller tree, or --engine search.",
            )
    link_of = np.array(link, np.int64)
    into_of = np.asarray(links.dst)[link_of].astype(np.int64)
    return _Program(np.array(at, np.int64), link_of, np.array(to, np.int64), np.array(most), injected, into_of)


def _solve_program(
    fabric: Fabric, program: _Program, limit_s: float, coming: Future[_Offer] | None, least: float
) -> tuple[Ints | None, int, float, list[Progress]]:
    """Return indices of the chosen (switch, link, destination) or None, number of branch-and-bound nodes, the proved bound in bytes, and the progress."""
    count, unit = len(program.at), program.unit
    offered: Callable[[], NDArray[np.float64] | None] | None = None
    if coming is not None:

        def offered() -> NDArray[np.float64] | None:
            ready = _await_offer(coming) if coming.done() else None
            return None if ready is None else program.solution(fabric, ready.ports)

    # Routes at a known bound are optimal, which HiGHS would take long to prove.
    enough = least / unit * (1 + GAP)
    result = _build_model(program).minimise(max(limit_s, 0.01), offered=offered, enough=enough)
    chosen = None if result.x is None else np.flatnonzero(result.x[count : 2 * count] > 0.5)
    return (
        chosen,
        result.nodes,
        max(result.bound, 0.0) * unit,
        [Progress(s, value * unit) for s, value in result.progress],
    )


def _build_model(program: _Program) -> Program:
    """Return the model of equations 3.3.1 to 3.3.4, in units: flows, binaries and the largest load."""
    count, unit = len(program.at), program.unit
    endpoints = program.injected.shape[1]
    keys, choice = np.unique(program.at * endpoints + program.to, return_inverse=True)
    each = np.arange(count)
    # Key of the flow after a link: next switch and the same destination; the last hop has no further choice.
    place = {int(key): number for number, key in enumerate(keys)}
    goal = program.next_keys(endpoints)
    onward = np.array([place.get(int(key), -1) for key in goal])
    passed = np.flatnonzero(onward >= 0)
    flow = coo_array(
        (
            np.concatenate([np.ones(count), -np.ones(passed.size)]),
            (np.concatenate([choice, onward[passed]]), np.concatenate([each, passed])),
        ),
        shape=(keys.size, 2 * count + 1),
    )
    supply = program.injected[keys // endpoints, keys % endpoints] / unit
    used, row = np.unique(program.link, return_inverse=True)
    load = coo_array(
        (
            np.concatenate([np.ones(count), -np.ones(used.size)]),
            (np.concatenate([row, np.arange(used.size)]), np.concatenate([each, np.full(used.size, 2 * count)])),
        ),
        shape=(used.size, 2 * count + 1),
    )
    single_choice = coo_array((np.ones(count), (choice, count + each)), shape=(keys.size, 2 * count + 1))
    big = coo_array(
        (
            np.concatenate([np.ones(count), -program.most / unit]),
            (np.tile(each, 2), np.concatenate([each, count + each])),
        ),
        shape=(count, 2 * count + 1),
    )
    cost = np.append(np.zeros(2 * count), 1.0)
    lower = np.concatenate([supply, np.full(used.size, -np.inf), np.ones(keys.size), np.full(count, -np.inf)])
    upper = np.concatenate([supply, np.zeros(used.size), np.ones(keys.size), np.zeros(count)])
    whole = np.repeat([False, True, False], [count, count, 1])
    return Program(cost, vstack([flow, load, single_choice, big]), lower, upper, np.where(whole, 1.0, np.inf), whole)
