"""The supervisor with real processes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from support import disks
from support.waiting import eventually

from flitwatch.command_line import cli
from flitwatch_domain.errors import Unavailable
from flitwatch_ops import home
from flitwatch_ops import supervisor as supervising
from flitwatch_ops.home import LOG_BYTES
from flitwatch_ops.orphans import end_orphans, list_orphans
from flitwatch_ops.supervisor import Process, Server, Supervisor, read_running_state

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture
def supervised(tmp_path: Path):
    """A supervisor over two sleepers, watched in a thread; stopped afterwards whatever happens."""
    stops: list[str] = []
    server = Server("database", lambda: "url", lambda: stops.append("database"))
    supervisor = Supervisor(tmp_path, [server], [Process("one", SLEEPER), Process("two", SLEEPER)])
    supervisor.start(lambda line: None)
    thread = threading.Thread(target=_watch, args=(supervisor,))
    thread.start()
    yield supervisor, stops
    supervisor._stopping.set()
    thread.join()


def _watch(supervisor: Supervisor) -> None:
    install, signal.signal = signal.signal, lambda *_: None  # signals belong to the main thread
    try:
        supervisor.run({"url": "http://127.0.0.1:1/"})
    finally:
        signal.signal = install


def pids(supervisor: Supervisor) -> dict[str, int]:
    return {c.process.name: c.handle.pid for c in supervisor.children if c.handle is not None}


def test_a_killed_process_comes_back_and_the_state_says_so(supervised, tmp_path: Path) -> None:
    supervisor, _ = supervised
    eventually(supervisor.state_file.exists)
    first = pids(supervisor)["one"]
    os.kill(first, signal.SIGKILL)
    eventually(lambda: pids(supervisor).get("one") not in (None, first))
    second = pids(supervisor)["one"]
    assert alive(second)
    eventually(lambda: b'"restarts":1' in supervisor.state_file.read_bytes())


def test_a_process_whose_loop_stops_coming_round_is_started_again(tmp_path: Path) -> None:
    """One is frozen; one goes on; one never had a loop that beats, and is left alone."""
    beating = [
        sys.executable,
        "-c",
        "import time\nfrom flitwatch_ops.watched import own_heartbeat\nwhile True: own_heartbeat().beat(); time.sleep(0.05)",
    ]
    processes = [Process(name, beating, hangs_after_s=3.0) for name in ("frozen", "going")]
    supervisor = Supervisor(tmp_path, [], [*processes, Process("mute", SLEEPER, hangs_after_s=0.5)])
    supervisor.start(lambda line: None)
    thread = threading.Thread(target=_watch, args=(supervisor,))
    thread.start()
    try:
        eventually(lambda: all(child.silent_s is not None for child in supervisor.children[:2]))
        before = pids(supervisor)
        os.kill(before["frozen"], signal.SIGSTOP)
        eventually(lambda: pids(supervisor).get("frozen") not in (None, before["frozen"]), 60)
        after = pids(supervisor)
        assert not alive(before["frozen"]) and alive(after["frozen"])
        assert (after["going"], after["mute"]) == (before["going"], before["mute"])
        assert [child.restarts for child in supervisor.children] == [1, 0, 0]
    finally:
        supervisor._stopping.set()
        thread.join()


def test_logs_are_for_their_owner_alone_and_those_of_before_become_so(tmp_path: Path) -> None:
    logs = tmp_path / "log"
    logs.mkdir()
    for name, length in (("one", 5), ("two", LOG_BYTES + 1)):
        (logs / f"{name}.log").write_bytes(b"x" * length)
        (logs / f"{name}.log").chmod(0o644)
    processes = [Process(name, SLEEPER) for name in ("one", "two", "three")]
    supervisor = Supervisor(tmp_path, [], processes)
    supervisor.start(lambda line: None)
    supervisor.stop()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in logs.iterdir()}
    assert modes == dict.fromkeys(("one.log", "two.log", "two.log.1", "three.log"), 0o600)
    assert (logs / "one.log").read_bytes().startswith(b"xxxxx")


def test_a_log_that_grows_too_long_makes_space_while_it_is_written(
    supervised: tuple[Supervisor, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, _ = supervised
    log, older = tmp_path / "log" / "one.log", tmp_path / "log" / "one.log.1"
    eventually(lambda: log.read_text() == "up\n")
    monkeypatch.setattr(home, "LOG_BYTES", 100)
    with log.open("ab") as of_the_process:
        for turn in ("first", "second"):
            of_the_process.write(f"{turn} {'x' * 100}\n".encode())
            of_the_process.flush()
            eventually(lambda: log.stat().st_size == 0, every_s=0.01, what="space")
            assert turn in older.read_text()
        of_the_process.write(b"last\n")
        of_the_process.flush()
    assert log.read_text() == "last\n" and older.read_text().startswith("second")
    assert supervisor.children[0].restarts == 0


def test_stop_ends_every_process_and_server(tmp_path: Path) -> None:
    stops: list[str] = []
    servers = [Server(name, lambda: "url", lambda name=name: stops.append(name)) for name in ("database", "broker")]
    supervisor = Supervisor(tmp_path, servers, [Process("one", SLEEPER), Process("two", SLEEPER)])
    supervisor.start(lambda line: None)
    started = pids(supervisor)
    supervisor.stop()
    assert not any(alive(pid) for pid in started.values())
    assert stops == ["broker", "database"]
    assert not supervisor.state_file.exists()


def test_a_process_that_never_serves_is_named_with_its_log(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, [], [Process("api", SLEEPER, ready=lambda: False)])
    with pytest.raises(Unavailable, match=r"api did not answer.*api\.log"):
        supervisor.start(lambda line: None, timeout_s=0.3)
    supervisor.stop()


#: A platform of which a process never serves, as `flitwatch up` starts it; the last argument makes it one of flitwatch's.
NEVER_SERVES = """
import sys, pathlib
from flitwatch_ops.orphans import end_orphans, list_orphans, state_of
from flitwatch_ops.supervisor import Process, Supervisor
from flitwatch_domain.errors import Cancelled
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
supervisor = Supervisor(pathlib.Path(sys.argv[1]), [], [])
supervisor.begin({"url": "http://127.0.0.1:1/", "stack": "embedded", "port": 1, "twin": "none"})
supervisor.add([Process("one", sleeper, metrics_port=9201), Process("never", sleeper, ready=lambda: False)], {})
try:
    supervisor.start(print, 600)
