"""Successive evaluations on a real database: evaluated signals, stored state, and ended alerts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import list_events_since

from flitwatch_alerting.evaluate import (
    CATCH_UP_S,
    MOST_SAMPLES,
    AlertExplanation,
    dry_run,
    emit_alert_events,
    evaluate_rule,
    explain_alert_job,
    explain_fired_alerts,
)
from flitwatch_db import connect
from flitwatch_db.alerts.store import list_unexplained_alerts, save_rule
from flitwatch_db.core.connection import clock_s
from flitwatch_db.jobs import store as jobs
from flitwatch_db.runs import store as runs
from flitwatch_domain.alerts import Rule, read_rule
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep

#: A round moment of long ago: nothing here depends on now.
BASE_S = 1_700_000_000 // 3600 * 3600
#: Figures are known so long after their time, as docs/contracts/alerts.md says.
LAG_S = 15


@pytest.fixture
def conn(embedded_db: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(embedded_db, role="writer") as made:
        yield made


def gap_rule(conn: psycopg.Connection[Any], **given: Any) -> Rule:
    """A rule over the number of devices with a gap, stored."""
    rule = read_rule({"name": "gaps", "signal": "ingest_gap", "above": 2, "every": 10, "summary": "{value}", **given})
    save_rule(conn, rule, "api")
    return rule


def silent(conn: psycopg.Connection[Any], from_s: float, to_s: float, devices: int = 2) -> None:
    """So many devices without records in [from, to) after BASE_S."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gap (device, schema, from_ts, to_ts, reason) VALUES (%s, 's', to_timestamp(%s), to_timestamp(%s), 'silence')",
            [(f"d{number}", BASE_S + from_s, BASE_S + to_s) for number in range(devices)],
        )


