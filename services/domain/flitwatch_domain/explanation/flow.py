"""Waiting of a slow job, divided by flow among jobs over the worst minutes, and the selection of jobs to name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import mean, median, stdev

from flitwatch_domain.explanation.slowdown import student_quantile
from flitwatch_domain.link_shares import RoutesKnownBy

#: Minimum noticeable stall cycles per flit beyond the quiet ones, and their minimum ratio to the quiet ones.
LEAST_WAITING, LEAST_RISE = 0.02, 0.5
#: A job is named if it has this part of the waiting, and this multiple of the largest part of the other jobs.
LEAST_PART, LEAST_LEAD = 0.2, 2.0
#: Minimum part of a single named job or of a job that slows itself, and of several named jobs together.
LEAST_NAMED, LEAST_TOGETHER = 0.5, 0.6
#: Minimum part of several named jobs together if waits are counted at the sending port.
LEAST_NEARLY_ALL = 0.8
#: Minimum part, of the whole waiting, of a job that is named because later ones hide it, and of an incident's cause.
LEAST_HIDDEN = 0.1
#: Each of several named jobs has at least this share of the largest part.
LEAST_OF_FIRST = 0.4
#: A minute is evidence on its own if the job's waiting in it is at least this share of the longest.
LEAST_OF_WORST = 0.5
#: Where waits are counted at the sending port, moments have to agree on a job if flits wait less than so many times as long as in the quiet one:
#: so many at least, but one that is as long as this is the mean of many.
SURE_RISE, LEAST_MOMENTS, LONG_MOMENT_S = 10, 2, 3600
MOST_NAMED = 3
#: Minimum counted part of the job's path to conclude that nothing stalls on it.
LEAST_COUNTED = 0.5


@dataclass(frozen=True)
class Flow:
    """Waiting of a job, and each job's part of it.

    Attributes
    ----------
    waiting : float            stall cycles that a flit of the job meets beyond the quiet ones, over the minutes
    quiet : float              the same in the quiet minute
    counted : float            part of the job's traffic whose path is counted
    part : mapping             parts of the waiting by job_pk, including the job's own
    own : float                the job's own part
    moments : waiting of each minute, and the parts in it
    sent : mapping             bytes per second that a job's network cards sent in the quiet minute and in the others, by job_pk; None: not counted
    quiet_s : float            start of the quiet minute, epoch seconds
    minutes_s : floats         start of the other minutes
    resolution_s : int         length of a minute, in seconds
    reason : str or None       why the parts are unknown
    several : bool             whether several jobs may be named that together cause less than nearly all of it. False if waits are counted at the sending
                               port: there a job that shares a leaf with the slow one appears to be behind the culprit's jam
    to_file_system : bool      whether the path is the one to the machine's file system: on the paths to the job's other nodes flits wait too little
    between : mapping          for the path to the file system: parts on the paths to the job's other nodes, if waiting rose a little there; else empty
    routes : str               `tables`: paths from forwarding tables; `assumed`: paths expected of such a machine
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
        """Return whether a flit's wait in the quiet minute is at most this part of its wait in the worst minute."""
        worst = max((waiting for waiting, _ in self.moments), default=0.0)
        return self.quiet <= part * (self.quiet + worst)

    @property
    def sure(self) -> bool:
        """Return whether flits wait so much longer than in the quiet minute that it is no chance."""
        return self.waiting >= SURE_RISE * self.quiet

    def part_within(self, job: int) -> float | None:
        """Return the half-width (95 %, Student's t) of a job's part, from its variation between the moments; None if only one was examined.

        The mean is weighted by the waiting, so as many moments count as Kish's effective size (1965).
        """
        waits, parts = [waiting for waiting, _ in self.moments], [part.get(job, 0.0) for _, part in self.moments]
        if len(parts) < 2 or sum(waits) <= 0:
            return None
        effective = sum(waits) ** 2 / sum(waiting**2 for waiting in waits)
        return student_quantile(len(parts) - 1) * stdev(parts) / sqrt(effective)

    @property
    def known(self) -> bool:
        """Return whether the flow identifies jobs or shows that nothing stalls; otherwise places and times are used."""
        return self.reason is None and self.counted >= LEAST_COUNTED


