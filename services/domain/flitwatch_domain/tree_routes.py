"""Expected load of a job on the links of a fat tree, from its topology only.

Traffic goes up to the nearest switches with a path down to its target, and down from there. At every switch it is divided evenly over the cables of its
shortest paths, like with adaptive routing, or with static tables over many targets.

Leaves with the same switches above them differ only in the last cable. So the recurrence over levels runs once for all targets of such a class:
once per pod, and once more for leaves that lack a cable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.link_shares import Ends, FixedRoutes, Flows, JobTraffic, RoutesKnownBy, flows_of, io_nodes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_TREE = "The routes of this machine are unknown, because it is neither a dragonfly nor a tree, and its forwarding tables were not imported."
NO_WAY = "Some switches of the tree do not reach each other by going up and then down."


#: Sparse (switches, switches): the part of the traffic at each switch of one level (columns) that goes to each of the next. SciPy has no types.
_Step = Any


@dataclass(frozen=True, eq=False)
class _Class:
    """Target switches with the same switches above them.

    Attributes
    ----------
    members : int64 (n,)             the targets
    above : int64 (n,)               switches at which traffic for them turns down
    rises : float64 (switches, 1)    1 if it goes up, else 0
    pattern : int                    row of `TreeRoutes._up_parts` for its way up
    climbs, falls : _Step sequence   steps up and down; those down exclude the last cable to a leaf
    down : int64 (n,)                links of the steps down, as indices into the links down
    part : float64 (n, 1)            part of the traffic at the source of each link that uses it
    last : int64 (n,)                links down to its leaves
    """

    members: Ints
    above: Ints
    rises: Floats
    pattern: int
    climbs: Sequence[_Step]
    falls: Sequence[_Step]
    down: Ints
    part: Floats
    last: Ints


class TreeRoutes(FixedRoutes):
    """Expected loads of links in one fat tree, of any width and with missing cables.

    `reason` says why a fabric has no estimate; None if it has one. Cables between switches of one level carry no traffic.
    """

    known_by: RoutesKnownBy = "assumed"

    def __init__(self, fabric: Fabric) -> None:
        self.reason: str | None = None
        self.links = len(fabric.links)
        level = fabric.routers.level.astype(np.int64)
        if fabric.kind is not FabricKind.FAT_TREE or not len(level) or level.min() < 0:
            self.reason = NO_TREE
            return
        links = fabric.links
        self._switches = len(level)
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        between = np.flatnonzero(fabric.router_links())
        rise = level[self._dst[between]] - level[self._src[between]]
        self._up, self._down = between[rise == 1], between[rise == -1]
        self._cables = links.multiplicity.astype(np.float64)
        self._place = np.full(self.links, -1, np.int64)
        for direction in (self._up, self._down):
            self._place[direction] = np.arange(len(direction))
        self._is_up = np.zeros(self.links, bool)
        self._is_up[self._up] = True
        self._terminals = TerminalLoads(fabric)
        self._part = _find_parts(self._switches, self._src[self._up], self._dst[self._up])
        nodes = io_nodes(fabric)
        io = fabric.endpoints.router[nodes].astype(np.int64)
        parts = np.unique(self._part).tolist()
        self._io = {part: Ends.of(io[self._part[io] == part], self._switches) for part in parts}
        self._io_nodes = {part: nodes[self._part[io] == part] for part in parts}
        self._targets = np.unique(fabric.endpoints.router).astype(np.int64)
        self._set_classes(level)

    def _list_steps(self, links: Ints, split: Floats, level: Ints) -> list[_Step]:
        """Return steps over links of one direction in the order of traffic; `split` is the part of the traffic at each link's source that uses it."""
        from scipy.sparse import csr_array  # 25 MB that other fabrics do not need

        src, dst = self._src[links], self._dst[links]
        begin = level[src]
        goes_up = bool(len(links)) and level[dst[0]] > begin[0]
        steps = []
        for at in np.unique(begin)[:: 1 if goes_up else -1].tolist():
            here = (begin == at) & (split > 0)
            if here.any():
                steps.append(csr_array((split[here], (dst[here], src[here])), shape=(self._switches, self._switches)))
        return steps

    def _set_classes(self, level: Ints) -> None:
        covers = self._find_covered(level)
        above = covers.copy()
        leaf = np.flatnonzero(level[self._targets] == 0)
        above[self._targets[leaf], leaf] = False
        _, first, of = np.unique(np.packbits(above.T, axis=1), axis=0, return_index=True, return_inverse=True)
        of = of.ravel()
        above = above[:, first]
        climbs = self._count_climbs(level, above)
        if self._has_unreached(climbs, of):
            self.reason = NO_WAY
            return
        src, dst = self._src[self._up], self._dst[self._up]
        up = self._split_evenly(self._up, (climbs[dst] == climbs[src] - 1) & np.isfinite(climbs[dst]))
        src, dst = self._src[self._down], self._dst[self._down]
        down = self._split_evenly(self._down, above[src] & above[dst])
        self._up_parts, pattern = self._find_patterns(up)
        self._last_cables(level, up, of)
        leaf_class, parts = self._leaf_class, up.T
        self._classes = []
        for c in range(above.shape[1]):
            falls = np.flatnonzero(down[:, c] > 0)
            self._classes.append(
                _Class(
                    self._targets[of == c],
                    np.flatnonzero(above[:, c]),
                    (np.bincount(self._src[self._up], parts[c], self._switches) > 0)[:, None].astype(np.float64),
                    pattern[c],
                    self._list_steps(self._up, parts[c], level),
                    self._list_steps(self._down, down[:, c], level),
                    falls,
                    down[falls, c, None],
                    np.flatnonzero(leaf_class == c),
                )
            )

    def _find_patterns(self, up: Floats) -> tuple[Floats, list[int]]:
        """Return patterns of ways up, (patterns, links up), and the pattern of each class: one for all classes unless cables are missing."""
        src = self._src[self._up]
        patterns: list[Floats] = []
        chosen: list[int] = []
        for part in up.T:
            rises = np.bincount(src, part, self._switches) > 0
            for number, pattern in enumerate(patterns):
                both = (rises & (np.bincount(src, pattern, self._switches) > 0))[src]
                if np.array_equal(pattern[both], part[both]):
                    patterns[number] = np.maximum(pattern, part)
                    chosen.append(number)
                    break
            else:
                chosen.append(len(patterns))
                patterns.append(part)
        return np.array(patterns).reshape(len(patterns), len(src)), chosen

    def _find_covered(self, level: Ints) -> Bools:
        """Return whether each target is a switch or below it: (switches, targets)."""
        covers = np.zeros((self._switches, len(self._targets)), bool)
        covers[self._targets, np.arange(len(self._targets))] = True
        children = _group_ends(self._src[self._down], self._dst[self._down], self._switches)
        for switch in np.argsort(level, kind="stable").tolist():
            if len(children[switch]):
                covers[switch] |= covers[children[switch]].any(axis=0)
        return covers

    def _count_climbs(self, level: Ints, above: Bools) -> Floats:
        """Count the cables that traffic for each class climbs from each switch: (switches, classes), inf if unreachable."""
        climbs = np.where(above, 0.0, np.inf)
        parents = _group_ends(self._src[self._up], self._dst[self._up], self._switches)
        for switch in np.argsort(-level, kind="stable").tolist():
            if len(parents[switch]):
                climbs[switch] = np.minimum(climbs[switch], climbs[parents[switch]].min(axis=0) + 1)
        return climbs

    def _has_unreached(self, climbs: Floats, of: Ints) -> bool:
        """Return whether two connected targets have no path up and down."""
        part = self._part[self._targets]
        for number in range(climbs.shape[1]):
            members = of == number
            others = np.bincount(part[members], minlength=self._switches)[part] - members
            if (np.isinf(climbs[self._targets, number]) & (others > 0)).any():
                return True
        return False

    def _split_evenly(self, links: Ints, taken: Bools) -> Floats:
        """Return the part of the traffic at each link's source that uses it, with even division over the used cables, (links, classes)."""
        cables = taken * self._cables[links, None]
        whole = np.zeros((self._switches, taken.shape[1]))
        np.add.at(whole, self._src[links], cables)
        split: Floats = cables / np.maximum(whole[self._src[links]], 1e-300)
        return split

    def _last_cables(self, level: Ints, up: Floats, of_target: Ints) -> None:
        """For each link down to a leaf, compute the part of the leaf's traffic at its source that uses it, and the part of the leaf's own upward traffic there.

        `up` (links up, classes) is the part that uses each link up; `of_target` is the class of each target.
        """
        class_of = np.full(self._switches, -1, np.int64)
        class_of[self._targets] = of_target
        src, dst = self._src[self._down], self._dst[self._down]
        self._leaf_class = np.where(level[dst] == 0, class_of[dst], -1)
        key, back = src * self._switches + dst, self._dst[self._up] * self._switches + self._src[self._up]
        pairs, of = np.unique(np.concatenate([key, back]), return_inverse=True)
        cables = np.bincount(of[: len(key)], self._cables[self._down], len(pairs))
        self._last = self._cables[self._down] / cables[of[: len(key)]]
        sender_class = class_of[self._src[self._up]]
        self._own_up = np.where(sender_class >= 0, up[np.arange(len(self._up)), sender_class], 0.0)
        self._own = np.bincount(of[len(key) :], self._own_up, len(pairs))[of[: len(key)]]

    def loads(self, jobs: Sequence[JobTraffic], links: Ints, detour: float) -> Floats:
        """Return the expected bytes of jobs on links, including endpoints' links: float64 (len(links), len(jobs))."""
        load = np.zeros((len(links), len(jobs)))
        positions, is_up = self._place[links], self._is_up[links]
        is_down = (positions >= 0) & ~is_up
        ends = np.flatnonzero(positions < 0)
        for number, io in self._io.items():
            of_part = [
                (at, job.only(here)) for at, job in enumerate(jobs) if (here := self._part[job.router] == number).any()
            ]
            some, at_router = [job for _, job in of_part], [job.router for _, job in of_part]
            flows = flows_of(some, at_router, io, at_router, io)
            each = np.zeros((len(links), len(flows)))
            if len(flows) and len(links):
                each[is_up], falling = self._lay_flows(flows, positions[is_up])
                each[is_down] = falling[positions[is_down]]
            load[:, [at for at, _ in of_part]] += flows.sum_by_job(each, len(some))
            for at, job in of_part:
                load[ends, at] += self._terminals.loads(links[ends], job, self._io_nodes[number])
        return load

    def _lay_flows(self, flows: Flows, up: Ints) -> tuple[Floats, Floats]:
        """Return bytes of flows between switches on some links up and all links down, (links, flows) each."""
        sent, goes = np.ascontiguousarray(flows.sent.T), np.ascontiguousarray(flows.goes.T)
        rising = np.zeros((len(self._up_parts), *sent.shape))
        falling = np.zeros((len(self._down), sent.shape[1]))
        down_src, down_dst = self._src[self._down], self._dst[self._down]
        for target in self._classes:
            demand = goes[target.members].sum(axis=0)
            if not demand.any():
                continue
            amount = sent.copy()
            for step in target.climbs:
                amount += step @ amount
            rising[target.pattern] += amount * target.rises * demand
            fallen = np.zeros_like(amount)
            fallen[target.above] = amount[target.above]
            for step in target.falls:
                fallen += step @ fallen
            falling[target.down] += fallen[down_src[target.down]] * target.part * demand
            src, dst = down_src[target.last], down_dst[target.last]
            own = sent[dst] * self._own[target.last, None]
            falling[target.last] += (fallen[src] - own) * goes[dst] * self._last[target.last, None]
        src = self._src[self._up[up]]
        # A leaf sends nothing up to itself.
        risen = -(sent * goes)[src] * self._own_up[up, None]
        for part, amount in zip(self._up_parts, rising, strict=True):
            risen += amount[src] * part[up, None]
        return risen, falling


