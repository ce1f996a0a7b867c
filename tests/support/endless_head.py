"""A client that sends the head of a request for ever, and what that costs the server."""

from __future__ import annotations

import socket
from pathlib import Path

#: What is sent at most: a server that reads all of it keeps it.
MOST_BYTES = 256 << 20
#: What the sockets of both ends may hold, beside what the server reads.
SOCKETS_BYTES = 16 << 20
BEGINNINGS = {
    "one header": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Endless: ", b"a" * (64 << 10)),
    "many headers": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-Endless: 1\r\n" * 5000),
    "an address": (b"GET /", b"a" * (64 << 10)),
    "empty lines": (b"", b"\r\n" * (32 << 10)),
    "trailers": (
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        b"X-Endless: 1\r\n" * 5000,
    ),
}


def sent_until_closed(host: str, port: int, beginning: bytes, part: bytes) -> int:
    """Return bytes that a server took before it closed the connection, MOST_BYTES at most."""
    with socket.create_connection((host, port), timeout=60) as one:
        sent = 0
        try:
            one.sendall(beginning)
            while sent < MOST_BYTES:
                sent += one.send(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return sent


def peak_bytes(pid: int | str = "self") -> int:
    """Return the most memory that a process had until now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
