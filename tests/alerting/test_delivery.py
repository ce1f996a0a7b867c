"""Delivery from a real database to real receivers: pending alerts of an unavailable receiver, their keys, and suppressed ones."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest
from support.alerts import fire, smtp_sink
from support.endless_answer import SOCKETS_BYTES, dripping, serving_endlessly, serving_lines
from support.waiting import eventually

from alerting.receivers import Hook, config, receiving
from flitwatch_alerting import deliver, engine, senders
from flitwatch_alerting.deliver import plan_notices, send_due_notices
from flitwatch_alerting.engine import send_tests, with_contacts
from flitwatch_alerting.senders import post_json
from flitwatch_db import connect
from flitwatch_db.alerts import contacts
from flitwatch_db.alerts import store as alerts
from flitwatch_db.core.connection import clock_s


def turn(conn: Any, chosen: Any) -> int:
    """One pass of the engine's delivery after every wait is over."""
    conn.execute("UPDATE alert_notice SET due_at = now() WHERE delivered_at IS NULL")
    plan_notices(conn, chosen)
    return send_due_notices(conn, chosen)


def notices(hook: Hook) -> list[tuple[str, list[str]]]:
    return [(body["key"], [f"{a['rule']} {a['status']}" for a in body["alerts"]]) for body in hook.got]


def test_a_message_that_comes_again_has_its_key_and_its_alerts_and_new_ones_make_a_message_of_their_own(
    embedded_db: str, hook: Hook
) -> None:
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url}, rules=(), group_by=[])
    hook.mute = True
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        first = fire(conn, "q1")
        assert turn(conn, chosen) == 0
        fire(conn, "q2")
        plan_notices(conn, chosen)
        # The message before waits for its next attempt, and so do those that come after it.
        assert send_due_notices(conn, chosen) == 0 and len(hook.got) == 1
        assert turn(conn, chosen) == 0
        alerts.close_alert(conn, first, clock_s(conn))
        hook.mute = False
        assert turn(conn, chosen) == 1 and turn(conn, chosen) == 2 and turn(conn, chosen) == 0
    *again, (other, words) = notices(hook)
    key = again[0][0]
    assert again == [(key, ["q1 firing"])] * 3
    assert words == ["q2 firing", "q1 resolved"] and other != key


def test_only_the_head_of_an_endless_answer_is_read() -> None:
    with serving_endlessly() as receiver:
        post_json("receiver h", receiver.url, b"{}", {})
    assert receiver.sent_bytes <= SOCKETS_BYTES


@pytest.mark.parametrize("before", [b"", b"220 mail\r\n"], ids=["greeting", "reply"])
def test_an_endless_reply_of_a_mail_server_is_not_read(before: bytes) -> None:
    with serving_lines(before, b"250-" + b"x" * 60 + b"\r\n") as (port, sent):
        receiver = {"name": "m", "kind": "mail", "server": f"127.0.0.1:{port}", "to": ["a@x.example"]}
        chosen = config(receiver, rules=())
        with pytest.raises(senders.Unreachable, match="receiver m cannot be reached"):
            senders.send_test(chosen, chosen.receivers[0], "key")
    assert sum(sent) <= SOCKETS_BYTES


@pytest.mark.parametrize("kind", ["webhook", "alertmanager", "slack", "mail", "apprise"])
def test_a_receiver_that_sends_a_byte_now_and_then_delays_no_other(
    kind: str, embedded_db: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "apprise":
        pytest.importorskip("apprise")
    monkeypatch.setattr(senders, "DELIVERY_S", 0.4)
    with dripping(0.02) as port, connect(embedded_db, role="writer", autocommit=True) as conn:
        monkeypatch.setenv("DRIPS", f"json://127.0.0.1:{port}")
        at = {
            "mail": {"server": f"127.0.0.1:{port}", "to": ["a@x.example"]},
            "apprise": {"url_env": "DRIPS"},
        }.get(kind, {"url": f"http://127.0.0.1:{port}/"})
        chosen = config(
            {"name": "drips", "kind": kind, **at}, {"name": "h", "kind": "webhook", "url": hook.url}, rules=()
        )
        fire(conn, "q1")
        # On a busy machine the other one may take as long.
        eventually(lambda: turn(conn, chosen) == 1)
        assert {word for _, words in notices(hook) for word in words} == {"q1 firing"}
        (why,) = conn.execute("SELECT error FROM alert_notice WHERE receiver = 'drips'").fetchone() or ("",)
        assert why == "no answer: receiver drips has not accepted the message within 0.4 s"
        eventually(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("delivery")])


def test_receivers_do_not_wait_for_one_another(embedded_db: str, hook: Hook) -> None:
    """The first one accepts its message only after the last one has its own."""
    with receiving() as last, connect(embedded_db, role="writer", autocommit=True) as conn:
        hook.before = lambda: eventually(lambda: bool(last.got), what="the last receiver's message")
        receivers = [{"name": name, "kind": "webhook", "url": one.url} for name, one in (("a", hook), ("b", last))]
        fire(conn, "q1")
        assert turn(conn, config(*receivers, rules=())) == 2


