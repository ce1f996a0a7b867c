"""The engine on a real database and a real Alertmanager: predicted slowdowns, measured stalls, silences, restarts, dead receivers."""

from __future__ import annotations

import socketserver
import threading
import time
from email import message_from_string, policy
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
from support.alerts import foretell, running
from support.databases import list_events_since
from support.waiting import eventually

from alerting.receivers import SLOW, Hook, config
from flitwatch_alerting.engine import Engine
from flitwatch_alerting.evaluate import dry_run
from flitwatch_db import connect
from flitwatch_db.alerts.store import add_silence, load_rules
from flitwatch_db.core.connection import clock_s
from flitwatch_db.core.deadlines import STILL_S
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_domain.alerts import read_rule
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job


def alerts_of(url: str) -> list[tuple[Any, ...]]:
    with connect(url, role="reader") as conn:
        return conn.execute("SELECT rule, phase, probability, evidence FROM alert ORDER BY alert_id").fetchall()


@pytest.mark.system("processes")
def test_a_real_alertmanager_shows_a_predicted_slowdown_until_it_is_over(embedded_db: str, alertmanager: str) -> None:
    run_id = foretell(embedded_db, 150, 140, 160)
    shown = lambda: [  # noqa: E731
        a for a in httpx.get(f"{alertmanager}/api/v2/alerts").json() if a["labels"].get("run") == str(run_id)
    ]
    with running(embedded_db, config({"name": "am", "kind": "alertmanager", "url": alertmanager})):
        (alert,) = eventually(shown)
        assert alert["labels"]["alertname"] == "slow-ahead" and alert["labels"]["severity"] == "critical"
        assert float(alert["annotations"]["probability"]) > 0.99 and alert["status"]["state"] == "active"
        assert alert["annotations"]["simulated"] == "true" and "simulated" not in alert["labels"]
        assert alert["annotations"]["evidence"].endswith("/api/v1/alerts/1") and alert["generatorURL"].endswith(
            "/jobs/77"
        )
        # The next forecast is the usual time: the alert ends there too.
        foretell(embedded_db, 100, 95, 105, ago_s=16)
        eventually(lambda: not shown())
    ((_, phase, probability, evidence),) = alerts_of(embedded_db)
    assert phase == "resolved" and probability > 0.99
    assert (evidence["expected_s"], evidence["usual_s"], evidence["simulated"]) == (150, 100, True)


def test_an_uncertain_prediction_does_not_fire(embedded_db: str, hook: Hook) -> None:
    foretell(embedded_db, 150, 60, 240)
    with running(embedded_db, config({"name": "h", "kind": "webhook", "url": hook.url})) as engine:
        eventually(lambda: engine.measures.rounds > 5)
    assert hook.got == [] and alerts_of(embedded_db) == []


def test_what_could_not_be_delivered_is_delivered_by_the_next_engine_and_only_once(
    embedded_db: str, hook: Hook
) -> None:
    foretell(embedded_db, 150, 140, 160)
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url})
    hook.status = 500
    with running(embedded_db, chosen) as engine:
        eventually(lambda: alerts_of(embedded_db))
        eventually(lambda: engine.measures.rounds > 3)
    assert hook.got == []
    with connect(embedded_db, role="writer") as conn:
        assert conn.execute("SELECT attempts, delivered_at, error FROM alert_notice").fetchall()[0][1] is None
        conn.execute("UPDATE alert_notice SET due_at = now()")
    hook.status = 200
    for _ in range(3):
        with running(embedded_db, chosen) as engine:
            eventually(lambda: hook.got)
            eventually(lambda e=engine: e.measures.rounds > 2)
    assert [a["status"] for body in hook.got for a in body["alerts"]] == ["firing"]
    assert hook.got[0]["alerts"][0]["simulated"] is True and len(hook.got[0]["key"]) == 32


