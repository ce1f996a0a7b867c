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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import ROLES, Fabric, FabricKind, NodeRole

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Limits of the sum of the jobs' expected loads over the link's counted traffic; outside of them no job gets a share.
LEAST_EXPLAINED, MOST_EXPLAINED = 0.5, 2.0
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
    def known(self) -> bool:
        """Return whether at least half of its network cards are counted, which is enough to estimate the rest."""
        return len(self.sent) > 0 and 2 * int((np.isfinite(self.sent) & np.isfinite(self.received)).sum()) >= len(
            self.sent
        )

    @cached_property
    def total_sent(self) -> float:
        """Return the bytes that its counted endpoints sent."""
        return float(np.nansum(self.sent))

    def only(self, some: NDArray[np.bool_]) -> JobTraffic:
        endpoint = None if self.endpoint is None else self.endpoint[some]
        return JobTraffic(self.router[some], self.sent[some], self.received[some], endpoint)


@dataclass(frozen=True, eq=False)
class Flow:
    """Traffic from sources to targets: float64 (sources,) bytes sent by each source, and the share (targets,) received by each target."""

    sent: Floats
    goes: Floats


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


def flows_of(job: JobTraffic, at_source: Ints, sources: Ends, at_target: Ints, targets: Ends) -> list[Flow]:
    """Return a job's traffic by source and target.

    Parameters
    ----------
    at_source, at_target : int64 (n,)    source and target of each of the job's endpoints
    """
    counted = np.isfinite(job.sent) & np.isfinite(job.received)
    scale = len(job.sent) / max(1, int(counted.sum()))
    sent_bytes = np.bincount(at_source[counted], job.sent[counted], sources.count) * scale
    received = np.bincount(at_target[counted], job.received[counted], targets.count) * scale
    out, back = sent_bytes.sum(), received.sum()
    flows = []
    if out > 0 and back > 0:
        flows.append(Flow(sent_bytes * min(1.0, back / out), received / back))
    if targets.io is not None and out > back:
        flows.append(Flow(sent_bytes * (1 - back / out), targets.io))
    if sources.io is not None and back > out:
        flows.append(Flow(sources.io * (back - out), received / back))
    return flows


