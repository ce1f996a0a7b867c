"""Who makes the links stall that a job's traffic takes: attribution by flow.

No counter says whose flits wait for whose. What is known is where a job's traffic goes, how many cycles a flit waits there, how many it waits there when
the network is quiet, and what every job puts on each link (`link_shares`), now and in the quiet moment. From these:

1. The damage at a place is the waiting there beyond the quiet one, weighted by the part of the slow job's traffic that passes it.
2. It is divided among the jobs by how much the load of each rose there since the quiet moment: stalls that came with a load belong to that load. A job
   that runs since before the quiet moment and sends no more than then has no part in it, and one that came since has all of its load in it. It does not
   matter whether the slow job was there before them.
3. The slow job's own part is the square of its share of what rose. Waiting grows faster than load, so that on a link of which it has half, its own
   traffic alone would wait a quarter as long at most.

A place is a port, or where only a router's sums are left, all links of a class that are counted at that router.

A port that counts what it receives stalls for the links that lead on from its router, and so its own load is what they get. A port that counts what it
sends (InfiniBand's PortXmitWait) waits for room in the next switch: for the links that the slow job's traffic takes there, whose load may come from
anywhere (`Ahead`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import Turns
from flitwatch_domain.link_shares import JobTraffic, Routes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Places whose waiting is divided: those with most damage, until they hold this part of it, and no more than so many.
MOST_DAMAGE, MOST_PLACES = 0.9, 64
#: Jobs whose traffic is laid on links: those that move most.
MOST_JOBS = 64
#: The jobs' expected loads on the damaged places must come to at least this part of what these carried.
LEAST_EXPLAINED = 0.5
#: A fuller link has the queue of one that is so full.
FULL = 0.95


@dataclass(frozen=True, eq=False)
class Places:
    """Where links are counted.

    Attributes
    ----------
    links : int64 (n,)     counted links between routers
    place : int64 (n,)     the place at which each is counted
    count : int            of places
    """

    links: Ints
    place: Ints
    count: int

    def sums(self, of_links: Floats) -> Floats:
        """Sums by place, (count, ...), of figures by link (n, ...)."""
        sums = np.zeros((self.count, *of_links.shape[1:]))
        np.add.at(sums, self.place, of_links)
        return sums

    def shared_out(self, of_places: Floats, links: int) -> Floats:
        """Figures by place (count,) as figures by link (links,), the links of a place alike; NaN for links that are not counted."""
        size = np.bincount(self.place, minlength=self.count)
        by_link = np.full(links, np.nan)
        by_link[self.links] = (of_places / np.maximum(size, 1))[self.place]
        return by_link


@dataclass(frozen=True, eq=False)
class Ahead:
    """What the slow job's traffic waits for where waits are counted at the sender: the links that it takes next, the fuller they are.

    Attributes
    ----------
    turns : of the machine
    load : float64 (links,)    bytes that the slow job is expected to put on each link of the fabric
    use : float64 (links,)     of what each link can carry, the part that it carries; NaN: not counted
    """

    turns: Turns
    load: Floats
    use: Floats

    def of(self, places: Places) -> tuple[Ints, Ints, Floats]:
        """Links ahead of places (n,), the place of each, and the part of the place's waiting that is for it."""
        before, link = self.turns.after(places.links)
        part = _shares(self.load[link] * self._queue[link], before, len(places.links))
        part *= self.load[places.links[before]]
        key, of = np.unique(places.place[before] * len(self.load) + link, return_inverse=True)
        share: Floats = np.bincount(of, part, len(key)).astype(np.float64)
        return key % len(self.load), key // len(self.load), share

    def own(self, links: Ints, loads: Floats) -> Floats:
        """The slow job's waiting a flit after each link, over that of all that the link carries: (n,).

        A port's wait is that of its traffic for all the links that follow. If the job takes the emptier ones of them, it waits less.

        Parameters
        ----------
        loads : float64 (links, jobs)    bytes that all jobs are expected to put on each link of the fabric
        """
        before, link = self.turns.after(links)
        queue, count = self._queue[link], len(links)

        def queues(load: Floats) -> Floats:
            return np.asarray(np.bincount(before, _shares(load[link], before, count) * queue, count), np.float64)

        whole = loads[links].sum(axis=1)
        waits = sum((loads[links, job] * queues(loads[:, job]) for job in range(loads.shape[1])), np.zeros(count))
        factor: Floats = np.divide(queues(self.load) * whole, waits, out=np.ones(count), where=waits > 0)
        return factor

    @property
    def _queue(self) -> Floats:
        """How long a queue is before each link, to a common factor: that of M/M/1."""
        use = np.minimum(np.nan_to_num(self.use), FULL)
        queue: Floats = use / (1 - use)
        return queue