def test_a_rule_or_a_receiver_that_fails_is_left_out_and_the_others_go_on(
    embedded_db: str, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    foretell(embedded_db, 150, 140, 160)
    gaps = {"name": "a-gap", "signal": "ingest_gap", "above": 1, "every": 10}
    with connect(embedded_db, role="owner") as conn:
        conn.execute("ALTER TABLE gap RENAME TO gap_away")
        # As another version of the platform may have left it.
        conn.execute("INSERT INTO alert_rule (name, rule, source) VALUES ('a-older', '{\"signal\": \"tides\"}', 'api')")
        hour = conn.execute("SELECT now(), now() + interval '1 hour'").fetchone() or ()
        silence = add_silence(conn, {"rule": "/(?!other).*/"}, *hour, "of Python's expressions", "ops")
    # Of a host that cannot be a name the resolver raises what is no error of the system.
    mail = {"name": "m", "kind": "mail", "server": "a..b", "to": ["ops@site.example"]}
    chosen = config(mail, {"name": "n", "kind": "webhook", "url": hook.url}, rules=(gaps, SLOW))
    with running(embedded_db, chosen) as engine:
        eventually(lambda: hook.got)
        eventually(lambda: engine.measures.rounds > 4)
    assert [a["rule"] for body in hook.got for a in body["alerts"]] == ["slow-ahead"]
    said = [record.getMessage() for record in caplog.records if "skipping it" in record.getMessage()]
    assert [sum(name in line for line in said) for name in ("a-gap", "a-older", f"silence {silence} ")] == [1, 1, 1]
    with connect(embedded_db, role="reader") as conn:
        (why,) = conn.execute("SELECT error FROM alert_notice WHERE receiver = 'm'").fetchone() or ("",)
    assert "receiver m" in why


@pytest.mark.system("numeric")
def test_two_engines_tell_once_and_the_second_takes_over(embedded_db: str, hook: Hook) -> None:
    foretell(embedded_db, 150, 140, 160)
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url})
    with running(embedded_db, chosen) as second:
        with running(embedded_db, chosen):
            eventually(lambda: hook.got)
        foretell(embedded_db, 160, 150, 170, key="two")
        eventually(lambda: len(hook.got) > 1)
        eventually(lambda: second.measures.rounds > 1)
    assert len([a for body in hook.got for a in body["alerts"]]) == 2


def test_silence_and_inhibition_keep_quiet_and_groups_share_a_message(embedded_db: str, hook: Hook) -> None:
    for number in range(3):
        foretell(embedded_db, 150, 140, 160, key=f"run {number}")
    other = {**SLOW, "name": "very-slow", "above": 1.4}
    chosen = config(
        {"name": "h", "kind": "webhook", "url": hook.url},
        rules=(SLOW, other),
        inhibit=[{"source": {"rule": "very-slow"}, "target": {"rule": "slow-ahead"}, "equal": ["run"]}],
    )
    with connect(embedded_db, role="writer") as conn:
        now = conn.execute("SELECT now(), now() + interval '1 hour'").fetchone()
        assert now is not None
        add_silence(conn, {"rule": "very-slow"}, *now, "maintenance", "ops")
    with running(embedded_db, chosen) as engine:
        eventually(lambda: len(alerts_of(embedded_db)) == 6)
        rounds = engine.measures.rounds
        eventually(lambda: engine.measures.rounds > rounds + 3)
        assert hook.got == []
        with connect(embedded_db, role="writer") as conn:
            conn.execute("UPDATE alert_silence SET ends_at = now()")
        eventually(lambda: hook.got)
    assert [[a["rule"] for a in body["alerts"]] for body in hook.got] == [["very-slow"] * 3]


