"""`flitwatch up` with metrics of every process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from alerting.receivers import Hook
from support.alerts import fire
from support.databases import PLACE
from support.waiting import eventually

from flitwatch.commands.up import METRICS, _list_processes
from flitwatch.exposure import Exposure
from flitwatch_db import connect
from flitwatch_db.core.logins import LOGINS
from flitwatch_ops.embedded import Embedded

#: Of each process' own figures.
COMMAND = {"writer": "writer", "worker": "worker", "estimates": "worker", "alerting": "alerting"}


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flitwatch-up-", dir=PLACE) as place:
        yield Path(place)


def flitwatch(home: Path, *argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitwatch.main", *argv],
        env={**os.environ, "FLITWATCH_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def ports() -> Iterator[Callable[[int], int]]:
    """Call it with a number: the first of that many ports in a row, chosen by the kernel and held until the test ends.

    The sockets are bound and do not listen. With SO_REUSEADDR, as servers set it, a server can listen on such a port; the
    kernel gives it to no other socket that asks for any port.
    """
    with contextlib.ExitStack() as held:

        def take(count: int) -> int:
            for _ in range(1000):
                with contextlib.ExitStack() as row, contextlib.suppress(OSError, OverflowError):
                    first = bound(row, 0)
                    for port in range(first + 1, first + count):
                        bound(row, port)
                    held.push(row.pop_all())
                    return first
            raise AssertionError(f"the kernel gives no {count} ports in a row")

        yield take


def bound(stack: contextlib.ExitStack, port: int) -> int:
    """Bind a port, or any for 0, until the stack ends."""
    one = stack.enter_context(socket.socket())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", port))
    return one.getsockname()[1]


@pytest.mark.system("processes")
@pytest.mark.integration
@pytest.mark.timeout(400)
def test_every_process_serves_its_figures_at_a_port_of_its_own(home: Path, ports: Callable[[int], int]) -> None:
    first = ports(len(METRICS) + 1)
    api = str(first + len(METRICS))
    try:
        up = flitwatch(home, "up", "--twin", "none", "--port", api, "--json", FLITWATCH_METRICS_PORT=str(first))
        assert up.returncode == 0, up.stderr[-2000:]
        status = json.loads(flitwatch(home, "status", "--json").stdout)
        assert status["state"] == "running"
        served = {p["name"]: p["metrics_port"] for p in status["processes"]}
        assert served == {name: first + place for place, name in enumerate(METRICS) if name != "twin"}
        for name, port in served.items():
            assert f"metrics of {name} at port {port} of 127.0.0.1" in up.stderr
        for name, command in COMMAND.items():
            figures = httpx.get(f"http://127.0.0.1:{served[name]}/metrics", timeout=30).text
            said = re.search(r'flitwatch_process_info\{command="([^"]*)"', figures)
            assert said is not None and said[1].split()[-1] == command
        assert httpx.get(f"http://127.0.0.1:{served['api']}/readyz", timeout=30).status_code == 200
        assert all(p["restarts"] == 0 for p in status["processes"])
        for process in status["processes"]:
            environment = Path(f"/proc/{process['pid']}/environ").read_bytes().split(b"\0")
            owned = b"/logins/%s/pgpass" % {"estimates": "worker"}.get(process["name"], process["name"]).encode()
            assert {one.partition(b"passfile=")[2][-len(owned) :] for one in environment if b"pgpass" in one} == {owned}
        server = Embedded(home / "pg")
        with psycopg.connect(server.url_of("flitwatch", "postgres")) as conn:
            rows = conn.execute(
                "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'flitwatch%'"
            )
            assert {row[0] for row in rows} <= set(LOGINS), "a service has another login than its own"
        os.kill(status["processes"][1]["pid"], signal.SIGKILL)
        eventually(
            lambda: "was started again after" in (home / "log" / "supervisor.log").read_text(), what="its restart"
        )
    finally:
        assert flitwatch(home, "down").returncode == 0
    # None of them logs text, also not the supervisor, whose stages the terminal showed as text.
    for file in (home / "log").iterdir():
        assert all(isinstance(json.loads(line), dict) for line in file.read_text().splitlines()), file
    assert re.search(r"^\d\d:\d\d:\d\d stage 1 of 3, ", up.stderr, re.MULTILINE)


@pytest.mark.system("processes")
@pytest.mark.integration
def test_links_of_notices_lead_to_the_platform_that_tells(home: Path, ports: Callable[[int], int]) -> None:
    hook, file, port = Hook(), home / "alerts.yaml", str(ports(1))
    file.write_text(f"group_wait: 0\nreceivers: [{{name: h, kind: webhook, url: '{hook.url}'}}]\n")
    try:
        up = flitwatch(home, "up", "--twin", "none", "--port", port, FLITWATCH_ALERTS=str(file))
        assert up.returncode == 0, up.stderr[-2000:]
        database = json.loads((home / "run" / "state.json").read_text())["database"]
        with connect(database, role="writer", autocommit=True) as conn:
            number = fire(conn, "q1")
        eventually(lambda: hook.got, what="the alert's delivery")
        (alert,) = hook.got[0]["alerts"]
        assert alert["evidence"] == f"http://127.0.0.1:{port}/api/v1/alerts/{number}"
    finally:
        assert flitwatch(home, "down").returncode == 0
        hook.server.shutdown()
        hook.server.server_close()


def test_an_address_of_all_addresses_or_one_of_its_own_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    status = lambda host: next(  # noqa: E731
        process.environment.get("FLITWATCH_EXTERNAL_URL")
        for process in _list_processes(
            "postgresql://flitwatch@/flitwatch?passfile=/logins/owner/pgpass",
            "l",
            host,
            18_800,
            "none",
            Exposure((), "none"),
        )
        if process.name == "alerting"
    )
    monkeypatch.delenv("FLITWATCH_EXTERNAL_URL", raising=False)
    assert status("::1") == "http://[::1]:18800/"
    assert status("0.0.0.0") == status("::") == f"http://{socket.gethostname()}:18800/"
    monkeypatch.setenv("FLITWATCH_EXTERNAL_URL", "https://flitwatch.example")
    assert status("0.0.0.0") is None


@pytest.mark.system("processes")
@pytest.mark.integration
def test_a_platform_stopped_while_its_database_starts_leaves_nothing(home: Path, ports: Callable[[int], int]) -> None:
    environment = {**os.environ, "FLITWATCH_HOME": str(home)}
    up = subprocess.Popen(
        [sys.executable, "-m", "flitwatch.main", "up", "--twin", "none", "--port", str(ports(1))],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (home / "pg" / "data").exists():
        assert up.poll() is None
        time.sleep(0.001)
    assert "stopped  true" in flitwatch(home, "down").stdout
    assert "stopped while it started" in up.communicate(timeout=60)[1] and up.returncode == 1
    assert not (home / "run" / "state.json").exists() and servers(home) == []


def servers(home: Path) -> list[str]:
    """Processes of the database."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry / "cwd").startswith(str(home)):
                found.append((entry / "cmdline").read_text())
    return found


def test_a_port_of_metrics_that_is_taken_is_reported_before_anything_starts(
    home: Path, ports: Callable[[int], int]
) -> None:
    first = ports(len(METRICS) + 1)
    api = str(first + len(METRICS))
    with socket.create_server(("127.0.0.1", first + 3)):
        up = flitwatch(home, "up", "--twin", "none", "--port", api, FLITWATCH_METRICS_PORT=str(first))
    assert up.returncode == 1 and len(up.stderr.splitlines()) == 1
    assert f"port {first + 3} on 127.0.0.1 cannot be used" in up.stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("first", [65533, -2], ids=["above the last", "around the API's"])
def test_ports_of_metrics_that_cannot_be_are_refused(home: Path, ports: Callable[[int], int], first: int) -> None:
    api = ports(1)
    first = first if first > 0 else api + first
    up = flitwatch(home, "up", "--twin", "none", "--port", str(api), FLITWATCH_METRICS_PORT=str(first))
    assert up.returncode == 1 and len(up.stderr.splitlines()) == 1 and f"metrics need ports {first} to" in up.stderr
