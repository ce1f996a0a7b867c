"""Evaluation of alert rules: a rule's samples pass through the state machine, live or over history."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypedDict

import psycopg

from flitwatch_db.alerts import signals
from flitwatch_db.alerts import store as alerts
from flitwatch_db.core.events import emit_event
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_domain.alerts import OF_COUNTERS, Rule, Sample, SeriesState, advance_series, is_absent
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation.result import ChainSentence, Verdict
from flitwatch_domain.mails import TimelineRow, list_rows

log = logging.getLogger(__name__)

#: After a longer interruption, only this much of the past is evaluated.
CATCH_UP_S = 3600.0
#: Number of samples stored in an alert's evidence.
MOST_SAMPLES = 60
#: Counter signals are complete up to the writer's progress, other signals up to this long ago.
SECOND_LAG_S = 15.0

Labels = tuple[tuple[str, str], ...]


class JobVerdict(TypedDict):
    """A job's verdict as sentences without user names. `as_of` is an ISO time."""

    verdict: Verdict
    title: str
    detail: str
    reasons: list[str]
    named: str | None
    chain: list[ChainSentence]
    as_of: str


class AlertExplanation(JobVerdict):
    """Part of a job's explanation that is stored with an alert."""

    timeline: list[TimelineRow]


class AlertEvidence(TypedDict, total=False):
    """Evidence stored with an alert, in addition to its signal's samples. It is empty if there is nothing to add.

    Attributes
    ----------
    above, clear : float        fires at or above, clears below
    probability : float or None of the sample that fired
    at_s, value : list          the last samples of the series
    rule : dict                 the rule as it was
    explanation : of the alert's job, added once the alert fires; None if the job cannot be explained
    """

    signal: str
    above: float
    clear: float
    probability: float | None
    at_s: list[float]
    value: list[float]
    rule: dict[str, Any]
    explanation: AlertExplanation | None


@dataclass
class History:
    """Recent samples of each series, used as evidence of the time before an alert fires."""

    by_labels: dict[Labels, list[Sample]] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        samples = self.by_labels.setdefault(sample.labels, [])
        samples.append(sample)
        del samples[:-MOST_SAMPLES]

    def evidence(self, rule: Rule, sample: Sample) -> AlertEvidence:
        """Return the evidence to store with an alert: the rule and its recent samples at this time."""
        samples = self.by_labels.get(sample.labels, [sample])
        return {
            **(sample.evidence or {}),
            "signal": rule.signal,
            "above": rule.above,
            "clear": rule.clears_below,
            "probability": sample.probability,
            "at_s": [past_sample.at_s for past_sample in samples],
            "value": [past_sample.value for past_sample in samples],
            "rule": rule.model_dump(mode="json"),
        }


def evaluate_rule(conn: Any, rule: Rule, through_s: float | None, now_s: float) -> list[int]:
    """Evaluate one rule up to now within the caller's transaction. Return the alerts that started or stopped firing."""
    to_s = now_s - SECOND_LAG_S
    if rule.signal in OF_COUNTERS:
        counted = alerts.counted_through_s(conn)
        # Without a writer there are no new data. The rule waits, and the signal `counter_silence` reports it.
        to_s = min(to_s, counted) if counted is not None else min(to_s, through_s or 0.0)
    to_s = to_s // rule.every_s * rule.every_s
    from_s = max(to_s - CATCH_UP_S, through_s if through_s is not None else to_s - rule.every_s)
    open_alerts = alerts.open_series(conn, rule.name)
    changed = _end_others(conn, rule, open_alerts, now_s)
    if from_s < to_s:
        history = History()
        lead_s = max(rule.for_s, 10 * rule.every_s)
        for sample in signals.collect_samples(conn, rule, from_s - min(lead_s, CATCH_UP_S), to_s):
            history.add(sample)
            if sample.at_s > from_s:
                changed += _advance_series(conn, rule, open_alerts, sample, history)
        alerts.set_evaluated_through(conn, rule.name, to_s)
    for number, standing in open_alerts.values():
        if is_absent(rule, standing, now_s) and alerts.close_alert(conn, number, now_s):
            changed.append(number)
    return changed


def _end_others(conn: Any, rule: Rule, held: dict[Labels, tuple[int, SeriesState]], now_s: float) -> list[int]:
    """Resolve the alerts whose labels differ from the changed rule's: they belong to another series."""
    ended = []
    for labels, (number, _) in list(held.items()):
        if {name: word for name, word in labels if name not in rule.series_labels} != rule.labels:
            del held[labels]
            if alerts.close_alert(conn, number, now_s):
                ended.append(number)
    return ended


def _advance_series(
    conn: Any, rule: Rule, held: dict[Labels, tuple[int, SeriesState]], sample: Sample, seen: History
) -> list[int]:
    number, before = held.get(sample.labels, (0, SeriesState()))
    after = advance_series(rule, before, sample)
    if after.phase == "ok":
        if before.phase == "ok":
            return []
        del held[sample.labels]
        # For a signal without its own wording, the resolving value says nothing about the problem.
        text = rule.described(sample) if sample.words else None
        return [number] if alerts.close_alert(conn, number, sample.at_s, text) else []
    fires = after.phase == "firing" and before.phase != "firing"
    evidence = seen.evidence(rule, sample) if fires or before.phase == "ok" else {}
    if before.phase == "ok":
        number = alerts.open_alert(conn, rule, sample, after, evidence)
    else:
        alerts.move_alert(conn, number, after, sample, fires, evidence, rule.described(sample))
    held[sample.labels] = number, after
    return [number] if fires else []


