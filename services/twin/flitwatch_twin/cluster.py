"""Simulated machine, second by second: submissions, allocations, flows, fabric, counters, instrumented runs."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_twin.applications import Application, find_application
from flitwatch_twin.calendar import HOUR_S, day_load
from flitwatch_twin.counters import Counters
from flitwatch_twin.feel import Places, RunView
from flitwatch_twin.flows import (
    FabricModel,
    FabricState,
    Flows,
    Pattern,
    exchange_pattern,
    incast_pattern,
    io_pattern,
)
from flitwatch_twin.machine import Machine, Nodes
from flitwatch_twin.planted import plant_users
from flitwatch_twin.runs import InstrumentedRun, RecordedStep
from flitwatch_twin.scheduler import Allocation, Placement, Request, Scheduler
from flitwatch_twin.spec import TwinSpec
from flitwatch_twin.static_model import StaticPathModel
from flitwatch_twin.traffic import Behaviour, job_behaviour
from flitwatch_twin.users import Population, draw_users
from flitwatch_twin.workload import CROWD, OfferedLoad, draw_submissions

#: Submissions are drawn only this far ahead, so that memory does not grow with the length of a run.
HORIZON_S = 6 * 3600.0
#: Seconds of a job's rates that are computed at once.
RATES_AHEAD_S = 64
#: Users behind the many small jobs.
CROWD_USERS = 120


@dataclass(eq=False)
class RunningJob:
    """Job on its nodes, with its traffic."""

    allocation: Allocation
    user: str
    behaviour: Behaviour | None
    patterns: list[tuple[str, Pattern]]
    run: InstrumentedRun | None = None
    moved: float = field(default=1.0)
    _since_s: float = field(default=-np.inf, repr=False)
    _ahead: list[tuple[Pattern, list[float], bool]] = field(default_factory=list, repr=False)

    def ahead(self, now_s: float) -> tuple[int, list[tuple[Pattern, list[float], bool]]]:
        """For a job with a `behaviour`, return the index of this second in the lists, and each pattern with its rates and whether the calendar scales
        them.

        The lists cover a minute, which costs little more than one second.
        """
        place = now_s - self._since_s
        if not 0 <= place < RATES_AHEAD_S:
            assert self.behaviour is not None
            times = np.arange(now_s, now_s + RATES_AHEAD_S) - self.allocation.start_s
            rates = dict(zip(("exchange", "io", "incast"), self.behaviour.rates_at(times), strict=True))
            self._ahead = [(pattern, rates[kind].tolist(), kind != "incast") for kind, pattern in self.patterns]
            self._since_s, place = now_s, 0.0
        return int(place), self._ahead


@dataclass(frozen=True)
class Tick:
    """Events up to `time_s` (seconds since the start of emission)."""

    time_s: int
    started: list[RunningJob]
    ended: list[RunningJob]
    steps: list[tuple[InstrumentedRun, RecordedStep]]
    finished: list[InstrumentedRun]
    flows: Flows
    owners: list[str]
    state: FabricState


#: Random streams that are the same every day.
_OF_THE_SITE = ("users", "planted")


class Cluster:
    """Simulated machine with users.

    Parameters
    ----------
    spec : the scenario.
    seed : the same seed gives the same machine, jobs, counters and step times, regardless of the wall clock.
    muted : users whose jobs keep their nodes but send nothing: the counterfactual.
    first_job : number of the first job, so that twins of the same name do not share job numbers.
    day : a different number gives other jobs, counters and step times on the same machine with the same users.
    tree : a fat tree instead of the spec's dragonfly.
    """

    def __init__(
        self,
        spec: TwinSpec,
        seed: int,
        muted: frozenset[str] = frozenset(),
        first_job: int = 1000,
        day: int = 0,
        tree: Fabric | None = None,
    ) -> None:
        self.spec, self.seed, self._muted, self._first_job, self._day = spec, seed, muted, first_job, day
        self.fabric = spec.fabric.build(spec.name) if tree is None else replace(tree, name=spec.name)
        self.machine = Machine.of(self.fabric) if tree is None else Nodes.of(self.fabric)
        self.model: FabricModel = StaticPathModel(self.fabric, self.machine)
        self.places = Places(self.fabric, self.machine)
        self.counters = Counters(self.fabric, self._make_rng("counters"))
        self.users, roles = draw_users(self._make_rng("users"), self._make_population())
        self.users, self.roles, self._planted = plant_users(self.users, roles, spec, self._make_rng("planted"))
        self.running: dict[int, RunningJob] = {}
        self._scheduler = Scheduler(
            np.ones(self.machine.nodes, bool), self._make_rng("scheduler"), headroom=self._timetable_nodes()
        )
        self._ends: list[tuple[float, int]] = []
        self._calendar_s = spec.start_hour * HOUR_S
        self._requests = self._generate_submissions()
        self._next = next(self._requests)
        self.time_s = 0
        self.warm = self._warm_start()

    def job_id(self, allocation: Allocation) -> str:
        """Return the job's number in accounting."""
        return str(self._first_job + allocation.job)

    def _run_key(self, allocation: Allocation) -> str:
        return f"{self.spec.name}-{self.seed}-{self.job_id(allocation)}"

    @property
    def owner(self) -> str:
        """Return the user who submits the instrumented runs."""
        return "bench"

    def advance(self, step_s: int = 1) -> Tick:
        """Simulate one second, or `step_s` seconds at once. Flows are those of the first second, and jobs begin and end between steps."""
        now = float(self.time_s)
        ended = self._end(now)
        started = self._start_jobs(now)
        flows, owners = self._collect_flows(now)
        runs = self._list_runs()
        before = {job: run.counters(self.counters) for job, run in runs}
        state = self.model.step(flows, float(step_s))
        self.counters.update(state)
        self.time_s += step_s
        steps: list[tuple[InstrumentedRun, RecordedStep]] = []
        finished: list[InstrumentedRun] = []
        for job, run in runs:
            done, self.running[job].moved = run.advance(state, before[job], run.counters(self.counters))
            steps.extend((run, step) for step in done)
            if run.progress.finished:
                finished.append(run)
                heapq.heappush(self._ends, (now + step_s, job))
        return Tick(self.time_s, started, ended, steps, finished, flows, owners, state)

    def _timetable_nodes(self) -> int:
        """Return the number of nodes of all scheduled submissions, so that they start in time."""
        entries = [entry.nodes or find_application(entry.application).nodes for entry in self.spec.instrumented]
        entries += [entry.nodes for entry in self.spec.interference]
        return int(min(sum(entries), 0.6 * self.machine.nodes))

    def _jobs_seed(self, job: int) -> tuple[int, ...]:
        return (self.seed, job, self._day) if self._day else (self.seed, job)

    def _make_rng(self, *key: object) -> np.random.Generator:
        entropy = [self.seed, zlib.crc32(repr(key).encode())]
        return np.random.default_rng(entropy if key[0] in _OF_THE_SITE or not self._day else [*entropy, self._day])

    def _make_population(self) -> Population:
        spec = self.spec.users
        most = max(1, min(spec.most_nodes, self.machine.nodes // 2))
        return Population(
            count=spec.count,
            log2_nodes=float(np.log2(spec.typical_nodes)),
            least_nodes=max(1, min(spec.typical_nodes // 4, most)),
            most_nodes=most,
            median_duration_s=spec.median_duration_s,
            least_duration_s=spec.median_duration_s / 10,
            aggressors=0,
            innocents=min(spec.innocents, spec.count),
        )

    def _generate_submissions(self) -> Iterator[Request]:
        """Yield all requests, without end, in order of time. Times count from the start of emission."""
        spec = self.spec.users
        offer = OfferedLoad(spec.load, spec.large, float(np.log2(spec.small_nodes)), spec.median_duration_s * 0.8)
        begin, part = -self.spec.warm_start_s, 0
        by_activity = np.full(len(self.users), np.nan)
        ordinary = np.arange(len(self.users)) < spec.count
        while True:
            begin_calendar = self._calendar_s + begin
            drawn = draw_submissions(
                self._make_rng("submissions", part),
                self.users,
                by_activity,
                self.machine.nodes - self._timetable_nodes(),
                begin_calendar,
                begin_calendar + HORIZON_S,
                offer,
                ordinary,
            )
            shifted = [replace(request, submit_s=request.submit_s - self._calendar_s) for request in drawn]
            yield from sorted(
                [*shifted, *self._list_scheduled(begin, begin + HORIZON_S)], key=lambda request: request.submit_s
            )
            begin, part = begin + HORIZON_S, part + 1

    def _list_scheduled(self, begin_s: float, end_s: float) -> Iterator[Request]:
        """Return instrumented runs and planted jobs with a time in [begin_s, end_s)."""
        for entry in self.spec.instrumented:
            app = find_application(entry.application)
            nodes = min(entry.nodes or app.nodes, self.machine.nodes // 2)
            for at in _list_times_s(entry.first_s, entry.every_s, begin_s, end_s):
                yield Request(
                    len(self.users),
                    nodes,
                    app.alone_s * 6,
                    at,
                    app.name,
                    placement=Placement(entry.placement),
                    urgent=True,
                    demand=entry.demand,
                )
        for user, planted in self._planted.items():
            nodes = min(planted.nodes, self.machine.nodes // 2)
            for at in _list_times_s(planted.first_s, planted.every_s, begin_s, end_s):
                yield Request(user, nodes, planted.lasts_s, at, "", placement=Placement.SCATTERED, urgent=True)

    def _warm_start(self) -> list[RunningJob]:
        """Run the scheduler up to second 0, so that the machine starts busy."""
        while self._next.submit_s < 0:
            now = self._next.submit_s
            while self._ends and self._ends[0][0] <= now:
                self._end(self._ends[0][0])
                self._place_jobs(self._scheduler.start_ready(now))
            self._scheduler.submit(self._next)
            self._next = next(self._requests)
            self._place_jobs(self._scheduler.start_ready(now))
        return list(self.running.values())

    def _end(self, now_s: float) -> list[RunningJob]:
        ended = []
        while self._ends and self._ends[0][0] <= now_s:
            _, job = heapq.heappop(self._ends)
            gone = self.running.pop(job, None)
            if gone is not None:
                self._scheduler.release(gone.allocation)
                for _, pattern in gone.patterns:
                    self.model.release(pattern)
                ended.append(gone)
        return ended

    def _start_jobs(self, now_s: float) -> list[RunningJob]:
        while self._next.submit_s <= now_s:
            self._scheduler.submit(self._next)
            self._next = next(self._requests)
        return self._place_jobs(self._scheduler.start_ready(now_s))

    def _place_jobs(self, allocations: list[Allocation]) -> list[RunningJob]:
        placed = [self._make_job(allocation) for allocation in allocations]
        for job in placed:
            self.running[job.allocation.job] = job
            heapq.heappush(self._ends, (job.allocation.end_s, job.allocation.job))
        return placed

    def _make_job(self, allocation: Allocation) -> RunningJob:
        request, key = allocation.request, ("job", allocation.job)
        rng = self._make_rng(*key)
        endpoints = self.machine.node_endpoint[allocation.nodes]
        if request.user == len(self.users):
            return self._make_instrumented(allocation, find_application(request.name), rng)
        crowd = request.user == CROWD
        name = f"s{int(rng.integers(CROWD_USERS)):04d}" if crowd else self.users.names[request.user]
        habit = int(rng.integers(self.spec.users.count)) if crowd else request.user
        behaviour = job_behaviour(self.users, habit, self._jobs_seed(allocation.job), request.duration_s + 1)
        patterns = [("exchange", exchange_pattern(endpoints, behaviour.exchange, rng))]
        patterns.append(("io", io_pattern(endpoints, self.machine.io_endpoint, rng) if behaviour.io_rate else None))
        patterns.append(("incast", incast_pattern(endpoints, rng) if behaviour.incast_rate else None))
        return RunningJob(
            allocation, name, behaviour, [(kind, pattern) for kind, pattern in patterns if pattern is not None]
        )

    def _make_instrumented(self, allocation: Allocation, app: Application, rng: np.random.Generator) -> RunningJob:
        endpoints = self.machine.node_endpoint[allocation.nodes]
        pattern = exchange_pattern(endpoints, app.exchange, rng)
        run_view = RunView(app, self.places, self.model, pattern)
        run = InstrumentedRun(app, run_view, self.machine, self.fabric, allocation, rng, self._run_key(allocation))
        return RunningJob(allocation, self.owner, None, [("run", pattern)] if pattern is not None else [], run)

    def _list_runs(self) -> list[tuple[int, InstrumentedRun]]:
        return [
            (number, job.run)
            for number, job in self.running.items()
            if job.run is not None and not job.run.progress.finished
        ]

    def _collect_flows(self, now_s: float) -> tuple[Flows, list[str]]:
        """Return all patterns and rates of this second. Their owners are returned separately, only for the truth."""
        patterns: list[Pattern] = []
        amounts: list[float] = []
        owners: list[str] = []
        day = float(day_load(self._calendar_s + now_s))
        for job in self.running.values():
            if job.user in self._muted:
                continue
            if job.run is not None:
                amount = job.run.application.demand * job.allocation.request.demand * job.moved
                if amount:
                    for _, pattern in job.patterns:
                        patterns.append(pattern)
                        amounts.append(amount)
                        owners.append(job.user)
                continue
            crowd = job.allocation.request.user == CROWD
            place, ahead = job.ahead(now_s)
            for pattern, rates, by_calendar in ahead:
                amount = rates[place]
                if crowd and by_calendar:
                    amount *= day
                if amount:
                    patterns.append(pattern)
                    amounts.append(amount)
                    owners.append("" if crowd else job.user)
        return Flows(tuple(patterns), np.array(amounts) * self.spec.node_rate_bytes_per_s), owners


def _list_times_s(first_s: float, every_s: float, begin_s: float, end_s: float) -> NDArray[np.float64]:
    """Return the times first, first + every, ... in [begin, end)."""
    skip = max(0, int(np.ceil((begin_s - first_s) / every_s)))
    return np.arange(first_s + skip * every_s, end_s, every_s)
