"""Who says where and when a job should start: nobody, what REST serves with some of its parts, or an oracle.

The served advisers are given what a site records, and nothing else: counters by group, and jobs with user, application, nodes, place and times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.advice.decide import PlacementQuestion, advise
from flitwatch_api.advice.parts import Parts
from flitwatch_db.estimates.advice import Basis, congestion_then
from flitwatch_domain.blame import NAMED
from flitwatch_domain.neighbourhood import Jobs, Windows, circumstances, large_job_nodes, neighbourhood
from flitwatch_domain.outlook import HOUR_S, next_hour
from flitwatch_ml.blame.checks import TooFewRuns
from flitwatch_ml.work.blame import fitted
from flitwatch_twin.calendar import WEEK_S
from flitwatch_twin.campaign.simulate import EPOCH_S

#: The newest runs of an application that its weekly estimate of blame takes.
MOST_RUNS = 250
#: Congestion now is that of the last ten minutes, as the service reads it.
NOW_S = 600.0

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ObservedJob:
    """A job as accounting records it; `groups` holds its nodes in each group of the fabric."""

    job: int
    user: str
    application: str
    nodes: int
    groups: NDArray[np.int64]
    start_s: float


@dataclass(frozen=True)
class Question:
    """A job that could start now; `candidates` are groups with room for it, or those of the nodes that it would get."""

    user: str
    application: str
    nodes: int
    candidates: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Answer:
    """Start now, in the candidate `preferred` or anywhere; or ask again at `again_s`."""

    preferred: int | None = None
    again_s: float | None = None


class Adviser(Protocol):
    """Is told what a site sees, in order of time (seconds since the month began)."""

    def counted(self, now_s: float, until_s: float, stalls_per_flit: Float) -> None:
        """Counters of each group over a while."""
        ...

    def started(self, job: ObservedJob) -> None:
        """A job got its nodes."""
        ...

    def ended(self, job: ObservedJob, end_s: float) -> None:
        """A job ended."""
        ...

    def answer(self, question: Question, now_s: float) -> Answer:
        """Advice on a job that could start now."""
        ...


class PastRun(TypedDict):
    """A run as advice reads it of the database: seconds, epoch seconds of its start, and its groups' stalls per flit, None where unknown."""

    application: str
    nodes: int
    user: str
    time_s: float
    start_s: float
    fabric_id: int
    groups: list[int]
    congestion: float | None


class RunTimes(TypedDict):
    """Seconds of each run."""

    time_s: list[float]


class BlamedUser(TypedDict):
    """A user that an application's estimate names, with the exposure of each of its runs."""

    user: str
    application: str
    nodes: int
    estimate_id: int
    place: int
    q: float
    exposure: list[float]
    runs: RunTimes


class RunningBlamed(BlamedUser):
    """One that runs jobs now, and in which groups."""

    groups: list[str]


