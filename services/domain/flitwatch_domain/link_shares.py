"""Shares of jobs in the traffic of links, estimated from the traffic of a job's nodes and the routes of the machine.

Counters do not distinguish jobs. The estimate has three steps:

1. A job's node sends to the job's other nodes in proportion to their received traffic. Traffic sent in excess of traffic received left the job: it goes
to the machine's I/O nodes evenly. Traffic received in excess of traffic sent came from there.
2. Within a group, traffic uses the direct cable, or else one of the paths of two cables with equal probability. Between groups it uses any cable of the pair.
3. Adaptive routing sends a part through a third group, all with equal probability. This part follows from the counters: bytes on cables between groups
over bytes that had to cross (each detour crosses twice).

Steps 2 and 3 apply to a dragonfly. `routes` selects the replacement for other machines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, NodeRole
from flitwatch_domain.kept import Kept

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Limits of the sum of the jobs' expected loads over the link's counted traffic; outside of them no job gets a share.
LEAST_EXPLAINED, MOST_EXPLAINED = 0.5, 2.0
#: Maximum number of cached answers with loads, some 2 MB each on 3,264 routers: the page of a running job asks for the same moments again.
MOST_LOADS = 8
#: Smaller shares of a link are not listed.
LEAST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class JobTraffic:
    """Bytes that a job's nodes sent and received.

    Attributes
    ----------
    router : int64 (n,)             router of each endpoint
    sent, received : float64 (n,)   bytes at each endpoint; NaN: not counted
    endpoint : int64 (n,) or None   the endpoints; None: only their routers are known
    """

    router: Ints
    sent: Floats
    received: Floats
    endpoint: Ints | None = None

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Return which endpoints are counted, (n,)."""
        counted: NDArray[np.bool_] = np.isfinite(self.sent) & np.isfinite(self.received)
        return counted

    @cached_property
    def known(self) -> bool:
        """Return whether at least half of its network cards are counted, which is enough to estimate the rest."""
        return len(self.sent) > 0 and 2 * int(np.count_nonzero(self.counted)) >= len(self.sent)

    @cached_property
    def total_sent(self) -> float:
        """Return the bytes that its counted endpoints sent."""
        return float(self.sent[self.counted].sum())

    def only(self, some: NDArray[np.bool_]) -> JobTraffic:
        endpoint = None if self.endpoint is None else self.endpoint[some]
        return JobTraffic(self.router[some], self.sent[some], self.received[some], endpoint)


@dataclass(frozen=True, eq=False)
class Flows:
    """Traffic from sources to targets.

    Attributes
    ----------
    owner : int64 (flows,)              job of each
    sent : float64 (flows, sources)     bytes sent by each source
    goes : float64 (flows, targets)     share received by each target
    """

    owner: Ints
    sent: Floats
    goes: Floats

    def __len__(self) -> int:
        return len(self.owner)

    def sum_by_job(self, each: Floats, jobs: int) -> Floats:
        """Sum values by flow (n, flows) to values by job (n, jobs)."""
        sums = np.zeros((len(each), jobs))
        for flow, job in enumerate(self.owner.tolist()):
            sums[:, job] += each[:, flow]
        return sums


@dataclass(frozen=True, eq=False)
class Ends:
    """Sources or targets of traffic: routers or endpoints.

    Attributes
    ----------
    io : float64 (count,) or None    share of each in the traffic of the machine's I/O nodes; None: the machine has none
    """

    count: int
    io: Floats | None

    @classmethod
    def of(cls, io_at: NDArray[np.integer], count: int) -> Ends:
        """Build ends; `io_at` contains one entry per I/O node, for the ends that serve the file system."""
        return cls(count, np.bincount(io_at, minlength=count) / len(io_at) if len(io_at) else None)


