"""Permissions: each service logs in with roles that cannot become other roles, and none of them can change the audit log."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from support.databases import PLACE, Server

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.core import logins
from flitwatch_db.migrations import bootstrap, list_migrations, migrate_database
from flitwatch_db.people import accounts, audit
from flitwatch_domain.errors import Unavailable
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.platform import open_database
from flitwatch_stream.backends import open_log

EACH = [(service, role) for service, roles in logins.SERVICES.items() for role in roles]
CHANGES = (
    "DELETE FROM flitwatch.audit",
    "UPDATE flitwatch.audit SET actor = 'nobody'",
    "TRUNCATE flitwatch.audit",
    "ALTER TABLE flitwatch.audit DISABLE TRIGGER audit_kept",
    "DROP TRIGGER audit_kept ON flitwatch.audit",
    "DROP TABLE flitwatch.audit",
    "ALTER TABLE flitwatch.audit OWNER TO CURRENT_USER",
    "CREATE OR REPLACE FUNCTION flitwatch.audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
    "SET session_replication_role = replica",
)
#: Secrets, and who may read them.
SECRETS = {
    "SELECT rolpassword FROM pg_authid": (),
    "SELECT passwd FROM pg_shadow": (),
    "SELECT pg_read_file('pg_hba.conf')": (),
    "COPY (SELECT 1) TO PROGRAM 'id'": (),
    "SELECT password_hash FROM flitwatch.account": ("gate",),
    "SELECT digest FROM flitwatch.token": ("gate",),
    "SELECT digest FROM flitwatch.session": ("gate",),
    "SELECT digest FROM flitwatch.erased_user": (),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory that the server's user may enter."""
    made = Path(tempfile.mkdtemp(prefix="flitwatch-logins-", dir=PLACE))
    made.chmod(0o755)
    yield made
    Embedded(made / "pg").destroy()
    shutil.rmtree(made, ignore_errors=True)


def refused(url: str, role: Any, *statements: str) -> str:
    """How a login's last statement was refused."""
    with connect(url, role=role, autocommit=True) as conn:
        for statement in statements[:-1]:
            conn.execute(statement.encode())
        with pytest.raises(psycopg.Error) as said:
            conn.execute(statements[-1].encode())
    return said.value.diag.message_primary or ""


@pytest.mark.parametrize(("service", "role"), EACH)
def test_no_service_becomes_another_role_or_changes_the_audit_log(embedded_db: str, service: str, role: Any) -> None:
    with connect(embedded_db, role="gate") as conn:
        audit.by_command(conn, "kept")
    url = logins.url_for(embedded_db, service)
    with connect(url, role=role) as conn:
        assert conn.execute("SELECT session_user, current_user").fetchone() == (
            f"flitwatch_{role}",
            f"flitwatch_{role}",
        )
    others = {"postgres", "flitwatch", "flitwatch_owner", *logins.LOGINS} - {f"flitwatch_{role}"}
    for other in sorted(others):
        assert "permission denied" in refused(url, role, f"SET ROLE {other}")
        assert "permission denied" in refused(url, role, f"SET SESSION AUTHORIZATION {other}")
        assert "permission denied" in refused(url, role, f"GRANT {other} TO flitwatch_{role}")
    for change in CHANGES:
        assert refused(url, role, "SET ROLE NONE", change)
    for secret, readers in SECRETS.items():
        if role not in readers:
            assert "permission denied" in refused(url, role, secret), secret
    with connect(embedded_db, role="gate") as conn:
        assert conn.execute("SELECT action FROM audit").fetchall() == [("kept",)]