except Cancelled:
    supervisor.stop()
"""


def test_what_is_still_starting_is_seen_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path))
    starting = subprocess.Popen([sys.executable, "-c", NEVER_SERVES, str(tmp_path), "flitwatch"])
    threading.Thread(target=starting.wait).start()  # or what has ended would still answer to its process id
    try:
        eventually(lambda: len([p for p in (read_running_state(tmp_path) or {}).get("processes", []) if p["pid"]]) == 2)
        status = json.loads(CliRunner().invoke(cli, ["status", "--json"], catch_exceptions=False).stdout)
        assert (status["running"], status["state"], status["pid"]) == (True, "starting", starting.pid)
        assert [(p["name"], p.get("metrics_port")) for p in status["processes"]] == [("one", 9201), ("never", None)]
        again = CliRunner().invoke(cli, ["up", "--twin", "none"])
        assert again.exit_code == 1 and "already starting" in again.stderr
        down = json.loads(CliRunner().invoke(cli, ["down", "--json"], catch_exceptions=False).stdout)
        assert down == {"stopped": True, "pid": starting.pid}
        assert not any(alive(p["pid"]) for p in status["processes"]) and read_running_state(tmp_path) is None
    finally:
        starting.kill()


def test_a_server_that_takes_long_to_start_is_broken_off(tmp_path: Path) -> None:
    program = """
import sys, pathlib, time
from flitwatch_ops.supervisor import Supervisor
supervisor = Supervisor(pathlib.Path(sys.argv[1]), [], [])
supervisor.begin({})
with supervisor.interruptible():
    print(flush=True)
    time.sleep(600)
"""
    starting = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert starting.stdout is not None and starting.stdout.readline() == "\n"
        assert (tmp_path / "run" / "state.json").exists()
        starting.terminate()
        assert "Cancelled: stopped while it started" in starting.communicate(timeout=60)[1]
    finally:
        starting.kill()


def test_output_of_processes_stands_in_their_log(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, [], [Process("one", SLEEPER)])
    supervisor.start(lambda line: None)
    eventually(lambda: (tmp_path / "log" / "one.log").read_text() == "up\n")
    supervisor.stop()


def test_a_stale_state_file_is_not_taken_for_a_running_platform(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "state.json").write_text(f'{{"pid": {ended.pid}}}')
    assert read_running_state(tmp_path) is None


def test_what_a_killed_supervisor_left_running_is_seen_and_ended(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from flitwatch_ops.supervisor import Process, Supervisor\n"
        f"s = Supervisor(Path({str(tmp_path)!r}), [], [Process(n, [sys.executable, '-c', 'import time; time.sleep(600)', 'flitwatch']) for n in 'ab'])\n"
        "s.begin({'stack': 'embedded'}); s.start(print); s.run({})"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", code, "flitwatch"])
    try:
        eventually(lambda: (read_running_state(tmp_path) or {}).get("state") == "running")
        assert list_orphans(tmp_path) == []
    finally:
        supervisor.kill()
        supervisor.wait()
    left = list_orphans(tmp_path)
    assert len(left) == 2 and all(map(alive, left)) and read_running_state(tmp_path) is None
    assert end_orphans(tmp_path) == left
    eventually(lambda: not any(map(alive, left)))
    assert list_orphans(tmp_path) == []


#: Much memory takes long to give back, and until then the port is taken.
LARGE_LISTENER = """
import mmap, signal, socket
listening = socket.create_server(("127.0.0.1", 0))
held = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, 1 << 30, mmap.PAGESIZE):
    held[at] = 1
