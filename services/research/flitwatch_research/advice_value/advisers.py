"""Advisers that decide where and when a job starts: none, the advice of the REST API with some of its parts, or an oracle.

The served advisers use only a site's records: counters by group, and jobs with user, application, nodes, place and times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.estimates.advice import congestion_then, pick_drivers
from flitwatch_domain.advice.basis import Basis, Congestion, Driver
from flitwatch_domain.advice.decision import PlacementQuestion, give_advice
from flitwatch_domain.advice.pattern import Parts
from flitwatch_domain.advice.schemas import Advice
from flitwatch_domain.blame import NAMED
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.neighbourhood import Jobs, Windows, compute_neighbourhood, large_job_nodes, measure_circumstances
from flitwatch_domain.network_noise.observations import NicObservation, held_back
from flitwatch_domain.outlook import HOUR_S, Outlook
from flitwatch_domain.run_time import PastTimes, Resident
from flitwatch_ml.blame.checks import TooFewRuns
from flitwatch_ml.work import deviation
from flitwatch_ml.work.blame import fit_blame
from flitwatch_research.advice_value.modes import ALTERNATE
from flitwatch_research.campaign.simulate import EPOCH_S
from flitwatch_simulation.application_aware import DEFAULT_MODE, choose_mode
from flitwatch_twin.calendar import DAY_S, WEEK_S

#: Number of an application's newest runs in its weekly blame estimate.
MOST_RUNS = 250
#: Current congestion is that of the last ten minutes, as in the service.
NOW_S = 600.0
#: Message size for which routing modes are compared (De Sensi 2019, figure 10).
MESSAGE_BYTES = 32768
#: The counter of each kind of congestion, as in the estimate of drivers.
COUNTERS = {
    "stalls on the row bus": "RT_RB_STL",
    "stalls in the column buffers": "PT_CB_STL_RQ",
    "traffic at router tiles": "RT_FLIT_TOT",
    "traffic at processor tiles": "PT_FLIT_TOT",
}

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ObservedJob:
    """A job as recorded by accounting; `groups` contains its number of nodes in each group of the fabric."""

    job: int
    user: str
    application: str
    nodes: int
    groups: NDArray[np.int64]
    start_s: float


@dataclass(frozen=True)
class Question:
    """A job that can start now; `candidates` contain the group of each available node."""

    user: str
    application: str
    nodes: int
    candidates: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Answer:
    """An answer: start now, in the candidate `preferred` or anywhere; or ask again at `again_s`."""

    preferred: int | None = None
    again_s: float | None = None


class Adviser(Protocol):
    """Interface of an adviser, which gets a site's records in order of time (seconds since the month began)."""

    def counted(self, now_s: float, until_s: float, congestion: Mapping[str, Float]) -> None:
        """Add counters of each group over an interval, by kind of congestion."""
        ...

    def started(self, job: ObservedJob) -> None:
        """Record that a job got its nodes."""
        ...

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """Record that a job ended; its network cards counted this share of their capacity."""
        ...

    def carded(self, job: ObservedJob, mode: str, observed: NicObservation) -> None:
        """Add counters of network cards under one mode, for a job that alternates between modes."""
        ...

    def answer(self, question: Question, now_s: float) -> Answer:
        """Return advice on a job that can start now."""
        ...

    def routed(self, question: Question, now_s: float) -> str | None:
        """Return the routing mode for a job that starts on the question's only candidate, or ALTERNATE; None: the usual mode."""
        ...


class PastRun(TypedDict):
    """A past run in the database: seconds, start in epoch seconds, stalls per flit of its groups and their congestion of the driving kind, None if unknown."""

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
    """A user named in an application's estimate, with the exposure of each run."""

    user: str
    application: str
    nodes: int
    estimate_id: int
    place: int
    q: float
    exposure: list[float]
    runs: RunTimes


class RunningBlamed(BlamedUser):
    """A blamed user with running jobs, and their groups."""

    groups: list[str]


