"""Roots of congestion from port counters only: stalls are followed to the link that causes them.

A stall on a link means that traffic was held up beyond the link's far end, wherever it is counted. Aries counts the wait in the receiver's input
queue; InfiniBand counts the wait for credit while the receiver's buffer is full. So a stalled link points at the links that continue from its end. If
one of them is stalled too, the cause is further on. If one is fully used and hardly stalls, the traffic of the stalled links does not fit through it:
it is a root. A stalled link to an endpoint is itself a root, because the endpoint accepts its traffic too slowly. The links that stall behind a root,
directly or indirectly, are the tree of its victims.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import CountedAt, Fabric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Stall cycles per flit from which a link counts as stalled. A receiver counts all waiting packets, including those that queue at a busy output; a
#: sender counts only time without credit.
STALLED_PER_FLIT = {CountedAt.RECEIVER: 4.0, CountedAt.SENDER: 0.2}
#: A full link with more than this part of that limit is itself held up, if a calmer full link follows.
SLIGHTLY = 0.2
#: Minimum stall cycles over the flits that the link could have carried. Below it there is no congestion, regardless of how long a few flits wait.
LEAST_WAITING = 0.02
#: Utilisation from which a link can be a root, and from which it is certainly full.
FULL, SURELY_FULL = 0.7, 0.9
#: Highest ratio of a root's stalls to the stalls of the links that lead to it.
MOST_CONTRAST = 0.35
#: Roots with less confidence are omitted.
LEAST_CONFIDENCE = 0.5
#: Confidence for a link that stalls towards an endpoint: only the endpoint can be the cause.
OF_SLOW_ENDPOINT = 0.9


@dataclass(frozen=True, eq=False)
class PortWindow:
    """Port counts of one window, by directed link: arrays of length L, NaN if not counted.

    Attributes
    ----------
    utilisation : float64[L]
        Utilisation of the link, 0 to 1.
    stalls_per_flit : float64[L]
        Stall cycles per flit. Links to endpoints that have no such counter may be NaN.
    """

    fabric: Fabric
    utilisation: Floats
    stalls_per_flit: Floats


@dataclass(frozen=True)
class Victim:
    """Link whose traffic waits behind a root, with the link that it waits for and its distance from the root in links."""

    link: int
    behind: int
    distance: int
    utilisation: float
    stalls_per_flit: float


@dataclass(frozen=True)
class Root:
    """Link that cannot carry the traffic offered to it.

    Attributes
    ----------
    cause : str
        `full-link`, `full-endpoint` (the link to an endpoint is full) or `slow-endpoint` (it stalls without being full).
    confidence : float
        0.5 to 1; docs/benchmarks/roots.md shows how often roots of each confidence were correct.
    victims : tuple of Victim
        Links of its tree, nearest first.
    waiting : float
        Stall cycles over flit capacity, summed over the victims: the amount of waiting behind the root.
    """

    link: int
    cause: str
    confidence: float
    utilisation: float
    stalls_per_flit: float | None
    victims: tuple[Victim, ...]
    waiting: float


@dataclass(frozen=True)
class Findings:
    """Roots, in descending order of the waiting behind them.

    Attributes
    ----------
    cannot_tell : str or None
        Why links stall without a root; None if all stalled links have a root.
    stalled, explained : int
        Stalled links, and those behind a root.
    counted : int
        Links with both values known.
    """

    roots: tuple[Root, ...]
    cannot_tell: str | None
    stalled: int
    explained: int
    counted: int


class Turns:
    """Turns that traffic can take after a link: any that does not go straight back; on a tree, none that goes up again after going down.

    Parameters
    ----------
    fabric : Fabric
    table : integer[endpoint, router], optional
        Static routes: the link from each router to each endpoint (negative or too large: none). Between routers, only turns of some route are
        allowed.
    """

    def __init__(self, fabric: Fabric, table: NDArray[np.integer] | None = None) -> None:
        links, self._routers = fabric.links, len(fabric.routers)
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._order = np.argsort(self._src, kind="stable")
        self._begin = np.searchsorted(self._src[self._order], np.arange(fabric.vertices + 1))
        level = np.append(np.asarray(fabric.routers.level, np.int64), np.full(len(fabric.endpoints), -1))
        layered = self._routers > 0 and level[: self._routers].min() >= 0
        self._rise = np.sign(level[self._dst] - level[self._src]) if layered else np.zeros(len(links), np.int64)
        self._routed = None if table is None else self._turns(np.asarray(table, np.int64))

    def _turns(self, table: Ints) -> Ints:
        """Return sorted keys (first link x links + second link) of the turns of all routes."""
        count, parts = len(self._src), []
        for row in table:
            first = row[(row >= 0) & (row < count)]
            first = first[self._dst[first] < self._routers]
            then = row[self._dst[first]]
            fits = (then >= 0) & (then < count)
            parts.append(first[fits] * count + then[fits])
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def into(self, links: Ints) -> Ints:
        """Return links that end where one of the given links begins, (n,), sorted."""
        begins = np.zeros(len(self._begin), bool)
        begins[self._src[links]] = True
        return np.flatnonzero(begins[self._dst])

    def switches(self, links: Ints) -> tuple[Ints, Ints]:
        """Return the vertex at which each of the given links ends, and the number of links that begin there."""
        at = self._dst[links]
        return at, self._begin[at + 1] - self._begin[at]

    def leaving(self, vertices: Ints, count: int) -> Ints:
        """Return links that begin at each of the given vertices, `count` per vertex, (vertices, count)."""
        leaving: Ints = self._order[self._begin[vertices][:, None] + np.arange(count)]
        return leaving

    def ranks(self, links: Ints) -> Ints:
        """Return the index of each link in `leaving` of its vertex."""
        rank = np.empty(len(self._order), np.int64)
        rank[self._order] = np.arange(len(rank)) - self._begin[self._src[self._order]]
        chosen: Ints = rank[links]
        return chosen

    def after(self, links: Ints) -> tuple[Ints, Ints]:
        """Return turns from the given links: (index in `links`, following link)."""
        at = self._dst[links]
        size = self._begin[at + 1] - self._begin[at]
        place = np.repeat(np.arange(len(links)), size)
        within = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        follows = self._order[self._begin[at][place] + within]
        first = links[place]
        keep = (self._dst[follows] != self._src[first]) & ~((self._rise[first] < 0) & (self._rise[follows] > 0))
        if self._routed is not None:
            keep &= (self._src[first] >= self._routers) | np.isin(first * len(self._src) + follows, self._routed)
        return place[keep], follows[keep]


@lru_cache(maxsize=4)
def any_turns(fabric: Fabric) -> Turns:
    """Return the turns of a fabric whose routes are unknown, cached for the newest fabrics."""
    return Turns(fabric)


def find_roots(window: PortWindow, turns: Turns | None = None) -> Findings:
    """Find the links at which congestion begins, with the victims of each.

    Raises
    ------
    BadRequest
        If the arrays do not match the fabric.
    """
    fabric = window.fabric
    count = len(fabric.links)
    if window.utilisation.shape != (count,) or window.stalls_per_flit.shape != (count,):
        raise BadRequest("utilisation and stalls_per_flit need one entry per link")
    return _Walk(window, turns or any_turns(fabric)).findings()


class _Walk:
    """Stalled links of one window, the turns from them, and the links that follow."""

    def __init__(self, window: PortWindow, turns: Turns) -> None:
        fabric = window.fabric
        self._fabric, self._turns = fabric, turns
        self._use = window.utilisation
        self._counted = int((np.isfinite(window.utilisation) & np.isfinite(window.stalls_per_flit)).sum())
        self._ends = fabric.links.dst >= len(fabric.routers)
        # No link follows a link to an endpoint. Without a counter of its own it is treated as not stalled.
        self._stalls = np.where(self._ends & np.isnan(window.stalls_per_flit), 0.0, window.stalls_per_flit)
        use, stalls = np.nan_to_num(self._use), np.nan_to_num(self._stalls)
        self._waiting = use * stalls
        threshold = STALLED_PER_FLIT[fabric.counted_at]
        self._stalled = (stalls >= threshold) & (self._waiting >= LEAST_WAITING)
        self._full = (use >= FULL) & np.isfinite(self._stalls)
        self._held = self._stalled | self._passes_on(self._full & (stalls >= SLIGHTLY * threshold))

    def _passes_on(self, full: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return full links that stall slightly and lead to a much calmer full link: they are held up and not roots."""
        links = np.flatnonzero(full)
        place, follows = self._turns.after(links)
        calm = self._full[follows] & (self._stalls[follows] <= MOST_CONTRAST * self._stalls[links[place]])
        calm &= self._use[follows] >= self._use[links[place]]
        mask = np.zeros(len(full), bool)
        mask[links[place[calm]]] = True
        return mask

    def findings(self) -> Findings:
        """Return roots with their trees, or why there are none."""
        held_links = np.flatnonzero(self._held)
        place, follows = self._turns.after(held_links)
        behind = held_links[place]
        calm = self._full[follows] & ~self._held[follows]
        calm &= self._stalls[follows] <= MOST_CONTRAST * self._stalls[behind]
        links, bundle = self._merge_bundles(np.union1d(follows[calm], np.flatnonzero(self._stalled & self._ends)))
        follows = bundle[follows]
        trees = self._grow_trees(links, behind, follows)
        roots = [self._judge_root(int(link), trees[int(link)], behind, follows) for link in links]
        named = sorted(
            (root for root in roots if root is not None and root.confidence >= LEAST_CONFIDENCE),
            key=lambda root: -root.waiting,
        )
        explained = {victim.link for root in named for victim in root.victims} | {root.link for root in named}
        rest = np.setdiff1d(np.flatnonzero(self._stalled), np.fromiter(explained, np.int64, len(explained)))
        stalled = int(self._stalled.sum())
        return Findings(
            tuple(named), self._explain_failure(rest, behind, follows, stalled, bool(named)), stalled, stalled - len(rest), self._counted
        )  # fmt: skip

    def _merge_bundles(self, links: Ints) -> tuple[Ints, Ints]:
        """Merge parallel cables into the fullest: return the merged links, and for each link the one that represents it."""
        order = links[np.argsort(-np.nan_to_num(self._use[links]), kind="stable")]
        first: dict[tuple[int, int], int] = {}
        stands = np.arange(len(self._use))
        for link in order.tolist():
            stands[link] = first.setdefault(
                (int(self._fabric.links.src[link]), int(self._fabric.links.dst[link])), link
            )
        return np.array(sorted(first.values()), np.int64), stands

    def _grow_trees(self, roots: Ints, behind: Ints, follows: Ints) -> dict[int, tuple[Victim, ...]]:
        """Return held links by the root at the end of their shortest path; ties go to the path through the link that stalls most."""
        of = np.full(len(self._use), -1, np.int64)
        of[roots] = roots
        trees: dict[int, list[Victim]] = {int(root): [] for root in roots}
        distance = 0
        while True:
            distance += 1
            open_ = (of[follows] >= 0) & (of[behind] < 0)
            if not open_.any():
                return {root: tuple(victims) for root, victims in trees.items()}
            first, then = behind[open_], follows[open_]
            # Of several turns of one link the last is used: the one to a full root, or else to the link with most waiting.
            order = np.argsort(np.where(self._held[then], self._waiting[then], np.inf), kind="stable")
            chosen = dict(zip(first[order].tolist(), then[order].tolist(), strict=True))
            for link, next_ in chosen.items():
                trees[int(of[next_])].append(
                    Victim(link, next_, distance, float(self._use[link]), float(self._stalls[link]))
                )
            for link, next_ in chosen.items():
                of[link] = of[next_]

    def _judge_root(self, link: int, victims: tuple[Victim, ...], behind: Ints, follows: Ints) -> Root | None:
        own = float(self._stalls[link])
        use = float(self._use[link])
        waiting = float(sum(self._waiting[victim.link] for victim in victims))
        if self._ends[link] and self._stalled[link]:
            return Root(
                link, "slow-endpoint", OF_SLOW_ENDPOINT, use, own, victims, waiting + float(self._waiting[link])
            )
        # A stalled link can lead to several roots. It is in only one tree but counts as evidence for each root.
        direct = np.unique(behind[(follows == link) & (behind != link)])
        if not self._stalled[direct].any():
            return None
        stalls = float(np.average(self._stalls[direct], weights=self._waiting[direct] + 1e-12))
        contrast = 1.0 - own / stalls
        fullness = float(np.clip((use - FULL) / (SURELY_FULL - FULL), 0.0, 1.0))
        next_links = follows[np.isin(behind, direct)]
        known_part = float(np.isfinite(self._use[next_links]).mean())
        confidence = contrast * (0.6 + 0.4 * fullness) * (0.5 + 0.5 * known_part)
        cause = "full-endpoint" if self._ends[link] else "full-link"
        return Root(link, cause, float(np.clip(confidence, 0, 1)), use, own, victims, waiting)

    def _explain_failure(self, left: Ints, behind: Ints, follows: Ints, stalled: int, named: bool) -> str | None:
        """Return why stalled links remain without a root."""
        if not stalled and self._counted == 0:
            return "No link has both traffic and stalls counted in this window."
        if not len(left) or (named and self._waiting[left].sum() < self._waiting[self._stalled].sum() / 2):
            return None
        ends = left[~np.isin(left, behind[self._held[follows]])]
        unknown = np.isin(ends, behind[np.isnan(self._use[follows])])
        if len(ends) and unknown.any():
            at = self._fabric.vertex_name(int(self._fabric.links.dst[ends[np.argmax(unknown)]]))
            return f"The stalls lead to {at}, whose further links have no counters."
        return "No link at the end of the stalls is fully used. Bursts may be shorter than the window."
