"""A job's evidence in one file, and deletion of all data about a user, over a database with known content."""

from __future__ import annotations

import csv
import io
import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from api.database import HOSTILE, T0, SampleDatabase, seed
from click.testing import CliRunner, Result
from psycopg import sql
from support.databases import find_token_caller

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.ingest import store as ingest
from flitwatch_db.jobs.evidence import export_evidence
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.people import accounts as people
from flitwatch_db.people.erasure import classify_matcher, erase_user, list_remaining
from flitwatch_domain.errors import BadRequest, Conflict, NotFound


@pytest.fixture
def database(embedded_db: str) -> SampleDatabase:
    return seed(embedded_db)


def read(path: Path) -> dict[str, list[dict[str, str]]]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {
            name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(archive.read(name).decode())))
            for name in archive.namelist()
            if name.endswith(".csv")
        }


def test_a_jobs_evidence_is_what_the_database_holds_about_it(database: SampleDatabase, tmp_path: Path) -> None:
    out, steps = tmp_path / "100.zip", []
    with connect(database.url, role="reader", autocommit=True) as conn:
        made = export_evidence(conn, "100", out, "c1", lambda done, total, what: steps.append((done, total, what)))
    tables = read(out)
    assert made["rows"] == {table: len(rows) for table, rows in tables.items()} and made["simulated"] is True
    with zipfile.ZipFile(out) as archive:
        assert json.loads(archive.read("manifest.json")) == made
        explained = json.loads(archive.read("explanation.json"))
    with connect(database.url, role="reader") as conn:
        said = explain_by_id(conn, "100", "c1", T0 + 100)
    assert {name: explained[name] for name in ("job_id", "verdict", "title", "reasons")} == {
        name: said[name] for name in ("job_id", "verdict", "title", "reasons")
    }
    assert [row["name"] for row in tables["job"]] == [HOSTILE] and tables["job_step"][0]["name"] == "amg"
    assert len(tables["job_node"]) == 8 and {row["router"] for row in tables["job_node"]} == {"0", "1", "2", "3"}
    # Every second of its routers while it ran, with the counted values; router 5 is not its own.
    flits = database.column("rt_flits")[:100, :4]
    assert len(tables["router_1s"]) == int((~np.isnan(flits)).sum()) == 400
    assert sum(float(row["rt_flits"]) for row in tables["router_1s"]) == pytest.approx(float(flits.sum()), rel=1e-12)
    assert {row["router"] for row in tables["port_10s"]} == {"0", "1", "2", "3"} and tables["router_1m"]
    # 101 shares router 3 while it runs; 103 begins when it ends, 104 runs elsewhere.
    assert {row["job_id"] for row in tables["neighbours"]} == {"101"}
    assert [done for done, _, _ in steps] == list(range(len(made["rows"]))) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "'=1", "plain", "a=1"])
def test_no_text_is_a_formula_and_each_can_be_read_back(database: SampleDatabase, tmp_path: Path, name: str) -> None:
    with connect(database.url, role="writer") as conn:
        conn.execute("UPDATE job SET name = %s WHERE job_id = '100'", [name])
    with connect(database.url, role="reader", autocommit=True) as conn:
        export_evidence(conn, "100", tmp_path / "e.zip", "c1")
    tables = read(tmp_path / "e.zip")
    found = tables["job"][0]["name"]
    assert found[0] not in "=+-@\t\r" and found.removeprefix("'") == name if name[0] in "=+-@\t\r'" else found == name
    # Numbers stay numbers.
    assert float(tables["router_1s"][0]["rt_flits"]) >= 0


def test_runs_come_with_their_steps_and_a_waiting_job_has_no_counters(database: SampleDatabase, tmp_path: Path) -> None:
    with connect(database.url, role="reader", autocommit=True) as conn:
        made = export_evidence(conn, "104", tmp_path / "104.zip")
        assert made["rows"]["run"] == 1 and made["rows"]["run_step"] == 6 and made["rows"]["run_rank"] == 3
        waiting = export_evidence(conn, "105_7", tmp_path / "105.zip")["rows"]
        assert waiting["job"] == 1 and waiting["router_1s"] == waiting["neighbours"] == 0
        with pytest.raises(NotFound, match="no job '999'"):
            export_evidence(conn, "999", tmp_path / "none.zip")
    assert not (tmp_path / "none.zip").exists()


def count(url: str, query: str) -> int:
    with connect(url, role="owner") as conn:
        row = conn.execute(query.encode()).fetchone()
        return int(row[0])