def alerts(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    """(phase, since, seen, fired, resolved, value, peak), moments after BASE_S."""
    rows = conn.execute(
        "SELECT phase, extract(epoch FROM since)::float8, extract(epoch FROM seen)::float8, extract(epoch FROM fired_at)::float8,"
        " extract(epoch FROM resolved_at)::float8, value, peak FROM alert ORDER BY alert_id"
    ).fetchall()
    return [
        (phase, *(None if m is None else m - BASE_S for m in moments), value, peak)
        for phase, *moments, value, peak in rows
    ]


def through(conn: psycopg.Connection[Any]) -> float | None:
    row = conn.execute("SELECT extract(epoch FROM through)::float8 FROM alert_rule").fetchone()
    assert row is not None
    return None if row[0] is None else float(row[0]) - BASE_S


def evidence(conn: psycopg.Connection[Any]) -> dict[str, Any]:
    row = conn.execute("SELECT evidence FROM alert").fetchone()
    assert row is not None
    return dict(row[0])


def step(conn: psycopg.Connection[Any], rule: Rule, from_s: float, now: float) -> list[int]:
    """Evaluate from what was reached to `now`, both after BASE_S."""
    return evaluate_rule(conn, rule, BASE_S + from_s, BASE_S + now)


def test_an_alert_waits_fires_and_ends_over_several_evaluations(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, **{"for": 30})
    silent(conn, 20, 80)
    silent(conn, 50, 60, devices=3)
    # Steps end at 10, 20, ...: the gap touches those that end at 30 to 80.
    assert step(conn, rule, 0, 40 + LAG_S) == [] and through(conn) == 40
    assert alerts(conn) == [("pending", 30, 40, None, None, 2, 2)]
    (number,) = step(conn, rule, 40, 60 + LAG_S)
    assert alerts(conn) == [("firing", 60, 60, 60, None, 3, 3)] and through(conn) == 60
    assert step(conn, rule, 60, 80 + LAG_S) == []
    assert alerts(conn) == [("firing", 60, 80, 60, None, 2, 3)]
    assert step(conn, rule, 80, 90 + LAG_S) == [number]
    assert alerts(conn) == [("resolved", 60, 80, 60, 90, 2, 3)]
    assert step(conn, rule, 90, 200 + LAG_S) == [] and len(alerts(conn)) == 1


def test_what_never_fired_leaves_nothing(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, **{"for": 30})
    silent(conn, 20, 40)
    assert step(conn, rule, 0, 40 + LAG_S) == [] and len(alerts(conn)) == 1
    assert step(conn, rule, 40, 60 + LAG_S) == [] and alerts(conn) == []


def test_a_step_is_looked_at_once_it_is_over_and_known(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn)
    silent(conn, 20, 30)
    assert step(conn, rule, 20, 30 + LAG_S - 0.1) == [] and through(conn) is None
    (number,) = step(conn, rule, 20, 30 + LAG_S)
    assert through(conn) == 30
    # What was evaluated is not evaluated again, whatever came late.
    silent(conn, 0, 30, devices=9)
    assert step(conn, rule, 30, 30 + LAG_S + 9.9) == [] and alerts(conn)[0][5:] == (2, 2)
    assert step(conn, rule, 30, 40 + LAG_S) == [number]


def test_a_new_rule_begins_with_the_last_step(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn)
    silent(conn, 0, 30)
    assert evaluate_rule(conn, rule, None, BASE_S + 40 + LAG_S) == [] and alerts(conn) == [] and through(conn) == 40
    (_,) = evaluate_rule(conn, rule, None, BASE_S + 30 + LAG_S)
    assert [alert[3] for alert in alerts(conn)] == [30]


def test_after_a_long_stop_the_last_hour_is_caught_up(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn)
    assert CATCH_UP_S == 3600
    for begin in (2000, 2390, 2400, 5000):
        silent(conn, begin, begin + 5)
    step(conn, rule, 0, 6000 + LAG_S)
    # Steps after 2400: the gap at 2390 ends before them, that at 2400 lies in the first.
    assert [alert[3] for alert in alerts(conn)] == [2410, 5010]


@pytest.mark.parametrize(("duration", "leads"), [(0, 10), (200, 20), (400, 40)])
def test_the_evidence_shows_what_came_before(conn: psycopg.Connection[Any], duration: float, leads: int) -> None:
    """Ten steps, or the rule's own duration where that is longer, and at most sixty samples in all."""
    rule = gap_rule(conn, **{"for": duration})
    silent(conn, 2000, 2900)
    silent(conn, 0, 1, devices=1)
    last = 2000 + 10 + duration
    begin = 2000
    step(conn, rule, begin, last + LAG_S)
    kept = evidence(conn)
    moments = list(itertools.takewhile(lambda m: m <= last, itertools.count(begin - 10 * leads + 10, 10)))
    assert [m - BASE_S for m in kept["at_s"]] == moments[-MOST_SAMPLES:]
    assert kept["value"] == [2.0 if m > 2000 else 0.0 for m in moments][-MOST_SAMPLES:]
    assert kept["devices"] == ["d0", "d1"] and kept["signal"] == "ingest_gap"
    assert (kept["above"], kept["clear"], kept["probability"], kept["rule"]["name"]) == (2, 2, None, "gaps")


def test_the_evidence_is_that_of_the_moment_of_firing(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, clear=1, **{"for": 20})
    silent(conn, 0, 20)
    silent(conn, 20, 100, devices=4)
    step(conn, rule, 0, 10 + LAG_S)
    assert evidence(conn)["value"][-2:] == [0, 2]
    summary = "SELECT summary FROM alert"
    assert conn.execute(summary).fetchone() == ("2",)
    step(conn, rule, 10, 30 + LAG_S)
    fired = evidence(conn)
    assert fired["value"][-3:] == [2, 2, 4] and conn.execute(summary).fetchone() == ("4",)
    step(conn, rule, 30, 90 + LAG_S)
    assert evidence(conn) == fired and conn.execute(summary).fetchone() == ("4",)
    assert len(fired["value"]) <= MOST_SAMPLES == 60


def test_a_long_history_keeps_the_last_sixty_samples(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, **{"for": 1000})
    silent(conn, 1000, 3000)
    step(conn, rule, 900, 2010 + LAG_S)
    kept = evidence(conn)
    assert [m - BASE_S for m in kept["at_s"]] == list(range(1420, 2011, 10))


def test_no_evidence_is_older_than_what_may_be_caught_up(conn: psycopg.Connection[Any]) -> None:
    """Of a rule of two hours' duration the hour before is read, not two."""
    rule = gap_rule(conn, every=300, **{"for": "2h"})
    silent(conn, 0, 14_400)
    step(conn, rule, 7200, 7500 + LAG_S)
    assert [m - BASE_S for m in evidence(conn)["at_s"]] == list(range(3900, 7501, 300))


def test_a_series_without_samples_is_over(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, absent=300)
    silent(conn, 0, 30)
    (number,) = step(conn, rule, 0, 30 + LAG_S)
    # The fabric is named as long as a gap lies near; from then on the series has no samples at all.
    conn.execute("DELETE FROM gap")
    assert step(conn, rule, 30, 329) == [] and alerts(conn)[0][0] == "firing"
    assert step(conn, rule, 310, 330) == [number]
    assert alerts(conn) == [("resolved", 10, 30, 10, 330, 2, 2)]


def test_a_pending_series_without_samples_vanishes(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn, absent=300, **{"for": 100})
    silent(conn, 0, 30)
    assert step(conn, rule, 0, 30 + LAG_S) == []
    conn.execute("DELETE FROM gap")
    assert step(conn, rule, 30, 330) == [] and alerts(conn) == []


def test_a_rules_other_labels_end_what_was_named_before(conn: psycopg.Connection[Any]) -> None:
    silent(conn, 0, 300)
    rule = gap_rule(conn, labels={"team": "net"})
    (number,) = step(conn, rule, 0, 30 + LAG_S)
    assert step(conn, rule, 30, 40 + LAG_S) == []
    changed = gap_rule(conn, labels={"team": "ops"})
    ended, begun = step(conn, changed, 40, 50 + LAG_S)
    assert ended == number and begun != number
    assert [alert[0] for alert in alerts(conn)] == ["resolved", "firing"]
    # One that only waited goes without a word.
    waits = gap_rule(conn, labels={"team": "sys"}, **{"for": 60})
    assert step(conn, waits, 50, 60 + LAG_S) == [begun]
    assert step(conn, gap_rule(conn, labels={"team": "all"}, **{"for": 60}), 60, 70 + LAG_S) == []
    assert [alert[0] for alert in alerts(conn)] == ["resolved", "resolved", "pending"]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=5),
    st.lists(st.integers(1, 90), max_size=6, unique=True),
    st.sampled_from([0, 20, 50]),
)
def test_how_often_a_rule_is_evaluated_changes_nothing(
    conn: psycopg.Connection[Any], gaps: list[tuple[int, int, int]], stops: list[int], duration: int
) -> None:
    """Evaluated in pieces, in one go, and tried over history: the same alerts with the same moments."""
    for number, (begin, length, devices) in enumerate(gaps):
        silent(conn, 10 * begin + number, 10 * (begin + length), devices)
    found = []
    for moments in ([900], sorted({*(10 * stop for stop in stops), 900})):
        rule = gap_rule(conn, clear=1, **{"for": duration})
        reached = 0
        for moment in moments:
            step(conn, rule, reached, moment + LAG_S)
            reached = moment
        found.append([alert for alert in alerts(conn) if alert[0] != "pending"])
        conn.execute("DELETE FROM alert")
    assert found[0] == found[1]
    tried = dry_run(conn, rule, BASE_S, BASE_S + 900)
    dry_alerts = [
        (a["fired_s"] - BASE_S, a["resolved_s"] and a["resolved_s"] - BASE_S, a["peak"])
        for a in sorted(tried["alerts"], key=lambda a: a["fired_s"])
    ]
    assert dry_alerts == [(alert[3], alert[4], alert[6]) for alert in found[0]]
    conn.execute("DELETE FROM gap")
    conn.execute("DELETE FROM alert_rule")


