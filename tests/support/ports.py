"""Ports for servers that tests start."""

from __future__ import annotations

import contextlib
import socket


def free_port(count: int = 1) -> int:
    """The first of `count` neighbouring free ports of the loopback."""
    for _ in range(200):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError, OverflowError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise RuntimeError("no free ports")