def test_mail_and_slack_say_it_in_words(embedded_db: str, hook: Hook) -> None:
    mails: list[str] = []

    class Smtp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 test\r\n")
            while line := self.rfile.readline():
                word = line[:4].upper()
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    mails.append("".join(iter(lambda: self.rfile.readline().decode(), ".\r\n")))
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
                if word == b"QUIT":
                    return

    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(
            conn,
            [
                Job(
                    "c",
                    "77",
                    "RUNNING",
                    user="ann",
                    name="milc",
                    start_s=time.time() - 60,
                    nodes=1,
                    node_list="nid1",
                    simulated=True,
                )
            ],
        )
    foretell(embedded_db, 150, 140, 160)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Smtp) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        mail = {
            "name": "m",
            "kind": "mail",
            "server": f"127.0.0.1:{server.server_address[1]}",
            "to": ["ops@site.example"],
        }
        slow = {**SLOW, "summary": "<!channel> {exe} & co take {value}"}
        with running(embedded_db, config(mail, {"name": "s", "kind": "slack", "url": hook.url}, rules=(slow,))):
            eventually(lambda: mails and hook.got)
        server.shutdown()
    mail = message_from_string(mails[0], policy=policy.default)
    text, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert "1 firing" in mail["Subject"] and "probability 1.00" in text and "[simulated]" in text
    assert abs(mail["Date"].datetime.timestamp() - time.time()) < 3600
    assert "&lt;!channel&gt; milc &amp; co" in html and "<!channel>" not in html and html.count("<a href=") == 1
    assert "&lt;!channel&gt; milc &amp; co take 1.5" in hook.got[0]["text"]
    # Two steps of a job without earlier runs show nothing, and the messages say so in the explanation's words.
    with connect(embedded_db, role="reader") as conn:
        said = explain_by_id(conn, "77")
    ((_, _, _, evidence),) = alerts_of(embedded_db)
    assert evidence["explanation"]["verdict"] == said["verdict"] == "cannot tell"
    assert evidence["explanation"]["title"] == said["title"]
    assert said["title"] in text
    assert said["title"] in hook.got[0]["text"]


def _stalls(url: str, start_s: int, minutes: int, high: tuple[int, int]) -> str:
    """Counters of a fabric by the second: group 1 stalls 6 cycles per flit in minutes [high), else 1."""
    fabric = build_dragonfly(
        3, 2, 2, endpoints_per_router=1, blue_routers=2, blue_cables=1, black_cables=1, name="machine"
    )
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, fabric)
        size, n = len(fabric.routers), minutes * 60
        second, router = (axis.ravel() for axis in np.indices((n, size)))
        values = np.full((n * size, len(ROUTER_COLUMNS)), np.nan)
        group = np.asarray(fabric.routers.group)[router]
        hot = (group == 1) & (second // 60 >= high[0]) & (second // 60 < high[1])
        values[:, ROUTER_COLUMNS.index("rt_flits")] = 1000
        values[:, ROUTER_COLUMNS.index("rt_stall_cycles")] = np.where(hot, 6000, 1000)
        rows = counters.Rows(
            np.full(len(second), fabric_id, np.int32),
            router.astype(np.int32),
            start_s + second,
            np.ones(len(second), np.int32),
            np.full(len(second), 48.0),
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=rows))
        conn.execute(
            "INSERT INTO event (kind, payload) SELECT 'counters', jsonb_build_object('fabric_id', %s::int, 'through', to_timestamp(%s))",
            [fabric_id, start_s + n],
        )
    return "machine"


def test_the_dry_run_tells_how_often_a_rule_would_have_fired(embedded_db: str) -> None:
    with connect(embedded_db, role="reader") as conn:
        start = int(clock_s(conn)) // 60 * 60 - 1800
    _stalls(embedded_db, start, 20, (5, 10))
    rule = read_rule({"name": "g", "signal": "stall_ratio", "by": "group", "above": 4, "clear": 2, "for": "2m"})
    share = read_rule({"name": "c", "signal": "congested_routers", "above": 0.9, "congested_at": 4})
    with connect(embedded_db, role="reader") as conn:
        got = dry_run(conn, rule, start, start + 1200)
        congested = dry_run(conn, share, start, start + 1200)
        assert dry_run(conn, rule, start, start + 420)["fired"] == 0
    assert (got["fired"], got["series"], got["samples"]) == (1, 3, 60)
    (alert,) = got["alerts"]
    assert alert["labels"] == {"fabric": "machine", "group": "1"} and alert["peak"] == pytest.approx(6)
    # High from the sixth minute's end on; two minutes later it fires; the first low minute ends at 11.
    assert (alert["fired_s"] - start, alert["resolved_s"] - start) == (480, 660)
    assert congested["fired"] == 1 and congested["alerts"][0]["peak"] == 1