def flows_of(
    jobs: Sequence[JobTraffic], at_source: Sequence[Ints], sources: Ends, at_target: Sequence[Ints], targets: Ends
) -> Flows:
    """Return the traffic of jobs by source and target.

    Parameters
    ----------
    at_source, at_target : int64 (n,) for each job    source and target of each of its endpoints
    """
    owner: list[int] = []
    # Whole arrays of all jobs would be copied several times, which takes longer than the sums.
    sent, goes = np.empty((2 * len(jobs), sources.count)), np.empty((2 * len(jobs), targets.count))
    for at, (job, source, target) in enumerate(zip(jobs, at_source, at_target, strict=True)):
        known: slice | NDArray[np.bool_] = slice(None) if job.counted.all() else job.counted
        # Sums of nothing are integers.
        sends = np.bincount(source[known], job.sent[known], sources.count).astype(np.float64, copy=False)
        receives = np.bincount(target[known], job.received[known], targets.count).astype(np.float64, copy=False)
        for each in (sends, receives):
            each *= len(job.counted) / max(1, int(np.count_nonzero(job.counted)))
        out, back = sends.sum(), receives.sum()
        flows = []
        if out > 0 and back > 0:
            flows.append((sends, min(1.0, back / out), receives, back))
        if targets.io is not None and out > back:
            flows.append((sends, 1 - back / out, targets.io, 1.0))
        if sources.io is not None and back > out:
            flows.append((sources.io, back - out, receives, back))
        for source_bytes, part, target_bytes, whole in flows:
            np.multiply(source_bytes, part, out=sent[len(owner)])
            np.divide(target_bytes, whole, out=goes[len(owner)])
            owner.append(at)
    return Flows(np.array(owner, np.int64), sent[: len(owner)], goes[: len(owner)])


@dataclass(frozen=True, eq=False)
class _Traffic:
    """Flows of several jobs from router to router, in order of their groups: their sums by group (flows, groups), bytes from group to group (flows, groups, groups), and the sums
    of these by source and by target (flows, groups)."""

    flows: Flows
    jobs: int
    of_group: Floats
    to_group: Floats
    apart: Floats
    out: Floats
    back: Floats


