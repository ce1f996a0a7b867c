"""Demand of a hard variant: windows of weeks, pairs, continuous strengths, busy days, and load-dependent placement."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.variants import Demand
from flitwatch_twin.calendar import DAY_S, WEEK_S
from flitwatch_twin.machine import Machine
from flitwatch_twin.scheduler import Allocation, Request
from flitwatch_twin.users import MECHANISMS, Exchange, Role, Users

#: Least and most weeks of a user's window.
WINDOW_WEEKS = (3, 8)
#: Share of an aggressor's jobs accompanied by its partner, and the largest time difference in seconds.
ACCOMPANIED, WITHIN_S = 0.85, 600.0
#: Number of ordinary users that become aggressors of a continuous strength, and the weakest strength.
WEAK_AGGRESSORS, WEAKEST = 25, 0.08
#: Correlation of demand between successive days.
DAY_MEMORY = 0.6
#: Node-rates per group below which traffic does not affect placement.
LOAD_STEP = 4.0

Float = NDArray[np.float64]


def grade_strengths(rng: np.random.Generator, users: Users, roles: tuple[Role, ...]) -> tuple[Users, tuple[Role, ...]]:
    """Scale the aggressors down and turn ordinary users into weak ones: strengths are log-uniform from `WEAKEST` to 1."""
    changed = {
        field.name: getattr(users, field.name).copy()
        for field in fields(users)
        if isinstance(getattr(users, field.name), np.ndarray)
    }
    now = list(roles)
    ordinary = [user for user, role in enumerate(roles) if role is Role.ORDINARY]
    chosen = rng.permutation(ordinary)[:WEAK_AGGRESSORS].tolist()
    for turn, user in enumerate(chosen):
        now[user] = MECHANISMS[turn % len(MECHANISMS)]
        changed["nodes"][user] = int(np.exp(rng.uniform(np.log(320), np.log(900))))
        if now[user] is Role.BANDWIDTH:
            changed["exchange"][user], changed["rate"][user] = Exchange.ALL_TO_ALL, 1.4
        elif now[user] is Role.IO:
            changed["io_rate"][user], changed["checkpoint_every_s"][user] = 1.6, 400.0
            changed["checkpoint_s"][user] = 180.0
        else:
            changed["incast_rate"][user], changed["duty"][user] = 1.4, 0.7
    for user, role in enumerate(now):
        if role in MECHANISMS:
            strength = np.exp(rng.uniform(np.log(WEAKEST), 0.0))
            for name in ("rate", "io_rate", "incast_rate"):
                changed[name][user] *= strength
    return replace(users, **changed), tuple(now)


def move_requests(
    demand: Demand, rng: np.random.Generator, requests: list[Request], roles: tuple[Role, ...], day_demand: Float
) -> list[Request]:
    """Return the requests with changed times, and with partners' times for partners; `roles` excludes the owner of runs."""
    if demand.windows:
        requests = _in_windows(rng, requests, demand.windows, len(roles), len(day_demand) * DAY_S)
    if demand.paired:
        requests = _pair_partners(rng, requests, roles)
    if demand.busy_days:
        requests = _on_busy_days(rng, requests, day_demand)
    return requests


def day_demand(demand: Demand, rng: np.random.Generator, days: int) -> Float:
    """Return the relative demand of each day, float64[days], 1 on average; constant 1 without busy days."""
    noise = rng.standard_normal(days) * np.sqrt(1 - DAY_MEMORY**2)
    mood = np.empty(days)
    state = rng.standard_normal()
    for day in range(days):
        state = DAY_MEMORY * state + noise[day]
        mood[day] = state
    level = np.exp(demand.busy_days * mood)
    return level / level.mean()


def background_by_day(demand: Demand, by_day: Float) -> Float:
    """Return the factor on the background of each day: float64[days]."""
    growth = np.exp(demand.trend * (np.arange(len(by_day)) / len(by_day) - 0.5))
    return by_day * growth