def name_jobs(
    flow: Flow, own: int, before: Sequence[int], after: Sequence[int], started: Collection[int] = ()
) -> list[int]:
    """Return the jobs named for the waiting, by job_pk: those that stand out in one of the minutes or in all of them; empty if there are none.

    The first is a job that ran `before` the job (`own`) was slow. Jobs that started `after` it can be named only in addition, and do not put
    the first one in doubt. `started` are those that started when the job became slow.
    """
    return _name_together(flow, own, before, after, started) or _name_in_turn(flow, own, before, after, started)


def _name_in_turn(
    flow: Flow, own: int, before: Sequence[int], after: Sequence[int], started: Collection[int]
) -> list[int]:
    """Return the job that stands out before later ones joined, and those: where later ones make flits wait much longer, they hide it."""
    joined = [job for job in _stand_out(flow.part, own) if job in after and (flow.several or _added_waiting(flow, job))]
    earlier = [
        (waiting, part) for waiting, part in flow.moments if all(part.get(job, 0.0) < LEAST_PART for job in joined)
    ]
    if not joined or not earlier:
        return []
    first = _name_together(_restrict_flow(flow, earlier, own), own, before, [], started)
    whole = sum(waiting for waiting, _ in flow.moments)
    enough = first and all(
        sum(waiting * part.get(job, 0.0) for waiting, part in earlier) >= LEAST_HIDDEN * whole for job in first
    )
    return [*first, *joined][:MOST_NAMED] if enough else []


def _restrict_flow(flow: Flow, moments: Sequence[tuple[float, Mapping[int, float]]], own: int) -> Flow:
    """Return the waiting of some of the moments alone."""
    whole = sum(waiting for waiting, _ in moments)
    jobs = {job for _, part in moments for job in part}
    part = {job: sum(waiting * part.get(job, 0.0) for waiting, part in moments) / whole for job in jobs if whole > 0}
    return replace(flow, waiting=whole / len(moments), part=part, own=part.get(own, 0.0), moments=moments)


def _name_together(
    flow: Flow, own: int, before: Sequence[int], after: Sequence[int], started: Collection[int]
) -> list[int]:
    """Return the jobs that stand out, as in `name_jobs`."""
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
    passers = set(after).difference(several)
    second = max((part for job, part in flow.part.items() if job not in {own, several[0], *passers}), default=0.0)
    for chosen, least in ((several[:1], max(LEAST_NAMED, LEAST_LEAD * second)), (several, LEAST_NEARLY_ALL)):
        if flow.to_file_system and len(chosen) == 1 and second >= LEAST_PART and chosen[0] not in started:
            continue
        if sum(flow.part[job] for job in chosen) >= max(least, LEAST_LEAD * flow.own):
            if not flow.to_file_system or len(chosen) == 1:
                return chosen
            # Nothing shows that the job uses the file system, so of several jobs on that path those are named that are also in the way of its other traffic,
            # or that started when it became slow.
            return [
                job
                for job in chosen
                if flow.between.get(job, 0.0) >= LEAST_PART or (job == chosen[0] and job in started)
            ]
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
    """Return jobs with large parts that together are most of the whole and clearly above the rest."""
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


def slows_itself(flow: Flow, own: int, usual_since_s: float | None) -> bool:
    """Return whether a job's (`own`) traffic causes most of its waiting, and a large part in every minute in which it waits long: it is always there.

    `usual_since_s` is its start if it ran at its usual speed at first, else None. A quiet minute before that does not show what its usual traffic waits for.
    """
    if usual_since_s is not None and flow.quiet_s + flow.resolution_s / 2 <= usual_since_s:
        return False
    worst = max((waiting for waiting, _ in flow.moments), default=0.0)
    always = all(
        part.get(own, 0.0) >= LEAST_PART for waiting, part in flow.moments if waiting >= LEAST_OF_WORST * worst
    )
    return flow.carried and flow.own >= LEAST_NAMED and always
