"""A URL of several servers, of which one writes and the others follow it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from support.databases import PLACE

from flitwatch_db import async_pool, build_conninfo, connect
from flitwatch_db.core import logins
from flitwatch_domain.logins import read_passwords
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.table_connection import open_connection as connect_to_log

RECOVERS = "SELECT pg_is_in_recovery()"
SEVERAL = "postgresql://ann@a.example.org:5432,b.example.org:5433/flitwatch?connect_timeout=3"


@pytest.fixture(scope="module")
def standby_first() -> Iterator[str]:
    """The URL of a server that only follows and of one that writes, in this order."""
    folder = Path(tempfile.mkdtemp(prefix="flitwatch-hosts-", dir=PLACE))
    folder.chmod(0o711)
    writes = Embedded(folder / "writes", durable=False, settings={"wal_level": "replica"})
    writes.start()
    writes.stop()
    subprocess.run(["cp", "-a", str(writes.folder), str(folder / "follows")], check=True)
    follows = Embedded(folder / "follows", durable=False, settings={"wal_level": "replica"})
    (follows.data / "standby.signal").touch()
    with follows, writes:
        hosts = [str(conninfo_to_dict(server.url)["host"]) for server in (follows, writes)]
        yield logins.make_url(
            "flitwatch", "flitwatch", {"host": ",".join(hosts), "passfile": logins.file_of(writes.logins, logins.OWNER)}
        )
    follows.destroy()
    writes.destroy()
    folder.rmdir()


def test_a_connection_is_made_to_the_server_that_writes(standby_first: str) -> None:
    with connect(standby_first) as conn:
        assert conn.execute(RECOVERS).fetchone() == (False,)


async def test_a_pool_of_the_api_holds_connections_to_the_server_that_writes(standby_first: str) -> None:
    async with async_pool(standby_first) as some, some.connection() as conn:
        assert await (await conn.execute(RECOVERS)).fetchone() == (False,)


def test_the_log_is_read_where_it_is_written(standby_first: str) -> None:
    with connect_to_log(standby_first, "test") as conn:
        assert conn.execute(RECOVERS).fetchone() == (False,)


def test_a_url_may_ask_for_any_server() -> None:
    assert conninfo_to_dict(build_conninfo(SEVERAL))["target_session_attrs"] == "primary"
    asked = conninfo_to_dict(build_conninfo(SEVERAL + "&target_session_attrs=any"))
    assert (asked["target_session_attrs"], asked["connect_timeout"]) == ("any", "3")


def test_a_services_url_names_all_servers_and_how_they_are_reached(tmp_path: Path) -> None:
    given = conninfo_to_dict(logins.url_of(SEVERAL + "&target_session_attrs=read-write", tmp_path, "writer"))
    assert (given["host"], given["port"]) == ("a.example.org,b.example.org", "5432,5433")
    assert (given["connect_timeout"], given["target_session_attrs"]) == ("3", "read-write")


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("*:*:flitwatch", True),
        ("a.example.org:5432:flitwatch", True),
        ("b.example.org:5433:flitwatch", True),
        ("b.example.org:5432:flitwatch", False),
        ("c.example.org:5432:flitwatch", False),
    ],
)
def test_a_password_of_one_of_the_servers_is_found(tmp_path: Path, line: str, known: bool) -> None:
    file = tmp_path / "pgpass"
    file.write_text(f"{line}:flitwatch_writer:secret\n")
    file.chmod(0o600)
    given = conninfo_to_dict(SEVERAL)
    assert read_passwords(file, given) == ({"flitwatch_writer": "secret"} if known else {})
    one_port = given | {"port": "5433"}
    assert read_passwords(file, one_port) == (
        {"flitwatch_writer": "secret"} if line.startswith(("*", "b.example.org:5433")) else {}
    )