@dataclass(eq=False)
class Served:
    """The adviser that REST uses, with some of its parts, and estimates made anew each week from what ended until then.

    Parameters
    ----------
    parts : what it may rest on.
    machine_nodes, groups : size of the machine.
    """

    parts: Parts
    machine_nodes: int
    groups: int
    _running: dict[int, ObservedJob] = field(default_factory=dict)
    _past: list[tuple[ObservedJob, float]] = field(default_factory=list)
    _minutes: list[tuple[float, Float]] = field(default_factory=list)
    _hours: dict[tuple[int, int, int], float | None] = field(default_factory=dict)
    _hour: tuple[int, int, Float] | None = None
    _pending: list[tuple[ObservedJob, float]] = field(default_factory=list)
    _blamed: dict[str, list[BlamedUser]] = field(default_factory=dict)
    _next_estimate_s: float = WEEK_S
    _basis: Basis | None = None
    _renewed_s: float = -1.0

    def counted(self, now_s: float, until_s: float, stalls_per_flit: Float) -> None:
        """Keep the last minutes, and hourly means."""
        self._minutes.append((until_s, stalls_per_flit))
        self._minutes = [one for one in self._minutes if one[0] > until_s - NOW_S]
        hour = int((EPOCH_S + now_s) // HOUR_S)
        if self._hour is None or self._hour[0] != hour:
            self._close_hour()
            self._hour = (hour, 0, np.zeros(self.groups))
        self._hour = (hour, self._hour[1] + 1, self._hour[2] + stalls_per_flit)

    def _close_hour(self) -> None:
        if self._hour is None:
            return
        hour, count, total = self._hour
        self._hours.update({(0, group, hour * HOUR_S): float(total[group] / count) for group in range(self.groups)})
        basis = self._current()
        # A run's congestion is known once its last hour is counted.
        for seen, end_s in self._pending:
            basis.runs.setdefault(seen.application, []).append(self._run(seen, end_s))
        self._pending = []
        basis.memo.clear()

    def _current(self) -> Basis:
        if self._basis is None:
            nodes: dict[str, list[tuple[int, int]]] = {str(group): [(0, group)] for group in range(self.groups)}
            self._basis = Basis(EPOCH_S, 1, "", nodes=nodes)
        return self._basis

    def _run(self, seen: ObservedJob, end_s: float) -> PastRun:
        row: PastRun = {
            "application": seen.application,
            "nodes": seen.nodes,
            "user": seen.user,
            "time_s": end_s - seen.start_s,
            "start_s": EPOCH_S + seen.start_s,
            "fabric_id": 0,
            "groups": np.flatnonzero(seen.groups).tolist(),
            "congestion": None,
        }
        row["congestion"] = congestion_then(self._hours, row)
        return row

    def started(self, job: ObservedJob) -> None:
        """Keep who runs where."""
        self._running[job.job] = job

    def ended(self, job: ObservedJob, end_s: float) -> None:
        """Keep what became of it."""
        self._running.pop(job.job)
        self._past.append((job, end_s))
        if job.application:
            self._pending.append((job, end_s))

    def answer(self, question: Question, now_s: float) -> Answer:
        """As `POST /advice` answers."""
        if self.parts.blame and now_s >= self._next_estimate_s:
            self._estimate(now_s)
            self._next_estimate_s += WEEK_S
        basis = self._renewed(now_s)
        asked = PlacementQuestion(
            question.user,
            question.application,
            question.nodes,
            [[str(group) for group in groups] for groups in question.candidates],
        )
        advice = advise(basis, asked, str, 0.0, parts=self.parts)
        return Answer(advice.preferred, None if advice.retry_after_s is None else now_s + advice.retry_after_s)

    def _renewed(self, now_s: float) -> Basis:
        """The basis as it would be read now."""
        basis = self._current()
        if self._renewed_s == now_s:
            return basis
        self._renewed_s = now_s
        groups: dict[tuple[int, int], tuple[float, float]] = {}
        if self._minutes:
            mean = np.mean([ratio for _, ratio in self._minutes], axis=0)
            until = EPOCH_S + self._minutes[-1][0]
            groups = {(0, group): (float(mean[group]), until) for group in range(self.groups)}
        ahead = next_hour(self._hours, groups) if self.parts.forecast else {}
        self._basis = Basis(
            EPOCH_S + now_s,
            1,
            "",
            groups,
            basis.nodes,
            basis.runs,
            {application: [*rows] for application, rows in self._running_blamed().items()},
            memo=basis.memo,
            ahead=ahead,
        )
        return self._basis

    def _running_blamed(self) -> dict[str, list[RunningBlamed]]:
        """Blamed users with jobs that run now, and in which groups."""
        places: dict[str, set[int]] = defaultdict(set)
        for seen in self._running.values():
            places[seen.user] |= set(np.flatnonzero(seen.groups).tolist())
        return {
            application: [
                {**row, "groups": [f"0/{group}" for group in sorted(places[row["user"]])]}
                for row in rows
                if row["user"] in places
            ]
            for application, rows in self._blamed.items()
        }

    def _estimate(self, now_s: float) -> None:
        """Blame for every application from the runs that ended until now."""
        jobs = [*self._past, *((seen, np.inf) for seen in self._running.values())]
        names = sorted({seen.user for seen, _ in jobs})
        at = {name: place for place, name in enumerate(names)}
        table = Jobs(
            np.array([at[seen.user] for seen, _ in jobs]),
            np.array([seen.start_s for seen, _ in jobs]),
            np.array([end_s for _, end_s in jobs], float),
            np.array([seen.nodes for seen, _ in jobs], float),
            np.array([seen.groups for seen, _ in jobs], float),
        )
        applications = sorted({seen.application for seen, _ in self._past} - {""})
        self._blamed = {name: self._blame(name, jobs, names, table) for name in applications}

    def _blame(
        self, application: str, jobs: Sequence[tuple[ObservedJob, float]], names: list[str], table: Jobs
    ) -> list[BlamedUser]:
        rows = [row for row, (seen, end_s) in enumerate(jobs) if seen.application == application and np.isfinite(end_s)]
        own = np.array(rows[-MOST_RUNS:], np.int64)
        windows = Windows(table.begin_s[own], table.end_s[own], own)
        met = neighbourhood(windows, table, len(names), large_job_nodes(self.machine_nodes))
        times = windows.end_s - windows.begin_s
        try:
            blame = fitted(met.exposure, times, EPOCH_S + windows.begin_s, circumstances(windows, table))
        except TooFewRuns:
            return []
        return [
            {
                "user": names[user],
                "application": application,
                "nodes": jobs[rows[0]][0].nodes,
                "estimate_id": 0,
                "place": place,
                "q": float(blame.q_value_[user]),
                "exposure": met.exposure[:, user].tolist(),
                "runs": {"time_s": times.tolist()},
            }
            for place, user in enumerate(blame.ranking_.tolist(), 1)
            if blame.verdict_[user] == NAMED
        ]
