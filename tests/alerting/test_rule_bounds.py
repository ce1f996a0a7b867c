"""Rules at their bounds: the last accepted and the first refused value, and the times of firing and clearing."""

from __future__ import annotations

from typing import Any

import pytest
import re2

from flitwatch_alerting.evaluate import replay_rule
from flitwatch_domain.alerts import (
    COUNTED,
    LONGEST_S,
    MOST,
    SERIES_LABELS,
    Rule,
    Sample,
    SeriesState,
    advance_series,
    check_matchers,
    expression_of,
    is_absent,
    match_labels,
    parse_duration_s,
    read_rule,
)
from flitwatch_domain.errors import BadInput

DAY_S = 86_400


def rule(**given: Any) -> Rule:
    return read_rule({"name": "r", "signal": "stall_ratio", "above": 4, **given})


def taken(**given: Any) -> bool:
    try:
        rule(**given)
    except BadInput:
        return False
    return True


# Fields


def test_what_a_rule_is_where_nothing_is_said() -> None:
    plain = rule()
    assert (plain.for_s, plain.every_s, plain.absent_s, plain.congested_at) == (0, 60, 600, 1)
    assert (plain.by, plain.severity, plain.enabled, plain.summary) == ("group", "warning", True, "")
    assert (plain.clear, plain.clears_below, plain.probability) == (None, 4, None)
    assert rule(clear=1).clears_below == 1 and rule(clear=0).clears_below == 0


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("for", 0, 31 * DAY_S),
        ("every", 10, DAY_S),
        ("absent", 10, 31 * DAY_S),
        ("above", -1e15, 1e15),
        ("clear", -1e15, 4),
        ("congested_at", 5e-324, 1e15),
    ],
)
def test_bounds_of_numbers(field: str, least: float, most: float) -> None:
    assert taken(**{field: least}) and taken(**{field: most})
    assert not taken(**{field: most + (0.001 if most < 1e15 else 1)})
    assert not taken(**{field: least - (0.001 if least > -1e15 else 1)})
    assert LONGEST_S == 31 * DAY_S and MOST == 1e15


@pytest.mark.parametrize("field", ["above", "clear", "congested_at"])
def test_what_is_no_finite_number_is_refused(field: str) -> None:
    for given in (float("nan"), float("inf"), float("-inf")):
        assert not taken(**{field: given})


def test_bounds_of_a_probability() -> None:
    for given, good in ((0, True), (1, True), (-0.01, False), (1.01, False)):
        assert taken(signal="slowdown", above=1.2, probability=given) is good
    for signal in ("stall_ratio", "ingest_gap", "counter_silence"):
        assert not taken(signal=signal, probability=0.5)


@pytest.mark.parametrize(
    ("given", "found"),
    [("90", 90), (90, 90), ("1.5s", 1.5), ("5m", 300), ("2h", 7200), ("1d", DAY_S), (" 3m ", 180), ("31d", 31 * DAY_S)],
)
def test_durations(given: object, found: float) -> None:
    assert parse_duration_s(given) == found


@pytest.mark.parametrize("given", [True, False, "", "5 m", "-1", "1w", "1e3", "12345678", "1.2345", None])
def test_what_is_no_duration(given: object) -> None:
    with pytest.raises(ValueError, match="write a duration as"):
        parse_duration_s(given)


def test_the_longest_duration() -> None:
    with pytest.raises(ValueError, match="at most 31 days"):
        parse_duration_s("31.001d")


def test_bounds_of_words() -> None:
    assert taken(name="a" * 80) and not taken(name="a" * 81) and taken(name="0") and not taken(name="-a")
    assert taken(summary="x" * 400) and not taken(summary="x" * 401)
    assert taken(labels={"team": "x" * 400}) and not taken(labels={"team": "x" * 401})
    assert taken(labels={f"l{i}": "x" for i in range(20)}) and not taken(labels={f"l{i}": "x" for i in range(21)})
    assert taken(labels={"a" * 40: "x"}) and not taken(labels={"a" * 41: "x"}) and not taken(labels={"1a": "x"})
    assert taken(labels={"_a1": "x"}) and not taken(labels={"A": "x"})


