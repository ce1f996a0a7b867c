"""Process next to the program: it collects and sends steps, and ends after the program."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from flitwatch.program_run.reports import Report
from flitwatch.program_run.step_lines import PatternSteps, StepFile
from flitwatch_domain.system_calls import open_process

#: Seconds between two checks, between two reports, and for the last report, for which a reader of the program's errors may wait.
LOOK_S, SEND_S, LAST_S = 1.0, 5.0, 5.0
#: Time stamp before each piece of output, and number of pieces read before other sources are checked.
PIECE, AT_ONCE = struct.Struct("=d"), 200
_IGNORED = (
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,
    signal.SIGTSTP,
)


def start_monitor(work: Callable[[int], None], keep: tuple[int, ...] = ()) -> None:
    """Run `work` in a process that is not a child of this one. Its argument is a descriptor that becomes readable when this process ends.

    The program that replaces this process must not have a child that it never started. In the new process, only standard error and the descriptors in
    `keep` stay open.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    program = os.getpid()
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return
    try:
        ended = open_process(program)
        os.setsid()
        if os.fork() == 0:
            _detach_process((ended, *keep))
            work(ended)
    except BaseException as problem:
        print(f"flitwatch: this run is not reported: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
    finally:
        os._exit(0)


def _detach_process(keep: tuple[int, ...]) -> None:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    last = 2
    for descriptor in sorted(keep):
        os.closerange(last + 1, descriptor)
        last = descriptor
    os.closerange(last + 1, min(os.sysconf("SC_OPEN_MAX"), 65_536))
    os.chdir("/")


def watch_program(
    ended: int,
    report: Report,
    steps: StepFile,
    pattern: PatternSteps | None,
    pieces: socket.socket | None,
    as_json: bool = False,
) -> None:
    """Collect and send steps until the program has ended, then once more. With `as_json`, print the outcome as the last line."""
    stopped: list[Any] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    if pieces is not None:
        poll.register(pieces, select.POLLIN)
    has_warned, next_send = False, 0.0
    running, reading = True, pieces is not None
    while (running or reading) and not stopped:
        ready = {descriptor for descriptor, _ in poll.poll(LOOK_S * 1000)}
        if running and ended in ready:
            running = False
            poll.unregister(ended)
        if reading and pieces is not None and pieces.fileno() in ready and pattern is not None:
            reading = _read_pieces(pieces, pattern, report)
            if not reading:
                poll.unregister(pieces)
        report.add(steps.read())
        if time.monotonic() >= next_send:
            has_warned = _send_report(report, has_warned)
            next_send = time.monotonic() + SEND_S
    report.add(steps.read())
    steps.remove()
    if not report.is_sent:
        has_warned = _send_report(report, has_warned)
    _print_outcome(report, steps, pattern, has_warned)
    if pattern is not None and not pattern.matched and not reading:
        print("flitwatch: no line of the program's standard output matches --step-pattern", file=sys.stderr)
    if as_json:
        # Standard output belongs to the program.
        print(json.dumps(report.summarize_outcome()), file=sys.stderr)
    sys.stderr.flush()


def _read_pieces(pieces: socket.socket, pattern: PatternSteps, report: Report) -> bool:
    """Add the steps of some of the waiting output. Return False at its end."""
    for _ in range(AT_ONCE):
        try:
            piece = pieces.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        if not piece:
            return False
        (at_s,) = PIECE.unpack_from(piece)
        report.add(pattern.of(at_s, piece[PIECE.size :]))
    return True


def _send_report(report: Report, said: bool) -> bool:
    if report.send(LAST_S) or said:
        return said
    print(
        f"flitwatch: the run is not reported yet: {report.problem}. The program continues; unsent reports are kept in {report.file}",
        file=sys.stderr,
        flush=True,
    )
    return True


def _print_outcome(report: Report, steps: StepFile, pattern: PatternSteps | None, said: bool) -> None:
    """Print a message on the outcome after the program's end."""
    if steps.refused:
        print(f"flitwatch: {steps.refused} lines of FLITWATCH_STEPS are not steps", file=sys.stderr)
    if pattern is not None and pattern.unknown:
        print(
            f"flitwatch: the time of {pattern.unknown} steps is not known: the program buffers its output, or the pattern's figures are not steps",
            file=sys.stderr,
        )
    if said and report.problem:
        print("flitwatch: send it with: flitwatch run --send-kept", file=sys.stderr)
    elif said:
        print("flitwatch: the run is reported now", file=sys.stderr)