@dataclass(frozen=True, eq=False)
class _Legs:
    """Ways of flows between groups, with the part of traffic that passes a third group; (flows, groups, groups) each.

    Attributes
    ----------
    crosses : bytes from group to group
    arrives : bytes that come from a group to their target's group, over what the target's group receives
    leaves : bytes that go from their source's group to a group, over what the source's group sends
    passes : bytes from a group that pass the third group
    goes_on : share of the bytes that pass a group by the group of their targets
    detours : whether any traffic passes a third group
    """

    crosses: Floats
    arrives: Floats
    leaves: Floats
    passes: Floats
    goes_on: Floats
    detours: bool


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of jobs in the traffic of links.

    Attributes
    ----------
    share : float64 (links, jobs)   share of the link's traffic; NaN if it cannot be determined
    explained : float64 (links,)    sum of the jobs' expected loads over the counted traffic; NaN: not counted
    detour : float                  estimated part of traffic between groups that passes a third group
    """

    share: Floats
    explained: Floats
    detour: float


#: Source of routes: assumed for such a machine, or read from its forwarding tables.
RoutesKnownBy = Literal["assumed", "tables"]


#: Traffic of jobs in a moment, and bytes on each link of the fabric, float64 (L,): NaN if not counted, None if bytes are unknown.
CarriedTraffic = tuple[Sequence[JobTraffic], Floats | None]


class Routes(Protocol):
    """Expected loads of a machine's links.

    Attributes
    ----------
    reason : str or None       why the machine has no estimate; None if it has one
    links : int                number of links of the fabric
    known_by : str             `assumed` or `tables`
    """

    reason: str | None
    links: int
    known_by: RoutesKnownBy

    def detour(self, jobs: Sequence[JobTraffic], carried: Floats | None) -> float:
        """Return the part of traffic on non-minimal paths, from the traffic of each link: float64 (L,), NaN if not counted."""
        ...

    def loads(self, jobs: Sequence[JobTraffic], links: Ints, detour: float) -> Floats:
        """Return the expected bytes of jobs on links between routers: float64 (len(links), len(jobs))."""
        ...

    def loads_as_carried(self, moments: Sequence[CarriedTraffic], links: Ints) -> list[Floats]:
        """Return the same for some moments, each with the detour estimated from the traffic of its links."""
        ...


class FixedRoutes(Routes):
    """Routes that all traffic follows, independent of its amount."""

    def detour(self, jobs: Sequence[JobTraffic], carried: Floats | None) -> float:
        """Return 0."""
        return 0.0

    def loads_as_carried(self, moments: Sequence[CarriedTraffic], links: Ints) -> list[Floats]:
        """Return the expected bytes of jobs on links in some moments, as in `loads`."""
        return [self.loads(jobs, links, 0.0) for jobs, _ in moments]


class DragonflyRoutes:
    """Expected loads of links in a dragonfly with cables between all pairs of groups.

    `reason` says why a fabric has no estimate; None if it has one.
    """

    known_by: RoutesKnownBy = "assumed"

    def __init__(self, fabric: Fabric) -> None:
        self.reason: str | None = None
        self.links = len(fabric.links)
        if fabric.kind is not FabricKind.DRAGONFLY:
            self.reason = "The machine is not a dragonfly."
            return
        names, group = np.unique(fabric.routers.group, return_inverse=True)
        if len(names) and names[0] < 0:
            self.reason = "Some routers have no group, so the paths between groups are unknown."
            return
        links = fabric.links
        self._routers, self._groups, self._group = len(fabric.routers), len(names), group.astype(np.int64)
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._between = fabric.router_links()
        # Routers in order of their groups, so that traffic of a group is a slice.
        self._position = np.empty(self._routers, np.int64)
        self._position[np.argsort(group, kind="stable")] = np.arange(self._routers)
        self._size = np.bincount(group, minlength=self._groups)
        self._first = np.cumsum(self._size) - self._size
        self._place = self._position - self._first[group]
        wires = np.flatnonzero(self._between)
        away = wires[self._group[self._src[wires]] != self._group[self._dst[wires]]]
        self._cables = np.zeros((self._groups, self._groups))
        np.add.at(self._cables, (self._group[self._src[away]], self._group[self._dst[away]]), 1)
        if ((self._cables == 0) & ~np.eye(self._groups, dtype=bool)).any():
            self.reason = "Some groups are not joined by a cable, so the paths between them are unknown."
            return
        self._away = away
        self._leaves, self._enters = self._find_gateways(away)
        self._inner_ways(np.setdiff1d(wires, away))
        self._ends = Ends.of(self._position[fabric.endpoints.router[io_nodes(fabric)]], self._routers)
        self._loads = Kept[list[Floats]](MOST_LOADS)

    def _find_gateways(self, away: Ints) -> tuple[list[Floats], list[Floats]]:
        """Return by group, (groups, routers of it), the parts of traffic to each group that leave at each router, and of traffic from it that enter there."""
        leaves, enters = ([np.zeros((self._groups, size)) for size in self._size.tolist()] for _ in range(2))
        for link in away.tolist():
            a, b = self._src[link], self._dst[link]
            g, h = self._group[a], self._group[b]
            leaves[g][h, self._place[a]] += 1 / self._cables[g, h]
            enters[h][g, self._place[b]] += 1 / self._cables[g, h]
        return leaves, enters

    def _inner_ways(self, local: Ints) -> None:
        """Compute paths within groups: direct, or else over one intermediate router with equal probability.

        For each cable (found with `row`), `onward` contains the routers behind it, with the part of its source's traffic to them that uses the cable.
        `before` contains the routers ahead of it, with the part of their traffic to its end that uses the cable.
        """
        self._row = np.full(self.links, -1, np.int64)
        self._row[local] = np.arange(len(local))
        self._cable_count = np.ones(len(local))
        turns, links = [], []
        for g, size in enumerate(self._size.tolist()):
            here = local[self._group[self._src[local]] == g]
            src, dst = self._place[self._src[here]], self._place[self._dst[here]]
            cables = np.zeros((size, size))
            np.add.at(cables, (src, dst), 1)
            joined = (cables > 0).astype(float)
            ways = joined @ joined
            turn = np.where((joined > 0) | (ways <= 0), 0.0, 1 / np.maximum(ways, 1))
            np.fill_diagonal(turn, 0.0)
            self._cable_count[self._row[here]] = cables[src, dst]
            turns.append((turn[src] * joined[dst], (turn[:, dst] * joined[:, src]).T))
            links.append(self._row[here])
        order = np.argsort(np.concatenate(links), kind="stable")
        self._onward, self._before = (_pack_rows([pair[side] for pair in turns], order) for side in (0, 1))

    def _laid_out(self, jobs: Sequence[JobTraffic]) -> _Traffic:
        # Only counted endpoints are read, so that the router of another one may be unknown.
        at = [self._position[np.where(job.counted, job.router, 0)] for job in jobs]
        flows = flows_of(jobs, at, self._ends, at, self._ends)
        of_group, to_group = (np.add.reduceat(values, self._first, axis=1) for values in (flows.sent, flows.goes))
        apart = of_group[:, :, None] * to_group[:, None, :]
        apart[:, np.arange(self._groups), np.arange(self._groups)] = 0.0
        return _Traffic(flows, len(jobs), of_group, to_group, apart, apart.sum(axis=2), apart.sum(axis=1))

    def crossing(self, jobs: Sequence[JobTraffic]) -> float:
        """Return the bytes that must cross between groups."""
        return float(self._laid_out(jobs).apart.sum())

    def detour(self, jobs: Sequence[JobTraffic], carried: Floats | None) -> float:
        """Return the part of traffic between groups that passes a third group.

        Parameters
        ----------
        carried : float64 (L,) bytes on each link, NaN if not counted; None if bytes are unknown.
        """
        return self._estimate_detour(self.crossing(jobs), carried)

    def _estimate_detour(self, must: float, carried: Floats | None) -> float:
        """Return the same from the bytes that must cross between groups."""
        if carried is None or self._groups < 3:
            return 0.0
        counted = np.isfinite(carried[self._away])
        if must <= 0 or not counted.any():
            return 0.0
        crossed = carried[self._away][counted].sum() / counted.mean()
        return float(np.clip(crossed / must - 1, 0.0, 1.0))

    def loads(self, jobs: Sequence[JobTraffic], links: Ints, detour: float) -> Floats:
        """Return the expected bytes of jobs on links between routers: float64 (len(links), len(jobs))."""
        traffic = self._laid_out(jobs)
        return self._compute_loads(traffic, links, np.full(len(traffic.flows), detour))

    def loads_as_carried(self, moments: Sequence[CarriedTraffic], links: Ints) -> list[Floats]:
        """Return the same for some moments, each with the detour estimated from the traffic of its links (as in `detour`). The arrays are read-only."""
        jobs = [job for some, _ in moments for job in some]
        moment = np.repeat(np.arange(len(moments)), [len(some) for some, _ in moments])
        arrays: list[NDArray[np.generic]] = [
            links,
            moment,
            *(array for job in jobs for array in (job.router, job.sent, job.received)),
        ]
        arrays += [carried[self._away] for _, carried in moments if carried is not None]
        digest = hashlib.blake2b(
            repr([[carried is None for _, carried in moments], [array.shape for array in arrays]]).encode()
        )
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        known = self._loads.find(digest.digest())
        if known is not None:
            return known
        traffic = self._laid_out(jobs)
        of_flow = moment[traffic.flows.owner]
        must = np.bincount(of_flow, traffic.out.sum(axis=1), len(moments)).tolist()
        detours = [self._estimate_detour(crossed, carried) for crossed, (_, carried) in zip(must, moments, strict=True)]
        loads = self._compute_loads(traffic, links, np.array(detours)[of_flow])
        loads_then = [loads[:, moment == at] for at in range(len(moments))]
        for array in loads_then:
            array.setflags(write=False)
        return self._loads.keep(digest.digest(), loads_then)

    def _compute_loads(self, traffic: _Traffic, links: Ints, detour: Floats) -> Floats:
        """Compute the loads of jobs on links, (links, jobs), with the part of each flow's traffic that makes a detour, (flows,)."""
        if not len(traffic.flows) or not len(links):
            return np.zeros((len(links), traffic.jobs))
        legs = self._split_legs(traffic, detour)
        each = np.zeros((len(links), len(traffic.flows)))
        group, to = self._group[self._src[links]], self._group[self._dst[links]]
        local = group == to
        away = group[~local], to[~local]
        each[~local] = legs.crosses[:, *away].T / self._cables[away][:, None]
        for g in np.unique(group[local]).tolist():
            here = np.flatnonzero(local & (group == g))
            each[here] = self._bytes_on_cables(links[here], self._flows_inside(g, traffic, legs))
        return traffic.flows.sum_by_job(each, traffic.jobs)

    def _split_legs(self, traffic: _Traffic, detour: Floats) -> _Legs:
        apart, part = traffic.apart, detour[:, None, None]
        to_third = ~np.eye(self._groups, dtype=bool) * (part / max(1, self._groups - 2))
        out = traffic.out[:, :, None] - apart
        out *= to_third
        into = traffic.back[:, None, :] - apart
        into *= to_third
        direct = (1 - part) * apart
        arrives = direct + into
        crosses = direct + out
        leaves = _divide(crosses, traffic.of_group[:, :, None])
        crosses += into
        return _Legs(
            crosses,
            _divide(arrives, traffic.to_group[:, None, :]),
            leaves,
            out,
            _divide(into, into.sum(axis=2)[:, :, None]),
            bool(detour.any()),
        )

    def _flows_inside(self, g: int, traffic: _Traffic, legs: _Legs) -> list[tuple[Floats, Floats]]:
        """Return bytes between routers of a group as a sum of products of two arrays, (routers of it, flows) each.

        The products are traffic of the group's own nodes, traffic that arrives for them, and traffic that passes through to another group. For the last,
        only entry and exit routers are stored, as if they were independent.
        """
        leaves, enters = self._leaves[g].T, self._enters[g].T
        here = slice(self._first[g], self._first[g] + self._size[g])
        own, inbound = traffic.flows.sent[:, here].T, traffic.flows.goes[:, here].T
        arriving, leaving = enters @ legs.arrives[:, :, g].T, leaves @ legs.leaves[:, g].T
        products = [(own, inbound + leaving), (arriving, inbound)]
        if legs.detours:
            products.append((enters @ legs.passes[:, :, g].T, leaves @ legs.goes_on[:, g].T))
        return products

    def _bytes_on_cables(self, links: Ints, products: list[tuple[Floats, Floats]]) -> Floats:
        """Return bytes on cables of a group, (cables, flows), from the bytes between routers as returned by `_flows_inside`."""
        row, src, dst = self._row[links], self._place[self._src[links]], self._place[self._dst[links]]
        at = np.arange(len(links))[:, None]
        onward, before = (np.zeros((len(links), len(products[0][0]))) for _ in range(2))
        for ways, (router, part) in ((onward, self._onward), (before, self._before)):
            ways[at, router[row]] = part[row]
        # The cable itself is the way to its end.
        onward[at[:, 0], dst] += 1.0
        # A cable leads on to few of the routers.
        ahead = np.flatnonzero(onward.any(axis=0))
        onward = onward[:, ahead]
        on_each = np.zeros((len(links), products[0][0].shape[1]))
        for source, target in products:
            on_each += source[src] * (onward @ target[ahead]) + (before @ source) * target[dst]
        on_each /= self._cable_count[row][:, None]
        return on_each


