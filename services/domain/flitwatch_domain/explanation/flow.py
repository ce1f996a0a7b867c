"""Jobs that a slow job waits for, by flow, over the worst minutes of its slow stretch, and which of them may be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from flitwatch_domain.link_shares import RoutesKnownBy

#: Stall cycles per flit beyond the quiet ones from which on somebody feels them, and how much of the quiet ones they must be.
LEAST_WAITING, LEAST_RISE = 0.02, 0.5
#: A job is named where it has this part of the waiting, and so many times that of the first job that is not named.
LEAST_PART, LEAST_LEAD = 0.2, 2.0
#: One job that is named has at least this part of it, and so has a job that slows itself; several have that together.
LEAST_NAMED, LEAST_TOGETHER = 0.5, 0.6
#: Where waits are counted at the sending port several are named only if they have this part together.
LEAST_NEARLY_ALL = 0.8
#: Of several, each has at least this part of the largest.
LEAST_OF_FIRST = 0.4
#: A minute speaks for itself where the job waits in it at least this part of the longest.
LEAST_OF_WORST = 0.5
#: Where waits are counted at the sending port, moments have to agree on a job if flits wait less than so many times as long as in the quiet one:
#: so many at least, but one that is as long as this is the mean of many.
SURE_RISE, LEAST_MOMENTS, LONG_MOMENT_S = 10, 2, 3600
MOST_NAMED = 3
#: Less of the job's way than this is too little to say that nothing stalls on it.
LEAST_COUNTED = 0.5


@dataclass(frozen=True)
class Flow:
    """Waiting of a job, and the parts that jobs have in it.

    Attributes
    ----------
    waiting : float            stall cycles that a flit of the job meets beyond the quiet ones, over the minutes
    quiet : float              the same in the quiet minute
    counted : float            the part of the job's traffic whose way is counted
    part : mapping             of the waiting, by job_pk; the job's own is among them
    own : float                the job's own part
    moments : of each minute its waiting, and the parts in it
    sent : mapping             bytes per second that a job's network cards sent in the quiet minute and in the others, by job_pk; None: not counted
    quiet_s : float            when the quiet minute began, epoch seconds
    minutes_s : floats         when the others began
    resolution_s : int         their length
    reason : str or None       why the parts are not known
    several : bool             whether jobs may be named together that have less than nearly all of it. Where waits are counted at the sending port they may not: a job that shares a leaf
                               with the slow one seems to be behind the culprit's jam
    to_file_system : bool      whether it is of the way to the machine's file system: on the way to the job's other nodes the flits wait too little
    between : mapping          of the way to the file system, the parts on the way to the job's other nodes, where the waiting rose too, if by little; else empty
    routes : str               `tables`: the ways of the traffic are those of forwarding tables; `assumed`: those expected of such a machine
    """

    waiting: float
    quiet: float
    counted: float
    part: Mapping[int, float]
    own: float
    quiet_s: float
    minutes_s: Sequence[float]
    resolution_s: int
    moments: Sequence[tuple[float, Mapping[int, float]]] = ()
    sent: Mapping[int, tuple[float | None, float | None]] = field(default_factory=dict)
    reason: str | None = None
    routes: RoutesKnownBy = "assumed"
    several: bool = True
    to_file_system: bool = False
    between: Mapping[int, float] = field(default_factory=dict)

    @property
    def rose(self) -> bool:
        """Return whether flits wait longer than in the quiet minute, even if too little to slow a job."""
        return self.waiting > 0 and self.waiting >= LEAST_RISE * self.quiet

    @property
    def carried(self) -> bool:
        """Return whether links on the job's path stall more than in the quiet minute."""
        return self.rose and self.waiting >= LEAST_WAITING

    def calm(self, part: float) -> bool:
        """Return whether a flit waits in the quiet minute at most this part of what it waits in the worst one."""
        worst = max((waiting for waiting, _ in self.moments), default=0.0)
        return self.quiet <= part * (self.quiet + worst)

    @property
    def sure(self) -> bool:
        """Return whether flits wait so much longer than in the quiet minute that it is no chance."""
        return self.waiting >= SURE_RISE * self.quiet

    @property
    def known(self) -> bool:
        """Return whether the flow identifies jobs or shows that nothing stalls; otherwise places and times are used."""
        return self.reason is None and self.counted >= LEAST_COUNTED


