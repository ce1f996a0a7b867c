"""Chapter 3's integer programs of static routes (Taffet 2021, sections 3.3 and 3.4), solved by HiGHS: the oracle of small trees.

`basic` is the Basic Multi-commodity Flow; `partitioned` is Partitioned Binary (`partitioned`); `combined` gives the basic one the partitioned one's routes
to beat, one after the other, since SciPy's HiGHS takes no routes while it runs.

Variables are the flow T[s, p, d] over port p of switch s to destination d for every valid (s, p, d), the largest load of a link between switches, and in place of
the SOS1 sets the big-M form that section 3.3.3 gives: a binary x[s, p, d] a port, one of them 1 at each (s, d), and T <= M x with M all bytes for d from leaves
that reach d through s.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds as Limits
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import shortest_path

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import Fabric
from flitwatch_routing import partitioned
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import ROUNDING, bounds, gap
from flitwatch_routing.forwarding import check
from flitwatch_routing.optimise import Routes, Slot, Traffic
from flitwatch_routing.switch_lids import completed, towards_switches

Ints = NDArray[np.int64]
FORMULATIONS = ("basic", "partitioned", "combined")
#: Binaries beyond which HiGHS finds no first routes in minutes.
MOST_BINARIES = 200_000
#: HiGHS ends at this relative distance from its bound.
GAP = 1e-6


@dataclass(frozen=True)
class _Program:
    """Valid (switch, link, destination) with traffic, arrays of one length; `most`: bytes that can come; injected (routers, endpoints)."""

    at: Ints
    link: Ints
    to: Ints
    most: NDArray[np.float64]
    injected: NDArray[np.float64]
    into: Ints

    def next_keys(self, endpoints: int) -> Ints:
        """switch * endpoints + destination behind each link."""
        return self.into * endpoints + self.to


def optimise(fabric: Fabric, traffic: Traffic, time_limit_s: float = 60.0, formulation: str = "basic") -> Routes:
    """The best tables that HiGHS finds within the limit, with its proven bound; `moves` counts its branch-and-bound nodes.

    Parameters
    ----------
    formulation : one of `FORMULATIONS`; `partitioned` proves nothing of its own

    Raises
    ------
    BadInput
        Where the fabric is no fat tree, or the traffic does not fit it.
    BadRequest
        For a limit that is no positive number of seconds, a formulation that does not exist or does not fit the tree, or where HiGHS has no routes
        within the limit.
    TooCostly
        For more than `MOST_BINARIES` binaries.
    """
    started = time.monotonic()
    if not 0 < time_limit_s < math.inf:
        raise BadRequest(f"the time limit is {time_limit_s:g} s; expected a finite number above 0")
    if formulation not in FORMULATIONS:
        raise BadRequest(f"unknown formulation {formulation!r}", advice=f"Use {', '.join(FORMULATIONS)}.")
    least, between = bounds(fabric, traffic), fabric.router_links()
    nodes, proven, beat = 0, least.fixed, math.inf
    if formulation == "basic":
        ports = ftree_tables(fabric).copy()
    else:
        ports = partitioned.tables(fabric, traffic, time_limit_s * (0.5 if formulation == "combined" else 1.0))
        beat = float(check(fabric, ports, traffic).load[between].max(initial=0.0))
    if formulation != "partitioned" and beat > proven * (1 + GAP):
        program = _program(fabric, traffic)
        if len(program.at):
            chosen, nodes, dual = _solved(program, time_limit_s - (time.monotonic() - started), beat)
            proven = max(proven, dual)
            if chosen is not None:
                ports[program.at[chosen], program.to[chosen]] = np.asarray(fabric.links.src_port)[program.link[chosen]]
    ports = completed(fabric, ports, towards_switches(fabric))
    load = check(fabric, ports, traffic).load[between]
    z = float(load.max(initial=0.0))
    fixed = min(proven, z)
    return Routes(
        z=z,
        z_ar=least.z_ar,
        z_ar_exact=least.exact,
        fixed_bound=fixed,
        ar_gap=gap(z, least.z_ar),
        bound_gap=gap(z, fixed),
        proven=z <= fixed * (1 + 2 * GAP),
        worst_links=int((load >= z * (1 - ROUNDING)).sum()) if z else 0,
        slots=(Slot(z, least.z_ar, fixed),),
        wall_s=time.monotonic() - started,
        moves=nodes,
        ports=ports,
    )


def _program(fabric: Fabric, traffic: Traffic) -> _Program:
    """Valid ports lead one hop closer to the destination's leaf switch; those that no traffic can reach are left out."""
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
        # Bytes that can come to each switch: each leaf's, once.
        comes = np.diag(injected[:, end])
        for distance in range(int(hops[injected[:, end] > 0, leaf[end]].max()), 0, -1):
            for one in np.flatnonzero(closer & (hops[from_, leaf[end]] == distance)):
                if comes[:, from_[one]].any():
                    comes[:, into[one]] = np.maximum(comes[:, into[one]], comes[:, from_[one]])
                    at.append(from_[one])
                    link.append(between[one])
                    to.append(end)
                    most.append(comes[:, from_[one]].sum())
        if len(at) > MOST_BINARIES:
            raise TooCostly(
                f"the integer program has more than {MOST_BINARIES:,} binaries",
                advice="Use a smaller tree, or --engine search.",
            )
    link_of = np.array(link, np.int64)
    into_of = np.asarray(links.dst)[link_of].astype(np.int64)
    return _Program(np.array(at, np.int64), link_of, np.array(to, np.int64), np.array(most), injected, into_of)


