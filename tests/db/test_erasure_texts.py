"""Erasing a user: names in reasons and events, expressions that mean the user, and what is left and said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.ingest import store as ingest
from flitwatch_db.people.erasure import erase_user, list_remaining
from flitwatch_db.people.picking import classify_matcher

USER = "alicevictim"
REASON = "submit: 'alicevictim' is not a time"


def rows(url: str, query: str) -> list[Any]:
    with connect(url, role="owner") as conn:
        return [row[0] for row in conn.execute(query.encode()).fetchall()]


def add_rule(url: str, name: str, **rule: Any) -> None:
    with connect(url, role="owner") as conn:
        conn.execute("INSERT INTO alert_rule (name, rule, source) VALUES (%s, %s, 'api')", [name, json.dumps(rule)])


def add_silence(url: str, comment: str = "", **matchers: str) -> None:
    with connect(url, role="owner") as conn:
        conn.execute(
            "INSERT INTO alert_silence (matchers, starts_at, ends_at, comment, created_by) VALUES (%s, now(), now(), %s, 'bob')",
            [json.dumps(matchers), comment],
        )


@pytest.mark.parametrize(
    ("matcher", "user", "whom"),
    [
        ("/(?i)ALICEVICTIM|bob/", USER, "the user"),
        ("/alice(victim)/", USER, "the user"),
        ("/ALICE(VICTIM)?/", USER, "the user"),
        ("/alicevict.*/", USER, "the user"),
        ("/al[i]ce(victim)|[a-f]ob/", USER, "the user"),
        ("/user-(ann|bob)/", "user-ann", "the user"),
        ("/u001[5-9]/", "u0017", "the user"),
        ("/alice.*/", USER, "others too"),
        ("/user-.*/", "user-alice", "others too"),
        ("/.*-team-bob/", "project-team-bob", "others too"),
        ("/project-.*-bob/", "project-team-bob", "others too"),
        ("/u[0-9]+/", "u0017", "others too"),
        ("/.*/", USER, "everybody"),
        ("/[a-z]+/", USER, "everybody"),
        ("/[^b].*/", USER, "everybody"),
        ("/alice/", USER, None),
        ("/bob|carol/", USER, None),
        ("/alice)(victim/", USER, None),
        (USER, USER, None),
        ("", USER, None),
        ("/.+/", "a", "everybody"),
        ("/[zñ]oë/", "zoë", "the user"),
    ],
)
def test_an_expression_is_about_a_user_whom_it_picks_and_nobody_alike(
    matcher: str, user: str, whom: str | None
) -> None:
    assert classify_matcher(matcher, user) == whom


def test_silences_and_rules_that_mean_the_user_go(embedded_db: str) -> None:
    for matcher in ("/(?i)ALICEVICTIM|bob/", "/alice(victim)/", "/.*/", "/bob|carol/", "/alice.*/"):
        add_silence(embedded_db, user=matcher)
        add_rule(embedded_db, f"r{len(rows(embedded_db, 'SELECT name FROM alert_rule'))}", where={"user": matcher})
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        tried = erase_user(conn, USER, dry_run=True)
        before = list_remaining(conn, USER)
        assert erase_user(conn, USER) == tried and tried["alert_rule"] == tried["alert_silence"] == 2
        assert before == list_remaining(conn, USER)
    kept = ["/.*/", "/alice.*/", "/bob|carol/"]
    assert sorted(rows(embedded_db, "SELECT matchers ->> 'user' FROM alert_silence")) == kept
    assert sorted(rows(embedded_db, "SELECT rule #>> '{where,user}' FROM alert_rule")) == kept
    assert before == [
        "alert rule r4 stays: /alice.*/ picks others too",
        "alert silence 5 stays: /alice.*/ picks others too",
    ]


def test_the_command_says_what_it_leaves_and_why(embedded_db: str) -> None:
    add_rule(embedded_db, "alicevictim-back", where={"exe": "amg"}, labels={"who": "AliceVictim"})
    add_rule(embedded_db, "other", where={"exe": "amg"}, summary="tell xalicevictim", labels={USER: "x"})
    add_rule(embedded_db, "hers", where={"user": USER}, labels={"who": USER})
    add_silence(embedded_db, exe="amg", comment="ask alicevictim.")
    with connect(embedded_db, role="owner") as conn:
        conn.execute(
            "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence) VALUES"
            " ('back', '{\"who\": \"alicevictim\"}', 'resolved', 'info', now(), now(), 1, 1, '', '{}')"
        )
    expected = [
        "alert rule alicevictim-back stays: it is about others, but holds the name in its name, labels",
        "alert silence 1 stays: it is about others, but holds the name in its comment",
        "alerts of rule back stay: 1 with the name in a text",
    ]
    for flags in ([], ["--yes"]):
        argv = ["db", "erase", USER, *flags, "--db", embedded_db]
        said = CliRunner().invoke(cli, [*argv, "--json"], catch_exceptions=False)
        assert json.loads(said.stdout)["left"] == expected
        assert CliRunner().invoke(cli, argv, catch_exceptions=False).stderr.splitlines() == expected
    assert "victim" not in str(rows(embedded_db, "SELECT details::text FROM audit"))
    assert "left" not in json.loads(
        CliRunner().invoke(cli, ["db", "erase", "nobody", "--db", embedded_db, "--json"]).stdout
    )


def test_reasons_and_events_that_name_the_user_go(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        for reason in (
            REASON,
            "host list 'alicevictim-ws[1-'",
            "submit: 'bob' is not a time",
            "host list 'xalicevictim'",
        ):
            ingest.add_dead_letters(conn, [ingest.DeadLetter("slurm", 0, 1, reason, b"x", "s1.txt")])
            events.emit_event(conn, "dead_letter", {"count": 1, "reason": reason})
        events.emit_event(conn, "task", {"task_id": 3, "message": "done for AliceVictim", "parts": []})
        events.emit_event(conn, "job", {"job_id": "3", "parts": [{"text": "of alicevictim."}]})
        events.emit_event(conn, "job", {"job_id": "4", USER: "a key is no name"})
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        # The words of reasons and the times of counters are nobody's names.
        for name in ("time", "list", "submit"):
            assert sum(erase_user(conn, name, dry_run=True).values()) == 0
        done = erase_user(conn, USER)
    assert (done["event"], done["dead_letter"]) == (4, 2)
    stay = ["host list 'xalicevictim'", "submit: 'bob' is not a time"]
    assert sorted(rows(embedded_db, "SELECT reason FROM dead_letter")) == stay
    assert sorted(rows(embedded_db, "SELECT payload ->> 'reason' FROM event WHERE kind = 'dead_letter'")) == stay
    assert rows(embedded_db, "SELECT payload ->> 'job_id' FROM event WHERE kind <> 'dead_letter'") == ["4"]