def test_a_rule_of_the_whole_machine_fires_where_its_mean_is_above_and_nowhere_else(embedded_db: str) -> None:
    """What a chart's own rule watches: one of three groups stalls 6, the others 1, so the machine's mean is 8/3."""
    with connect(embedded_db, role="reader") as conn:
        start = int(clock_s(conn)) // 60 * 60 - 1800
    machine = {"fabric": _stalls(embedded_db, start, 20, (5, 10))}
    rule = {"name": "m", "signal": "stall_ratio", "by": "machine", "where": machine, "above": 2.6, "for": "2m"}
    with connect(embedded_db, role="reader") as conn:
        got = dry_run(conn, read_rule(rule), start, start + 1200)
        assert dry_run(conn, read_rule({**rule, "above": 2.7}), start, start + 1200)["fired"] == 0
    (alert,) = got["alerts"]
    assert alert["labels"] == machine and alert["peak"] == pytest.approx(8 / 3)
    assert (got["series"], alert["fired_s"] - start, alert["resolved_s"] - start) == (1, 480, 660)


def test_silent_counters_are_reported_and_make_the_other_figures_quiet(embedded_db: str, hook: Hook) -> None:
    with connect(embedded_db, role="reader") as conn:
        start = int(clock_s(conn)) // 60 * 60 - 900
    _stalls(embedded_db, start, 10, (0, 10))
    silent = {"name": "silent", "signal": "counter_silence", "above": 120, "every": 10}
    stalls = {"name": "stalls", "signal": "stall_ratio", "by": "group", "above": 4, "every": 60}
    chosen = config(
        {"name": "h", "kind": "webhook", "url": hook.url},
        rules=(silent, stalls),
        inhibit=[{"source": {"signal": "counter_silence"}, "target": {"signal": "stall_ratio"}, "equal": ["fabric"]}],
    )
    with running(embedded_db, chosen) as engine:
        eventually(lambda: hook.got)
        eventually(lambda: engine.measures.rounds > 4)
    assert {a["rule"] for body in hook.got for a in body["alerts"]} == {"silent"}
    with connect(embedded_db, role="reader") as conn:
        assert {e.payload["rule"] for e in list_events_since(conn, 0) if e.kind == "alert"} >= {"silent"}


def test_a_recording_that_ends_is_not_silent_and_a_machine_that_stops_is(embedded_db: str) -> None:
    """The same counters, which end five minutes before the rule looks: silence is reported only of an expected machine."""
    with connect(embedded_db, role="reader") as conn:
        start = int(clock_s(conn)) // 60 * 60 - 900
    _stalls(embedded_db, start, 10, (0, 10))
    rule = read_rule({"name": "silent", "signal": "counter_silence", "above": 120, "every": 10})
    with connect(embedded_db, role="writer") as conn:
        assert dry_run(conn, rule, start, start + 900)["fired"] == 1
        row = fabrics.get_fabric_row(conn, "machine")
        fabrics.add_attributes(conn, row.fabric_id, {"recorded": True})
        report = dry_run(conn, rule, start, start + 900)
    assert (report["fired"], report["series"]) == (0, 0)


@pytest.mark.system("faults")
def test_a_lost_connection_and_a_table_that_is_away_are_waited_for(embedded_db: str, hook: Hook) -> None:
    chosen = config({"name": "h", "kind": "webhook", "url": hook.url})
    with running(embedded_db, chosen) as engine, connect(embedded_db, role="owner", autocommit=True) as conn:
        eventually(lambda: engine.measures.rounds)
        conn.execute("ALTER TABLE alert_rule RENAME TO alert_rule_away")
        eventually(lambda: engine.measures.problems)
        conn.execute("ALTER TABLE alert_rule_away RENAME TO alert_rule")
        rounds = engine.measures.rounds
        eventually(lambda: engine.measures.rounds > rounds)
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'flitwatch alerting'"
        with connect(embedded_db, autocommit=True) as owner:
            assert owner.execute(ended + " AND datname = current_database()").fetchone() == (1,)
        foretell(embedded_db, 150, 140, 160)
        eventually(lambda: hook.got)


