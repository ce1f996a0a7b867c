"""Shared parts of servers that outlive their starter: a lock, a verified process id, and a stop with a time limit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from flitwatch_domain.errors import Unavailable
from flitwatch_ops.home import open_log


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a file lock; the kernel releases it when the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def free_port() -> int:
    """Return a port of 127.0.0.1 that is currently free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_listening(port: int) -> bool:
    """Return whether a port of 127.0.0.1 accepts connections."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Daemon:
    """Background process, identified by a pid file and by a word in its command line."""

    def __init__(self, pid_file: Path, log: Path, proof: str) -> None:
        self.pid_file = pid_file
        self.log = log
        self.proof = proof.encode()
        self._child: subprocess.Popen[bytes] | None = None

    def pid(self) -> int | None:
        """Return its process id while it runs, else None."""
        # Polling reaps our own child, which would otherwise remain a zombie with its process id. Right after the start, its command line is still
        # empty.
        if self._child is not None and self._child.poll() is None:
            return self._child.pid
        try:
            pid = int(self.pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if self.proof in command else None

    def spawn(self, argv: Sequence[str]) -> None:
        """Start it in its own session, and append its output to the log."""
        with open_log(self.log) as log:
            self._child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.log.parent,
            )
        self.pid_file.write_text(str(self._child.pid))

    def wait_ready(self, ready: Callable[[], bool], timeout_s: float, name: str) -> None:
        """Wait until `ready` returns True. Raise `Unavailable` with the log's last lines on timeout."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.pid() is None or time.monotonic() > deadline:
                tail = " | ".join(self.log.read_text(errors="replace").splitlines()[-4:])
                raise Unavailable(f"{name} did not start: {tail}", advice=f"See {self.log}.")
            time.sleep(0.05)

    def end(self, timeout_s: float = 30.0) -> None:
        """Ask it to stop, and kill it after `timeout_s`."""
        for signal_number, patience_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 5.0)):
            pid = self.pid()
            if pid is None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_number)
            deadline = time.monotonic() + patience_s
            while self.pid() is not None and time.monotonic() < deadline:
                time.sleep(0.05)
        self.pid_file.unlink(missing_ok=True)