def explain_fired_alerts(conn: Any, beat: Callable[[], object] = lambda: None) -> None:
    """Add its job's explanation to the evidence of each newly firing alert. The connection must be in autocommit mode.

    An explanation reads many tables, so each has its own transaction, after those of the rules. A failed explanation is None.
    """
    for number, job_id in alerts.list_unexplained_alerts(conn):
        beat()
        with conn.transaction():
            alerts.add_evidence(conn, number, {"explanation": explain_alert_job(conn, job_id)})


def explain_alert_job(conn: Any, job_id: str) -> AlertExplanation | None:
    """Return the current explanation of an alert's job; None if the job is unknown or cannot be explained."""
    try:
        with conn.transaction():
            explanation = explain_by_id(conn, job_id)
    except NotFound:
        return None
    except (psycopg.Error, ValueError, ArithmeticError) as problem:
        # The alert matters more than its explanation.
        log.warning("job %s cannot be explained (%s)", job_id, type(problem).__name__)
        return None
    return {
        "verdict": explanation["verdict"],
        "title": explanation["title"],
        "detail": explanation["detail"],
        "reasons": explanation["reasons"],
        "named": explanation["named"],
        "chain": explanation["chain"],
        "timeline": list_rows(explanation),
        "as_of": explanation["as_of"].isoformat(),
    }


def emit_alert_events(conn: Any, numbers: list[int]) -> None:
    """Emit an `alert` event for each alert that started or stopped firing."""
    for number in dict.fromkeys(numbers):
        row = alerts.load_alert(conn, number)
        emit_event(
            conn,
            "alert",
            {
                "alert_id": number,
                "rule": row["rule"],
                "phase": row["phase"],
                "severity": row["severity"],
                "value": row["value"],
                "fabric": row["labels"].get("fabric"),
                "job_id": row["labels"].get("job"),
            },
        )


def dry_run(conn: Any, rule: Rule, from_s: float, to_s: float) -> DryRun:
    """Evaluate a rule over (from, to] without side effects, as described in `replay_rule`."""
    return replay_rule(rule, signals.collect_samples(conn, rule, from_s, to_s), from_s, to_s)


class DryAlert(TypedDict):
    """Alert that a rule would have raised. `resolved_s` is None while it fires."""

    labels: dict[str, str]
    fired_s: float
    resolved_s: float | None
    value: float
    peak: float | None
    probability: float | None
    summary: str


class DryRun(TypedDict):
    """Result of a rule over (from, to], in epoch seconds: its alerts and the numbers of samples and series evaluated."""

    rule: str
    from_s: float
    to_s: float
    samples: int
    series: int
    fired: int
    alerts: list[DryAlert]


def replay_rule(rule: Rule, samples: Iterable[Sample], from_s: float, to_s: float) -> DryRun:
    """Evaluate a rule over samples in (from, to], in order of time."""
    standing: dict[Labels, SeriesState] = {}
    fired: list[DryAlert] = []
    firing: dict[Labels, DryAlert] = {}
    count = 0
    for sample in samples:
        count += 1
        # Resolve series that expired before this sample for lack of samples, at the time of their expiry.
        for labels, state in list(standing.items()):
            if is_absent(rule, state, sample.at_s):
                standing[labels] = SeriesState()
                _end_alert(firing, labels, state.seen_s + rule.absent_s, state)
        before = standing.get(sample.labels, SeriesState())
        after = standing[sample.labels] = advance_series(rule, before, sample)
        if after.phase == "firing" and before.phase != "firing":
            firing[sample.labels] = {
                "labels": dict(sample.labels),
                "fired_s": sample.at_s,
                "resolved_s": None,
                "value": sample.value,
                "peak": after.peak,
                "probability": sample.probability,
                "summary": rule.described(sample),
            }
            fired.append(firing[sample.labels])
        elif before.phase == "firing" and after.phase == "ok":
            _end_alert(firing, sample.labels, sample.at_s, before)
        elif after.phase == "firing":
            firing[sample.labels]["peak"] = after.peak
    for labels, state in standing.items():
        if state.phase == "firing" and is_absent(rule, state, to_s):
            _end_alert(firing, labels, state.seen_s + rule.absent_s, state)
    return {
        "rule": rule.name,
        "from_s": from_s,
        "to_s": to_s,
        "samples": count,
        "series": len(standing),
        "fired": len(fired),
        "alerts": fired,
    }


def _end_alert(firing: dict[Labels, DryAlert], labels: Labels, at_s: float, held: SeriesState) -> None:
    if labels in firing:
        ended = firing.pop(labels)
        ended["resolved_s"], ended["peak"] = at_s, held.peak
