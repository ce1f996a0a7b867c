"""Who says where and when a job should start: nobody, what REST serves with some of its parts, or an oracle.

The served advisers are given what a site records, and nothing else: counters by group, and jobs with user, application, nodes, place and times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.advice.decide import PlacementQuestion, advise
from flitwatch_api.advice.parts import Parts
from flitwatch_api.advice.schemas import Advice
from flitwatch_db.estimates.advice import Basis, Congestion, Driver, congestion_then, drivers
from flitwatch_domain.blame import NAMED
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.neighbourhood import Jobs, Windows, circumstances, large_job_nodes, neighbourhood
from flitwatch_domain.network_noise.observations import NicObservation
from flitwatch_domain.network_noise.routing_modes import held_back
from flitwatch_domain.outlook import HOUR_S, Outlook
from flitwatch_domain.residents import PastTimes, Resident
from flitwatch_ml.blame.checks import TooFewRuns
from flitwatch_ml.work import deviation
from flitwatch_ml.work.blame import fitted
from flitwatch_research.advice_value.modes import ALTERNATE
from flitwatch_simulation.application_aware.advice import DEFAULT_MODE, choose_mode
from flitwatch_twin.calendar import DAY_S, WEEK_S
from flitwatch_twin.campaign.simulate import EPOCH_S

#: The newest runs of an application that its weekly estimate of blame takes.
MOST_RUNS = 250
#: Congestion now is that of the last ten minutes, as the service reads it.
NOW_S = 600.0
#: Message size for which routing modes are compared (De Sensi 2019, figure 10).
MESSAGE_BYTES = 32768
#: The counter of each kind of congestion, as the estimate of drivers takes it.
COUNTERS = {
    "stalls on the row bus": "RT_RB_STL",
    "stalls in the column buffers": "PT_CB_STL_RQ",
    "traffic at router tiles": "RT_FLIT_TOT",
    "traffic at processor tiles": "PT_FLIT_TOT",
}

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
    """A job that could start now; `candidates` hold the group of each node that it could get."""

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

    def counted(self, now_s: float, until_s: float, congestion: Mapping[str, Float]) -> None:
        """Counters of each group over a while, by kind of congestion."""
        ...

    def started(self, job: ObservedJob) -> None:
        """A job got its nodes."""
        ...

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """A job ended; its network cards counted this share of what they can send."""
        ...

    def carded(self, job: ObservedJob, mode: str, observed: NicObservation) -> None:
        """The network cards of a job that alternates between modes counted this under one of them."""
        ...

    def answer(self, question: Question, now_s: float) -> Answer:
        """Advice on a job that could start now."""
        ...

    def routed(self, question: Question, now_s: float) -> str | None:
        """How a job that starts on the one candidate of the question is to be routed, or ALTERNATE; None: as usual."""
        ...


class PastRun(TypedDict):
    """A run as advice reads it of the database: seconds, epoch seconds of its start, its groups' stalls per flit and their congestion of the kind that drives it, None where unknown."""

    application: str
    nodes: int
    user: str
    time_s: float
    start_s: float
    fabric_id: int
    groups: list[int]
    congestion: float | None
    driven: float | None


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
    places, delays : whether a preferred place is taken, and a delay waited for.
    """

    parts: Parts
    machine_nodes: int
    groups: int
    places: bool = True
    delays: bool = True
    _running: dict[int, ObservedJob] = field(default_factory=dict)
    _past: list[tuple[ObservedJob, float]] = field(default_factory=list)
    _minutes: list[tuple[float, Mapping[str, Float]]] = field(default_factory=list)
    _hours: dict[str, dict[tuple[int, int, int], float | None]] = field(default_factory=lambda: defaultdict(dict))
    _outlooks: dict[str, Outlook] = field(default_factory=lambda: defaultdict(Outlook))
    _hour: tuple[int, int, dict[str, Float]] | None = None
    _pending: list[tuple[ObservedJob, float]] = field(default_factory=list)
    _seen: list[PastRun] = field(default_factory=list)
    _blamed: dict[str, list[BlamedUser]] = field(default_factory=dict)
    _drivers: dict[tuple[str, int], Driver] = field(default_factory=dict)
    _intensity: dict[str, dict[str, Any]] = field(default_factory=dict)
    _cards: dict[int, dict[str, list[NicObservation]]] = field(default_factory=dict)
    _alternated_s: dict[str, float] = field(default_factory=dict)
    _modes: dict[str, dict[str, Any]] = field(default_factory=dict)
    _times: PastTimes | None = None
    _next_times_s: float = 0.0
    _next_estimate_s: float = WEEK_S
    _basis: Basis | None = None
    _renewed_s: float = -1.0

    def counted(self, now_s: float, until_s: float, congestion: Mapping[str, Float]) -> None:
        """Keep the last minutes, and hourly means."""
        self._minutes.append((until_s, congestion))
        self._minutes = [one for one in self._minutes if one[0] > until_s - NOW_S]
        hour = int((EPOCH_S + now_s) // HOUR_S)
        if self._hour is None or self._hour[0] != hour:
            self._close_hour()
            self._hour = (hour, 0, {kind: np.zeros(self.groups) for kind in congestion})
        total = {kind: held + congestion[kind] for kind, held in self._hour[2].items()}
        self._hour = (hour, self._hour[1] + 1, total)

    def _close_hour(self) -> None:
        if self._hour is None:
            return
        hour, count, total = self._hour
        for kind, held in total.items():
            means = (held / count).tolist()
            for group, mean in enumerate(means):
                self._hours[kind][0, group, hour * HOUR_S] = mean
                self._outlooks[kind].add((0, group), hour * HOUR_S, mean)
        basis = self._current()
        # A run's congestion is known once its last hour is counted.
        for seen, end_s in self._pending:
            row = self._run(seen, end_s)
            self._seen.append(row)
            basis.runs.setdefault(seen.application, []).append(row)
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
            "driven": None,
        }
        row["congestion"] = congestion_then(self._hours[""], row)
        self._note_driven(row)
        return row

    def _note_driven(self, row: PastRun) -> None:
        driver = self._drivers.get((row["application"], row["nodes"]))
        row["driven"] = None if driver is None else congestion_then(self._hours[driver.kind], row)

    def started(self, job: ObservedJob) -> None:
        """Keep who runs where."""
        self._running[job.job] = job

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """Keep what became of it."""
        self._running.pop(job.job)
        self._past.append((job, end_s))
        if job.application:
            self._pending.append((job, end_s))
            self._intensity[job.application] = {"share": sent_share}
        if job.job in self._cards:
            self._choose_mode(job, self._cards.pop(job.job))

    def carded(self, job: ObservedJob, mode: str, observed: NicObservation) -> None:
        """Keep it until the job has ended."""
        self._cards.setdefault(job.job, {}).setdefault(mode, []).append(observed)

    def _choose_mode(self, job: ObservedJob, observed: dict[str, list[NicObservation]]) -> None:
        """As the task `routing.advice`: the mode that a job's own network cards favour beyond doubt."""
        try:
            chosen = choose_mode(observed, MESSAGE_BYTES)
        except BadRequest:
            return
        environment = f"MPICH_GNI_ROUTING_MODE={chosen.mode or DEFAULT_MODE}"
        groups = int(np.count_nonzero(job.groups))
        self._modes[job.application] = {
            "environment": environment,
            "recommendation_id": 0,
            "reason": "",
            "groups": groups,
        }

    def answer(self, question: Question, now_s: float) -> Answer:
        """As `POST /advice` answers."""
        if (self.parts.blame or self.parts.drivers) and now_s >= self._next_estimate_s:
            self._estimate(now_s)
            self._next_estimate_s += WEEK_S
        advice = self._advice(question, now_s)
        preferred = advice.preferred if self.places else None
        again_s = now_s + advice.retry_after_s if self.delays and advice.retry_after_s is not None else None
        return Answer(preferred, again_s)

    def _advice(self, question: Question, now_s: float) -> Advice:
        candidates = [[str(group) for group in groups] for groups in question.candidates]
        asked = PlacementQuestion(question.user, question.application, question.nodes, candidates)
        return advise(self._renewed(now_s), asked, str, 0.0, parts=self.parts)

    def routed(self, question: Question, now_s: float) -> str | None:
        """As `POST /advice` answers about the job's own nodes.

        Once a week a job of the application alternates where what its cards count may be used, so that there is something to advise on.
        """
        if not self.parts.routing:
            return None
        groups = len({*question.candidates[0]})
        usable = held_back(groups, groups) is None
        if usable and now_s >= self._alternated_s.get(question.application, -np.inf) + WEEK_S:
            self._alternated_s[question.application] = now_s
            return ALTERNATE
        return self._advice(question, now_s).routing_mode

    def _renewed(self, now_s: float) -> Basis:
        """The basis as it would be read now."""
        basis = self._current()
        if self._renewed_s == now_s:
            return basis
        self._renewed_s = now_s
        usual = self._congestion("")
        kinds = {driver.kind for driver in self._drivers.values()} if self.parts.drivers else set()
        self._basis = Basis(
            EPOCH_S + now_s,
            1,
            "",
            usual.now,
            basis.nodes,
            basis.runs,
            {application: [*rows] for application, rows in self._running_blamed().items()},
            routing_modes={**self._modes},
            memo=basis.memo,
            ahead=usual.ahead,
            usual=usual.usual,
            kinds={kind: self._congestion(kind) for kind in kinds},
            drivers=self._drivers,
            residents=self._residents(now_s) if self.parts.running else {},
            intensity={**self._intensity} if self.parts.pattern else {},
        )
        return self._basis

    def _congestion(self, kind: str) -> Congestion:
        if not self._minutes:
            return Congestion()
        mean = np.mean([shown[kind] for _, shown in self._minutes], axis=0).tolist()
        until = EPOCH_S + self._minutes[-1][0]
        now = {(0, group): (mean[group], until) for group in range(self.groups)}
        outlook = self._outlooks[kind]
        return Congestion(
            now,
            outlook.next_hour(now) if self.parts.forecast else {},
            outlook.usual_ratio() if self.parts.running else {},
        )

    def _residents(self, now_s: float) -> dict[tuple[int, int], list[Resident]]:
        """Who holds nodes of each group, with what is left of their run times; past times are read anew each day."""
        if self._times is None or now_s >= self._next_times_s:
            done = [(seen, end_s) for seen, end_s in self._past if end_s > seen.start_s]
            self._times = PastTimes(
                [seen.user for seen, _ in done],
                [seen.application for seen, _ in done],
                np.array([seen.nodes for seen, _ in done], float),
                np.array([end_s - seen.start_s for seen, end_s in done]),
            )
            self._next_times_s = now_s + DAY_S
        found: dict[tuple[int, int], list[Resident]] = defaultdict(list)
        for seen in self._running.values():
            left_s = self._times.left_s(seen.user, seen.application, seen.nodes, now_s - seen.start_s)
            for group in np.flatnonzero(seen.groups).tolist():
                found[0, group].append(Resident(seen.user, int(seen.groups[group]), left_s))
        return found

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
        """Blame and drivers for every application from the runs that ended until now."""
        if self.parts.drivers:
            self._drivers = self._driving()
            for row in self._seen:
                self._note_driven(row)
            self._current().memo.clear()
        if not self.parts.blame:
            return
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

    def _driving(self) -> dict[tuple[str, int], Driver]:
        """What carries each application's deviation: the served estimator on the means of its groups' counters over each run, one step a run."""
        found: list[dict[str, Any]] = []
        for application, rows in self._current().runs.items():
            own = rows[-MOST_RUNS:]
            shown = [[congestion_then(self._hours[kind], row) for kind in COUNTERS] for row in own]
            known = [at for at, one in enumerate(shown) if None not in one]
            times = np.array([own[at]["time_s"] for at in known])[:, None]
            counts = np.array([shown[at] for at in known], float).reshape(len(known), 1, len(COUNTERS))
            names = list(COUNTERS.values())
            try:
                model = deviation.fitted(counts * times[:, :, None], times, np.zeros((len(known), 0)), names)
            except NotEnoughData:
                continue
            groups = deviation.group_rows(model, names)
            found.append({"application": application, "nodes": own[0]["nodes"], "estimate_id": 0, "groups": groups})
        return drivers(found)