@dataclass(frozen=True, eq=False)
class _Traffic:
    """Flows of several jobs: the job of each, `Flow.sent` and `Flow.goes` (flows, routers), their sums by group (flows, groups), bytes from group to
    group (flows, groups, groups), and their sums by source and by target (flows, groups)."""

    owner: Ints
    jobs: int
    sent: Floats
    goes: Floats
    of_group: Floats
    to_group: Floats
    apart: Floats
    out: Floats
    back: Floats


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

    def loads_as_carried(self, jobs: Sequence[JobTraffic], links: Ints, carried: Floats | None) -> Floats:
        """Return the same, with the detour estimated from each link's traffic."""
        ...


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
        self._members = [np.flatnonzero(group == g) for g in range(self._groups)]
        self._place = np.zeros(self._routers, np.int64)
        for members in self._members:
            self._place[members] = np.arange(len(members))
        wires = np.flatnonzero(self._between)
        away = wires[self._group[self._src[wires]] != self._group[self._dst[wires]]]
        self._cables = np.zeros((self._groups, self._groups))
        np.add.at(self._cables, (self._group[self._src[away]], self._group[self._dst[away]]), 1)
        if ((self._cables == 0) & ~np.eye(self._groups, dtype=bool)).any():
            self.reason = "Some groups are not joined by a cable, so the paths between them are unknown."
            return
        self._away = away
        self._in_group = np.zeros((self._routers, self._groups))
        self._in_group[np.arange(self._routers), self._group] = 1.0
        self._leaves, self._enters = self._find_gateways(away)
        self._inner_ways(np.setdiff1d(wires, away))
        self._ends = Ends.of(fabric.endpoints.router[io_nodes(fabric)], self._routers)

    def _find_gateways(self, away: Ints) -> tuple[list[Floats], list[Floats]]:
        """Return by group, (groups, routers of it), the parts of traffic to each group that leave at each router, and of traffic from it that enter there."""
        leaves = [np.zeros((self._groups, len(members))) for members in self._members]
        enters = [np.zeros((self._groups, len(members))) for members in self._members]
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
        for g, members in enumerate(self._members):
            here = local[self._group[self._src[local]] == g]
            src, dst = self._place[self._src[here]], self._place[self._dst[here]]
            cables = np.zeros((len(members), len(members)))
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

    def _list_flows(self, job: JobTraffic) -> list[Flow]:
        return flows_of(job, job.router, self._ends, job.router, self._ends)

    def _laid_out(self, jobs: Sequence[JobTraffic]) -> _Traffic:
        flows = [(at, flow) for at, job in enumerate(jobs) for flow in self._list_flows(job)]
        sent_bytes, goes = (
            np.array([getattr(flow, name) for _, flow in flows]).reshape(len(flows), self._routers)
            for name in ("sent", "goes")
        )
        of_group, to_group = sent_bytes @ self._in_group, goes @ self._in_group
        apart = of_group[:, :, None] * to_group[:, None, :]
        apart[:, np.arange(self._groups), np.arange(self._groups)] = 0.0
        owner = np.array([at for at, _ in flows], np.int64)
        return _Traffic(
            owner, len(jobs), sent_bytes, goes, of_group, to_group, apart, apart.sum(axis=2), apart.sum(axis=1)
        )

    def crossing(self, jobs: Sequence[JobTraffic]) -> float:
        """Return the bytes that must cross between groups."""
        return float(self._laid_out(jobs).apart.sum())

    def detour(self, jobs: Sequence[JobTraffic], carried: Floats | None) -> float:
        """Return the part of traffic between groups that passes a third group.

        Parameters
        ----------
        carried : float64 (L,) bytes on each link, NaN if not counted; None if bytes are unknown.
        """
        return self._estimate_detour(self._laid_out(jobs), carried)

    def _estimate_detour(self, traffic: _Traffic, carried: Floats | None) -> float:
        if carried is None or self._groups < 3:
            return 0.0
        counted = np.isfinite(carried[self._away])
        must = float(traffic.apart.sum())
        if must <= 0 or not counted.any():
            return 0.0
        crossed = carried[self._away][counted].sum() / counted.mean()
        return float(np.clip(crossed / must - 1, 0.0, 1.0))

    def loads(self, jobs: Sequence[JobTraffic], links: Ints, detour: float) -> Floats:
        """Return the expected bytes of jobs on links between routers: float64 (len(links), len(jobs))."""
        return self._compute_loads(self._laid_out(jobs), links, detour)

    def loads_as_carried(self, jobs: Sequence[JobTraffic], links: Ints, carried: Floats | None) -> Floats:
        """Return the same, with the detour estimated from each link's traffic (as in `detour`)."""
        traffic = self._laid_out(jobs)
        return self._compute_loads(traffic, links, self._estimate_detour(traffic, carried))

    def _compute_loads(self, traffic: _Traffic, links: Ints, detour: float) -> Floats:
        load = np.zeros((len(links), traffic.jobs))
        if not len(traffic.owner) or not len(links):
            return load
        first, second = self._split_legs(traffic, detour)
        each = np.zeros((len(links), len(traffic.owner)))
        group, to = self._group[self._src[links]], self._group[self._dst[links]]
        local = group == to
        each[~local] = ((first + second) / np.maximum(self._cables, 1))[:, group[~local], to[~local]].T
        for g in np.unique(group[local]).tolist():
            here = np.flatnonzero(local & (group == g))
            each[here] = self._bytes_on_cables(links[here], self._flows_inside(g, traffic, first, second, detour))
        for place, at in enumerate(traffic.owner.tolist()):
            load[:, at] += each[:, place]
        return load

    def _split_legs(self, traffic: _Traffic, detour: float) -> tuple[Floats, Floats]:
        """Return bytes between pairs of groups on the first leg (including direct traffic), and on the second leg after a third group."""
        thirds = max(1, self._groups - 2)
        off = ~np.eye(self._groups, dtype=bool)
        apart = traffic.apart
        out = (traffic.out[:, :, None] - apart) / thirds * off
        into = (traffic.back[:, None, :] - apart) / thirds * off
        return (1 - detour) * apart + detour * out, detour * into

    def _flows_inside(
        self, g: int, traffic: _Traffic, first: Floats, second: Floats, detour: float
    ) -> list[tuple[Floats, Floats]]:
        """Return bytes between routers of a group as a sum of products of two arrays, (routers of it, flows) each.

        The products are traffic of the group's own nodes, traffic that arrives for them, and traffic that passes through to another group. For the last,
        only entry and exit routers are stored, as if they were independent.
        """
        members, leaves, enters = self._members[g], self._leaves[g], self._enters[g]
        own, inbound, apart = traffic.sent[:, members].T, traffic.goes[:, members].T, traffic.apart
        # Traffic that arrives for this group: direct, and over the last leg of a detour.
        arriving = enters.T @ _divide_rows((1 - detour) * apart[:, :, g] + second[:, :, g], traffic.to_group[:, g]).T
        leaving = leaves.T @ _divide_rows(first[:, g], traffic.of_group[:, g]).T
        products = [(own, inbound + leaving), (arriving, inbound)]
        if detour > 0:
            out, back = traffic.out - apart[:, :, g], traffic.back - apart[:, g]
            out[:, g], back[:, g] = 0.0, 0.0
            out *= detour / max(1, self._groups - 2)
            products.append((enters.T @ out.T, leaves.T @ _divide_rows(back, back.sum(axis=1)).T))
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
        on_each = np.zeros((len(links), products[0][0].shape[1]))
        for source, target in products:
            on_each += source[src] * (onward @ target) + (before @ source) * target[dst]
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


def _divide_rows(values: Floats, by: Floats) -> Floats:
    """Divide rows by numbers; a row divided by zero is zero."""
    parts: Floats = np.divide(values, by[:, None], out=np.zeros_like(values), where=by[:, None] > 0)
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
