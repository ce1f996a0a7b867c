"""Incidents in a real database: they last as long as their cause, both live and afterwards, and there are none if nothing is planted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.planted_flows import FABRIC
from support.planted_machine import BEGIN_S, planted, run_of

from flitwatch_alerting.evaluate import evaluate_rule
from flitwatch_db import connect
from flitwatch_db.alerts import signals
from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.core.events import emit_event
from flitwatch_db.estimates import advice
from flitwatch_db.fabrics.store import save_fabric
from flitwatch_db.incidents import shown, store
from flitwatch_db.incidents.update import update_incidents
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.jobs.incident import find_incident
from flitwatch_domain.alerts import read_rule
from flitwatch_domain.incidents import IncidentDetail, Minute

#: The culprit runs from minute 6 to 14, the slow job until minute 10.
CULPRIT_S, SLOW_END_S, CULPRIT_END_S = 360, 600, 840
DAY_S = 86_400


def day(url: str, slow: bool = True) -> None:
    planted(url, (60, CULPRIT_S, -3600, 420), count=18, ends_s=(SLOW_END_S, CULPRIT_END_S, None, None))
    run_of(url, "1", [(CULPRIT_S - 5, 10_000)] if slow else [], SLOW_END_S)


def at(conn: Any, second: float) -> list[int]:
    return update_incidents(conn, BEGIN_S + second)


def only(conn: Any) -> IncidentDetail:
    heads = shown.list_heads(conn, shown.IncidentFilter(), 10)
    assert len(heads) == 1, heads
    found = shown.load_detail(conn, heads[0]["incident_id"])
    assert isinstance(found, dict)
    return found


def since(moment: datetime | None) -> float:
    assert moment is not None
    return moment.timestamp() - BEGIN_S


def test_it_opens_while_the_job_is_slow_and_lasts_as_long_as_its_cause(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        with connect(embedded_db, role="owner") as owner:
            # As the scheduler says while they run.
            owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING'")
        assert at(conn, 300) == []
        assert len(at(conn, 480)) == 1
        found = only(conn)
        assert (found["state"], found["ended"]) == ("open", None)
        assert [cause["job_id"] for cause in found["causes"]] == ["2"]
        assert found["causes"][0]["part"] is not None and found["causes"][0]["part"] > 0.6
        assert [one["job_id"] for one in found["victims"]] == ["1"] and found["slow_now"] == 1
        # Advice expects it to end later.
        running = {(row["job_pk"], row["factor"], row["lost_s"]) for row in fetch_rows(conn, advice.RUNNING.encode())}
        slow, *rest = sorted(running, key=lambda row: -row[1])
        assert slow[1] == pytest.approx(1.6, abs=0.05) and slow[2] == found["lost_s"]
        assert len(rest) == 3 and {row[1:] for row in rest} == {(1, 0)}
        assert abs(since(found["began"]) - CULPRIT_S) <= 60
        assert found["title"].startswith("Job 2 has been slowing job 1 since ")
        with connect(embedded_db, role="owner") as owner:
            owner.execute("UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED' WHERE job_id = '1'", [BEGIN_S + SLOW_END_S])  # fmt: skip
        at(conn, 780)
        found = only(conn)
        assert (found["state"], found["slow_now"]) == ("open", 0)
        assert found["title"].startswith("Job 2 slowed job 1 from ")
        with connect(embedded_db, role="owner") as owner:
            owner.execute("UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED' WHERE job_id = '2'", [BEGIN_S + CULPRIT_END_S])  # fmt: skip
        at(conn, 1000)
        found = only(conn)
    assert found["state"] == "over" and abs(since(found["ended"]) - CULPRIT_END_S) <= 60
    # Six tenths more a step from minute 6 to 10.
    true_s = (SLOW_END_S - CULPRIT_S) * 0.6 / 1.6
    victim = found["victims"][0]
    assert abs(victim["lost_s"] - true_s) <= 16 and victim["lost_low_s"] < victim["lost_s"] < victim["lost_high_s"]
    assert found["node_hours"] == pytest.approx(victim["lost_s"] * 128 / 3600)
    assert found["node_hours_low"] < found["node_hours"] < found["node_hours_high"]


def test_a_burst_after_a_long_pause_opens_it_again_and_then_a_pause_as_long_does_not_end_it(embedded_db: str) -> None:
    """The culprit sends from minute 6 to 10 and from 20 to 24: that it bursts is known from the second burst on. It ends in minute 34."""
    planted(embedded_db, (60, CULPRIT_S, -3600, 420), count=36, ends_s=(SLOW_END_S, 2040, None, None), pauses_s=((600, 1200), (1440, 2040)))  # fmt: skip
    run_of(embedded_db, "1", [(CULPRIT_S - 5, 10_000)], SLOW_END_S)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        states, titles = [], {}
        for second in (780, 900, 1300, 2000, 2160):
            at(conn, second)
            states.append(only(conn)["state"])
            (head,) = shown.list_heads(conn, shown.IncidentFilter(), 10, at_s=BEGIN_S + second)
            titles[second] = head["title"]
            assert states[-1] != "open" or find_incident(conn, 1, BEGIN_S + second)["title"] == head["title"]
        found = only(conn)
    assert states == ["open", "over", "open", "open", "over"]
    began = "Job 2 slowed job 1 from 14:06:00 UTC"
    assert titles[1300] == f"{began} and still keeps its links busy"
    assert titles[2000] == f"{began} in bursts, about every 14 minutes; the last burst ended at 14:24:00 UTC"
    assert abs(since(found["began"]) - CULPRIT_S) <= 60 and abs(since(found["ended"]) - 1440) <= 60


def test_a_job_on_two_machines_has_its_incident_where_most_of_its_nodes_are(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="owner", autocommit=True) as owner:
        owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING'")
        save_fabric(owner, replace(FABRIC, name="other"))
        owner.execute("INSERT INTO job_node SELECT job_pk, 'x' || job_id, 2, 0, 0 FROM job WHERE job_id IN ('1', '2')")
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        at(conn, 480)
        assert only(conn)["fabric"] == FABRIC.name
        other = find_incident(conn, 2, BEGIN_S + 480)
    assert (other["verdict"], other["judged"]["running"], other["judged"]["slow"]) == ("cannot tell", 2, 0)


def test_history_says_what_was_said_live(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        at(conn, 3 * DAY_S)
        found = only(conn)
        assert at(conn, 3 * DAY_S + 60) == [], "what is over stays as it is"
    assert found["state"] == "over" and [cause["job_id"] for cause in found["causes"]] == ["2"]
    assert abs(since(found["began"]) - CULPRIT_S) <= 60 and abs(since(found["ended"]) - CULPRIT_END_S) <= 60
    held = {round(since(one["at"])): one for one in found["minutes"]}
    assert found["quiet"] is not None
    for minute in range(CULPRIT_S + 60, CULPRIT_END_S - 60, 60):
        # As the explanation divides it: other jobs send over these links too, and did so before.
        assert held[minute]["part"] == pytest.approx(found["causes"][0]["part"], abs=0.02)
        assert held[minute]["waiting"] > 2 * found["quiet"]


def test_what_the_culprit_cost_stands_on_its_page_and_on_home(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        at(conn, 2000)
        found = only(conn)
        culprit, victim, other = (explain_by_id(conn, job, now_s=BEGIN_S + 2000) for job in "214")
        slowed = culprit["slowed"]
        assert slowed is not None and slowed["jobs"] == 1 and slowed["incidents"] == [found["incident_id"]]
        assert slowed["lost_s"] == pytest.approx(found["lost_s"])
        # It has nearly all of the waiting in each minute, so all of the loss, or at least its part.
        lost, (one,) = found["victims"][0], found["causes"]
        assert slowed["lost_high_s"] == pytest.approx(lost["lost_high_s"])
        assert 0.8 * one["part"] * lost["lost_low_s"] < slowed["lost_low_s"] < lost["lost_low_s"]
        assert culprit["chain"][0]["part"] == "slowed" and "Slowed 1 job by 1 min " in culprit["chain"][0]["text"]
        assert (victim["incident_id"], victim["slowed"]) == (found["incident_id"], None)
        assert (other["incident_id"], other["slowed"]) == (None, None)
        # Nothing of it is known before it begins.
        assert explain_by_id(conn, "3", now_s=BEGIN_S + 300)["slowed"] is None
        fabric_id = conn.execute("SELECT fabric_id FROM fabric").fetchone()[0]
        # A moment of the past shows the incident that covers it, once it had slowed a job, and what was known of its end.
        for second, title in (
            (450, "Job 2 has been slowing job 1 since 14:06:00 UTC"),
            (700, "Job 2 slowed job 1 from 14:06:00 UTC and still keeps its links busy"),
        ):
            incident = find_incident(conn, fabric_id, BEGIN_S + second)
            assert (incident["verdict"], incident["incident_id"], incident["title"], incident["until"]) == (
                "incident",
                found["incident_id"],
                title,
                None,
            )
        during = find_incident(conn, fabric_id, BEGIN_S + 700)
        assert (during["verdict"], during["incident_id"]) == ("incident", found["incident_id"])
        assert during["aggressor"] is not None and during["aggressor"]["job_id"] == "2"
        after = find_incident(conn, fabric_id, BEGIN_S + 2000)
        assert after["verdict"] != "incident" and after["last"] is not None
        assert (after["last"]["incident_id"], after["last"]["title"]) == (found["incident_id"], found["title"])


def test_as_of_a_moment_a_job_has_lost_what_it_had_lost_by_then(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        with connect(embedded_db, role="owner", autocommit=True) as owner:
            ends = owner.execute("SELECT job_pk, end_ts, state FROM job").fetchall()
            owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING'")
            at(conn, 590)
            going, (then,) = only(conn), shown.list_heads(conn, shown.IncidentFilter(), 10, at_s=BEGIN_S + 470)
            # Less than half of the time from the onset to the last examination, give or take a step.
            assert then["lost_s"] == pytest.approx(going["lost_s"] * (470 - CULPRIT_S) / (590 - CULPRIT_S), abs=8)
            for job, end, state in ends:
                owner.execute("UPDATE job SET end_ts = %s, state = %s WHERE job_pk = %s", [end, state, job])
        at(conn, DAY_S)
        found, middle_s = only(conn), BEGIN_S + (CULPRIT_S + SLOW_END_S) / 2
        half = shown.list_heads(conn, shown.IncidentFilter(), 10, at_s=middle_s)[0]
        begun_s = found["victims"][0]["since"].timestamp()
        part = (middle_s - begun_s) / (BEGIN_S + SLOW_END_S - begun_s)
        assert 0.3 < part < 0.7 and half["lost_s"] == pytest.approx(found["lost_s"] * part)
        assert half["node_hours"] == pytest.approx(found["node_hours"] * part)
        culprit = conn.execute("SELECT job_pk FROM job WHERE job_id = '2'").fetchone()
        assert culprit is not None
        cost, later = (shown.slowed_by(conn, culprit[0], at_s) for at_s in (middle_s, BEGIN_S + DAY_S))
        assert cost is not None and later is not None and cost["lost_s"] == pytest.approx(later["lost_s"] * part)


def test_jobs_are_looked_at_again_once_their_counters_come(embedded_db: str) -> None:
    """An import brings the jobs first: nobody can be named, until it says that it has written counters of that time."""
    day(embedded_db)
    with connect(embedded_db, role="owner", autocommit=True) as owner:
        for table in ("endpoint_1m", "endpoint_1h"):
            owner.execute(f"CREATE TABLE away_{table} AS SELECT * FROM {table}")
            owner.execute(f"DELETE FROM {table}")
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        at(conn, 3 * DAY_S)
        assert shown.list_heads(conn, shown.IncidentFilter(), 10) == []
        with connect(embedded_db, role="owner", autocommit=True) as owner:
            for table in ("endpoint_1m", "endpoint_1h"):
                owner.execute(f"INSERT INTO {table} SELECT * FROM away_{table}")
        assert at(conn, 3 * DAY_S + 60) == [], "nobody has said so"
        late = datetime.fromtimestamp(BEGIN_S, UTC).isoformat()
        emit_event(conn, "counters", {"fabric_id": 1, "through": late, "routers": 1, "late_from": late})
        assert len(at(conn, 3 * DAY_S + 120)) == 1
        assert [cause["job_id"] for cause in only(conn)["causes"]] == ["2"]
        assert at(conn, 3 * DAY_S + 180) == [], "once is enough"


def test_a_day_without_slow_jobs_has_none_and_so_has_slowness_that_no_network_carries(embedded_db: str) -> None:
    day(embedded_db, slow=False)
    # Slow, while nothing is in its way: the culprit is gone.
    run_of(embedded_db, "4", [(900, 10_000)], 1080, start_s=420)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for second in (480, 1000, 1200, DAY_S):
            at(conn, second)
        assert shown.list_heads(conn, shown.IncidentFilter(), 10) == []
        assert [explain_by_id(conn, job, now_s=BEGIN_S + DAY_S)["slowed"] for job in "1234"] == [None] * 4


def test_what_the_whole_run_does_not_confirm_is_withdrawn(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        with connect(embedded_db, role="owner") as owner:
            owner.execute("UPDATE job SET end_ts = NULL, state = 'RUNNING' WHERE job_id = '1'")
        at(conn, 480)
        assert only(conn)["state"] == "open"
        with connect(embedded_db, role="owner") as owner:
            owner.execute("UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED' WHERE job_id = '1'", [BEGIN_S + SLOW_END_S])  # fmt: skip
            # The clocks of its steps were wrong.
            owner.execute(
                "UPDATE run_step SET time_s = 10 WHERE run_id = (SELECT run_id FROM run WHERE run_key = 'own-1')"
            )
        at(conn, 1000)
        found = only(conn)
    assert (found["state"], found["slowed"], found["node_hours"]) == ("withdrawn", 0, 0)
    assert found["title"] == found["detail"] and found["ended"] is not None


def test_an_alert_opens_with_it_says_who_and_ends_with_it(embedded_db: str) -> None:
    day(embedded_db)
    rule = read_rule({"name": "incident", "signal": "incident", "above": 1, "every": 60, "summary": "{title}"})
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        at(conn, 2000)
        found = only(conn)
        samples = signals.collect_samples(conn, rule, BEGIN_S, BEGIN_S + 2000)
    assert {dict(one.labels)["incident"] for one in samples} == {str(found["incident_id"])}
    by_second = {one.at_s - BEGIN_S: one for one in samples}
    assert min(second for second, one in by_second.items() if one.value) == pytest.approx(CULPRIT_S, abs=60)
    assert max(second for second, one in by_second.items() if one.value) == pytest.approx(CULPRIT_END_S, abs=60)
    assert by_second[1980].value == 0
    assert rule.described(by_second[480]) == found["title"] and by_second[480].evidence["causes"] == ["2"]


def _finding(conn: Any, since_s: float, until_s: float | None, *causes: str) -> Any:
    named = []
    for job in causes:
        row = conn.execute("SELECT job_pk FROM job WHERE job_id = %s", [job]).fetchone()
        named.append({"job_pk": row[0], "job_id": job, "part": 0.9 / len(causes)})
    low, until = (None if one is None else datetime.fromtimestamp(BEGIN_S + one, UTC) for one in (since_s, until_s))
    slow = {"since": low, "since_low": low, "since_high": low, "until": until, "factor": 1.5, "lost_s": 60.0, "lost_low_s": 50.0, "lost_high_s": 70.0}  # fmt: skip
    return {"verdict": "named", "reasons": [], "slowdown": slow, "named": named, "links": [], "remedies": [], "quiet": None, "to_file_system": False}  # fmt: skip


def test_two_that_turn_out_to_be_one_become_one_and_the_number_of_the_later_still_leads_there(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fabric_id = conn.execute("SELECT fabric_id FROM fabric").fetchone()[0]
        pk = dict(conn.execute("SELECT job_id, job_pk FROM job").fetchall())

        def keep(job: str, since_s: float, until_s: float | None, *causes: str) -> int:
            with conn.transaction():
                return store.store_finding(
                    conn, fabric_id, pk[job], True, _finding(conn, since_s, until_s, *causes), False
                )

        rule, ends = (
            read_rule({"name": "incident", "signal": "incident", "above": 1, "summary": "{title}"}),
            iter((460, 480)),
        )

        def alerted() -> list[int]:
            """Incidents with a firing alert, at a later time in each call."""
            evaluate_rule(conn, rule, None, BEGIN_S + next(ends))
            rows = conn.execute("SELECT (labels ->> 'incident')::int FROM alert WHERE phase = 'firing' ORDER BY 1")
            return [number for (number,) in rows]

        first, second = keep("1", 360, None, "2"), keep("3", 400, None, "4")
        assert first != second
        assert alerted() == [first, second]
        for number, waiting in ((first, 2.0), (second, 9.0)):
            store.add_minutes(
                conn, number, [Minute(BEGIN_S + 420, waiting, 0.9), Minute(BEGIN_S + 60 * number, waiting, 0.9)]
            )
        note = store.add_note(conn, second, "ada", "Asked the owner to wait.")
        assert note is not None
        # The second job's whole wait comes with job 2 too.
        assert keep("3", 400, None, "4", "2") == first
        assert shown.load_detail(conn, second) == first
        found = only(conn)
        assert {one["job_id"] for one in found["victims"]} == {"1", "3"}
        assert [cause["job_id"] for cause in found["causes"]] == ["2", "4"]
        assert [one["text"] for one in found["notes"]] == ["Asked the owner to wait."]
        assert {one["waiting"] for one in found["minutes"]} == {2.0}, "the other's are of another path"
        # The alert of the later is over too.
        assert alerted() == [first]
        # Long after it is over, the same cause makes another.
        conn.execute("UPDATE incident SET ended_at = to_timestamp(%s)", [BEGIN_S + 840])
        assert keep("1", 5000, 5600, "2") not in (first, second)


def test_a_first_cause_stays_when_what_a_later_one_cost_outweighs_it(embedded_db: str) -> None:
    """Job 2 slowed job 1 until minute 10. In minute 7 job 4 joined, which hid it, and cost job 3 much more."""
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        (fabric_id,) = conn.execute("SELECT fabric_id FROM fabric").fetchone() or (0,)
        pk = dict(conn.execute("SELECT job_id, job_pk FROM job").fetchall())
        conn.execute("UPDATE job SET end_ts = to_timestamp(%s), state = 'COMPLETED'", [BEGIN_S + CULPRIT_END_S])
        first, second = _finding(conn, 365, 600, "4", "2"), _finding(conn, 430, 840, "4")
        first["named"][0]["part"], first["named"][1]["part"], second["slowdown"]["lost_s"] = 0.75, 0.15, 600.0
        for job, found in (("1", first), ("3", second)):
            with conn.transaction():
                store.store_finding(conn, fabric_id, pk[job], True, found, True)
        store.mark_judged(conn, pk["1"])
        at(conn, 2000)
        found = only(conn)
    assert [cause["job_id"] for cause in found["causes"]] == ["4", "2"]
    assert since(found["began"]) == 365 and found["title"].startswith(
        "Jobs 4 and 2 slowed 2 jobs from 14:06:05 UTC to "
    )
    # At a time before the second cause started, the first one alone.
    with connect(embedded_db, role="reader") as conn:
        (head,) = shown.list_heads(conn, shown.IncidentFilter(), 10, at_s=BEGIN_S + 410)
        assert head["title"] == "Job 2 has been slowing job 1 since 14:06:05 UTC"


def test_a_list_can_be_narrowed_and_is_read_in_pages(embedded_db: str) -> None:
    day(embedded_db)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fabric_id = conn.execute("SELECT fabric_id FROM fabric").fetchone()[0]
        pk = dict(conn.execute("SELECT job_id, job_pk FROM job").fetchall())
        kept = []
        for number in range(4):
            begin = -9000 * (number + 1)
            with conn.transaction():
                kept.append(store.store_finding(conn, fabric_id, pk["1"], True, _finding(conn, begin, begin + 100, "2" if number % 2 else "3"), True))  # fmt: skip
        assert [one["incident_id"] for one in shown.list_heads(conn, shown.IncidentFilter(), 3)] == kept[:3], (
            "newest first"
        )
        assert [one["incident_id"] for one in shown.list_heads(conn, shown.IncidentFilter(), 3, kept[2])] == kept[3:]
        numbers = [one["incident_id"] for one in shown.list_heads(conn, shown.IncidentFilter(user="u1"), 9)]
        assert (
            numbers
            == [kept[1], kept[3]]
            == [one["incident_id"] for one in shown.list_heads(conn, shown.IncidentFilter(job="2"), 9)]
        )
        assert shown.list_heads(conn, shown.IncidentFilter(user="u0"), 9) == [], "who is slowed has caused nothing"
        span = shown.IncidentFilter(from_s=BEGIN_S - 20_000, to_s=BEGIN_S - 10_000, state="open")
        assert [one["incident_id"] for one in shown.list_heads(conn, span, 9)] == kept[1:]


@pytest.mark.parametrize(("pauses_s", "change"), [((), "none"), (((100, CULPRIT_S),), "sends more")])
def test_a_job_that_joined_the_quiet_job_has_changed_only_if_it_sends_more_than_then(
    pauses_s: tuple[tuple[int, int], ...], change: str, embedded_db: str
) -> None:
    """Its traffic in the quiet minute, before its start, was none: that says nothing of the onset."""
    joined_s = 100
    planted(embedded_db, (60, joined_s, -3600, CULPRIT_S), pauses_s=pauses_s)
    run_of(embedded_db, "1", [(CULPRIT_S - 5, 10_000)], SLOW_END_S)
    with connect(embedded_db, role="reader") as conn:
        answer = explain_by_id(conn, "1", None, BEGIN_S + SLOW_END_S)
    assert {one["job_id"]: one["change"] for one in answer["candidates"]} == {"2": change, "3": "none", "4": "started"}