def test_the_server_ends_a_transaction_in_which_it_stands_still(embedded_db: str) -> None:
    class Looks(Engine):
        def _run_as_leader(self, conn: psycopg.Connection) -> None:
            (self.limit,) = conn.execute("SHOW idle_in_transaction_session_timeout").fetchone() or ("",)
            self.stop.set()

    engine = Looks(embedded_db, config(), threading.Event())
    engine.run()
    assert engine.limit == f"{STILL_S:g}s"


def test_a_statement_that_is_held_up_ends_and_the_next_round_goes_on(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flitwatch_alerting.engine.LONG_STATEMENT_S", 0.2)
    monkeypatch.setattr("flitwatch_alerting.engine.RETRY_S", 0.1)
    with running(embedded_db, config()) as engine:
        eventually(lambda: engine.measures.rounds)
        with connect(embedded_db, role="owner") as conn:
            conn.execute("LOCK TABLE alert_rule")
            eventually(lambda: engine.measures.problems > 1)
        rounds = engine.measures.rounds
        eventually(lambda: engine.measures.rounds > rounds)


def test_labels_of_a_rule_are_on_its_alerts_and_route_and_group_them(embedded_db: str, hook: Hook) -> None:
    from flitwatch_db.alerts.store import save_rule

    foretell(embedded_db, 150, 140, 160)
    net = {**SLOW, "name": "net", "labels": {"team": "net"}, "where": {"exe": "milc"}, "summary": "{team}: {exe}"}
    sys = {**SLOW, "name": "sys", "labels": {"team": "sys"}}
    chosen = config(
        {"name": "h", "kind": "webhook", "url": hook.url, "match": {"team": "/net|ops/"}},
        rules=(net, sys),
        group_by=["team"],
    )
    notices = lambda: [(a["status"], a["labels"]["team"]) for body in hook.got for a in body["alerts"]]  # noqa: E731
    with running(embedded_db, chosen):
        eventually(notices)
        with connect(embedded_db, role="writer") as conn:
            held = conn.execute("SELECT labels, summary FROM alert ORDER BY rule").fetchall()
            assert conn.execute("SELECT group_key FROM alert_notice").fetchall() == [("team=net",)]
            tried = dry_run(conn, read_rule(net), clock_s(conn) - 120, clock_s(conn))
            # Another label makes another alert: the one before ends at once.
            save_rule(conn, read_rule({**net, "labels": {"team": "ops"}}), "api")
        eventually(lambda: len(notices()) > 2)
    assert [labels["team"] for labels, _ in held] == ["net", "sys"] and held[0][1] == "net: milc"
    assert tried["alerts"][0]["labels"] == held[0][0] and tried["alerts"][0]["summary"] == "net: milc"
    # They are messages of two groups, and those are sent in no order.
    assert notices()[0] == ("firing", "net") and set(notices()[1:]) == {("resolved", "net"), ("firing", "ops")}


def test_rules_of_the_api_outlive_the_file_and_an_alert_ends_with_its_rule(embedded_db: str, hook: Hook) -> None:
    from flitwatch_db.alerts.store import delete_rule, save_rule

    foretell(embedded_db, 150, 140, 160)
    with connect(embedded_db, role="writer") as conn:
        save_rule(conn, read_rule({**SLOW, "above": 1.3}), "api")
    with running(embedded_db, config({"name": "h", "kind": "webhook", "url": hook.url})):
        eventually(lambda: hook.got)
        with connect(embedded_db, role="writer") as conn:
            assert [rule.above for rule, _ in load_rules(conn)] == [1.3]
            delete_rule(conn, "slow-ahead")
        eventually(lambda: len(hook.got) > 1)
    assert [a["status"] for body in hook.got for a in body["alerts"]] == ["firing", "resolved"]
