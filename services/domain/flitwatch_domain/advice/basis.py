"""Basis of advice: the known state of a machine and its past runs, and the congestion that a job would meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from flitwatch_domain.advice.pattern import Parts
from flitwatch_domain.run_time import Resident, compute_stay_share

#: The queue whose workers compute the data of advice: estimates and their state.
BASIS_QUEUE = "ml"
#: A delay is useful only if the cause of the slowdown is expected to end within this time: the agent's longest delay.
PATIENCE_S = 1800.0
#: Minimum share of the busy nodes that must become free within `PATIENCE_S`.
LEAST_LEAVING = 0.25
Place = tuple[int, int]


@dataclass(frozen=True)
class Congestion:
    """One kind of congestion by (fabric, group).

    Attributes
    ----------
    now : (congestion in the last minutes, end of the data in epoch s)
    ahead : (congestion expected for the next hour, start in epoch s)
    usual : mean of the past hours
    """

    now: dict[Place, tuple[float, float]] = field(default_factory=dict)
    ahead: dict[Place, tuple[float, float]] = field(default_factory=dict)
    usual: dict[Place, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Driver:
    """Explanation of an application's deviation: a kind of congestion, the finding in words, and the estimate that contains it."""

    kind: str
    text: str
    estimate_id: int


@dataclass(frozen=True)
class Basis:
    """All inputs of advice.

    Attributes
    ----------
    now_s : float                                when it was read
    workers : int                                live workers that compute the estimates (`BASIS_QUEUE`)
    groups : {(fabric, group): (stalls, in units of sending time, end of the data in epoch s)}
    technologies : {fabric: technology}          decides the terms for its data and stalls
    ahead : {(fabric, group): (the same, expected for the next hour, start in epoch s)}
    usual : {(fabric, group): the same, mean of the past hours}
    kinds : {name of `congestion.DRIVEN`: Congestion}   of the kinds that drivers name
    drivers : {(application, nodes): Driver}
    residents : {(fabric, group): [Resident]}    jobs on its nodes now
    intensity : {application: Row}               the newest share of its network cards' capacity that it sent
    nodes : {node: [(fabric, group)]}            a name can exist on several fabrics, the newest last
    runs : {application: [Row]}                  past runs with time_s, nodes, user, `congestion` or None, and `driven`: congestion of the kind that drives it
    blamed : {application: [Row]}                blamed users with running jobs
    routing_modes : {application: Row}           the newest choice from the application's NIC counters, if an authorised user made it: environment or None, reason,
                                                 number of groups of the counted job or None; choices for several groups are preferred
    memo : dict                                  results computed from this basis, discarded with it
    """

    now_s: float
    workers: int
    pseudonym_key: str
    groups: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    nodes: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    runs: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    blamed: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    routing_modes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    ahead: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    usual: dict[Place, float] = field(default_factory=dict)
    kinds: dict[str, Congestion] = field(default_factory=dict)
    drivers: dict[tuple[str, int], Driver] = field(default_factory=dict)
    residents: dict[Place, list[Resident]] = field(default_factory=dict)
    intensity: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    technologies: dict[int, str] = field(default_factory=dict)

    def congestion(self, kind: str = "") -> Congestion:
        """Return congestion of a kind; without a name, of the usual kind."""
        return self.kinds[kind] if kind else Congestion(self.groups, self.ahead, self.usual)


def kind_of(basis: Basis, application: str, nodes: int, parts: Parts) -> str:
    """Return the name of the kind of congestion that drives the application; empty for the usual kind."""
    driver = basis.drivers.get((application, nodes)) if parts.drivers else None
    return driver.kind if driver is not None and driver.kind in basis.kinds else ""


def expected_congestion(
    basis: Basis, place: Place, kind: str, horizon_s: float, parts: Parts
) -> tuple[float, float] | None:
    """Return (congestion of a group over the next `horizon_s`, from when) from the parts with data; None if no part has data.

    Current congestion is used if no part predicts a change. If both the forecast and the running jobs predict one, their geometric mean is used.
    """
    congestion = basis.congestion(kind)
    now = congestion.now.get(place)
    forecast = congestion.ahead.get(place) if parts.forecast else None
    leaving = after_leaving(basis, congestion, place, horizon_s) if parts.running else None
    if forecast is not None and leaving is not None:
        return sqrt(forecast[0] * leaving[0]), forecast[1]
    return forecast or leaving or (now if parts.counters or (parts.drivers and kind) else None)


def after_leaving(basis: Basis, held: Congestion, place: Place, horizon_s: float) -> tuple[float, float] | None:
    """Return a group's congestion if its difference from usual lasts as long as its running jobs; None if their ends or the usual value are unknown."""
    now, usual = held.now.get(place), held.usual.get(place)
    share = compute_stay_share(basis.residents.get(place, ()), horizon_s)
    if now is None or usual is None or share is None:
        return None
    return max(usual + (now[0] - usual) * share, 0.0), now[1]


def blamed_stays(basis: Basis, user: str, places: Iterable[Place], horizon_s: float) -> float | None:
    """Return the share of the next `horizon_s` during which a user's jobs stay in these groups; None if an end is unknown."""
    remaining_s = [item.left_s for item in _residents_of(basis, places) if item.user == user]
    if not remaining_s or horizon_s <= 0 or any(item is None for item in remaining_s):
        return None
    return min(max(item for item in remaining_s if item is not None) / horizon_s, 1.0)


def leaves_soon(basis: Basis, places: Iterable[Place], user: str | None) -> bool | None:
    """Return whether waiting can help: the user's jobs in these groups, or enough of all jobs, end within `PATIENCE_S`. None if unknown."""
    here = [resident for resident in _residents_of(basis, places) if user is None or resident.user == user]
    if not here or any(resident.left_s is None for resident in here):
        return None
    going = sum(resident.nodes for resident in here if resident.left_s is not None and resident.left_s <= PATIENCE_S)
    return going >= LEAST_LEAVING * sum(resident.nodes for resident in here)


def _residents_of(basis: Basis, places: Iterable[Place]) -> list[Resident]:
    return [resident for place in places for resident in basis.residents.get(place, ())]