print(listening.getsockname()[1], flush=True)
signal.pause()
"""


def test_ports_of_what_a_killed_supervisor_left_are_free_once_it_is_ended(tmp_path: Path) -> None:
    left = subprocess.Popen(
        [sys.executable, "-c", LARGE_LISTENER, "flitwatch"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    threading.Thread(target=left.wait).start()  # or what has ended would still answer to its process id
    try:
        assert left.stdout is not None
        port = int(left.stdout.readline())
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "state.json").write_text(json.dumps({"processes": [{"pid": left.pid}]}))
        assert end_orphans(tmp_path) == [left.pid]
        socket.create_server(("127.0.0.1", port)).close()
    finally:
        left.kill()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"processes": [{"pid": "x"}, {}]}', '{"processes": [{"pid": 1}]}'])
def test_a_state_file_that_says_nothing_names_no_orphans(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "state.json").write_text(text)
    assert list_orphans(tmp_path) == []


# A supervisor that lacks space on the disk, files or memory: it watches on, and starts what ended once it can.


SILENT_SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@contextlib.contextmanager
def watched(home: Path) -> Iterator[tuple[Supervisor, threading.Thread]]:
    """A supervisor of two sleepers, and the thread in which it watches them."""
    supervisor = Supervisor(home, [], [Process("one", SILENT_SLEEPER), Process("two", SILENT_SLEEPER)])
    supervisor._heed_signals = lambda: None  # type: ignore[method-assign]  # signals belong to the main thread
    supervisor.start(lambda line: None)
    thread = threading.Thread(target=supervisor.run, args=({},))
    thread.start()
    try:
        eventually(lambda: b'"state":"running"' in supervisor.state_file.read_bytes())
        yield supervisor, thread
    finally:
        supervisor._stopping.set()
        thread.join()
        supervisor.stop()


def kill_one(supervisor: Supervisor) -> int:
    handle = supervisor.children[0].handle
    assert handle is not None
    handle.send_signal(signal.SIGKILL)
    return handle.pid


def runs_anew(supervisor: Supervisor, killed: int) -> bool:
    handle = supervisor.children[0].handle
    return handle is not None and handle.pid != killed and handle.poll() is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    with disks.small_disk(tmp_path / "disk", "1m") as disk:
        yield disk


def test_on_a_full_disk_what_ends_is_started_and_the_state_is_written_later(small_disk: Path) -> None:
    with watched(small_disk / "home") as (supervisor, thread):
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again on the full disk")
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed), what="it to run once more")
        assert thread.is_alive()
        ballast.unlink()
        new = supervisor.children[0].handle
        assert new is not None
        eventually(
            lambda: orjson.loads(supervisor.state_file.read_bytes())["processes"][0]["pid"] == new.pid,
            what="the state to be written",
        )


def test_without_files_what_ends_is_started_once_there_are_some(tmp_path: Path) -> None:
    with watched(tmp_path) as (supervisor, thread):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            killed = kill_one(supervisor)
            child = supervisor.children[0]
            # Tried at least twice.
            eventually(lambda: child.handle is None and child.start_after > child.started_at, what="a first try")
            first = child.start_after
            eventually(lambda: child.start_after > first or not thread.is_alive(), what="a second try")
            assert thread.is_alive() and child.restarts == 0
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again")
        held = len(os.listdir("/proc/self/fd"))
        killed = kill_one(supervisor)
        eventually(lambda: runs_anew(supervisor, killed))
        # The supervisor's own thread may have a file open, which it closes.
        eventually(lambda: len(os.listdir("/proc/self/fd")) <= held, what="the files of the last start to be closed")


@pytest.mark.parametrize("lack", [OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError()])
def test_without_memory_what_ends_is_started_once_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: Exception
) -> None:
    """Memory cannot be made short for one thread: the start of a process fails here as it fails then."""
    tries: list[object] = []

    def refuse(*_: object, **__: object) -> None:
        tries.append(1)
        raise lack

    with watched(tmp_path) as (supervisor, thread):
        with monkeypatch.context() as without:
            without.setattr(supervising.subprocess, "Popen", refuse)
            killed = kill_one(supervisor)
            eventually(lambda: len(tries) > 1 or not thread.is_alive(), what="a second try")
            assert thread.is_alive()
        eventually(lambda: runs_anew(supervisor, killed), what="the killed process to run again")
