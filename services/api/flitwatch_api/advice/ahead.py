"""Congestion near nodes while a job would run there, as each part of advice expects it."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from flitwatch_api.advice.parts import Parts
from flitwatch_db.estimates.advice import Basis, Congestion, Place
from flitwatch_domain.residents import Resident, compute_stay_share

#: A delay is worth it only if what slows the job down is expected to end within so long: the agent's longest delay.
PATIENCE_S = 1800.0
#: Share of the held nodes that must become free within it.
LEAST_LEAVING = 0.25


def kind_of(basis: Basis, application: str, nodes: int, parts: Parts) -> str:
    """Name of the kind of congestion that drives the application; empty: the usual kind."""
    driver = basis.drivers.get((application, nodes)) if parts.drivers else None
    return driver.kind if driver is not None and driver.kind in basis.kinds else ""


def expected_congestion(
    basis: Basis, place: Place, kind: str, horizon_s: float, parts: Parts
) -> tuple[float, float] | None:
    """(congestion of a group over the next `horizon_s`, from when) by the parts that know it; None: none does.

    What was counted is where nothing says how it will change. Where the forecast and the running jobs both say something, it is their geometric mean.
    """
    congestion = basis.congestion(kind)
    now = congestion.now.get(place)
    forecast = congestion.ahead.get(place) if parts.forecast else None
    leaving = after_leaving(basis, congestion, place, horizon_s) if parts.running else None
    if forecast is not None and leaving is not None:
        return sqrt(forecast[0] * leaving[0]), forecast[1]
    return forecast or leaving or (now if parts.counters or (parts.drivers and kind) else None)


def after_leaving(basis: Basis, held: Congestion, place: Place, horizon_s: float) -> tuple[float, float] | None:
    """A group's difference from its usual congestion stays as long as the jobs that hold its nodes now; None where their ends or the usual are unknown."""
    now, usual = held.now.get(place), held.usual.get(place)
    share = compute_stay_share(basis.residents.get(place, ()), horizon_s)
    if now is None or usual is None or share is None:
        return None
    return max(usual + (now[0] - usual) * share, 0.0), now[1]


def blamed_stays(basis: Basis, user: str, places: Iterable[Place], horizon_s: float) -> float | None:
    """Share of the next `horizon_s` for which a user's jobs stay in these groups; None where an end is unknown."""
    remaining_s = [item.left_s for item in _residents_of(basis, places) if item.user == user]
    if not remaining_s or horizon_s <= 0 or any(item is None for item in remaining_s):
        return None
    return min(max(item for item in remaining_s if item is not None) / horizon_s, 1.0)


def leaves_soon(basis: Basis, places: Iterable[Place], user: str | None) -> bool | None:
    """Return whether waiting can help: whether the user's jobs in these groups, or enough of all jobs, end within `PATIENCE_S`; None: unknown."""
    here = [resident for resident in _residents_of(basis, places) if user is None or resident.user == user]
    if not here or any(resident.left_s is None for resident in here):
        return None
    going = sum(resident.nodes for resident in here if resident.left_s is not None and resident.left_s <= PATIENCE_S)
    return going >= LEAST_LEAVING * sum(resident.nodes for resident in here)


def _residents_of(basis: Basis, places: Iterable[Place]) -> list[Resident]:
    return [resident for place in places for resident in basis.residents.get(place, ())]
