"""Attribution by flow: the jobs that make links on a slow job's paths stall.

Counters do not show which flits wait for which. They show how many cycles a flit waits on a job's path, now and in a quiet moment. The routes and
network cards show each job's path and its load on each link (`link_shares`), now and in the quiet moment. From these:

1. The damage at a place is the waiting in excess of the quiet waiting, weighted by the part of the slow job's traffic that passes the place.
2. The damage is divided among the jobs by the increase of each job's load there since the quiet moment. A job that ran before it with the same load
   has no part; a job that started later counts with its whole load. It does not matter whether the slow job started before or after them.
3. The slow job's own part is the square of its share of the increase, because waiting grows faster than load. On a link where half of the traffic is its
   own, its traffic alone would cause at most a quarter of the waiting.

A place is a port or, if only a router's sums remain, all links of a class that are counted at that router.

If ports count the waiting to send (InfiniBand's PortXmitWait), `link_waits` first derives the waiting of each link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.link_shares import CarriedTraffic, JobTraffic, Routes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Places whose waiting is divided: those with most damage, up to this share of it and this number of places.
MOST_DAMAGE, MOST_PLACES = 0.9, 64
#: Maximum number of jobs whose traffic is laid on links: those with most traffic.
MOST_JOBS = 64
#: The jobs' expected loads on the damaged places must add up to at least this share of the counted traffic there.
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
    count : int            number of places
    """

    links: Ints
    place: Ints
    count: int

    def sums(self, of_links: Floats) -> Floats:
        """Sum values by link (n, ...) to values by place (count, ...)."""
        sums = np.zeros((self.count, *of_links.shape[1:]))
        order = np.argsort(self.place, kind="stable")
        filled, first = np.unique(self.place[order], return_index=True)
        if len(filled):
            sums[filled] = np.add.reduceat(of_links[order], first, axis=0)
        return sums

    def shared_out(self, of_places: Floats, links: int) -> Floats:
        """Map values by place (count,) to values by link (links,): links of a place get the same value, links that are not counted get NaN."""
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
    jobs : int64 (n,)                indices of these jobs in `Moment.traffic`
    heat : float64 (links,)          waiting of the slow job's traffic there, up to a common factor; 0 if unknown
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
    flits, stalls : float64 (places,)     NaN: not counted
    traffic : one item per job, the same jobs in every moment; None: the job did not run
    by_link : known values of a place's single links; None: they count equally
    """

    seconds: float
    flits: Floats
    stalls: Floats
    traffic: Sequence[JobTraffic | None]
    by_link: LinksOfMoment | None = None

    @property
    def ratio(self) -> Floats:
        """Return stall cycles per flit; 0 if nothing flowed, NaN if not counted."""
        mask = np.isfinite(self.flits) & np.isfinite(self.stalls)
        ratio = np.divide(self.stalls, self.flits, out=np.zeros(len(self.flits)), where=mask & (self.flits > 0))
        return np.where(mask, ratio, np.nan)


@dataclass(frozen=True, eq=False)
class Attribution:
    """Parts that jobs have in the waiting of the slow job.

    Attributes
    ----------
    waiting : float            stall cycles that a flit of the slow job meets beyond the quiet ones: mean over its path and the moments
    quiet : float              the same in the quiet moment
    counted : float            part of the slow job's traffic that passes counted places
    part : float64 (jobs,)     each job's part of the waiting, including the slow job's own. The sum is 1 minus the part that no known job explains
    moments : float64 (moments, jobs)      the same by moment
    waits : float64 (moments,)             waiting of each moment
    reason : str or None       why the parts are unknown
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
    """Divide a job's waiting among the jobs.

    Parameters
    ----------
    routes : routes of the machine
    weight : float64 (places,)      part of the slow job's traffic that passes each place
    slow, quiet : moments while the job is slow, and one while its path was quiet
    own : index of the slow job among the jobs
    flit_bytes : size of one unit of `flits`; None: unknown, and the unexplained part cannot be computed
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
    heats = [None if moment.by_link is None else moment.by_link.heat for moment in slow]
    # The quiet loads are weighted by each moment's heat, if that is known.
    compared = [(quiet, heat) for heat in (heats[:1] if heats[0] is None else heats)]
    estimates = _estimate_loads(routes, places, [*zip(slow, heats, strict=True), *compared], worst, flit_bytes)
    for place, (place_damage, heat) in enumerate(zip(damages, heats, strict=True)):
        now, explained = estimates[place]
        then, _ = estimates[len(slow) + min(place, len(compared) - 1)]
        if explained < LEAST_EXPLAINED:
            reason = "the traffic of the jobs' network cards does not explain the traffic on the links"
            return attribution(np.zeros(moments.shape[1]), np.zeros_like(moments), waits, reason)
        rose = np.maximum(now - then, 0.0)
        users = _divide_load(rose, now, own)
        if heat is not None:
            users[rose.sum(axis=1) < LEAST_ADDED * now.sum(axis=1)] = 0.0
        moments[place] = explained * _divide_damage(place_damage[worst], users)
    if slow[0].by_link is not None:
        # A job is slow in every moment, so a short jam of other jobs that is ten times as bad does not count ten times as much.
        capped = np.minimum(divided, np.median(divided))
        divided = capped if capped.any() else divided
    return attribution(divided @ moments / divided.sum(), moments, waits)


def compute_user_parts(
    routes: Routes, places: Places, weight: Floats, moment: Moment, flit_bytes: float | None
) -> Floats | None:
    """Return each job's part (jobs,) of the traffic at places where a path's flits wait in a moment; None if unknown.

    All of the traffic counts, not only its increase. `weight` float64 (places,) is the part of the path's traffic that passes each place.
    """
    waiting = weight * np.nan_to_num(moment.ratio)
    if waiting.sum() <= 0:
        return None
    worst = _find_worst_places(waiting)
    heat = None if moment.by_link is None else moment.by_link.heat
    ((load, explained),) = _estimate_loads(routes, places, [(moment, heat)], worst, flit_bytes)
    whole = load.sum(axis=1, keepdims=True)
    if explained < LEAST_EXPLAINED or not whole.any():
        return None
    part: Floats = (
        waiting[worst] @ np.divide(load, whole, out=np.zeros_like(load), where=whole > 0) / waiting[worst].sum()
    )
    return explained * part


def _divide_damage(damage: Floats, users: Floats) -> Floats:
    """Return the parts of the jobs (jobs,) in the damage of places (places,), from their parts at each place (places, jobs)."""
    parts: Floats = damage @ users / max(float(damage.sum()), 1e-300)
    return parts


def _divide_load(rose: Floats, now: Floats, own: int) -> Floats:
    """Return parts (places, jobs) by the increase of load; without an increase, by the current load."""
    rose = np.where(rose.sum(axis=1, keepdims=True) > 0, rose, now)
    whole = rose.sum(axis=1)
    others = whole - rose[:, own]
    alone = np.divide(rose[:, own], whole, out=np.zeros(len(rose)), where=whole > 0) ** 2
    parts: Floats = np.divide(rose, others[:, None], out=np.zeros_like(rose), where=others[:, None] > 0)
    parts *= (1 - alone)[:, None]
    parts[:, own] = alone
    return parts


def _find_worst_places(damage: Floats) -> Ints:
    order = np.argsort(-damage, kind="stable")[:MOST_PLACES]
    cumulative = np.cumsum(damage[order])
    enough = int(np.searchsorted(cumulative, MOST_DAMAGE * damage.sum())) + 1
    worst: Ints = order[: min(enough, int((damage[order] > 0).sum()))]
    return worst


def _estimate_loads(
    routes: Routes,
    places: Places,
    moments: Sequence[tuple[Moment, Floats | None]],
    at: Ints,
    flit_bytes: float | None,
) -> list[tuple[Floats, float]]:
    """Estimate bytes per second of each job on some places (places, jobs), and the share of the counted traffic that they explain, at most 1.

    Returns a pair for each moment, given with its heat. A single place may carry twice its expected load, because its routes are not known individually;
    all places together may not. With heat, each link is weighted by it, and the slow job's whole path must be explained.
    """
    inverse = np.full(places.count, -1, np.int64)
    inverse[at] = np.arange(len(at))
    chosen = np.flatnonzero(inverse[places.place] >= 0)
    part = Places(places.links[chosen], inverse[places.place[chosen]], len(at))
    estimates = []
    link_loads = _find_link_loads(routes, places, part.links, moments, flit_bytes)
    for (moment, heat), (jobs, each) in zip(moments, link_loads, strict=True):
        loads = np.zeros((len(at), len(moment.traffic)))
        loads[:, jobs] = part.sums(each)
        carried = moment.flits * (flit_bytes or 0.0)
        if heat is None or moment.by_link is None:
            expected, whole = loads.sum(), np.nansum(carried[at])
        else:
            expected = moment.by_link.whole[places.links[np.isfinite(moment.flits)[places.place]]].sum()
            whole = np.nansum(carried)
        estimates.append((loads / moment.seconds, min(1.0, float(expected / whole)) if whole > 0 else 1.0))
    return estimates


def _find_link_loads(
    routes: Routes,
    places: Places,
    links: Ints,
    moments: Sequence[tuple[Moment, Floats | None]],
    flit_bytes: float | None,
) -> list[tuple[Sequence[int] | Ints, Floats]]:
    """Return for each moment the jobs with known loads, and these on some links (links, jobs): bytes, weighted by the moment's heat.

    Loads of single links are known in all moments or in none.
    """
    known = [(moment.by_link, heat) for moment, heat in moments if moment.by_link is not None and heat is not None]
    if known:
        return [(by_link.jobs, by_link.loads[links] * heat[links, None]) for by_link, heat in known]
    jobs = [that_move_most(moment.traffic) for moment, _ in moments]
    traffic: list[CarriedTraffic] = [
        (
            [_require_traffic(moment, n) for n in some],
            None if flit_bytes is None else places.shared_out(moment.flits * flit_bytes, routes.links),
        )
        for some, (moment, _) in zip(jobs, moments, strict=True)
    ]
    return list(zip(jobs, routes.loads_as_carried(traffic, links), strict=True))


def that_move_most(traffic: Sequence[JobTraffic | None]) -> list[int]:
    """Return the indices of the jobs whose traffic is laid on links: of those with known traffic, the ones that send most."""
    bytes_sent = {
        n: job_traffic.total_sent
        for n, job_traffic in enumerate(traffic)
        if job_traffic is not None and job_traffic.known
    }
    return sorted(bytes_sent, key=lambda n: -bytes_sent[n])[:MOST_JOBS]


def _require_traffic(moment: Moment, job: int) -> JobTraffic:
    """Return the traffic of a job that is known to run."""
    traffic = moment.traffic[job]
    assert traffic is not None
    return traffic
