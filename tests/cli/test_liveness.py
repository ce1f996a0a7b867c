"""Liveness of real processes: a hanging process is distinguished from a waiting one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from signal import SIGUSR1

import httpx
import pytest
from support.databases import PLACE
from support.waiting import eventually

from flitwatch_api.serve import open_listener
from flitwatch_db.migrations import migrate_database
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.watched import PULSE_FD

pytestmark = pytest.mark.system("processes")

HANGS_AFTER_S = 4
SERVICES = [("writer",), ("worker",), ("alerting",), ("collect", "ldms-csv", "/nowhere/yet")]
#: The command as it is, but for a signal under which its main thread, where its loop is, does nothing any more; the others go on.
HANGING = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600)); from flitwatch.main import main; main()"


@contextlib.contextmanager
def serving(url: str, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process, and where its figures are."""
    with open_listener("127.0.0.1", 0) as free:
        port = str(free.getsockname()[1])
    argv = [
        sys.executable,
        "-c",
        HANGING,
        *command,
        "--db",
        url,
        "--metrics-port",
        port,
        "--hangs-after",
        str(HANGS_AFTER_S),
    ]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


until = partial(eventually, timeout_s=120, every_s=0.1)


def live(base: str) -> tuple[int, str]:
    try:
        answer = httpx.get(f"{base}/livez", timeout=10)
    except httpx.HTTPError:
        return 0, ""
    return answer.status_code, answer.text


@pytest.mark.parametrize("command", SERVICES, ids=" ".join)
def test_a_loop_that_hangs_is_reported_although_its_metrics_are_served(
    embedded_db: str, command: tuple[str, ...]
) -> None:
    with serving(embedded_db, *command) as (process, base):
        until(lambda: "last completed a round" in live(base)[1])
        assert live(base)[0] == 200
        process.send_signal(SIGUSR1)
        until(lambda: live(base)[0] == 503)
        assert (
            f"counts as hung after {HANGS_AFTER_S} s" in live(base)[1]
            and httpx.get(f"{base}/metrics").status_code == 200
        )
        assert process.poll() is None


@pytest.mark.parametrize("command", SERVICES, ids=" ".join)
def test_waiting_for_a_database_is_no_hanging(command: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="flitwatch-away-", dir=PLACE) as place:
        server = Embedded(Path(place), durable=False)
        try:
            url = server.start()
            migrate_database(url)
            with serving(url, *command) as (_, base):
                until(lambda: "last completed a round" in live(base)[1])
                server.stop()
                # Time passes in which a loop that waited without beating would count as hanging.
                answers = []
                for _ in range(2 * HANGS_AFTER_S):
                    time.sleep(1)
                    answers.append(live(base)[0])
                assert answers == [200] * len(answers)
        finally:
            server.destroy()


def test_the_apis_loop_beats_for_its_supervisor_until_it_hangs(embedded_db: str) -> None:
    hears, beats = os.pipe()
    os.set_blocking(hears, False)
    with open_listener("127.0.0.1", 0) as free:
        port = str(free.getsockname()[1])
    argv = [sys.executable, "-c", HANGING, "api", "--db", embedded_db, "--port", port]
    process = subprocess.Popen(
        argv, stderr=subprocess.DEVNULL, pass_fds=(beats,), env={**os.environ, PULSE_FD: str(beats)}
    )

    def heard() -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(hears, 1 << 16))
        return False

    try:
        for _ in range(3):
            until(heard)
        process.send_signal(SIGUSR1)
        # Quiet for longer than two beats are apart: what came before the signal has been read.
        until(lambda: not any(heard() or time.sleep(0.5) for _ in range(5)))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
        os.close(hears)
        os.close(beats)