def _shares(taken: Floats, of: Ints, count: int) -> Floats:
    """What is taken, over the sum of what is taken of the same whole; 0 where that is 0."""
    whole = np.bincount(of, taken, count)[of]
    shares: Floats = np.divide(taken, whole, out=np.zeros(len(taken)), where=whole > 0)
    return shares


@dataclass(frozen=True, eq=False)
class Moment:
    """What was counted in one stretch of time.

    Attributes
    ----------
    seconds : float
    flits, stalls : float64 (places,)     NaN: not counted
    traffic : of each job, the same jobs in every moment; None: it did not run
    ahead : what the slow job waits for, where waits are counted at the sender; None: counted at the receiver
    """

    seconds: float
    flits: Floats
    stalls: Floats
    traffic: Sequence[JobTraffic | None]
    ahead: Ahead | None = None

    @property
    def ratio(self) -> Floats:
        """Stall cycles per flit; 0 where nothing flowed, NaN where not counted."""
        known = np.isfinite(self.flits) & np.isfinite(self.stalls)
        ratio = np.divide(self.stalls, self.flits, out=np.zeros(len(self.flits)), where=known & (self.flits > 0))
        return np.where(known, ratio, np.nan)


@dataclass(frozen=True, eq=False)
class Attribution:
    """Whose load the slow job waits for.

    Attributes
    ----------
    waiting : float            stall cycles that a flit of the slow job meets beyond the quiet ones: mean over its way and the moments
    quiet : float              the same in the quiet moment
    counted : float            the part of the slow job's traffic that passes counted places
    part : float64 (jobs,)     of the waiting; the slow job's own among them. They come to 1 less what no known job explains
    moments : float64 (moments, jobs)      the same by moment
    waits : float64 (moments,)             the waiting of each moment
    reason : str or None       why the parts are not known
    """

    waiting: float
    quiet: float
    counted: float
    part: Floats
    moments: Floats
    waits: Floats
    reason: str | None = None


def attribute(
    routes: Routes,
    places: Places,
    weight: Floats,
    slow: Sequence[Moment],
    quiet: Moment,
    own: int,
    flit_bytes: float | None,
) -> Attribution:
    """Divide what a job waits for among the jobs.

    Parameters
    ----------
    routes : of the machine
    weight : float64 (places,)      the part of the slow job's traffic that each place sees
    slow, quiet : moments while the job is slow, and one while its way was quiet
    own : the slow job's place among the jobs
    flit_bytes : of a count of `flits`; None: unknown, and what no job explains stays unseen
    """
    before = np.nan_to_num(quiet.ratio)
    ratios = [one.ratio for one in slow]
    counted = min(float(weight[np.isfinite(ratio)].sum()) for ratio in ratios)
    damages = [weight * np.maximum(np.nan_to_num(ratio) - before, 0.0) for ratio in ratios]
    damage = np.sum(damages, axis=0)
    waiting = float(damage.sum()) / len(slow)
    told = partial(Attribution, waiting, float(weight @ before), counted)
    moments = np.zeros((len(slow), len(quiet.traffic)))
    waits = np.array([held.sum() for held in damages])
    if waiting <= 0:
        return told(moments[0], moments, waits)
    worst = _worst(damage)
    then, _ = _loads(routes, places, None, quiet, worst, flit_bytes)
    divided = np.array([held[worst].sum() for held in damages])
    for place, (moment, held) in enumerate(zip(slow, damages, strict=True)):
        now, seen = _loads(routes, places, moment.ahead, moment, worst, flit_bytes)
        if moment.ahead is not None:
            then, _ = _loads(routes, places, moment.ahead, quiet, worst, flit_bytes)
        if seen < LEAST_EXPLAINED:
            reason = "what the jobs' network cards moved does not explain what the links carried"
            return told(np.zeros(moments.shape[1]), np.zeros_like(moments), waits, reason)
        users = _divided(np.maximum(now - then, 0.0), now, own)
        moments[place] = seen * _parts(held[worst], users)
        if moment.ahead is not None:
            moments[place] = np.minimum(moments[place], seen * _parts(_but_the_worst(held[worst]), users))
    return told(divided @ moments / divided.sum(), moments, waits)


