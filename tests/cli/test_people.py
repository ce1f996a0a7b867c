"""`flitwatch users`, `flitwatch tokens` and the first admin."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from flitwatch.main import cli
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadRequest, NotFound, Unauthenticated
from flitwatch_ops.first_admin import ensure_admin

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
        assert people.of_token(conn, made["secret"]).scopes == {"advice"}  # type: ignore[union-attr]
        assert people.log_in(conn, "ann", PASSWORD)
        run(embedded_db, "users", "passwd", "ann", typed="another long one\n")
        with pytest.raises(Unauthenticated):
            people.log_in(conn, "ann", PASSWORD)
        run(embedded_db, "users", "disable", "ann")
        with pytest.raises(Unauthenticated):
            people.log_in(conn, "ann", "another long one")
        run(embedded_db, "tokens", "revoke", str(made["token_id"]))
        assert people.of_token(conn, made["secret"]) is None
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