def name_jobs(flow: Flow, own: int, before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return the jobs named for the waiting, by job_pk: those that stand out in one of the minutes or in all of them; empty if none does.

    First one of those that ran `before` the job (`own`) was slow. Who came `after` may be named alongside them, and never first.
    """
    if not flow.carried:
        return []
    suspects = set(_stand_out(flow.part, own))
    worst = max((waiting for waiting, _ in flow.moments), default=0.0)
    for waiting, part in flow.moments:
        if waiting >= LEAST_OF_WORST * worst:
            suspects.update(job for job in _stand_out(part, own) if flow.part.get(job, 0.0) >= LEAST_PART)
    first, then = (
        sorted(suspects.intersection(some), key=lambda job: -flow.part.get(job, 0.0)) for some in (before, after)
    )
    if not first:
        return []
    several = [*first, *then][:MOST_NAMED]
    if flow.several:
        return several
    several = [job for job in several if _holds_steadily(flow, job) and (job in first or _added_waiting(flow, job))]
    if not several or several[0] not in first:
        return []
    second = max((part for job, part in flow.part.items() if job not in (own, several[0])), default=0.0)
    for chosen, least in ((several[:1], max(LEAST_NAMED, LEAST_LEAD * second)), (several, LEAST_NEARLY_ALL)):
        if sum(flow.part[job] for job in chosen) >= max(least, LEAST_LEAD * flow.own):
            if len(chosen) == 1 or not flow.to_file_system:
                return chosen
            # Nothing shows that the job uses the file system: several there must be in the way of its other traffic too.
            return [job for job in chosen if flow.between.get(job, 0.0) >= LEAST_PART]
    return []


def _holds_steadily(flow: Flow, job: int) -> bool:
    """Return whether a job has a large part in most of the moments in which flits wait about as long as in the middle one; a sure rise needs none.

    A weak one falls to another job each moment.
    """
    if flow.sure:
        return True
    usual = median(waiting for waiting, _ in flow.moments)
    parts = [part.get(job, 0.0) for waiting, part in flow.moments if waiting >= LEAST_OF_WORST * usual]
    enough = len(parts) >= (LEAST_MOMENTS if flow.resolution_s < LONG_MOMENT_S else 1)
    return enough and sum(part >= LEAST_PART for part in parts) > len(parts) / 2


def _added_waiting(flow: Flow, job: int) -> bool:
    """Return whether flits wait longer in the moments in which a job has a large part than in the others; who came later may only pass by.

    If it has a large part in all of them, that is not known, and a sure rise is needed.
    """
    with_job, without = (
        [waiting for waiting, part in flow.moments if (part.get(job, 0.0) >= LEAST_PART) is held]
        for held in (True, False)
    )
    return mean(with_job) > mean(without) if with_job and without else flow.sure


def _stand_out(part: Mapping[int, float], own: int) -> list[int]:
    """Jobs whose parts are large, together most of the whole, and apart from the rest."""
    order = sorted((job for job in part if job != own), key=lambda job: -part[job])
    large = [job for job in order[:MOST_NAMED] if part[job] >= max(LEAST_PART, LEAST_OF_FIRST * part[order[0]])]
    for chosen in (large[:1], large):
        enough = LEAST_NAMED if len(chosen) == 1 else LEAST_TOGETHER
        next_ = part[order[len(chosen)]] if len(chosen) < len(order) else 0.0
        if (
            chosen
            and sum(part[job] for job in chosen) >= max(enough, part.get(own, 0.0))
            and part[chosen[-1]] >= LEAST_LEAD * next_
        ):
            return chosen
    return large if large and part[large[0]] >= LEAST_NAMED else []


def slows_itself(flow: Flow, own: int) -> bool:
    """Return whether a job's (`own`) traffic causes most of its waiting, and a large part in every minute in which it waits long: it is always there."""
    worst = max((waiting for waiting, _ in flow.moments), default=0.0)
    always = all(
        part.get(own, 0.0) >= LEAST_PART for waiting, part in flow.moments if waiting >= LEAST_OF_WORST * worst
    )
    return flow.carried and flow.own >= LEAST_NAMED and always
