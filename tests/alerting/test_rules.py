"""Rules: firing, clearing, and refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.alerts import fire
from support.waiting import eventually

from alerting.receivers import Hook
from flitwatch.commands.alerting import alerting
from flitwatch.commands.alerts import Moment, alerts
from flitwatch_alerting.config import Receiver, read_config
from flitwatch_db import connect
from flitwatch_domain.alerts import (
    LONGEST_S,
    Rule,
    Sample,
    SeriesState,
    advance_series,
    check_matchers,
    check_silence,
    match_labels,
    read_rule,
)
from flitwatch_domain.errors import BadInput

RULE = read_rule({"name": "r", "signal": "stall_ratio", "above": 4, "clear": 2, "for": "2m", "every": "1m"})


def phases(rule: Rule, values: list[float]) -> list[str]:
    held, out = SeriesState(), []
    for number, value in enumerate(values):
        held = advance_series(rule, held, Sample(60.0 * number, (), value))
        out.append(held.phase)
    return out


def test_it_fires_after_its_duration_and_clears_below_the_lower_threshold() -> None:
    assert phases(RULE, [5, 5, 5, 3, 2, 1.9, 5]) == [
        "pending",
        "pending",
        "firing",
        "firing",
        "firing",
        "ok",
        "pending",
    ]
    assert phases(RULE, [5, 3, 5, 5]) == ["pending", "ok", "pending", "pending"]


@given(st.lists(st.floats(0, 10), max_size=60))
def test_no_alert_fires_without_its_duration_above_and_none_ends_above_the_lower_threshold(values: list[float]) -> None:
    got = ["ok", *phases(RULE, values)]
    for number, value in enumerate(values):
        before, after = got[number], got[number + 1]
        if after == "firing" and before != "firing":
            assert number >= 2 and min(values[number - 2 : number + 1]) >= RULE.above
        if before == "firing" and after != "firing":
            assert value < RULE.clears_below


def test_a_prediction_must_be_likely_but_a_wide_interval_is_no_all_clear() -> None:
    rule = read_rule({"name": "p", "signal": "slowdown", "above": 1.2, "probability": 0.8})
    held = advance_series(rule, SeriesState(), Sample(0, (), 1.3, 0.7))
    assert held.phase == "ok"
    held = advance_series(rule, held, Sample(60, (), 1.3, 0.9))
    assert held.phase == "firing"
    assert advance_series(rule, held, Sample(120, (), 1.3, 0.5)).phase == "firing"
    assert advance_series(rule, held, Sample(120, (), 1.1, 0.9)).phase == "ok"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"signal": "weather"}, "signal"),
        ({"above": "nan"}, "above"),
        ({"clear": 5}, "clear"),
        ({"for": "soon"}, "duration"),
        ({"probability": 0.5}, "probability"),
        ({"name": "A b"}, "name"),
        ({"colour": "red"}, "colour"),
        ({"every": 1}, "every"),
        ({"where": {"grup": "3"}}, "grup; the labels of stall_ratio are fabric, group"),
        ({"where": {"class": "blue"}}, "fabric, group"),
        ({"labels": {"fabric": "x"}}, "fabric, which the alert already has"),
        ({"labels": {"severity": "x"}}, "severity, which"),
        ({"labels": {"team": "\ud800"}}, "unicode"),
        ({"where": {"group": "\0"}}, "where"),
        ({"summary": "\0"}, "summary"),
    ],
)
def test_what_is_wrong_is_named(change: dict, word: str) -> None:
    with pytest.raises(BadInput, match=word):
        read_rule({"name": "r", "signal": "stall_ratio", "above": 4, **change})


def test_the_file_says_where_it_is_wrong(tmp_path: Path) -> None:
    assert len(read_config().rules) == 11
    path = tmp_path / "alerts.yaml"
    for text, word in (
        ("rules: [", "alerts.yaml"),
        ("rules: [{name: a, signal: stall_ratio, above: 1}, {name: a, signal: stall_ratio, above: 2}]", "called 'a'"),
        ("receivers: [{name: hook, kind: webhook}]", "url"),
        ("receivers: [{name: hook, kind: webhook, url: 'file:///etc/passwd'}]", "http"),
        ("[1]", "mapping"),
        ("rules: 5", "rules"),
        ("group_by: [nope]", "`group_by` names nope; labels are rule,"),
        ("rules: {name: a}", "rules"),
        ("external_url: 2026-99-99", "of the wrong type"),
        ("rules: !!bool perhaps", "of the wrong type"),
        (
            "receivers: [{name: h, kind: webhook, url: 'http://h', match: {severity: '/[/'}}]",
            "not a regular expression",
        ),
        ("receivers: [{name: h, kind: webhook, url: 'http://'}]", "host"),
        ("receivers: [{name: m, kind: mail, to: [a], server: 'host:port'}]", "'host:port' is not a mail server"),
        ("receivers: [{name: m, kind: mail, to: [a], server: 'host:70000'}]", "not a mail server"),
        ("inhibit: [{source: {rule: '/(/'}, target: {rule: a}}]", "not a regular expression"),
        ("inhibit: [{source: {rule: a}, target: {rule: '/a{9999}/'}}]", "not a regular expression"),
        (
            "receivers: [{name: h, kind: webhook, url: 'http://h', match: {sevrity: warning}}]",
            "`match` of receiver h names sevrity; labels are rule, severity, signal, run,",
        ),
        ("inhibit: [{source: {rul: a}, target: {rule: b}}]", "`source` of inhibition 1 names rul;"),
        ("inhibit: [{source: {rule: a}, target: {grp: b}}]", "`target` of inhibition 1 names grp;"),
        ("inhibit: [{source: {rule: a}, target: {rule: b}, equal: [fabrik]}]", "`equal` of inhibition 1 names fabrik;"),
        (
            'receivers: [{name: m, kind: mail, to: ["ops@x\\nBcc: y"]}]',
            "is not a mail address: it contains a line break",
        ),
        ('receivers: [{name: m, kind: mail, to: [a], sender: "a\\nb"}]', "is not a mail address"),
        ("receivers: [{name: m, kind: mail, to: }]", "mail needs `to`"),
        ('receivers: [{name: h, kind: webhook, url: "http://h/\\nx"}]', "url contains a line break"),
    ):
        path.write_text(text)
        with pytest.raises(BadInput, match=word):
            read_config(path)


@pytest.mark.parametrize(
    "address",
    [
        "a@b\x07",
        "a@b, c@d",
        "ops@",
        "@x",
        "a b@c",
        "a(b@c",
        "",
        "a@b..c",
        "a@\ud800",
        "a@b\u2028c",
        "Ann, Bob <a@b>",
        "=?utf-8?q?a=0Ab?= <a@b>",
        "a@b c@d",
    ],
)
def test_what_is_no_address_of_one_mailbox_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="is not a mail address"):
        Receiver.model_validate({"name": "m", "kind": "mail", "to": [address]})


@pytest.mark.parametrize(
    "address", ["a@b", "root", "Ops of the site <ops@x.y>", "é@x.de", "a@[::1]", '"a,b" <a+c@b>', "<a@b>"]
)
def test_addresses_are_taken_as_they_are_written(address: str) -> None:
    assert Receiver.model_validate({"name": "m", "kind": "mail", "to": [address]}).to == (address,)


def test_a_list_without_entries_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text("rules:\nreceivers:\ninhibit:\ngroup_by:\n")
    read = read_config(path)
    assert (read.rules, read.receivers, read.inhibit, read.group_by) == ((), (), (), ())
    path.write_text("inhibit: [{source: {rule: a}, target: {rule: b}, equal: }]")
    assert read_config(path).inhibit[0].equal == ()


def test_the_page_is_where_the_file_says_or_else_where_the_caller_does(tmp_path: Path) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text("rules: []")
    assert read_config(path).external_url == "http://127.0.0.1:8765"
    assert read_config(path, "http://there:1/").external_url == "http://there:1/"
    assert read_config(None, "http://there:1/").external_url == "http://there:1/"
    path.write_text("external_url: https://flitwatch.example")
    assert read_config(path, "http://there:1/").external_url == "https://flitwatch.example"


def test_receivers_and_inhibitions_name_labels_of_the_files_rules(tmp_path: Path) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text(
        "rules: [{name: a, signal: ingest_gap, above: 1, labels: {team: net}}]\n"
        "receivers: [{name: h, kind: webhook, url: 'http://h', match: {team: net}}]\n"
        "inhibit: [{source: {team: net, severity: critical}, target: {signal: stall_ratio}, equal: [team, fabric]}]\n"
    )
    assert read_config(path).receivers[0].match == {"team": "net"}
    path.write_text(path.read_text().replace(", labels: {team: net}", ""))
    with pytest.raises(BadInput, match="receiver h names team"):
        read_config(path)


def test_alerts_are_grouped_by_labels_of_signals_and_of_the_files_rules(tmp_path: Path) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text(
        "group_by: [rule, exe, team]\nrules: [{name: a, signal: ingest_gap, above: 1, where: {fabric: x}, labels: {team: net}}]"
    )
    assert read_config(path).group_by == ("rule", "exe", "team")
    path.write_text(path.read_text().replace(", labels: {team: net}", ""))
    with pytest.raises(BadInput, match="names team"):
        read_config(path)


def test_a_dry_run_spans_at_most_31_days() -> None:
    for span in (["--from", "2024-01-01"], ["--from", "-1d", "--to", "-2d"], ["--from", "-32d"]):
        ran = CliRunner().invoke(alerts, ["test", "slow-ahead", *span, "--ephemeral"])
        assert ran.exit_code == 2 and "at most 31 days" in ran.stderr
    with click.Context(alerts) as context:
        begin, end = (Moment().convert(word, None, context) for word in ("-31d", "now"))
    assert end - begin == LONGEST_S


def test_a_check_names_every_address_and_password_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text(
        "receivers:\n- {name: hook, kind: webhook, url_env: HOOK_URL}\n- {name: file, kind: slack, url_file: /nowhere}\n"
        "- {name: post, kind: mail, to: [a@b], server: '[::1]:2525', username: u, password_env: MAIL_WORD}\n"
    )
    ran = CliRunner().invoke(alerting, ["--config", str(path), "--check"])
    assert isinstance(ran.exception, BadInput)
    assert all(word in ran.exception.message for word in ("HOOK_URL", "/nowhere", "MAIL_WORD"))
    monkeypatch.setenv("HOOK_URL", "http://127.0.0.1:1/hook")
    monkeypatch.setenv("MAIL_WORD", "secret")
    (tmp_path / "url").write_text("https://hooks.example/x\n")
    path.write_text(path.read_text().replace("/nowhere", str(tmp_path / "url")))
    ran = CliRunner().invoke(alerting, ["--config", str(path), "--check"])
    assert ran.exception is None and "secret" not in ran.output
    assert read_config(path).receivers[2].mail_server() == ("::1", 2525)


def test_matchers_take_values_and_whole_expressions() -> None:
    labels = {"rule": "group-stalls", "group": "3"}
    assert (
        match_labels({"group": "3"}, labels) and match_labels({"group": "/[0-4]/"}, labels) and match_labels({}, labels)
    )
    assert not match_labels({"group": "/3.+/"}, labels) and not match_labels({"fabric": "x"}, labels)
    # Neither line breaks nor anchors make a part of a value count as the whole.
    assert not match_labels({"group": "/^3$/"}, {"group": "3\n4"}) and not match_labels(
        {"group": "/3|4/"}, {"group": "34"}
    )


def test_an_expression_that_backtracking_would_never_end_is_matched_in_one_pass() -> None:
    # Python's own `re` takes twice as long with each letter: thousands of them end only without backtracking.
    assert not match_labels({"user": "/(a+)+b/"}, {"user": "a" * 5000})
    assert match_labels({"user": "/(a+)+b/"}, {"user": "a" * 5000 + "b"})


@pytest.mark.parametrize(
    ("expression", "instead"),
    [
        (r"(\w+) \1", "list the alternatives"),
        ("(?!test).*", "a second matcher"),
        ("(?<=a)b", "not a regular expression"),
        ("a++", "a single"),
        ("a{2000}", "at most 1000"),
        (r"(\w?){1000}", "repeat fewer"),
        ("(((a{100}){100}){100})", "repe"),
        ("(", "missing"),
        ("[\ud800]", "surrogate"),
        (r"\C", "single bytes"),
        (r"[\]]\C", "single bytes"),
        (r"\\\C", "single bytes"),
        (r"\Qa\E\C", "single bytes"),
        (r"a\Qb", "no \\E"),
        ("(?P<\u00e9>a)", "other letters"),
    ],
)
def test_what_is_no_expression_of_alertmanager_is_refused_and_says_what_to_write(expression: str, instead: str) -> None:
    with pytest.raises(ValueError, match="not a regular expression that Alertmanager accepts") as said:
        check_matchers({"user": f"/{expression}/"})
    assert instead in str(said.value)


@pytest.mark.parametrize("matchers", [{"nosuchlabel": ""}, {"user": "/.*/"}, {"user": "/a?|b*/", "exe": ""}, {}])
def test_a_silence_that_holds_for_what_an_alert_lacks_is_refused_and_says_what_to_write(matchers: dict) -> None:
    check_matchers(matchers)
    with pytest.raises(ValueError, match=r"silence everything.* write /\.\+/ for any"):
        check_silence(matchers)


def test_a_silence_needs_one_matcher_of_a_value() -> None:
    for matchers in ({"rule": "/.+/"}, {"user": "", "rule": "x"}, {"user": "/.*/", "exe": "/a+/"}):
        check_silence(matchers)
    with pytest.raises(ValueError, match="not a regular expression"):
        check_silence({"rule": "/(/"})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (r"(?P<x>a)(?P<x>b)", "ab"),
        (r"\\C", "\\C"),
        (r"\Q\C(?P<é>\E", "\\C(?P<é>"),
        ("[]a(?P<é>]+(?P<x>b)", "(b"),
        ("[^](?P<é>[:alpha:]]([[:alpha:](?P<é>])(?P<x>b)", "1zb"),
        (r"\(?P<é>", "P<é>"),
    ],
)
def test_what_only_looks_like_it_is_an_expression(expression: str, value: str) -> None:
    check_matchers({"user": f"/{expression}/"})
    assert match_labels({"user": f"/{expression}/"}, {"user": value})


# What the process of alerting writes to its log about the receivers that it tells.


@pytest.mark.system("processes")
def test_no_secret_of_an_address_is_logged(embedded_db: str, hook: Hook, tmp_path: Path) -> None:
    at = hook.url.removeprefix("http://").removesuffix("/hook")
    receivers = [
        {"name": "taken", "kind": "webhook", "url": f"http://user:s3cret@{at}/services/T000/hush"},
        {"name": "absent", "kind": "slack", "url": "http://user:s3cret@127.0.0.1:1/services/T000/hush"},
    ]
    path, log = tmp_path / "alerts.yaml", tmp_path / "log"
    path.write_text(yaml.safe_dump({"group_wait": 0, "receivers": receivers}))
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fire(conn, "q1")
    command = [sys.executable, "-m", "flitwatch.main", "alerting", "--config", str(path), "--db", embedded_db]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        eventually(
            lambda: hook.got and "receiver absent cannot be reached" in log.read_text(),
            what="one delivery and one failure",
            process=process,
            detail=log.read_text,
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert not [word for word in ("s3cret", "T000", "hush") if word in log.read_text()]