def test_new_groups_of_a_receiver_that_does_not_answer_wait_for_its_next_attempt(embedded_db: str, hook: Hook) -> None:
    with receiving() as silent, connect(embedded_db, role="writer", autocommit=True) as conn:
        silent.mute = True
        receivers = [{"name": name, "kind": "webhook", "url": one.url} for name, one in (("a", silent), ("b", hook))]
        chosen = config(*receivers, rules=(), group_by=["rule"])
        for name in ("q1", "q2", "q3"):
            fire(conn, name)
            plan_notices(conn, chosen)
            # Each attempt could take DELIVERY_S, and the round of the other one with it.
            assert send_due_notices(conn, chosen) == 1 == len(silent.got)
        silent.mute = False
        assert turn(conn, chosen) == 3


def test_a_receiver_that_does_not_answer_costs_one_attempt(embedded_db: str, hook: Hook) -> None:
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url}, rules=(), group_by=["rule"])
    hook.mute = True
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for name in ("q1", "q2", "q3"):
            fire(conn, name)
            assert turn(conn, chosen) == 0
        hook.got.clear()
        assert turn(conn, chosen) == 0 == send_due_notices(conn, chosen) and len(hook.got) == 1
        hook.mute = False
        assert turn(conn, chosen) == 3


def test_a_slow_receiver_of_many_messages_leaves_time_for_the_rules(
    embedded_db: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "ROUND_S", 0.0)
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url}, rules=(), group_by=["rule"])
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for name in ("q1", "q2"):
            fire(conn, name)
        assert [turn(conn, chosen) for _ in range(3)] == [1, 1, 0]


def test_a_message_that_is_refused_does_not_hold_up_the_next(embedded_db: str, hook: Hook) -> None:
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url}, rules=(), group_by=[])
    hook.refused = {"q1"}
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        first = fire(conn, "q1")
        assert turn(conn, chosen) == 0
        fire(conn, "q2")
        alerts.close_alert(conn, first, clock_s(conn))
        # The end is announced after the beginning.
        assert turn(conn, chosen) == 1
        hook.refused = set()
        assert turn(conn, chosen) == 1 and turn(conn, chosen) == 1
    assert [words for _, words in notices(hook)] == [["q2 firing"], ["q1 firing"], ["q1 resolved"]]


def test_a_real_alertmanager_shows_no_mark_of_what_was_measured(embedded_db: str, alertmanager: str) -> None:
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fire(conn, "measured")
        assert turn(conn, config({"name": "am", "kind": "alertmanager", "url": alertmanager}, rules=())) == 1
    notices = {a["labels"]["alertname"]: a for a in httpx.get(f"{alertmanager}/api/v2/alerts").json()}
    assert set(notices["measured"]["annotations"]) == {"summary", "value", "evidence"}


@pytest.mark.parametrize("why", ["silence", "inhibition"])
def test_what_waits_for_an_absent_receiver_is_kept_quiet_too(embedded_db: str, hook: Hook, why: str) -> None:
    chosen = config(
        {"name": "h", "kind": "webhook", "url": hook.url, "match": {"rule": "/q./"}},
        {"name": "s", "kind": "slack", "url": hook.url, "match": {"rule": "/q./"}},
        rules=(),
        group_by=[],
        inhibit=[{"source": {"rule": "source"}, "target": {"rule": "/q1|q2/"}, "equal": ["fabric"]}],
    )
    hook.status = 503
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        for name in ("q1", "q2", "q3"):
            fire(conn, name)
        assert turn(conn, chosen) == 0
        (key,) = {row[0] for row in conn.execute("SELECT batch FROM alert_notice WHERE receiver = 'h'").fetchall()}
        if why == "silence":
            ends = conn.execute("SELECT now(), now() + interval '1 hour'").fetchone() or ()
            alerts.add_silence(conn, {"rule": r"/(.)\1/"}, *ends, "one that an older version took", "ops")
            alerts.add_silence(conn, {"nosuchlabel": ""}, *ends, "another", "ops")
            number = alerts.add_silence(conn, {"rule": "/q1|q2/"}, *ends, "known", "ops")
        else:
            number = fire(conn, "source")
        hook.status = 200
        assert turn(conn, chosen) == 2 and turn(conn, chosen) == 0
        hooks, slacks = ([body for body in hook.got if what in body] for what in ("alerts", "text"))
        # What stays of the message keeps its key: a receiver that had taken all of it takes no part of it again.
        assert [(body["key"], [a["rule"] for a in body["alerts"]]) for body in hooks] == [(key, ["q3"])]
        assert len(slacks) == 1 and slacks[0]["text"].count("FIRING") == 1
        if why == "silence":
            alerts.end_silence(conn, number)
        else:
            alerts.close_alert(conn, number, clock_s(conn))
        assert turn(conn, chosen) == 4
    assert [a["rule"] for a in next(b for b in hook.got[2:] if "alerts" in b)["alerts"]] == ["q1", "q2"]


