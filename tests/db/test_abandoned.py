"""A throw-away database ends with the process that uses it, also where that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import eventually

pytestmark = pytest.mark.integration

USER = """
import sys
from flitwatch_ops import platform
with platform.open_database(ephemeral=True) as url:
    print(url, flush=True)
    sys.stdin.read()
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


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_database_of_a_killed_process_ends(how: signal.Signals) -> None:
    process, folder, server = user()
    assert runs(server)
    process.send_signal(how)
    process.wait(60)
    eventually(lambda: not folder.exists() and not runs(server), what="the database to end")


def test_one_that_ends_leaves_no_watcher() -> None:
    process, folder, server = user()
    process.communicate(timeout=60)
    assert process.returncode == 0 and not folder.exists() and not runs(server)
    assert not subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False).stdout
