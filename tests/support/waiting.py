"""Waiting for a condition: the common helper of all suites."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    probe: Callable[[], T],
    timeout_s: float = 60.0,
    every_s: float = 0.05,
    what: str = "the condition",
    *,
    retry: tuple[type[Exception], ...] = (),
    process: subprocess.Popen[bytes] | subprocess.Popen[str] | None = None,
    detail: Callable[[], object] | None = None,
) -> T:
    """Call `probe` every `every_s` seconds until it returns a truthy value, and return that value.

    `what` completes the sentence "waited for ...". Exceptions of `probe` end the wait at once, except those in
    `retry`, which mean "not yet". The wait also ends at once if `process` has exited. `timeout_s` only bounds a hang,
    so keep it generous.

    Raises AssertionError with `what`, the elapsed time, the last value or error, and the result of `detail()`, for
    example the text of a log.
    """
    began = time.monotonic()
    while True:
        try:
            value = probe()
        except retry as error:
            last = f"the last error was {error!r}"
        else:
            if value:
                return value
            last = f"the last value was {value!r}"
        waited_s = time.monotonic() - began
        exited = process is not None and process.poll() is not None
        if exited or waited_s >= timeout_s:
            end = f"the process exited with {process.returncode}" if process is not None and exited else "timed out"
            said = "" if detail is None else f"\n{detail()}"
            raise AssertionError(f"waited {waited_s:.1f} s for {what}: {end}, {last}{said}")
        time.sleep(every_s)


# Ports for servers that tests start.

#: Connections and servers that leave the choice to the kernel get ports above these.
LOWEST_PORT, LOWEST_PORT_OF_KERNEL = 20_000, 32_768
#: Held for as long as this process lives.
_reservations: list[socket.socket] = []


def free_port(count: int = 1) -> int:
    """Reserve `count` consecutive free ports on the loopback interface for this process; return the first.

    A server may bind it much later: no other process that asks here gets it, and the kernel gives it to nobody.
    """
    for _ in range(200):
        first = random.SystemRandom().randrange(LOWEST_PORT, LOWEST_PORT_OF_KERNEL - count)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            names = [stack.enter_context(_reserve(port)) for port in range(first, first + count)]
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            stack.pop_all()
            _reservations.extend(names)
            return first
    raise RuntimeError("no free ports")


def _reserve(port: int) -> socket.socket:
    """Bind the abstract name of a port; OSError: another process has it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0flitwatch-test-port-{port}")
    except OSError:
        name.close()
        raise
    return name