def test_labels_of_each_signals_series() -> None:
    assert COUNTED == ("stall_ratio", "congested_routers")
    for signal in COUNTED:
        for by, label in (("machine", ()), ("group", ("group",)), ("class", ("class",))):
            assert rule(signal=signal, by=by).series_labels == ("fabric", *label)
    # `by` is about counters alone.
    assert rule(signal="ingest_gap", by="class").series_labels == ("fabric",)
    assert set(SERIES_LABELS) == {
        "run",
        "job",
        "exe",
        "user",
        "fabric",
        "nodes",
        "group",
        "class",
        "root",
        "incident",
        "cable",
    }
    for taken_label in ("rule", "severity", "signal", "alertname", "group"):
        assert not taken(labels={taken_label: "x"})


def test_a_summary_names_labels_and_the_value() -> None:
    assert rule(above=4).described(Sample(0.0, (), 5.4321)) == "stall_ratio is 5.43 (at or above 4)"
    assert (
        rule(summary="{group}: {value} {nobody}").described(Sample(0.0, (("group", "3"),), 5.4321))
        == "3: 5.43 {nobody}"
    )


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(BadInput, match=r"^here: above: |above: Input"):
        read_rule({"name": "r", "signal": "stall_ratio", "above": "x"}, "here")
    with pytest.raises(BadInput, match="the rule: "):
        read_rule("no rule")


# The state machine


def standing(*values: float, of: Rule, every_s: float = 60.0, probability: float | None = None) -> SeriesState:
    held = SeriesState()
    for number, value in enumerate(values):
        held = advance_series(of, held, Sample(1000 + every_s * number, (), value, probability))
    return held


def test_it_fires_at_the_threshold_itself_and_clears_only_below_the_lower_one() -> None:
    fires = rule(above=4, clear=2)
    assert standing(4, of=fires) == SeriesState("firing", 1000, 1000, 4)
    assert standing(3.999, of=fires) == SeriesState("ok", 0, 1000, 0)
    assert standing(4, 2, of=fires) == SeriesState("firing", 1000, 1060, 4)
    assert standing(4, 1.999, of=fires) == SeriesState("ok", 0, 1060, 0)
    assert standing(4, 9, 5, of=fires) == SeriesState("firing", 1000, 1120, 9)
    # What has not fired does not profit from the lower threshold.
    assert standing(4, 3, of=rule(above=4, clear=2, **{"for": 120})).phase == "ok"


def test_it_fires_when_the_duration_is_full() -> None:
    waits = rule(above=4, **{"for": 120})
    assert standing(5, of=waits) == SeriesState("pending", 1000, 1000, 5)
    assert standing(5, 6, of=waits) == SeriesState("pending", 1000, 1060, 6)
    assert standing(5, 6, 4, of=waits) == SeriesState("firing", 1120, 1120, 6)


def test_a_negative_value_is_a_peak_too() -> None:
    assert standing(-3, -2, of=rule(above=-4)) == SeriesState("firing", 1000, 1060, -2)


def test_a_probability_at_the_bound_is_enough_and_none_is_not() -> None:
    likely = rule(signal="slowdown", above=1.2, probability=0.8)
    assert standing(1.3, of=likely, probability=0.8).phase == "firing"
    assert standing(1.3, of=likely, probability=0.79).phase == "ok"
    assert standing(1.3, of=likely).phase == "ok"
    assert standing(1.3, of=rule(signal="slowdown", above=1.2)).phase == "firing"


def test_how_long_a_series_may_be_without_samples() -> None:
    short, long = rule(absent=100, every=60), rule(absent=100, every=200)
    for phase in ("pending", "firing"):
        held = SeriesState(phase, 0, 1000, 5)  # type: ignore[arg-type]
        assert not is_absent(short, held, 1099) and is_absent(short, held, 1100)
        assert not is_absent(long, held, 1199) and is_absent(long, held, 1200)
    assert not is_absent(short, SeriesState("ok", 0, 1000), 5000)


# Matchers


@pytest.mark.parametrize(
    ("matcher", "found"),
    [("/a/", "a"), ("//", None), ("/", None), ("", None), ("/a", None), ("a/", None), ("///", "/"), ("aba", None)],
)
def test_what_stands_between_slashes(matcher: str, found: str | None) -> None:
    assert expression_of(matcher) == found