def plant(url: str, user: str = "eve") -> None:
    """Results, an alert, rules, silences, tasks and a refused record that name a user, and ones that name ann."""
    with connect(url, role="owner") as conn:
        for who in (user, "ann"):
            value = psycopg.types.json.Jsonb({"items": [{"user": who, "weight": 1}]})
            conn.execute(
                "INSERT INTO estimate (kind, exe, nodes, code_version, parameters, data, score, result, simulated)"
                " VALUES ('blame', 'amg', 3, 'x', '{}', '{}', '{}', %s, true)",
                [value],
            )
            by_name = psycopg.types.json.Jsonb({"alerts": [{"labels": {"user": who}}, 3]})
            conn.execute("INSERT INTO task (name, args, result) VALUES ('alerting.test', '{}', %s)", [by_name])
            conn.execute("INSERT INTO task (name, args, created_by) VALUES ('sim.study', '{}', %s)", [who])
            for picked in (who, f"/x1|{who}/"):
                conn.execute(
                    "INSERT INTO alert_rule (name, rule, source) SELECT 'r' || count(*), jsonb_build_object('where', jsonb_build_object('user', %s::text)), 'api'"
                    " FROM alert_rule",
                    [picked],
                )
                conn.execute(
                    "INSERT INTO alert_silence (matchers, starts_at, ends_at, comment, created_by)"
                    " VALUES (jsonb_build_object('user', %s::text), now(), now(), '', 'bob'), ('{\"exe\": \"amg\"}', now(), now(), '', %s)",
                    [picked, who],
                )
            conn.execute(
                "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence)"
                " VALUES ('blamed', jsonb_build_object('user', %s::text), 'firing', 'info', now(), now(), 1, 1, 'returns', '{}')",
                [who],
            )
            conn.execute(
                "INSERT INTO dead_letter (topic, partition, offset_, reason, raw, raw_bytes) VALUES ('slurm', 0, 1, 'bad', %s, 9)",
                [f'{{"job_id": "104", "user": "{who}", "na'.encode()],
            )
        blame = conn.execute(
            "INSERT INTO estimate (kind, exe, nodes, code_version, parameters, data, score, result, simulated)"
            " VALUES ('blame', 'amg', 3, 'x', '{}', '{}', '{}', '{\"columns\": {\"runs\": [1], \"time_s\": [2]}}', true) RETURNING estimate_id"
        ).fetchone()[0]
        conn.execute(
            "INSERT INTO estimate_entry SELECT %s, what, place, name, '{}', '{1}', '{1}'"
            " FROM (VALUES ('user', 1, %s), ('user', 2, 'ann'), ('application', 1, 'amg')) AS e (what, place, name)",
            [blame, user],
        )


def test_a_users_data_go_and_others_stay(database: SampleDatabase) -> None:
    plant(database.url)
    letters = count(database.url, "SELECT count(*) FROM dead_letter")
    with connect(database.url, role="owner", autocommit=True) as conn:
        tried = erase_user(conn, "eve", dry_run=True)
        assert count(database.url, "SELECT count(*) FROM job WHERE user_name = 'eve'") == 2
        done = erase_user(conn, "eve")
        assert done == tried
        assert done == made_of(
            estimate=1,
            estimate_entry=1,
            task=1,
            alert=1,
            alert_rule=2,
            alert_silence=2,
            created_by=3,
            dead_letter=1,
            run=1,
            job=2,
        )
        assert set(erase_user(conn, "eve").values()) == {0}
        with pytest.raises(BadRequest):
            erase_user(conn, " ")
    assert count(database.url, "SELECT count(*) FROM job WHERE user_name = 'ann'") == 2
    for table, rows in {
        "estimate": 2,
        "estimate_entry": 2,
        "task": 3,
        "alert": 1,
        "alert_rule": 2,
        "alert_silence": 6,
    }.items():
        assert count(database.url, f"SELECT count(*) FROM {table}") == rows, table
    assert count(database.url, "SELECT count(*) FROM dead_letter") == letters - 1
    assert (
        count(database.url, "SELECT count(*) FROM job_node n LEFT JOIN job j USING (job_pk) WHERE j.job_pk IS NULL")
        == 0
    )
    assert count(database.url, f"SELECT count(*) FROM router_1s WHERE ts >= to_timestamp({T0})") > 0


def test_an_erased_name_stands_in_no_table_but_the_audit_log(database: SampleDatabase) -> None:
    user = "u0017"
    with connect(database.url, role="owner") as conn:
        conn.execute("UPDATE job SET user_name = %s WHERE user_name = 'eve'", [user])
        conn.execute("UPDATE recommendation SET user_name = %s", [user])
    plant(database.url, user)
    assert holding(database.url, user) >= {
        "job",
        "estimate",
        "estimate_entry",
        "alert",
        "alert_rule",
        "alert_silence",
        "task",
        "dead_letter",
    }
    with connect(database.url, role="owner", autocommit=True) as conn:
        erase_user(conn, user)
    assert holding(database.url, user) <= {"audit"}