def users(routes: Routes, places: Places, weight: Floats, moment: Moment, flit_bytes: float | None) -> Floats | None:
    """Parts (jobs,) that jobs have in the traffic where the flits of a way wait in a moment: all of it, not only what is new; None where that is not known.

    `weight` float64 (places,) is the part of that way's traffic that each place sees.
    """
    held = weight * np.nan_to_num(moment.ratio)
    if held.sum() <= 0:
        return None
    worst = _worst(held)
    load, seen = _loads(routes, places, moment.ahead, moment, worst, flit_bytes)
    whole = load.sum(axis=1, keepdims=True)
    if seen < LEAST_EXPLAINED or not whole.any():
        return None
    part: Floats = held[worst] @ np.divide(load, whole, out=np.zeros_like(load), where=whole > 0) / held[worst].sum()
    return seen * part


def _parts(damage: Floats, users: Floats) -> Floats:
    """Parts of the jobs (jobs,) in the damage of places (places,), by their parts at each (places, jobs)."""
    parts: Floats = damage @ users / max(float(damage.sum()), 1e-300)
    return parts


def _but_the_worst(damage: Floats) -> Floats:
    """The damage without that of the worst place, unless it has all of it: a port's wait is that of all its traffic, of which the slow job's may be little."""
    rest = np.where(np.arange(len(damage)) == np.argmax(damage), 0.0, damage)
    return rest if rest.any() else damage


def _divided(rose: Floats, now: Floats, own: int) -> Floats:
    """Parts (places, jobs) by what rose; where nothing did, by what is there."""
    rose = np.where(rose.sum(axis=1, keepdims=True) > 0, rose, now)
    whole = rose.sum(axis=1)
    others = whole - rose[:, own]
    alone = np.divide(rose[:, own], whole, out=np.zeros(len(rose)), where=whole > 0) ** 2
    parts: Floats = np.divide(rose, others[:, None], out=np.zeros_like(rose), where=others[:, None] > 0)
    parts *= (1 - alone)[:, None]
    parts[:, own] = alone
    return parts


def _worst(damage: Floats) -> Ints:
    """The places with most damage."""
    order = np.argsort(-damage, kind="stable")[:MOST_PLACES]
    held = np.cumsum(damage[order])
    enough = int(np.searchsorted(held, MOST_DAMAGE * damage.sum())) + 1
    worst: Ints = order[: min(enough, int((damage[order] > 0).sum()))]
    return worst


def _loads(
    routes: Routes, places: Places, ahead: Ahead | None, moment: Moment, at: Ints, flit_bytes: float | None
) -> tuple[Floats, float]:
    """Bytes a second that each job is expected to put on what some places wait for, (places, jobs), and how much of what they carried that explains, to 1.

    A single place may carry twice what is expected of it, for its routes are not known one by one; all of them together may not.
    """
    inverse = np.full(places.count, -1, np.int64)
    inverse[at] = np.arange(len(at))
    chosen = np.flatnonzero(inverse[places.place] >= 0)
    part = Places(places.links[chosen], inverse[places.place[chosen]], len(at))
    known = [n for n, one in enumerate(moment.traffic) if one is not None and one.known]
    known = sorted(known, key=lambda n: -float(np.nansum(_traffic(moment, n).sent)))[:MOST_JOBS]
    traffic = [_traffic(moment, n) for n in known]
    carried = None if flit_bytes is None else moment.flits * flit_bytes
    by_link = None if carried is None else places.shared_out(carried, routes.links)
    on_places = part.sums(routes.loads_as_carried(traffic, part.links, by_link))
    loads = np.zeros((len(at), len(moment.traffic)))
    if ahead is None:
        loads[:, known] = on_places
    else:
        links, place, share = ahead.of(part)
        onward = routes.loads_as_carried(traffic, links, by_link) * share[:, None]
        loads[:, known] = Places(links, place, len(at)).sums(onward)
    whole = 0.0 if carried is None else float(np.nansum(carried[at]))
    return loads / moment.seconds, min(1.0, float(on_places.sum()) / whole) if whole > 0 else 1.0


def _traffic(moment: Moment, job: int) -> JobTraffic:
    """Of a job that is known to run."""
    found = moment.traffic[job]
    assert found is not None
    return found
