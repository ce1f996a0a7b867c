"""Attribution by flow: which jobs make the links on a job's paths stall.

No counter says whose flits wait for whose. What is known is where a job's traffic goes, how many cycles a flit waits there, how many it waits there
when the network is quiet, and what every job puts on each link (`link_shares`), now and in the quiet moment. From these:

1. The damage at a place is the waiting there beyond the quiet one, weighted by the part of the slow job's traffic that passes it.
2. It is divided among the jobs by how much the load of each rose there since the quiet moment: stalls that came with a load belong to that load. A
job
   that runs since before the quiet moment and sends no more than then has no part in it, and one that came since has all of its load in it. It does
   not matter whether the slow job was there before them.
3. The slow job's own part is the square of its share of what rose. Waiting grows faster than load, so that on a link whose traffic is half its own,
its own
   traffic alone would wait a quarter as long at most.

A place is a port, or where only a router's sums are left, all links of a class that are counted at that router.

Where ports count what they send (InfiniBand's PortXmitWait), `link_waits` finds the waiting of each link first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.link_shares import JobTraffic, Routes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Places whose waiting is divided: those with most damage, until they hold this part of it, and no more than so many.
MOST_DAMAGE, MOST_PLACES = 0.9, 64
#: Jobs whose traffic is laid on links: those that move most.
MOST_JOBS = 64
#: The jobs' expected loads on the damaged places must come to at least this part of what these carried.
LEAST_EXPLAINED = 0.5
#: Where the loads that rose, of links known one by one, are less than this part of what a place carries, they do not explain what flits wait there.
LEAST_ADDED = 0.05


@dataclass(frozen=True, eq=False)
class Places:
    """Places at which links are counted.

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
class LinksOfMoment:
    """Loads and heat of single links in a moment.

    Attributes
    ----------
    loads : float64 (links, n)       bytes that some jobs are expected to put on each link of the fabric
    jobs : int64 (n,)                places of these jobs in `Moment.traffic`
    heat : float64 (links,)          the waiting there of the slow job's traffic, to a common factor; 0 if it is not known
    whole : float64 (links,)         the sums of `loads`
    """

    loads: Floats
    jobs: Ints
    heat: Floats
    whole: Floats


@dataclass(frozen=True, eq=False)
class Moment:
    """Counts of one interval of time.

    Attributes
    ----------
    seconds : float
    flits, stalls : float64 (places,)     NaN: not counted
    traffic : of each job, the same jobs in every moment; None: it did not run
    by_link : where the links of a place are known one by one; None: they count alike
    """

    seconds: float
    flits: Floats
    stalls: Floats
    traffic: Sequence[JobTraffic | None]
    by_link: LinksOfMoment | None = None

    @property
    def ratio(self) -> Floats:
        """Stall cycles per flit; 0 if nothing flowed, NaN if not counted."""
        mask = np.isfinite(self.flits) & np.isfinite(self.stalls)
        ratio = np.divide(self.stalls, self.flits, out=np.zeros(len(self.flits)), where=mask & (self.flits > 0))
        return np.where(mask, ratio, np.nan)