def holding(url: str, text: str) -> set[str]:
    """The tables of every schema in which a row, as text or as bytes, holds a text."""
    found = set()
    with connect(url, role="owner") as conn:
        tables = conn.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
            " AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            query = sql.SQL("SELECT 1 FROM {} AS t WHERE t::text LIKE ANY (%s) LIMIT 1").format(
                sql.Identifier(schema, table)
            )
            if conn.execute(query, [[f"%{text}%", f"%{text.encode().hex()}%"]]).fetchone():
                found.add(table)
    assert len(tables) > 40
    return found


@pytest.mark.parametrize("name", ["runs", "time_s", "amg", "user", "job_id", "columns", "x1", "ev"])
def test_a_user_who_is_called_like_something_else_takes_nothing_of_others_along(
    database: SampleDatabase, name: str
) -> None:
    plant(database.url)
    with connect(database.url, role="owner", autocommit=True) as conn:
        own = {"alert_rule": 2, "alert_silence": 2} if name == "x1" else {}  # these two name x1 alongside others
        assert erase_user(conn, name, dry_run=True) == made_of(**own)


def test_the_commands(database: SampleDatabase, tmp_path: Path) -> None:
    def run(*argv: str) -> dict:
        result = CliRunner().invoke(cli, ["db", *argv, "--db", database.url, "--json"], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    made = run("evidence", "100", "--cluster", "c1", "--out", str(tmp_path / "x.zip"))
    assert stat.S_IMODE((tmp_path / "x.zip").stat().st_mode) == 0o600
    assert made["rows"]["router_1s"] == 400 and made["bytes"] == (tmp_path / "x.zip").stat().st_size
    assert run("erase", "bob") == {"deleted": False, "rows": made_of(job=1)}
    assert run("erase", "bob", "--yes")["deleted"] and run("erase", "bob")["rows"]["job"] == 0
    run("archive", "--jobs", "103", "--out", str(tmp_path / "a"))
    run("restore-archive", str(tmp_path / "a"))
    run("archive-policy", "--folder", str(tmp_path / "a"))
    run("archive-policy", "--off")
    run("maintain", "--keep", "router_1m=30")
    with connect(database.url, role="gate") as conn:
        noted = conn.execute(
            "SELECT action, target, details FROM audit WHERE via = 'command' ORDER BY audit_id"
        ).fetchall()
    archive = str(tmp_path / "a")
    assert [row[:2] for row in noted] == [
        ("db evidence", "100"),
        ("db erase", None),
        ("db archive", archive),
        ("db restore-archive", archive),
        ("db archive-policy", archive),
        ("db archive-policy", None),
        ("db maintain", "router_1m"),
    ]
    assert noted[1][2]["rows"]["job"] == 1 and "bob" not in str(noted[1:])


def test_erasing_says_that_an_account_stays_and_deletes_it_when_asked(database: SampleDatabase) -> None:
    def run(*argv: str) -> Result:
        return CliRunner().invoke(cli, ["db", "erase", *argv, "--db", database.url, "--json"])

    def account(*argv: str) -> str | None:
        return json.loads(run(*argv).stdout).get("account")

    with connect(database.url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "bob", "user", "correct horse battery")
        people.add_account(conn, "eve", "admin")
        secret = people.add_token(conn, "bob", "t", ["read"])[1]
        assert "--account" in run("bob").stderr and account("bob", "--yes") == "stays"
        assert account("bob", "--account") == "counted" and find_token_caller(conn, secret) is not None
        assert account("bob", "--yes", "--account") == "deleted" and account("bob") is None
        assert not people.has_account(conn, "bob") and find_token_caller(conn, secret) is None
        # The last admin's stays, and with it all that the same command would have erased.
        refused = run("eve", "--yes", "--account")
        assert isinstance(refused.exception, Conflict) and "last admin" in str(refused.exception)
        assert people.has_account(conn, "eve") and json.loads(run("eve").stdout)["rows"]["job"] > 0


def made_of(**rows: int) -> dict[str, int]:
    tables = (
        "task_file",
        "estimate",
        "estimate_entry",
        "event",
        "task",
        "alert",
        "alert_rule",
        "alert_silence",
        "recommendation",
        "dead_letter",
        "created_by",
        "run",
        "job",
    )
    return {table: rows.get(table, 0) for table in tables}


# Erasing a user: names in reasons and events, expressions that mean the user, and what is left and said.


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
        "alert rule r4 is kept: /alice.*/ matches others too",
        "alert silence 5 is kept: /alice.*/ matches others too",
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
        "alert rule alicevictim-back is kept: it is about others, but contains the name in its name, labels",
        "alert silence 1 is kept: it is about others, but contains the name in its comment",
        "alerts of rule back are kept: 1 with the name in a text",
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
