"""A client that sends an endless request head, and its cost for the server."""

from __future__ import annotations

import socket
from pathlib import Path

#: Limit of sent bytes: a server that reads all of them stores them.
MOST_BYTES = 256 << 20
#: Capacity of the sockets at both ends, in addition to the server's reads.
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
    """Return the number of bytes that a server accepted before closing the connection, at most MOST_BYTES."""
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
    """Return a process's peak memory so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
