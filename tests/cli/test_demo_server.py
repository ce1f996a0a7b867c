"""The embedded server of the demo machine takes less memory and disk than a site's."""

from __future__ import annotations

import psycopg
import pytest
from support.databases import server_folder

from flitwatch.commands.up import list_servers
from flitwatch_ops.embedded import Embedded


@pytest.mark.integration
@pytest.mark.parametrize(("twin", "small"), [("demo", True), ("none", False)])
def test_the_demos_server_is_small(twin: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    home = server_folder("demo-")
    monkeypatch.setenv("FLITWATCH_HOME", str(home))
    (server,) = list_servers("embedded", twin)
    try:
        with psycopg.connect(server.ensure()) as conn:
            rows = conn.execute(
                "SELECT name, setting::bigint * CASE unit WHEN '8kB' THEN 8 ELSE 1024 END FROM pg_settings"
                " WHERE name IN ('shared_buffers', 'max_wal_size')"
            ).fetchall()
        limits_kb = {"shared_buffers": 128 << 10, "max_wal_size": 192 << 10}
        assert all((kb <= limits_kb[name]) is small for name, kb in rows), rows
    finally:
        server.stop()
        Embedded(home / "pg").destroy()