def io_nodes(fabric: Fabric) -> Ints:
    """Return endpoints that serve the file system."""
    return np.flatnonzero(fabric.endpoints.role == ROLES.index(NodeRole.IO))


def _pack_rows(parts: Sequence[Floats], order: Ints) -> tuple[Ints, Floats]:
    """Pack rows that are mostly zeros, from several matrices stacked vertically, into columns and values of the non-zeros, (rows, most)."""
    most = max((int((part != 0).sum(axis=1).max(initial=0)) for part in parts), default=0)
    columns = [np.argsort(part == 0, axis=1, kind="stable")[:, :most] for part in parts]
    values = [np.take_along_axis(part, column, axis=1) for part, column in zip(parts, columns, strict=True)]
    return np.concatenate(columns)[order], np.concatenate(values)[order]


def _divide(values: Floats, by: Floats) -> Floats:
    """Divide values by numbers; a value divided by zero is zero."""
    if (by > 0).all():
        return values / by
    parts: Floats = np.divide(values, by, out=np.zeros_like(values), where=by > 0)
    return parts


def compute_shares(
    routes: Routes, jobs: Sequence[JobTraffic], links: Ints, carried: Floats | None, all_jobs: bool = True
) -> Shares:
    """Return each job's share of the traffic on links.

    Parameters
    ----------
    routes : Routes             routes of a fabric that has an estimate
    links : int64 (n,)          requested links between routers
    carried : float64 (L,)      bytes on each link of the fabric, NaN if not counted; None: bytes are unknown
    all_jobs : bool             whether these are all the jobs of the window

    Returns
    -------
    Shares
        NaN for a job whose NICs are not counted, and for all jobs on a link if the jobs explain too little of its traffic.
    """
    counted_jobs = [job for job in jobs if job.known]
    detour = routes.detour(counted_jobs, carried)
    load = np.full((len(links), len(jobs)), np.nan)
    load[:, [job.known for job in jobs]] = routes.loads(counted_jobs, links, detour)
    total = np.nansum(load, axis=1)
    counted = np.full(len(links), np.nan) if carried is None else carried[links]
    explained = np.divide(total, counted, out=np.full(len(links), np.nan), where=counted > 0)
    # If the network cards of all jobs are counted, the jobs send all traffic; otherwise the unexplained part may come from others.
    whole = (
        total
        if all_jobs and len(counted_jobs) == len(jobs)
        else np.where(np.isfinite(counted), np.maximum(counted, total), total)
    )
    share = np.divide(load, whole[:, None], out=np.full(load.shape, np.nan), where=whole[:, None] > 0)
    share[(explained < LEAST_EXPLAINED) | (explained > MOST_EXPLAINED)] = np.nan
    return Shares(share, explained, detour)