@pytest.mark.parametrize("service", logins.SERVICES)
def test_a_service_knows_no_password_but_those_that_it_needs(embedded_db: str, service: str) -> None:
    url = logins.url_for(embedded_db, service)
    file = Path(conninfo_to_dict(url)["passfile"])
    assert {line.split(":")[3] for line in file.read_text().splitlines()} == {
        f"flitwatch_{role}" for role in logins.SERVICES[service]
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    for role in ("owner", *({"gate", "keeper"} - set(logins.SERVICES[service]))):
        with pytest.raises(Unavailable, match="permission denied"):
            connect(url, role=role)
    # Without a password nobody is let in, whoever reaches the socket.
    for login in ("postgres", "flitwatch", "flitwatch_owner", "flitwatch_gate"):
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(make_conninfo(embedded_db, user=login, passfile="/dev/null"))


def test_the_log_is_written_and_read_with_a_services_login(embedded_db: str, topic: str) -> None:
    with open_log(logins.url_for(embedded_db, "twin")) as log:
        log.create_topic(topic, 1)
        assert log.end_offsets(topic) == [0]


def test_passwords_that_everybody_may_read_are_refused(folder: Path) -> None:
    server = Embedded(folder / "pg", durable=False)
    url = server.start()
    file = Path(conninfo_to_dict(url)["passfile"])
    file.chmod(0o604)
    with pytest.raises(Unavailable, match="all users of this machine can read"):
        connect(url)
    file.chmod(0o600)
    with connect(url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_database_of_an_earlier_version_is_upgraded_and_keeps_what_it_holds(folder: Path) -> None:
    server = Embedded(folder / "pg", durable=False)
    migrate_database(server.start())
    with connect(server.url, role="gate") as conn:
        audit.by_command(conn, "kept")
    # As it was: one login for all, a member of each role, let in without a password.
    with psycopg.connect(server.url_of("flitwatch", "postgres"), autocommit=True) as conn:
        for login in logins.LOGINS:
            conn.execute(f"ALTER ROLE {login} NOLOGIN PASSWORD NULL".encode())
        conn.execute("ALTER ROLE postgres PASSWORD NULL")
        conn.execute("ALTER ROLE flitwatch PASSWORD NULL")
    hba = server.data / "pg_hba.conf"
    hba.write_text("local   all   all   trust\n")
    server.stop()
    shutil.rmtree(server.logins)

    migrate_database(server.start())
    for service in logins.SERVICES:
        with open_database(logins.url_for(server.url, service)) as url, connect(url) as conn:
            conn.execute("SELECT count(*) FROM job")
        assert "permission denied" in refused(
            url, logins.SERVICES[service][0], "SET ROLE NONE", "DELETE FROM flitwatch.audit"
        )
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(make_conninfo(server.url, passfile="/dev/null"))
    with connect(server.url, role="gate") as conn:
        assert conn.execute("SELECT action FROM audit").fetchall() == [("kept",)]


@pytest.mark.system("processes")
def test_lost_passwords_are_made_anew_at_the_next_start(folder: Path) -> None:
    server = Embedded(folder / "pg", durable=False)
    migrate_database(server.start())
    with psycopg.connect(server.url_of("flitwatch", "postgres"), autocommit=True) as conn:
        # As `psql -f roles.sql` of another server's backup does.
        conn.execute("ALTER ROLE postgres PASSWORD 'another'")
        conn.execute("ALTER ROLE flitwatch_writer PASSWORD 'another'")
    server.stop()
    server.start()
    with connect(logins.url_for(server.url, "writer"), role="writer") as conn:
        assert conn.execute("SELECT current_user").fetchone() == ("flitwatch_writer",)
    server.stop()
    shutil.rmtree(server.logins)
    server.start()
    with connect(logins.url_for(server.url, "api"), role="gate") as conn:
        assert conn.execute("SELECT current_user").fetchone() == ("flitwatch_gate",)


def test_a_service_waits_for_the_owner_to_migrate(_embedded_template: Server) -> None:
    server = _embedded_template
    url = server.create()
    try:
        with connect(url, role="owner") as conn:
            conn.execute("DELETE FROM migration WHERE name = %s", [list_migrations()[-1].name])
        with (
            pytest.raises(Unavailable, match="a service may not migrate it") as said,
            open_database(logins.url_for(url, "writer")),
        ):
            pass
        assert "flitwatch db migrate" in str(said.value.advice)
    finally:
        server.drop(url)


def test_a_server_of_ones_own_gets_the_services_logins_by_command(folder: Path) -> None:
    """One login, as the administrators of a server made it, and a password that everybody knows."""
    server = Embedded(folder / "pg", durable=False)
    server.start()
    with psycopg.connect(server.url_of("postgres", "postgres"), autocommit=True) as conn:
        conn.execute("ALTER ROLE flitwatch PASSWORD 'flitwatch'")
    theirs = f"postgresql://flitwatch:flitwatch@/flitwatch?host={conninfo_to_dict(server.url)['host']}"
    # Without the command all goes on as before: the login is a member of each role.
    migrate_database(theirs)
    with connect(theirs, role="writer") as conn:
        assert conn.execute("SELECT session_user, current_user").fetchone() == ("flitwatch", "flitwatch_writer")

    kept = folder / "secrets"
    for _ in range(2):
        said = CliRunner().invoke(
            cli, ["db", "logins", "--db", theirs, "--folder", str(kept), "--json"], catch_exceptions=False
        )
        assert said.exit_code == 0, said.output
    written = {path: path.read_text() for path in kept.rglob("pgpass")}
    assert len(written) == len(logins.SERVICES) + 1
    secrets = {line.rpartition(":")[2] for text in written.values() for line in text.splitlines()}
    assert not any(secret in said.output for secret in secrets) and all(len(secret) >= 32 for secret in secrets)
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    url = logins.url_of(theirs, kept, "worker")
    assert url in said.output
    with open_database(url) as same, connect(same, role="keeper") as conn:
        assert conn.execute("SELECT session_user").fetchone() == ("flitwatch_keeper",)

    argv = ["db", "logins", "--db", theirs, "--folder", str(kept), "--own", "--json"]
    assert CliRunner().invoke(cli, argv, catch_exceptions=False).exit_code == 0
    with pytest.raises(Unavailable, match="password authentication failed"):
        migrate_database(theirs)
    assert migrate_database(logins.url_of(theirs, kept, logins.OWNER)) == []


def test_neither_arguments_nor_logs_hold_a_password(folder: Path) -> None:
    server = Embedded(folder / "pg", durable=False)
    migrate_database(server.start())
    secrets = logins.load_passwords(server.logins).values()
    logs = server.log_path.read_text()
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not any(secret in logs or secret in processes for secret in secrets)
    assert stat.S_IMODE(server.log_path.stat().st_mode) == 0o600
    assert os.environ.get("PGPASSWORD") is None


def test_the_owner_may_run_policies_and_nobody_logs_in_as_it(_embedded_template: Server) -> None:
    """TimescaleDB's full edition refuses policies of an owner who cannot log in; here the right is given, and found to let nobody in."""
    server = _embedded_template
    url = server.create()
    try:
        with connect(url, autocommit=True) as conn:
            with conn.transaction():
                bootstrap._let_policies_run(conn)
            assert conn.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'flitwatch_owner'").fetchone() == (
                True,
            )
        for password in ("", "flitwatch", "flitwatch_owner"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(make_conninfo(url, user="flitwatch_owner", passfile="/dev/null", password=password))
    finally:
        with connect(url, autocommit=True) as conn:
            conn.execute("ALTER ROLE flitwatch_owner NOLOGIN")
        server.drop(url)


def test_a_password_is_hashed_with_64_mib_and_three_passes(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        accounts.add_account(conn, "ada", "user", "correct horse battery")
        (hashed,) = conn.execute("SELECT password_hash FROM account WHERE name = 'ada'").fetchone()  # type: ignore[misc]
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
