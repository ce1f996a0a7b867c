"""A month of a machine whose scheduler asks an adviser: starts and places affect slowdowns and later observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.network_noise.observations import NIC_HZ, NicObservation
from flitwatch_research.advice_value.advisers import Adviser, Answer, ObservedJob, Question
from flitwatch_research.advice_value.backfill import Backfill, Waiting
from flitwatch_research.advice_value.modes import ALTERNATE, MODES
from flitwatch_research.advice_value.network import Load, Network, Utilisation
from flitwatch_research.advice_value.variants import Job, Month, owner_name
from flitwatch_simulation.application_aware import DEFAULT_MODE
from flitwatch_twin.applications import APPLICATIONS
from flitwatch_twin.traffic import job_behaviour
from flitwatch_twin.workload import CROWD

#: Limit of a job's total delay: the agent's default.
MOST_DELAY_S = 1800.0
#: Ticks of a job's rates drawn beyond its usual time.
RATES_BEYOND = 4

#: Relative difference below which costs count as equal.
EVEN = 1e-9
#: Requests counted by a network card per tick of an undisturbed job; only ratios matter, so the number is arbitrary.
CARD_PACKETS, CARD_FLITS = 1_000_000, 5_000_000

Float = NDArray[np.float64]


@dataclass(eq=False)
class Choices:
    """Starts of network-sensitive jobs, judged by the node-seconds of each place and mode at that time.

    Attributes
    ----------
    count : number of starts;  good_place, good_mode : starts without a cheaper place, and without a cheaper mode at the place.
    lost_node_s : excess over the cheapest place and mode, over all starts.
    """

    count: int = 0
    good_place: int = 0
    good_mode: int = 0
    lost_node_s: float = 0.0

    def add(self, costs: Float, place: int, mode: str | None) -> None:
        """Add one start at `place` with costs[place, mode]; an alternating job has the mean cost."""
        at_place, best = costs.min(axis=1), float(costs.min())
        here = costs[place]
        paid = float(here.mean()) if mode == ALTERNATE else float(here[MODES.index(mode or DEFAULT_MODE)])
        even = 1 + EVEN
        self.count += 1
        self.good_place += int(at_place[place] <= best * even)
        self.good_mode += int(paid <= at_place[place] * even)
        self.lost_node_s += paid - best


class _Judge(Protocol):
    """Judge with access to a machine's truth."""

    def costs(self, machine: Machine) -> Float:
        """Return the node-seconds until all network-sensitive jobs have ended, for the job being placed: float64[places, modes]."""
        ...


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a run: float64[jobs] each, in order of the month's jobs; times in seconds.

    Attributes
    ----------
    start_s, end_s : start and end of each job.
    asked, delayed, preferred : numbers of questions, of delays, and of jobs in a preferred group.
    overran : jobs that exceeded their limit; the machine does not stop them.
    utilisation : share of the month's node-hours used by jobs.
    choices : comparison with the judge's choices.
    """

    start_s: Float
    end_s: Float
    asked: int
    delayed: int
    preferred: int
    overran: int
    utilisation: float
    choices: Choices


@dataclass(eq=False)
class _Run:
    """A job on its nodes."""

    job: int
    seen: ObservedJob
    load: Load | None
    rates: NDArray[np.float32]
    first_tick: int
    left_s: float
    modes: tuple[str, ...] = (DEFAULT_MODE,)
    end_s: float = np.inf

    def mode(self, tick: int) -> str:
        """Return the current routing mode."""
        return self.modes[(tick - self.first_tick) % len(self.modes)]

    def rate(self, tick: int) -> NDArray[np.float32]:
        return self.rates[min(tick - self.first_tick, len(self.rates) - 1)]


@dataclass(eq=False)
class Machine:
    """The machine during a month. Only the oracle has access to it, not the other advisers.

    `placed` is the job of the question, `placing` its possible nodes: the usual ones, then those of each candidate.
    `made` contains the loads computed in this tick.
    """

    month: Month
    network: Network
    running: dict[int, _Run] = field(default_factory=dict)
    tick: int = 0
    placed: int = -1
    placing: list[NDArray[np.int64]] = field(default_factory=list)
    made: dict[tuple[int, bytes], Load | None] = field(default_factory=dict, repr=False)

    def loads(self) -> tuple[list[_Run], list[Load], NDArray[np.float32]]:
        """Return sending jobs, their loads, and their current rates."""
        active = [run for run in self.running.values() if run.load is not None]
        rates = np.array([run.rate(self.tick) for run in active], np.float32).reshape(-1, 3)
        return active, [run.load for run in active if run.load is not None], rates

    def load_of(self, job: int, nodes: NDArray[np.int64]) -> Load | None:
        """Compute a job's network load from these nodes under the usual routing mode."""
        key = (job, np.sort(nodes).tobytes())
        if key not in self.made:
            self.made[key] = self._load_of(job, nodes)
        return self.made[key]

    def _load_of(self, job: int, nodes: NDArray[np.int64]) -> Load | None:
        drawn, users = self.month.jobs[job], self.month.users
        if drawn.user == CROWD:
            return None
        if drawn.application:
            kind, incast = int(APPLICATIONS[drawn.application].exchange), False
        else:
            kind, incast = int(users.exchange[drawn.user]), bool(users.incast_rate[drawn.user] > 0)
        return self.network.load(nodes.astype(np.int32), kind, (self.month.seed, 8, job), incast)

    def rates_of(self, job: int) -> NDArray[np.float32]:
        """Return the job's rates in every tick from its start: float32[ticks, 3]."""
        rates = self.month.rates.get(job)
        if rates is None:
            rates = self.month.rates[job] = self._drawn_rates(job)
        return rates

    def _drawn_rates(self, job: int) -> NDArray[np.float32]:
        drawn, users = self.month.jobs[job], self.month.users
        if drawn.application:
            return np.array([[APPLICATIONS[drawn.application].demand, 0.0, 0.0]], np.float32)
        life_s = drawn.alone_s + RATES_BEYOND * self.month.tick_s
        behaviour = job_behaviour(users, drawn.user, (self.month.seed, 6, job), life_s)
        # The mean over a tick of half-minute samples.
        looks = np.arange(0, life_s, 30.0)
        each = max(1, round(self.month.tick_s / 30.0))
        whole = len(looks) // each * each
        stacked = np.stack(behaviour.rates_at(looks), axis=1)[:whole]
        return stacked.reshape(-1, each, 3).mean(axis=1).astype(np.float32)

    def waits(self, seen: Utilisation) -> Utilisation:
        """Return the waiting at all places; it depends equally on load for all applications of a variant."""
        return self.network.waits(seen, next(iter(self.month.causes.values())))

    def slow(self, run: _Run, seen: Utilisation, waits: Utilisation) -> float:
        """Return the present time for one second of the job's undisturbed work."""
        name = self.month.jobs[run.job].application
        if not name or run.load is None:
            return 1.0
        return float(self.slow_of(name, run.load, run.mode(self.tick), seen, waits))

    def slow_of(self, name: str, load: Load, mode: str, seen: Utilisation, waits: Utilisation) -> Float:
        """Return the same for a job of an application with this load under a routing mode, in the leading shape of `seen`."""
        app = APPLICATIONS[name]
        share = float(app.communicate_s.sum() / app.alone_s)
        felt = self.network.slowdown(load, waits, self.month.causes[name], app.most_slowdown)
        effect = load.effect(mode) if mode != DEFAULT_MODE else None
        if effect is not None and self.month.feels_modes:
            # Communication takes longer by this factor under the mode than under the default one, regardless of the cause of waiting.
            felt = (1.0 + felt) * effect.time_at(self.network.shared(load, seen)) - 1.0
        return 1.0 + share * felt


