"""The embedded server: shared, killed, restarted."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_domain.errors import Unavailable
from flitwatch_ops.embedded import Embedded, sweep_abandoned
from flitwatch_ops.embedded_host import locate_wheel, prepare_host

PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

CHILD = """
import sys
from flitwatch_ops.embedded import Embedded
server = Embedded(sys.argv[1], durable=False)
server.start()
print(server.pid(), flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="flitwatch-embedded-", dir=PLACE))
    yield place
    Embedded(place).destroy()


def child(folder: Path, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )  # type: ignore[call-overload]


@pytest.mark.system("processes")
def test_many_starters_make_one_server_and_the_last_to_leave_stops_it(folder: Path) -> None:
    children = [child(folder) for _ in range(4)]
    try:
        pids = {c.stdout.readline().strip() for c in children}
        assert len(pids) == 1
        server = Embedded(folder)
        for c in children[:3]:
            c.communicate("")
            assert str(server.pid()) in pids
        children[3].communicate("")
        assert server.pid() is None
    finally:
        for c in children:
            c.kill()


def test_a_killed_user_does_not_keep_the_server_up(folder: Path) -> None:
    server = Embedded(folder, durable=False)
    server.start()
    other = child(folder)
    other.stdout.readline()
    other.send_signal(signal.SIGKILL)
    other.wait()
    server.stop()
    assert server.pid() is None


@pytest.mark.system("processes")
def test_servers_of_killed_users_are_swept(folder: Path) -> None:
    abandoned, used = folder / "throw-away-1", folder / "throw-away-2"
    user = child(abandoned)
    pid = int(user.stdout.readline())
    user.kill()
    user.wait()
    with Embedded(used, durable=False) as server:
        assert Embedded(abandoned).pid() == pid
        assert sweep_abandoned(folder, "throw-away-") == [abandoned]
        assert not abandoned.exists()
        assert server.pid() is not None


def test_a_killed_server_comes_back_with_what_was_committed(folder: Path) -> None:
    server = Embedded(folder, durable=False)
    url = server.start()
    busy = psycopg.connect(url, autocommit=True)
    with psycopg.connect(url) as conn:
        conn.execute("CREATE TABLE kept (n int)")
        conn.execute("INSERT INTO kept SELECT generate_series(1, 1000)")

    # A back end that works on does not notice the postmaster's death; the next server cannot start until it is gone.
    def sleep() -> None:
        with pytest.raises(psycopg.OperationalError):
            busy.execute("SELECT pg_sleep(60)")

    thread = threading.Thread(target=sleep)
    thread.start()
    time.sleep(0.2)
    os.kill(server.pid() or 0, signal.SIGKILL)
    eventually(lambda: server.pid() is None, 600, 0.01, what="the server to end")
    assert server.start() == url
    thread.join(30)
    assert not thread.is_alive()
    with psycopg.connect(url) as conn:
        assert conn.execute("SELECT count(*) FROM kept").fetchone() == (1000,)
    server.stop()


def test_a_stale_pid_file_of_a_living_stranger_is_not_believed(folder: Path) -> None:
    server = Embedded(folder, durable=False)
    server.start()
    server.stop()
    (folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder / 'data'}\n0\n5432\n\n\n\nready\n")
    assert server.pid() is None
    with psycopg.connect(server.start()) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    server.stop()


def test_an_interrupted_creation_begins_again(folder: Path) -> None:
    (folder / "data.new").mkdir()
    (folder / "data.new" / "PG_VERSION").write_text("18\n")
    with Embedded(folder, durable=False) as server, psycopg.connect(server.url) as conn:
        assert conn.execute("SELECT current_user").fetchone() == ("flitwatch",)


def test_a_deep_folder_gets_a_short_socket(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    server = Embedded(deep, durable=False)
    with psycopg.connect(server.start()) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    server.destroy()
    assert not deep.exists()


def test_only_the_owner_reaches_the_socket_and_the_data(folder: Path) -> None:
    with Embedded(folder, durable=False) as server:
        sockets = folder / "run"
        for path in (folder / "data", sockets):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        with psycopg.connect(server.url) as conn:
            assert conn.execute("SHOW listen_addresses").fetchone() == ("",)
            assert conn.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_it_runs_for_users_other_than_root() -> None:
    place = Path(tempfile.mkdtemp(prefix="flitwatch-nobody-", dir=PLACE))
    os.chown(place, 65534, 65534)
    # Forked, not started anew: the interpreter may lie where the other user cannot read.
    child_pid = os.fork()
    if child_pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            server = Embedded(place, durable=False)
            with psycopg.connect(server.start()) as conn:
                answered = conn.execute("SELECT 1").fetchone() == (1,)
            owner = Path(f"/proc/{server.pid()}").stat().st_uid
            server.stop()
            code = 0 if answered and owner == 65534 and server.pid() is None else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child_pid, 0)
    Embedded(place).destroy()
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_programs_below_a_folder_that_only_root_may_enter_are_opened(folder: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    shutil.copytree(locate_wheel().parent, closed / "pginstall", symlinks=True)
    closed.chmod(0o700)
    host = prepare_host(folder, closed / "pginstall" / "bin")
    assert host.try_run("postgres", "--version") == ""
    assert stat.S_IMODE(closed.stat().st_mode) == 0o701


def test_an_absent_server_is_reported_with_advice_and_without_the_password() -> None:
    with pytest.raises(Unavailable, match="Check that the server runs") as caught:
        connect("postgresql://user:geheim@127.0.0.1:1/db")
    assert "geheim" not in str(caught.value)
    with pytest.raises(Unavailable, match="not a PostgreSQL URL") as caught:
        connect("postgresql://user:geheim@[/db")
    assert "geheim" not in str(caught.value)


# A throw-away database ends with the process that uses it, also where that is killed.


# It looks for a signal again and again: one that comes just before a read without end is noticed only after the read.
USER = """
import select, sys
from flitwatch_ops import platform
with platform.open_database(ephemeral=True) as url:
    print(url, flush=True)
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        pass
"""


def user() -> tuple[subprocess.Popen[str], Path, int]:
    """A process that uses a throw-away database; its folder, and the server's process."""
    process = subprocess.Popen(
        [sys.executable, "-c", USER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    url = process.stdout.readline()
    folder = Path(url.partition("host=")[2].partition("&")[0].strip()).parent
    return process, folder, int((folder / "data" / "postmaster.pid").read_text().split()[0])


def runs(process: int) -> bool:
    """Whether a process is there, and not only its status for a parent that does not ask."""
    try:
        return Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.integration
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_database_of_a_killed_process_ends(how: signal.Signals) -> None:
    process, folder, server = user()
    assert runs(server)
    process.send_signal(how)
    process.wait(60)
    eventually(lambda: not folder.exists() and not runs(server), what="the database to end")


@pytest.mark.integration
def test_one_that_ends_leaves_no_watcher() -> None:
    process, folder, server = user()
    process.communicate(timeout=60)
    assert process.returncode == 0 and not folder.exists() and not runs(server)
    assert not subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False).stdout