@dataclass(eq=False)
class Served:
    """The adviser of the REST API, with some of its parts, and estimates updated each week from the runs that have ended.

    Parameters
    ----------
    parts : parts of the advice to use.
    machine_nodes, groups : size of the machine.
    places, delays : whether to follow preferred places, and delays.
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
        """Store the last minutes and hourly means."""
        self._minutes.append((until_s, congestion))
        self._minutes = [minute for minute in self._minutes if minute[0] > until_s - NOW_S]
        hour = int((EPOCH_S + now_s) // HOUR_S)
        if self._hour is None or self._hour[0] != hour:
            self._close_hour()
            self._hour = (hour, 0, {kind: np.zeros(self.groups) for kind in congestion})
        total = {kind: sums + congestion[kind] for kind, sums in self._hour[2].items()}
        self._hour = (hour, self._hour[1] + 1, total)

    def _close_hour(self) -> None:
        if self._hour is None:
            return
        hour, count, total = self._hour
        for kind, sums in total.items():
            means = (sums / count).tolist()
            for group, mean in enumerate(means):
                self._hours[kind][0, group, hour * HOUR_S] = mean
                self._outlooks[kind].add((0, group), hour * HOUR_S, mean)
        basis = self._get_basis()
        # A run's congestion is known once its last hour is complete.
        for job, end_s in self._pending:
            row = self._make_past_run(job, end_s)
            self._seen.append(row)
            basis.runs.setdefault(job.application, []).append(row)
        self._pending = []
        basis.memo.clear()

    def _get_basis(self) -> Basis:
        if self._basis is None:
            nodes: dict[str, list[tuple[int, int]]] = {str(group): [(0, group)] for group in range(self.groups)}
            self._basis = Basis(EPOCH_S, 1, "", nodes=nodes)
        return self._basis

    def _make_past_run(self, seen: ObservedJob, end_s: float) -> PastRun:
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
        """Store the running job and its place."""
        self._running[job.job] = job

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """Store the result of the job."""
        self._running.pop(job.job)
        self._past.append((job, end_s))
        if job.application:
            self._pending.append((job, end_s))
            self._intensity[job.application] = {"share": sent_share}
        if job.job in self._cards:
            self._choose_mode(job, self._cards.pop(job.job))

    def carded(self, job: ObservedJob, mode: str, observed: NicObservation) -> None:
        """Store the observation until the job has ended."""
        self._cards.setdefault(job.job, {}).setdefault(mode, []).append(observed)

    def _choose_mode(self, job: ObservedJob, observed: dict[str, list[NicObservation]]) -> None:
        """Choose the mode significantly favoured by a job's own network cards, as the task `routing.advice` does."""
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
        """Return the answer of `POST /advice`."""
        if (self.parts.blame or self.parts.drivers) and now_s >= self._next_estimate_s:
            self._update_estimates(now_s)
            self._next_estimate_s += WEEK_S
        advice = self._compute_advice(question, now_s)
        preferred = advice.preferred if self.places else None
        again_s = now_s + advice.retry_after_s if self.delays and advice.retry_after_s is not None else None
        return Answer(preferred, again_s)

    def _compute_advice(self, question: Question, now_s: float) -> Advice:
        candidates = [[str(group) for group in groups] for groups in question.candidates]
        placement = PlacementQuestion(question.user, question.application, question.nodes, candidates)
        return give_advice(self._renew_basis(now_s), placement, str, 0.0, parts=self.parts)

    def routed(self, question: Question, now_s: float) -> str | None:
        """Return the answer of `POST /advice` for the job's own nodes.

        If NIC counters are used, one job of the application alternates between modes each week, to provide data for advice.
        """
        if not self.parts.routing:
            return None
        groups = len({*question.candidates[0]})
        usable = held_back(groups, groups) is None
        if usable and now_s >= self._alternated_s.get(question.application, -np.inf) + WEEK_S:
            self._alternated_s[question.application] = now_s
            return ALTERNATE
        return self._compute_advice(question, now_s).routing_mode

    def _renew_basis(self, now_s: float) -> Basis:
        """Return the current basis of advice."""
        basis = self._get_basis()
        if self._renewed_s == now_s:
            return basis
        self._renewed_s = now_s
        usual = self._read_congestion("")
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
            kinds={kind: self._read_congestion(kind) for kind in kinds},
            drivers=self._drivers,
            residents=self._list_residents(now_s) if self.parts.running else {},
            intensity={**self._intensity} if self.parts.pattern else {},
        )
        return self._basis

    def _read_congestion(self, kind: str) -> Congestion:
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

    def _list_residents(self, now_s: float) -> dict[tuple[int, int], list[Resident]]:
        """List the users with nodes in each group, with remaining run times; past run times are reread each day."""
        if self._times is None or now_s >= self._next_times_s:
            done = [(job, end_s) for job, end_s in self._past if end_s > job.start_s]
            self._times = PastTimes(
                [job.user for job, _ in done],
                [job.application for job, _ in done],
                np.array([job.nodes for job, _ in done], float),
                np.array([end_s - job.start_s for job, end_s in done]),
            )
            self._next_times_s = now_s + DAY_S
        residents: dict[tuple[int, int], list[Resident]] = defaultdict(list)
        for job in self._running.values():
            left_s = self._times.left_s(job.user, job.application, job.nodes, now_s - job.start_s)
            for group in np.flatnonzero(job.groups).tolist():
                residents[0, group].append(Resident(job.user, int(job.groups[group]), left_s))
        return residents

    def _running_blamed(self) -> dict[str, list[RunningBlamed]]:
        """Return blamed users with running jobs, and their groups."""
        places: dict[str, set[int]] = defaultdict(set)
        for job in self._running.values():
            places[job.user] |= set(np.flatnonzero(job.groups).tolist())
        return {
            application: [
                {**row, "groups": [f"0/{group}" for group in sorted(places[row["user"]])]}
                for row in rows
                if row["user"] in places
            ]
            for application, rows in self._blamed.items()
        }

    def _update_estimates(self, now_s: float) -> None:
        """Update blame and drivers of every application from the runs that have ended."""
        if self.parts.drivers:
            self._drivers = self._estimate_drivers()
            for row in self._seen:
                self._note_driven(row)
            self._get_basis().memo.clear()
        if not self.parts.blame:
            return
        jobs = [*self._past, *((job, np.inf) for job in self._running.values())]
        names = sorted({job.user for job, _ in jobs})
        at = {name: place for place, name in enumerate(names)}
        table = Jobs(
            np.array([at[job.user] for job, _ in jobs]),
            np.array([job.start_s for job, _ in jobs]),
            np.array([end_s for _, end_s in jobs], float),
            np.array([job.nodes for job, _ in jobs], float),
            np.array([job.groups for job, _ in jobs], float),
        )
        applications = sorted({job.application for job, _ in self._past} - {""})
        self._blamed = {name: self._blame_users(name, jobs, names, table) for name in applications}

    def _blame_users(
        self, application: str, jobs: Sequence[tuple[ObservedJob, float]], names: list[str], table: Jobs
    ) -> list[BlamedUser]:
        rows = [row for row, (job, end_s) in enumerate(jobs) if job.application == application and np.isfinite(end_s)]
        own = np.array(rows[-MOST_RUNS:], np.int64)
        windows = Windows(table.begin_s[own], table.end_s[own], own)
        met = compute_neighbourhood(windows, table, len(names), large_job_nodes(self.machine_nodes))
        times = windows.end_s - windows.begin_s
        try:
            blame = fit_blame(met.exposure, times, EPOCH_S + windows.begin_s, measure_circumstances(windows, table))
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

    def _estimate_drivers(self) -> dict[tuple[str, int], Driver]:
        """Estimate the drivers of each application's deviation with the served estimator, using groups' mean counters with one step per run."""
        estimates: list[dict[str, Any]] = []
        for application, rows in self._get_basis().runs.items():
            own = rows[-MOST_RUNS:]
            shown = [[congestion_then(self._hours[kind], row) for kind in COUNTERS] for row in own]
            complete = [at for at, counts_by_kind in enumerate(shown) if None not in counts_by_kind]
            times = np.array([own[at]["time_s"] for at in complete])[:, None]
            counts = np.array([shown[at] for at in complete], float).reshape(len(complete), 1, len(COUNTERS))
            names = list(COUNTERS.values())
            try:
                model = deviation.fit_deviation(counts * times[:, :, None], times, np.zeros((len(complete), 0)), names)
            except NotEnoughData:
                continue
            groups = deviation.group_rows(model, names)
            estimates.append({"application": application, "nodes": own[0]["nodes"], "estimate_id": 0, "groups": groups})
        return pick_drivers(estimates)
