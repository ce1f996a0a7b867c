"""Result of each part of advice for a question, including parts without an answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flitwatch_domain.advice import schemas
from flitwatch_domain.advice.basis import Basis, Place
from flitwatch_domain.advice.pattern import Parts, Pattern
from flitwatch_domain.counters.units import words_of
from flitwatch_domain.outlook import DRIVEN, LEAST_HOURS, USUAL
from flitwatch_domain.run_time import compute_stay_share


@dataclass(frozen=True)
class AdviceQuestion:
    """Question about a placement: the kind of congestion used for the answer, its usual time, and the groups of all candidates."""

    application: str
    nodes: int
    kind: str
    usual_s: float | None
    places: Collection[Place]


def list_findings(
    basis: Basis,
    asked: AdviceQuestion,
    blamed: list[schemas.Reason],
    placed: Pattern | None,
    mode: schemas.Reason | None,
    parts: Parts,
) -> list[schemas.AdviceFinding]:
    """Return one entry for each enabled part.

    Parameters
    ----------
    blamed : reasons of the candidates whose estimate is based on a blamed user
    placed, mode : results of the parts `pattern` and `routing`
    """
    findings = []
    if parts.counters:
        findings.append(_describe_counters(basis, asked))
    if parts.blame:
        findings.append(_describe_blame(basis, asked, blamed))
    if parts.forecast:
        findings.append(_describe_forecast(basis, asked))
    if parts.running:
        findings.append(_describe_running(basis, asked))
    if parts.drivers:
        findings.append(_describe_drivers(basis, asked))
    if placed is not None:
        findings.append(_make_finding("pattern", placed.placement is not None, placed.text, placed.evidence))
    if mode is not None:
        findings.append(_make_finding("routing", not mode.text.startswith("unknown"), mode.text, mode.evidence))
    return findings


def _make_finding(part: schemas.PartName, known: bool, text: str, evidence: str | None = None) -> schemas.AdviceFinding:
    return schemas.AdviceFinding(part=part, known=known, text=text, evidence=evidence)


def _format_range(values: list[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:.2f} {unit}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f} {unit}"


def unit_of(basis: Basis, kind: str, places: Collection[Place]) -> str:
    """Return the unit of a kind of congestion; for the usual kind, in the terms of the places' fabric if there is only one."""
    if kind:
        return DRIVEN[kind].unit
    words = {words_of(basis.technologies.get(fabric)) for fabric, _ in places}
    return words.pop().amount if len(words) == 1 else USUAL.unit


def _describe_counters(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    now = basis.congestion(asked.kind).now
    levels = [now[place][0] for place in asked.places if place in now]
    if not levels:
        return _make_finding("counters", False, "no recent counters near these nodes")
    return _make_finding(
        "counters",
        True,
        f"{_format_range(levels, unit_of(basis, asked.kind, asked.places))} now, in {len(levels)} of {len(asked.places)} groups",
    )


def _describe_blame(basis: Basis, asked: AdviceQuestion, blamed: list[schemas.Reason]) -> schemas.AdviceFinding:
    if blamed:
        return _make_finding("blame", True, blamed[0].text, blamed[0].evidence)
    if asked.application in basis.blamed:
        return _make_finding("blame", True, "no user named by blame for this application runs near these nodes")
    return _make_finding(
        "blame", False, "blame names no user for this application with a job that runs now", "/api/v1/estimates"
    )


def _describe_forecast(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    ahead = basis.congestion(asked.kind).ahead
    levels = [ahead[place][0] for place in asked.places if place in ahead]
    if not levels:
        return _make_finding("forecast", False, f"needs {LEAST_HOURS} hours of counters of a group")
    return _make_finding(
        "forecast",
        True,
        f"{_format_range(levels, unit_of(basis, asked.kind, asked.places))} expected for the next hour",
    )


def _describe_running(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    horizon_s = asked.usual_s or 0.0
    shares = [
        share
        for place in asked.places
        if (share := compute_stay_share(basis.residents.get(place, ()), horizon_s)) is not None
    ]
    if not shares:
        return _make_finding("running", False, "the remaining time of the jobs near these nodes is unknown")
    low, high = (f"{share:.0%}" for share in (min(shares), max(shares)))
    span = low if low == high else f"{low} to {high}"
    return _make_finding("running", True, f"{span} of the nodes in use there stay in use, on average over a usual run")


def _describe_drivers(basis: Basis, asked: AdviceQuestion) -> schemas.AdviceFinding:
    driver = basis.drivers.get((asked.application, asked.nodes))
    if driver is None:
        return _make_finding(
            "drivers", False, "no kind of counters is known to predict its slow steps", "/api/v1/estimates"
        )
    return _make_finding("drivers", True, driver.text, "/api/v1/estimates")