@dataclass(frozen=True, eq=False)
class Attribution:
    """Parts that jobs have in the waiting of the slow job.

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


def attribute_waiting(
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
    ratios = [stretch.ratio for stretch in slow]
    counted = min(float(weight[np.isfinite(ratio)].sum()) for ratio in ratios)
    damages = [weight * np.maximum(np.nan_to_num(ratio) - before, 0.0) for ratio in ratios]
    damage = np.sum(damages, axis=0)
    waiting = float(damage.sum()) / len(slow)
    attribution = partial(Attribution, waiting, float(weight @ before), counted)
    moments = np.zeros((len(slow), len(quiet.traffic)))
    waits = np.array([place_damage.sum() for place_damage in damages])
    if waiting <= 0:
        return attribution(moments[0], moments, waits)
    worst = _find_worst_places(damage)
    divided = np.array([place_damage[worst].sum() for place_damage in damages])
    then: Floats | None = None
    for place, (moment, place_damage) in enumerate(zip(slow, damages, strict=True)):
        heat = None if moment.by_link is None else moment.by_link.heat
        now, explained = _estimate_loads(routes, places, moment, worst, flit_bytes, heat)
        if then is None or heat is not None:
            then, _ = _estimate_loads(routes, places, quiet, worst, flit_bytes, heat)
        if explained < LEAST_EXPLAINED:
            reason = "the traffic of the jobs' network cards does not explain the traffic on the links"
            return attribution(np.zeros(moments.shape[1]), np.zeros_like(moments), waits, reason)
        rose = np.maximum(now - then, 0.0)
        users = _divide_load(rose, now, own)
        if heat is not None:
            users[rose.sum(axis=1) < LEAST_ADDED * now.sum(axis=1)] = 0.0
        moments[place] = explained * _divide_damage(place_damage[worst], users)
    if slow[0].by_link is not None:
        # A job is slow in every moment: a short jam of others, ten times as bad, is not ten times as much of that.
        capped = np.minimum(divided, np.median(divided))
        divided = capped if capped.any() else divided
    return attribution(divided @ moments / divided.sum(), moments, waits)


def compute_user_parts(
    routes: Routes, places: Places, weight: Floats, moment: Moment, flit_bytes: float | None
) -> Floats | None:
    """Parts (jobs,) that jobs have in the traffic where the flits of a way wait in a moment: all of it, not only what is new; None if that is not
    known.

    `weight` float64 (places,) is the part of that way's traffic that each place sees.
    """
    waiting = weight * np.nan_to_num(moment.ratio)
    if waiting.sum() <= 0:
        return None
    worst = _find_worst_places(waiting)
    heat = None if moment.by_link is None else moment.by_link.heat
    load, explained = _estimate_loads(routes, places, moment, worst, flit_bytes, heat)
    whole = load.sum(axis=1, keepdims=True)
    if explained < LEAST_EXPLAINED or not whole.any():
        return None
    part: Floats = (
        waiting[worst] @ np.divide(load, whole, out=np.zeros_like(load), where=whole > 0) / waiting[worst].sum()
    )
    return explained * part


def _divide_damage(damage: Floats, users: Floats) -> Floats:
    """Parts of the jobs (jobs,) in the damage of places (places,), by their parts at each (places, jobs)."""
    parts: Floats = damage @ users / max(float(damage.sum()), 1e-300)
    return parts


def _divide_load(rose: Floats, now: Floats, own: int) -> Floats:
    """Parts (places, jobs) by what rose; if nothing did, by what is there."""
    rose = np.where(rose.sum(axis=1, keepdims=True) > 0, rose, now)
    whole = rose.sum(axis=1)
    others = whole - rose[:, own]
    alone = np.divide(rose[:, own], whole, out=np.zeros(len(rose)), where=whole > 0) ** 2
    parts: Floats = np.divide(rose, others[:, None], out=np.zeros_like(rose), where=others[:, None] > 0)
    parts *= (1 - alone)[:, None]
    parts[:, own] = alone
    return parts


def _find_worst_places(damage: Floats) -> Ints:
    """The places with most damage."""
    order = np.argsort(-damage, kind="stable")[:MOST_PLACES]
    cumulative = np.cumsum(damage[order])
    enough = int(np.searchsorted(cumulative, MOST_DAMAGE * damage.sum())) + 1
    worst: Ints = order[: min(enough, int((damage[order] > 0).sum()))]
    return worst


def _estimate_loads(
    routes: Routes, places: Places, moment: Moment, at: Ints, flit_bytes: float | None, heat: Floats | None
) -> tuple[Floats, float]:
    """Bytes a second that each job is expected to put on some places, (places, jobs), and how much of what they carried that explains, to 1.

    A single place may carry twice what is expected of it, for its routes are not known one by one; all of them together may not. With `heat` each
    link counts by that, and all of the slow job's way has to be explained.
    """
    inverse = np.full(places.count, -1, np.int64)
    inverse[at] = np.arange(len(at))
    chosen = np.flatnonzero(inverse[places.place] >= 0)
    part = Places(places.links[chosen], inverse[places.place[chosen]], len(at))
    carried = None if flit_bytes is None else moment.flits * flit_bytes
    loads = np.zeros((len(at), len(moment.traffic)))
    if moment.by_link is not None and heat is not None:
        each = moment.by_link.loads
        loads[:, moment.by_link.jobs] = part.sums(each[part.links] * heat[part.links, None])
        expected = moment.by_link.whole[places.links[np.isfinite(moment.flits)[places.place]]].sum()
        whole = 0.0 if carried is None else float(np.nansum(carried))
    else:
        jobs = that_move_most(moment.traffic)
        by_link = None if carried is None else places.shared_out(carried, routes.links)
        loads[:, jobs] = part.sums(
            routes.loads_as_carried([_require_traffic(moment, n) for n in jobs], part.links, by_link)
        )
        expected = loads.sum()
        whole = 0.0 if carried is None else float(np.nansum(carried[at]))
    return loads / moment.seconds, min(1.0, float(expected) / whole) if whole > 0 else 1.0


def that_move_most(traffic: Sequence[JobTraffic | None]) -> list[int]:
    """Places of the jobs whose traffic is laid on links: those with known traffic and that send most."""
    bytes_sent = {
        n: float(np.nansum(job_traffic.sent))
        for n, job_traffic in enumerate(traffic)
        if job_traffic is not None and job_traffic.known
    }
    return sorted(bytes_sent, key=lambda n: -bytes_sent[n])[:MOST_JOBS]


def _require_traffic(moment: Moment, job: int) -> JobTraffic:
    """Of a job that is known to run."""
    traffic = moment.traffic[job]
    assert traffic is not None
    return traffic
