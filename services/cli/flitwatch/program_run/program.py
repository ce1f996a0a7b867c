"""Start of the program: it replaces this process, or is a child whose output is copied."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from typing import NoReturn

from flitwatch.program_run.monitor import PIECE

#: Signals sent to this process that are meant for the program.
_FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGXCPU,
)
#: Bytes of output copied at once.
AT_ONCE = 1 << 16


def exec_program(command: Sequence[str]) -> NoReturn:
    """Replace this process with the program, which then owns the terminal, signals and status."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and ignored signals stay ignored after exec
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as problem:
        print(f"flitwatch: {command[0]}: {problem.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(problem, FileNotFoundError) else 126)


def run_copying(command: Sequence[str], pieces: socket.socket) -> NoReturn:
    """Run the program as a child, copy its standard output byte by byte, and exit with its status.

    Parameters
    ----------
    pieces : socket.socket
        Receives each piece with its monotonic time. Pieces that it cannot accept at once are dropped, so output never waits for it.
    """
    ours, theirs = _open_channel()
    signal_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)

    def as_before() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, signal_mask)

    try:
        child = subprocess.Popen(list(command), stdout=theirs, preexec_fn=as_before)
    except OSError as problem:
        print(f"flitwatch: {command[0]}: {problem.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(problem, FileNotFoundError) else 126)
    os.close(theirs)
    threading.Thread(target=_forward_signals, args=(child.pid,), daemon=True).start()
    _copy_output(ours, pieces)
    pieces.close()
    _end_as(child.wait())


def _open_channel() -> tuple[int, int]:
    """Open the channel. Return the end that we read and the end that the program writes, a terminal if our standard output is one."""
    if not os.isatty(1):
        return os.pipe()
    ours, theirs = os.openpty()
    attributes = termios.tcgetattr(1)
    attributes[1] &= ~termios.OPOST  # the real terminal does that
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))
    return ours, theirs


def _copy_output(ours: int, pieces: socket.socket) -> None:
    pieces.setblocking(False)
    while True:
        try:
            piece = os.read(ours, AT_ONCE)
        except OSError:  # a terminal whose other side was closed
            break
        if not piece:
            break
        at_s = time.monotonic()
        try:
            remainder = memoryview(piece)
            while remainder:
                remainder = remainder[os.write(1, remainder) :]
        except OSError:  # the reader is gone: the program notices at its next output, as it would without us
            break
        with contextlib.suppress(OSError):
            pieces.send(PIECE.pack(at_s) + piece)
    os.close(ours)


def _forward_signals(child: int) -> None:
    """Forward signals sent by processes. Signals from the terminal reach the program directly."""
    while True:
        signal_info = signal.sigwaitinfo(_FORWARDED)
        if signal_info.si_code <= 0 and signal_info.si_pid != child:
            try:
                os.kill(child, signal_info.si_signo)
            except ProcessLookupError:
                return


def _end_as(status: int) -> NoReturn:
    """Exit with the program's status, or with the signal that ended it."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's own core file is enough
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)
