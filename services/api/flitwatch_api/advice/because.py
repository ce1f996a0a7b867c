"""Which part of advice said what about a question, or that it cannot tell."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flitwatch_api.advice import schemas
from flitwatch_api.advice.parts import Parts
from flitwatch_api.advice.spread import Pattern
from flitwatch_api.answers import shape
from flitwatch_db.estimates.advice import Basis, Place
from flitwatch_domain.congestion import DRIVEN, USUAL
from flitwatch_domain.counters.units import words_of
from flitwatch_domain.outlook import LEAST_HOURS
from flitwatch_domain.residents import stays


@dataclass(frozen=True)
class AdviceQuestion:
    """What was asked about: the kind of congestion that it was answered by, its usual time, and the groups of all candidates."""

    application: str
    nodes: int
    kind: str
    usual_s: float | None
    places: Collection[Place]


def said(
    basis: Basis,
    asked: AdviceQuestion,
    blamed: list[schemas.Reason],
    placed: Pattern | None,
    mode: schemas.Reason | None,
    parts: Parts,
) -> list[schemas.AdviceFinding]:
    """One entry of each part that is on.

    Parameters
    ----------
    blamed : reasons of the candidates that rest on a blamed user
    placed, mode : of the parts `pattern` and `routing`
    """
    found = []
    if parts.counters:
        found.append(_counters(basis, asked))
    if parts.blame:
        found.append(_blame(basis, asked, blamed))
    if parts.forecast:
        found.append(_forecast(basis, asked))
    if parts.running:
        found.append(_running(basis, asked))
    if parts.drivers:
        found.append(_drivers(basis, asked))
    if placed is not None:
        found.append(_one("pattern", placed.placement is not None, placed.text, placed.evidence))
    if mode is not None:
        found.append(_one("routing", not mode.text.startswith("unknown"), mode.text, mode.evidence))
    return found


def _one(part: str, known: bool, text: str, evidence: str | None = None) -> schemas.AdviceFinding:
    return shape(schemas.AdviceFinding, part=part, known=known, text=text, evidence=evidence)


def _span(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:.2f} {unit}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f} {unit}"


def unit_of(basis: Basis, kind: str, places: Collection[Place]) -> str:
    """What congestion of a kind is told in: of the usual one in the words of the places' fabric, where it is one."""
    if kind:
        return DRIVEN[kind].unit
    words = {words_of(basis.technologies.get(fabric)) for fabric, _ in places}
    return words.pop().amount if len(words) == 1 else USUAL.unit


def _counters(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    now = basis.congestion(asked.kind).now
    held = [now[place][0] for place in asked.places if place in now]
    if not held:
        return _one("counters", False, "no counters of the last minutes near these nodes")
    return _one(
        "counters",
        True,
        f"{_span(held, unit_of(basis, asked.kind, asked.places))} now, in {len(held)} of {len(asked.places)} groups",
    )


def _blame(basis: Basis, asked: AdviceQuestion, blamed: list[schemas.Reason]) -> schemas.AdviceFinding:
    if blamed:
        return _one("blame", True, blamed[0].text, blamed[0].evidence)
    if asked.application in basis.blamed:
        return _one("blame", True, "nobody whom blame names for it runs near these nodes")
    return _one("blame", False, "blame names nobody for this application who runs now", "/api/v1/estimates")


def _forecast(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    ahead = basis.congestion(asked.kind).ahead
    held = [ahead[place][0] for place in asked.places if place in ahead]
    if not held:
        return _one("forecast", False, f"needs {LEAST_HOURS} hours of counters of a group")
    return _one("forecast", True, f"{_span(held, unit_of(basis, asked.kind, asked.places))} expected for the next hour")


def _running(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    horizon_s = asked.usual_s or 0.0
    shares = [
        share for place in asked.places if (share := stays(basis.residents.get(place, ()), horizon_s)) is not None
    ]
    if not shares:
        return _one("running", False, "how long the jobs near these nodes will stay is not known")
    low, high = (f"{share:.0%}" for share in (min(shares), max(shares)))
    span = low if low == high else f"{low} to {high}"
    return _one("running", True, f"{span} of the nodes held there stay so, on average over a usual run")


def _drivers(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    driver = basis.drivers.get((asked.application, asked.nodes))
    if driver is None:
        return _one("drivers", False, "no kind of counters is known to carry its deviation", "/api/v1/estimates")
    return _one("drivers", True, driver.text, "/api/v1/estimates")
