"""The commands `db` and `task`, and their database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from psycopg.conninfo import conninfo_to_dict

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.platform import embedded_folder, log_url, open_database


def run(*argv: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, [*argv, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FLITWATCH_DB", raising=False)
    return tmp_path / "home"


def test_the_projects_database_starts_for_a_command_and_stops_after_it(home: Path) -> None:
    with open_database() as url, open_database() as again:
        assert url == again
        with connect(url, role="reader") as conn:
            assert conn.execute("SELECT count(*) FROM fabric").fetchone() == (0,)
        assert Embedded(embedded_folder()).pid() is not None
    assert Embedded(embedded_folder()).pid() is None
    assert embedded_folder() == home / "pg"


def test_a_throw_away_database_is_gone_afterwards(home: Path) -> None:
    with open_database("postgresql://not/used", ephemeral=True) as url:
        folder = Path(str(conninfo_to_dict(url)["host"])).parent
        assert folder.is_dir()
    assert not folder.exists()
    assert not embedded_folder().exists()


def test_the_log_is_the_database_unless_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLITWATCH_LOG", raising=False)
    assert log_url("postgresql://a/b") == "postgresql://a/b"
    monkeypatch.setenv("FLITWATCH_LOG", "kafka://host:9092")
    assert log_url("postgresql://a/b") == "kafka://host:9092"


def test_db_commands(embedded_db: str) -> None:
    assert run("db", "migrate", "--db", embedded_db) == {"applied": [], "edition": "plain", "pending": []}
    kept = run("db", "maintain", "--db", embedded_db, "--keep", "router_1s=5", "--keep", "port_10s=forever")
    assert kept["skipped"] == []
    tables = run("db", "status", "--db", embedded_db)["tables"]
    assert (tables["router_1s"]["keep_days"], tables["port_10s"]["keep_days"]) == (5.0, None)
    shown = CliRunner().invoke(cli, ["db", "status", "--db", embedded_db])
    assert "no limit" in shown.stdout


def test_how_long_the_audit_log_is_kept_is_audited(embedded_db: str) -> None:
    run("db", "maintain", "--db", embedded_db, "--keep", "audit=365")
    refused = CliRunner().invoke(cli, ["db", "maintain", "--db", embedded_db, "--keep", "audit=7"])
    assert refused.exit_code != 0 and "at least 30 days" in str(refused.exception)
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT value FROM setting WHERE key = 'audit_keep_days'").fetchall() == [(365,)]
        rows = conn.execute("SELECT action, target, details FROM audit").fetchall()
    assert rows == [("db maintain", "audit", {"keep_days": 365})]


def test_the_embedded_log_keeps_what_is_asked_for(embedded_db: str) -> None:
    assert run("db", "status", "--db", embedded_db)["log"] == {
        "segments": 0,
        "bytes": 0,
        "keep_days": 1,
        "keep_bytes": 6 << 30,
    }
    run("db", "maintain", "--db", embedded_db, "--keep", "log=0.25")
    run("db", "maintain", "--db", embedded_db, "--log-gb", "2.5")
    log = run("db", "status", "--db", embedded_db)["log"]
    assert (log["keep_days"], log["keep_bytes"]) == (0.25, 2_500_000_000)
    shown = CliRunner().invoke(cli, ["db", "status", "--db", embedded_db])
    assert "0.25 days, at most 2.5 GB" in shown.stdout
    refused = CliRunner().invoke(cli, ["db", "maintain", "--db", embedded_db, "--keep", "log=forever"])
    assert "finite limits" in str(refused.exception)


@pytest.mark.parametrize("keep", ["router_1s", "router_1s=", "router_1s=-1", "router_1s=nan"])
def test_bad_keeps_are_refused(embedded_db: str, keep: str) -> None:
    result = CliRunner().invoke(cli, ["db", "maintain", "--db", embedded_db, "--keep", keep])
    assert result.exit_code == 2
    assert "is not TABLE=DAYS" in result.output


def test_task_commands(embedded_db: str) -> None:
    started = run("task", "start", "demo.count", '{"to": 2}', "--db", embedded_db)
    assert (started["state"], started["args"]) == ("queued", {"to": 2})
    assert [t["task_id"] for t in run("task", "list", "--db", embedded_db)["tasks"]] == [started["task_id"]]
    assert run("task", "cancel", str(started["task_id"]), "--db", embedded_db)["state"] == "cancelled"
    watched = CliRunner().invoke(cli, ["task", "watch", str(started["task_id"]), "--db", embedded_db])
    assert watched.exit_code == 1


@pytest.mark.system("processes")
def test_bad_use_is_one_line_on_standard_error(embedded_db: str) -> None:
    for argv in (
        ["task", "start", "demo.count", "{"],
        ["task", "cancel", "99"],
        ["task", "start", "no_dot"],
        ["worker", "--queue", "none"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "flitwatch.main", *argv, "--db", embedded_db],
            capture_output=True,
            text=True,
            env=dict(os.environ),
            check=False,
        )
        assert done.returncode != 0
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert done.stderr.startswith("flitwatch: ")


@pytest.mark.parametrize("size", ["nan", "inf", "-inf", "1e300", "1e7", "0", "-1", "1e-10", "much"])
def test_bad_sizes_of_the_log_are_refused(embedded_db: str, size: str) -> None:
    before = run("db", "status", "--db", embedded_db)["log"]
    result = CliRunner().invoke(cli, ["db", "maintain", "--db", embedded_db, f"--log-gb={size}"])
    assert result.exit_code == 2 and result.output.count("\n") <= 4 and "--log-gb" in result.output
    assert run("db", "status", "--db", embedded_db)["log"] == before