def counters(conn: psycopg.Connection[Any], through_s: float) -> None:
    """A writer says until when counters are complete."""
    conn.execute(
        "INSERT INTO event (kind, payload) VALUES ('counters', jsonb_build_object('fabric_id', 1, 'through', to_timestamp(%s)))",
        [through_s],
    )


def stalls_rule(conn: psycopg.Connection[Any]) -> Rule:
    rule = read_rule({"name": "stalls", "signal": "stall_ratio", "above": 4, "every": 10})
    save_rule(conn, rule, "api")
    return rule


def test_figures_of_counters_wait_for_the_writer(conn: psycopg.Connection[Any]) -> None:
    """Without a writer nothing is evaluated, and with one no further than it says."""
    rule = stalls_rule(conn)
    now = clock_s(conn) // 10 * 10
    for begun in (None, now - 600):
        assert evaluate_rule(conn, rule, begun, now + LAG_S) == []
    assert conn.execute("SELECT through FROM alert_rule WHERE through > to_timestamp(100)").fetchall() == []
    counters(conn, now - 33)
    evaluate_rule(conn, rule, now - 600, now + LAG_S)
    reached = conn.execute("SELECT extract(epoch FROM through)::float8 FROM alert_rule").fetchone()
    assert reached == (now - 40,)
    # A writer whose clock is ahead does not make what is not over yet count.
    counters(conn, now + 100)
    evaluate_rule(conn, rule, now - 40, now + LAG_S)
    assert conn.execute("SELECT extract(epoch FROM through)::float8 FROM alert_rule").fetchone() == (now,)