def _solved(program: _Program, limit_s: float, beat: float) -> tuple[Ints | None, int, float]:
    """Numbers of the chosen (switch, link, destination), branch-and-bound nodes, and the proven bound in bytes.

    Routes are worse than `beat` bytes at no link; None where none of them were found and `beat` is finite.
    """
    count, unit = len(program.at), float(program.most.max())
    endpoints = program.injected.shape[1]
    keys, choice = np.unique(program.at * endpoints + program.to, return_inverse=True)
    each = np.arange(count)
    # The switch that a link leads to and the same destination: the flow that comes there; the last hop's has no further choice.
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
    sent = program.injected[keys // endpoints, keys % endpoints] / unit
    used, row = np.unique(program.link, return_inverse=True)
    load = coo_array(
        (
            np.concatenate([np.ones(count), -np.ones(used.size)]),
            (np.concatenate([row, np.arange(used.size)]), np.concatenate([each, np.full(used.size, 2 * count)])),
        ),
        shape=(used.size, 2 * count + 1),
    )
    one = coo_array((np.ones(count), (choice, count + each)), shape=(keys.size, 2 * count + 1))
    big = coo_array(
        (
            np.concatenate([np.ones(count), -program.most / unit]),
            (np.tile(each, 2), np.concatenate([each, count + each])),
        ),
        shape=(count, 2 * count + 1),
    )
    goal_row = np.zeros(2 * count + 1)
    goal_row[-1] = 1.0
    found = milp(
        goal_row,
        integrality=np.concatenate([np.zeros(count), np.ones(count), [0]]),
        bounds=Limits(0, np.concatenate([np.full(count, np.inf), np.ones(count), [beat / unit]])),
        constraints=[
            LinearConstraint(flow, sent, sent),
            LinearConstraint(load, -np.inf, 0),
            LinearConstraint(one, 1, 1),
            LinearConstraint(big, -np.inf, 0),
        ],
        options={"time_limit": max(limit_s, 0.01), "mip_rel_gap": GAP},
    )
    dual = found.mip_dual_bound
    if found.x is None and math.isfinite(beat):
        return (
            None,
            int(found.mip_node_count or 0),
            0.0 if dual is None or not math.isfinite(dual) else min(dual * unit, beat),
        )
    if found.x is None:
        raise BadRequest(
            "HiGHS found no routes within the limit", advice="Give it more time, a smaller tree, or --engine search."
        )
    chosen = np.flatnonzero(found.x[count : 2 * count] > 0.5)
    return chosen, int(found.mip_node_count or 0), float(dual or 0.0) * unit