def test_test_mails_leave_time_for_the_rules(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ROUND_S", 0.0)
    beats: list[int] = []
    with smtp_sink() as (_, server), connect(embedded_db, role="writer", autocommit=True) as conn:
        for name in ("a", "b"):
            contacts.save_contact_point(conn, name, [f"{name}@site.example"], "info")
            contacts.ask_test(conn, name)
        chosen = config(rules=(), mail={"server": server})
        assert [send_tests(conn, chosen, lambda: beats.append(1)) for _ in range(3)] == [1, 1, 0]
    assert len(beats) == 2


def test_a_contact_point_gets_what_is_as_severe_as_it_asks_and_one_test_mail(embedded_db: str) -> None:
    with smtp_sink() as (sink, server), connect(embedded_db, role="writer", autocommit=True) as conn:
        chosen = config(rules=(), mail={"server": server})
        contacts.save_contact_point(conn, "all", ["all@site.example"], "info")
        contacts.save_contact_point(conn, "calm", ["calm@site.example"], "critical")
        fire(conn, "q1")
        # Contact points come and go while the engine runs: each round asks for them.
        assert turn(conn, with_contacts(conn, chosen)) == 1
        assert [mail["To"] for mail in sink.mails] == ["all@site.example"]
        assert contacts.ask_test(conn, "calm") and not contacts.ask_test(conn, "absent")
        assert send_tests(conn, chosen) == 1 and send_tests(conn, chosen) == 0
        assert (sink.mails[-1]["To"], sink.mails[-1]["Subject"]) == ("calm@site.example", "[Flitwatch] Test mail")
        contacts.ask_test(conn, "calm")
        # Nobody answers there: it is tried once, and the row says why it failed.
        assert send_tests(conn, config(rules=(), mail={"server": "127.0.0.1:1"})) == 0 == send_tests(conn, chosen)
        row = conn.execute("SELECT test_error FROM alert_contact WHERE name = 'calm'").fetchone()
        assert row == ("receiver contact:calm cannot be reached (ConnectionRefusedError)",)
        contacts.delete_contact_point(conn, "all")
        fire(conn, "q2")
        assert turn(conn, with_contacts(conn, chosen)) == 0 and len(sink.mails) == 2


def test_apprise_tells_each_alert_by_itself_and_its_end_under_the_same_title(embedded_db: str, hook: Hook) -> None:
    pytest.importorskip("apprise", reason="needs the extra notify")
    chosen = config({"name": "t", "kind": "apprise", "url": hook.url.replace("http:", "json:")}, rules=())
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        number = fire(conn, "q1")
        assert turn(conn, chosen) == 1
        alerts.close_alert(conn, number, clock_s(conn))
        assert turn(conn, chosen) == 1
        hook.status = 500
        fire(conn, "q2")
        assert turn(conn, chosen) == 0
    assert [body["type"] for body in hook.got] == ["warning", "success"]
    assert {body["title"] for body in hook.got} == {f"Flitwatch: q1, alert {number}"}
    assert all("/api/v1/alerts/" in body["message"] for body in hook.got)


@pytest.mark.parametrize(
    "url", ["workflows://prod.example.com:443/643e69f83c8944/8e12b/", f"pagerduty://{'i' * 32}@{'a' * 20}"]
)
def test_apprise_knows_the_addresses_of_teams_and_pagerduty(url: str) -> None:
    apprise = pytest.importorskip("apprise", reason="needs the extra notify")
    (receiver,) = config({"name": "t", "kind": "apprise", "url": url}).receivers
    assert apprise.Apprise.instantiate(receiver.address(), suppress_exceptions=True) is not None


def test_a_mail_of_a_slow_job_has_its_picture_in_it_and_another_has_none(embedded_db: str) -> None:
    rows = [
        {
            "job_id": "7",
            "spans": [{"kind": "usual", "from_s": 0, "to_s": 60}, {"kind": "slow", "from_s": 60, "to_s": 90}],
        }
    ]
    with smtp_sink() as (sink, server), connect(embedded_db, role="writer", autocommit=True) as conn:
        chosen = config({"name": "m", "kind": "mail", "to": ["a@site.example"], "server": server}, rules=())
        number = fire(conn, "q1")
        kept = json.dumps({"explanation": {"title": "It is slow", "chain": [], "timeline": rows}})
        conn.execute("UPDATE alert SET evidence = evidence || %s::jsonb WHERE alert_id = %s", (kept, number))
        assert turn(conn, chosen) == 1
        fire(conn, "q2")
        assert turn(conn, chosen) == 1
    first, second = sink.mails
    (picture,) = [part for part in first.walk() if part.get_content_type() == "image/png"]
    page = first.get_body(("html",)).get_content()
    assert f'src="cid:{picture["Content-ID"].strip("<>")}"' in page and page.count("<a href=") == 1
    assert "job 7 (grey: usual speed, red: slow)" in page
    assert [part for part in second.walk() if part.get_content_maintype() == "image"] == []