def test_other_figures_do_not_wait_for_the_writer(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn)
    counters(conn, clock_s(conn) - 1000)
    now = clock_s(conn) // 10 * 10
    evaluate_rule(conn, rule, now - 20, now + LAG_S)
    assert through(conn) == now - BASE_S


def test_what_an_alert_says_of_its_job(embedded_db: str, caplog: pytest.LogCaptureFixture) -> None:
    with connect(embedded_db, role="owner") as conn:
        assert explain_alert_job(conn, "77") is None
        begun = clock_s(conn) - 60
        jobs.upsert_jobs(
            conn, [Job("c", "77", "RUNNING", user="ann", name="milc", start_s=begun, nodes=1, node_list="n1")]
        )
        said = explain_alert_job(conn, "77")
        assert (
            said is not None
            and set(said) == AlertExplanation.__required_keys__
            and said["verdict"] == "cannot tell"
            and isinstance(said["as_of"], str)
        )
        # Where the explanation fails, the alert goes out without it, and the transaction goes on.
        conn.execute("ALTER TABLE run RENAME TO run_away")
        with caplog.at_level(logging.WARNING):
            assert explain_alert_job(conn, "77") is None
        assert "job 77 cannot be explained (UndefinedTable)" in caplog.text
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (1,)
        conn.rollback()


def test_an_alert_about_a_job_holds_its_explanation_from_when_it_fires(conn: psycopg.Connection[Any]) -> None:
    begun = clock_s(conn) // 60 * 60 - 600
    jobs.upsert_jobs(conn, [Job("c", "77", "RUNNING", user="ann", name="milc", start_s=begun, nodes=1, node_list="n1")])
    run_id = runs.upsert_run(conn, Run(run_key="r", exe="milc", job_id="77", ranks=(0,), nodes=("n1",)))
    runs.upsert_steps(conn, run_id, [RunStep(0, np.array([10**9]))])
    conn.execute(
        "INSERT INTO forecast (run_id, after_steps, ahead, made_at, forecaster, expected_s, low_s, high_s, usual_s, curve_s)"
        " VALUES (%s, 5, 10, to_timestamp(%s), 'attention', 150, 140, 160, 100, '{}')",
        [run_id, begun],
    )
    rule = read_rule({"name": "slow", "signal": "slowdown", "above": 1.2, "every": 10, "for": 30})
    save_rule(conn, rule, "api")
    evaluate_rule(conn, rule, begun - 10, begun + 10 + LAG_S)
    waiting = evidence(conn)
    assert "explanation" not in waiting and waiting["expected_s"] == 150
    (_,) = evaluate_rule(conn, rule, begun + 10, begun + 40 + LAG_S)
    assert "explanation" not in evidence(conn)
    explain_fired_alerts(conn)
    explained = evidence(conn)
    assert explained["explanation"]["verdict"] == "cannot tell" and explained["expected_s"] == 150
    # It is kept as it was; a job that cannot be explained is not tried again and again.
    conn.execute("UPDATE alert SET labels = labels - 'job'")
    explain_fired_alerts(conn)
    assert evidence(conn) == explained
    conn.execute("UPDATE alert SET labels = jsonb_build_object('job', '78'), evidence = evidence - 'explanation'")
    explain_fired_alerts(conn)
    assert evidence(conn)["explanation"] is None and list_unexplained_alerts(conn) == []


def test_an_event_for_each_alert_that_began_or_ended(conn: psycopg.Connection[Any]) -> None:
    rule = gap_rule(conn)
    silent(conn, 0, 30)
    (number,) = step(conn, rule, 0, 30 + LAG_S)
    emit_alert_events(conn, [number, number])
    (event,) = [e for e in list_events_since(conn, 0) if e.kind == "alert"]
    assert event.payload == {
        "alert_id": number,
        "rule": "gaps",
        "phase": "firing",
        "severity": "warning",
        "value": 2,
        "fabric": "unknown",
        "job_id": None,
    }