def _in_windows(
    rng: np.random.Generator, requests: list[Request], share: float, users: int, span_s: float
) -> list[Request]:
    """Return requests moved into windows by whole weeks, so that a user keeps hours, weekdays and the number of jobs."""
    weeks = int(span_s // WEEK_S)
    length = rng.integers(WINDOW_WEEKS[0], WINDOW_WEEKS[1] + 1, users)
    first = np.floor(rng.random(users) * (weeks - length + 1)).astype(int)
    bound = rng.random(users) < share

    def moved(request: Request) -> Request:
        user = request.user
        if not 0 <= user < users or not bound[user]:
            return request
        week, rest = divmod(request.submit_s, WEEK_S)
        return replace(request, submit_s=(first[user] + week % length[user]) * WEEK_S + rest)

    return [moved(request) for request in requests]


def _pair_partners(rng: np.random.Generator, requests: list[Request], roles: tuple[Role, ...]) -> list[Request]:
    aggressors = [user for user, role in enumerate(roles) if role in MECHANISMS]
    innocents = [user for user, role in enumerate(roles) if role is Role.INNOCENT]
    partner_of = dict(zip(aggressors, innocents, strict=False))
    partners = set(partner_of.values())
    nodes = {request.user: request.nodes for request in requests if request.user in partners}
    others = [request for request in requests if request.user not in partners]
    companions = [
        replace(
            request,
            user=partner,
            nodes=nodes[partner],
            duration_s=request.duration_s * float(rng.uniform(0.8, 1.2)),
            submit_s=request.submit_s + float(rng.uniform(0, WITHIN_S)),
        )
        for request in others
        if (partner := partner_of.get(request.user)) in nodes and rng.random() < ACCOMPANIED
    ]
    return others + companions


def _on_busy_days(rng: np.random.Generator, requests: list[Request], by_day: Float) -> list[Request]:
    """Return requests moved to another day of the same weekday according to the days' demand; instrumented runs keep their day."""
    days = np.arange(len(by_day))
    of_weekday = [days[days % 7 == weekday] for weekday in range(7)]
    reached = [np.cumsum(by_day[some]) / by_day[some].sum() for some in of_weekday]
    drawn = rng.random(len(requests))

    def moved(request: Request, u: float) -> Request:
        if request.urgent:
            return request
        day, rest = divmod(request.submit_s, DAY_S)
        weekday = int(day) % 7
        place = min(int(np.searchsorted(reached[weekday], u)), len(reached[weekday]) - 1)
        return replace(request, submit_s=float(of_weekday[weekday][place]) * DAY_S + rest)

    return [moved(request, u) for request, u in zip(requests, drawn.tolist(), strict=True)]


class Traffic:
    """Running jobs' traffic on each group, as known to a network-aware scheduler."""

    def __init__(self, machine: Machine, rate: Float) -> None:
        """Initialise with the mean rate of each user's nodes, float64[users]."""
        self._machine, self._rate = machine, rate
        self.group_of_node = machine.group_of[machine.node_router].astype(np.int16)
        self._by_group = np.zeros(machine.groups)

    def started(self, allocation: Allocation) -> None:
        """Add a job's traffic."""
        self._add_traffic(allocation, 1.0)

    def ended(self, allocation: Allocation) -> None:
        """Remove a job's traffic."""
        self._add_traffic(allocation, -1.0)

    def order(self) -> NDArray[np.int16]:
        """Return the rank of each group from the quietest on: int16[groups]; groups with similar load keep their order."""
        coarse = np.round(self._by_group / LOAD_STEP)
        place = np.empty(len(coarse), np.int16)
        place[np.argsort(coarse, kind="stable")] = np.arange(len(coarse), dtype=np.int16)
        return place

    def _add_traffic(self, allocation: Allocation, sign: float) -> None:
        user = allocation.request.user
        if 0 <= user < len(self._rate):
            self._by_group += sign * self._rate[user] * self._machine.nodes_per_group(allocation.nodes)