def test_all_matchers_must_hold() -> None:
    labels = {"rule": "a", "group": "3"}
    assert match_labels({"rule": "a", "group": "/[23]/"}, labels)
    assert not match_labels({"rule": "a", "group": "/[12]/"}, labels) and not match_labels(
        {"rule": "b", "group": "3"}, labels
    )
    assert match_labels({"team": ""}, labels) and match_labels({"team": "/x?/"}, labels)


def test_the_longest_expression() -> None:
    """A program of 2,000 steps is taken, one of 2,001 refused."""
    sizes = {}
    for more in range(900, 1000):
        expression = f"a{{1000}}b{{{more}}}"
        sizes[re2.compile(expression).programsize] = _is_taken(f"/{expression}/")
    assert {1999, 2000, 2001} <= set(sizes)
    assert all(good is (size <= 2000) for size, good in sizes.items())


def _is_taken(matcher: str) -> bool:
    try:
        check_matchers({"user": matcher})
    except ValueError:
        return False
    return True


# A rule over history

ONE, OTHER = (("group", "1"),), (("group", "2"),)


def at(moment: float, value: float, labels: tuple[tuple[str, str], ...] = ONE) -> Sample:
    return Sample(moment, labels, value, 0.5)


def test_a_replay_tells_each_alert_with_its_moments() -> None:
    waits = rule(above=4, clear=2, absent=300, every=60, summary="{group} at {value}", **{"for": 60})
    steady = [at(60.0 * n, 1, OTHER) for n in range(20)]
    values = {0: 5, 60: 6, 120: 7, 180: 3, 240: 1.5, 300: 5, 360: 1, 420: 4, 480: 4.5}
    found = replay_rule(waits, sorted([*steady, *(at(m, v) for m, v in values.items())], key=lambda s: s.at_s), 0, 1140)
    assert {name: found[name] for name in ("rule", "from_s", "to_s", "samples", "series", "fired")} == {
        "rule": "r",
        "from_s": 0,
        "to_s": 1140,
        "samples": 29,
        "series": 2,
        "fired": 2,
    }
    first = {"labels": {"group": "1"}, "fired_s": 60, "resolved_s": 240, "value": 6, "peak": 7}
    # The series falls silent at 480: the alert is over after `absent`, announced by the other series' samples.
    second = {"labels": {"group": "1"}, "fired_s": 480, "resolved_s": 780, "value": 4.5, "peak": 4.5}
    shared = {"probability": 0.5}
    assert found["alerts"] == [first | shared | {"summary": "1 at 6"}, second | shared | {"summary": "1 at 4.5"}]


def test_an_alert_that_still_fires_has_no_end() -> None:
    found = replay_rule(rule(absent=300), [at(60, 5), at(120, 8)], 0, 419)
    assert [(a["fired_s"], a["resolved_s"], a["peak"]) for a in found["alerts"]] == [(60, None, 8)]
    over = replay_rule(rule(absent=300), [at(60, 5), at(120, 8)], 0, 420)
    assert [(a["fired_s"], a["resolved_s"], a["peak"]) for a in over["alerts"]] == [(60, 420, 8)]


def test_a_series_that_comes_back_after_its_silence_is_another_alert() -> None:
    found = replay_rule(rule(absent=120, **{"for": 0}), [at(60, 5), at(600, 6), at(660, 7)], 0, 700)
    assert [(a["fired_s"], a["resolved_s"], a["value"], a["peak"]) for a in found["alerts"]] == [
        (60, 180, 5, 5),
        (600, None, 6, 7),
    ]


def test_a_pending_series_that_falls_silent_tells_nothing() -> None:
    waits = rule(absent=120, **{"for": 300})
    assert replay_rule(waits, [at(60, 5), at(600, 6)], 0, 700)["alerts"] == []
    assert replay_rule(waits, [at(60, 5)], 0, 700)["fired"] == 0


def test_nothing_to_replay() -> None:
    found = replay_rule(rule(), [], 5, 6)
    assert (found["samples"], found["series"], found["fired"], found["alerts"]) == (0, 0, 0, [])