class TerminalLoads:
    """Expected loads of the links between switches and endpoints: the sent and received traffic of each endpoint of a job, if known individually."""

    def __init__(self, fabric: Fabric) -> None:
        links, switches = fabric.links, len(fabric.routers)
        src, dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._sends, self._leads = src >= switches, (src >= switches) | (dst >= switches)
        self._end = np.where(self._sends, src, dst) - switches
        key = np.where(self._leads, self._end * 2 + self._sends, 2 * len(fabric.endpoints))
        self._part = self._leads / np.bincount(key)[key]
        home = fabric.endpoints.router.astype(np.int64)
        self._count, self._by_home = len(home), np.argsort(home, kind="stable")
        self._nodes = np.bincount(home, minlength=switches)
        self._first = np.cumsum(self._nodes) - self._nodes

    def spread(self, job: JobTraffic) -> JobTraffic:
        """Return a job's traffic by endpoint; if its endpoints are unknown, that of each router evenly over the router's endpoints."""
        if job.endpoint is not None:
            return job
        size = self._nodes[job.router]
        place = np.repeat(np.arange(len(job.router)), size)
        within = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        endpoint = self._by_home[self._first[job.router][place] + within]
        sent_bytes, received = (side[place] / size[place] for side in (job.sent, job.received))
        return JobTraffic(job.router[place], sent_bytes, received, endpoint)

    def loads(self, links: Ints, job: JobTraffic, io: Ints) -> Floats:
        """Return a job's bytes on links (links,), including traffic with the file system's endpoints; 0 on links between switches."""
        some = self.spread(job)
        assert some.endpoint is not None
        sums = []
        for side in (some.sent, some.received):
            side_bytes = np.where(np.isfinite(side), side, np.nanmean(side) if np.isfinite(side).any() else 0.0)
            sums.append(np.bincount(some.endpoint, side_bytes, self._count))
        sent_bytes, received = sums
        out, back = sent_bytes.sum(), received.sum()
        if len(io):
            received[io] += max(out - back, 0.0) / len(io)
            sent_bytes[io] += max(back - out, 0.0) / len(io)
        else:
            sent_bytes *= min(out, back) / max(out, 1e-300)
            received *= min(out, back) / max(back, 1e-300)
        end = np.where(self._leads[links], self._end[links], 0)
        loads: Floats = np.where(self._sends[links], sent_bytes[end], received[end]) * self._part[links]
        return loads


def _group_ends(begin: Ints, end: Ints, count: int) -> list[Ints]:
    """Group the ends by begin (`count` groups)."""
    order = np.argsort(begin, kind="stable")
    return np.split(end[order], np.searchsorted(begin[order], np.arange(1, count)))


def _find_parts(count: int, a: Ints, b: Ints) -> Ints:
    """Return the connected part of each switch, (count,), for cables from a to b."""
    part = np.arange(count)
    while True:
        least = part.copy()
        np.minimum.at(least, a, part[b])
        np.minimum.at(least, b, part[a])
        least = least[least]
        if np.array_equal(least, part):
            return part
        part = least