class Loop:
    """One month under one adviser.

    Parameters
    ----------
    adviser : adviser for jobs of instrumented applications; None: no advice.
    judge : computes the true cost of each choice, without effect on the run. None: choices are not judged.
    """

    def __init__(self, month: Month, adviser: Adviser | None, judge: _Judge | None = None) -> None:
        self.month, self.adviser, self.judge = month, adviser, judge
        self._chosen = Choices()
        self.machine = Machine(month, Network(month.machine))
        self._group_of = month.machine.group_of[month.machine.node_router]
        self._backfill = Backfill(month.machine.nodes)
        self._start_s = np.full(len(month.jobs), np.nan)
        self._end_s = np.full(len(month.jobs), np.nan)
        self._delayed_since: dict[int, float] = {}
        self._mode: dict[int, str] = {}
        self._cards = np.random.default_rng([month.seed, 22])
        self._asked = self._delayed = self._preferred = 0
        self._now_s = 0.0

    def run(self, cancelled: Callable[[], bool] = lambda: False) -> Outcome:
        """Run until the last job has ended.

        Raises
        ------
        Cancelled
            `cancelled` returned true.
        """
        month, jobs, following = self.month, self.month.jobs, 0
        while following < len(jobs) or self._backfill.queue or self.machine.running:
            tick = self.machine.tick
            self.machine.made.clear()
            if tick % 100 == 0 and cancelled():
                raise Cancelled("the study was cancelled")
            self._now_s = tick * month.tick_s
            self._end_jobs()
            while following < len(jobs) and jobs[following].submit_s <= self._now_s:
                submitted = jobs[following]
                self._backfill.submit(Waiting(following, submitted.nodes, submitted.limit_s, submitted.submit_s))
                following += 1
            for started in self._backfill.start_ready(self._now_s, self._place_job):
                self._begin(started.job, started.nodes)
            self._advance_tick()
            self.machine.tick += 1
        return self._collect_outcome()

    def _end_jobs(self) -> None:
        done = [run for run in self.machine.running.values() if run.end_s <= self._now_s]
        for run in sorted(done, key=lambda run: (run.end_s, run.job)):
            del self.machine.running[run.job]
            self._backfill.end(run.job)
            self._end_s[run.job] = run.end_s
            if self.adviser is not None:
                self.adviser.ended(run.seen, run.end_s, self._injected_share(run))

    def _injected_share(self, run: _Run) -> float:
        """Return the share of its network cards' capacity that a job used over its run time, as counted by the cards."""
        name = self.month.jobs[run.job].application
        if not name:
            return 0.0
        app = APPLICATIONS[name]
        alone_s = self.month.jobs[run.job].alone_s
        return app.demand * float(app.communicate_s.sum() / app.alone_s) * alone_s / (run.end_s - run.seen.start_s)

    def _begin(self, job: int, nodes: NDArray[np.int32]) -> None:
        drawn, machine = self.month.jobs[job], self.machine
        groups = np.bincount(self._group_of[nodes], minlength=self.month.machine.groups)
        observed = ObservedJob(job, owner_name(self.month, drawn), drawn.application, drawn.nodes, groups, self._now_s)
        mode = self._mode.pop(job, DEFAULT_MODE)
        modes = MODES if mode == ALTERNATE else (mode,)
        load = machine.load_of(job, nodes.astype(np.int64))
        if load is None or load.effect(DEFAULT_MODE) is None:
            modes = (DEFAULT_MODE,)
        if load is not None and modes != (DEFAULT_MODE,):
            load = machine.network.routed(load, drawn.nodes, modes)
        rates = machine.rates_of(job) if load is not None else np.zeros((1, 3), np.float32)
        run = _Run(job, observed, load, rates, machine.tick, drawn.alone_s, modes)
        if not drawn.application:
            run.end_s = self._now_s + drawn.alone_s
        machine.running[job] = run
        self._start_s[job] = self._now_s
        if self.adviser is not None:
            self.adviser.started(observed)

    def _advance_tick(self) -> None:
        """Advance one tick: sensitive jobs progress, and counters count."""
        month, machine = self.month, self.machine
        tick = min(machine.tick, len(month.level) - 1)
        active, loads, rates = machine.loads()
        utilisation = machine.network.utilisation(loads, rates, month.level[tick])
        waits = machine.waits(utilisation)
        for run in active:
            if month.jobs[run.job].application:
                slow = machine.slow(run, utilisation, waits)
                if len(run.modes) > 1:
                    self._observe_card(run, utilisation, slow)
                if run.left_s * slow <= month.tick_s:
                    run.end_s = self._now_s + run.left_s * slow
                run.left_s -= month.tick_s / slow
        if self.adviser is not None:
            cause = next(iter(month.causes.values()))
            counted = {
                kind: shown * (month.counted_apart if "processor" in kind or "column" in kind else month.counted)[tick]
                for kind, shown in machine.network.congestion(utilisation, cause).items()
            }
            self.adviser.counted(self._now_s, self._now_s + month.tick_s, counted)

    def _observe_card(self, run: _Run, seen: Utilisation, slow: float) -> None:
        """Report the counts of an alternating job's network cards in this tick; a slower job sends less."""
        assert run.load is not None and self.adviser is not None
        mode, month = run.mode(self.machine.tick), self.month
        effect = run.load.effect(mode)
        assert effect is not None
        latency, stalls = effect.counters_at(self.machine.network.shared(run.load, seen))
        noise = self._cards.lognormal(0, next(iter(month.causes.values())).noise, 3)
        flits, packets = (round(count / slow * noise[2]) for count in (CARD_FLITS, CARD_PACKETS))
        observed = NicObservation(
            (str(run.job),),
            month.tick_s,
            flits,
            packets,
            round(stalls * noise[0] * flits),
            latency * noise[1] * packets / NIC_HZ * 1e6,
        )
        self.adviser.carded(run.seen, mode, observed)

    def _nodes_in(self, group: int, count: int, free: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the lowest free nodes of one group, or None if there are not enough."""
        inside = free[self._group_of[free] == group]
        return inside[:count] if len(inside) >= count else None

    def _over_all(self, count: int, free: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return equally many of the lowest free nodes of each group, or None if a group does not have enough."""
        groups = self.month.machine.groups
        parts = [self._nodes_in(group, (count + groups - 1 - group) // groups, free) for group in range(groups)]
        chosen = [nodes for nodes in parts if nodes is not None]
        return np.concatenate(chosen) if len(chosen) == groups and count >= groups else None

    def _list_candidates(
        self, count: int, usual: NDArray[np.int64], free: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Return the nodes of each group with enough free nodes, or the usual ones if there is none, and nodes over all groups."""
        inside = [self._nodes_in(group, count, free) for group in range(self.month.machine.groups)]
        places = [nodes for nodes in inside if nodes is not None] or [usual]
        spread = self._over_all(count, free)
        return places if spread is None else [*places, spread]

    def _place_job(self, waiting: Waiting, free: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the lowest free nodes, or those preferred by the adviser; None if it advises to wait."""
        drawn, usual = self.month.jobs[waiting.job], free[: waiting.nodes]
        if not drawn.application or (self.adviser is None and self.judge is None):
            return usual
        places = self._list_candidates(waiting.nodes, usual, free)
        self.machine.placed, self.machine.placing = waiting.job, [usual, *places]
        answer = Answer() if self.adviser is None else self._ask_adviser(drawn, places)
        if answer.again_s is not None:
            since = self._delayed_since.setdefault(waiting.job, self._now_s)
            until = min(answer.again_s, since + MOST_DELAY_S)
            if until > self._now_s:
                waiting.begin_s = until
                self._delayed += 1
                return None
        chosen = 0 if answer.preferred is None else 1 + answer.preferred
        self._preferred += int(chosen > 0)
        mode = None if self.adviser is None else self._ask_mode(drawn, self.machine.placing[chosen])
        if mode is not None:
            self._mode[waiting.job] = mode
        if self.judge is not None:
            self._chosen.add(self.judge.costs(self.machine), chosen, mode)
        return self.machine.placing[chosen]

    def _ask_adviser(self, one: Job, places: list[NDArray[np.int64]]) -> Answer:
        assert self.adviser is not None
        self._asked += 1
        return self.adviser.answer(self._make_question(one, places), self._now_s)

    def _ask_mode(self, one: Job, nodes: NDArray[np.int64]) -> str | None:
        """Return the mode for a job with known nodes."""
        assert self.adviser is not None
        return self.adviser.routed(self._make_question(one, [nodes]), self._now_s)

    def _make_question(self, one: Job, places: list[NDArray[np.int64]]) -> Question:
        candidates = tuple(tuple(self._group_of[nodes].tolist()) for nodes in places)
        return Question(owner_name(self.month, one), one.application, one.nodes, candidates)

    def _collect_outcome(self) -> Outcome:
        jobs, span = self.month.jobs, self.month.span_s
        nodes = np.array([job.nodes for job in jobs], float)
        limits = np.array([job.limit_s for job in jobs])
        running_s = np.clip(self._end_s, 0, span) - np.clip(self._start_s, 0, span)
        used = float((nodes * running_s).sum() / (self.month.machine.nodes * span))
        overran = int((self._end_s - self._start_s > limits).sum())
        return Outcome(
            self._start_s, self._end_s, self._asked, self._delayed, self._preferred, overran, used, self._chosen
        )
