"""Servers whose answers are far longer than any client should read, or never end."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_BYTES = 128 << 20
#: Capacity of the sockets at both ends, in addition to the client's reads.
SOCKETS_BYTES = 16 << 20


class EndlessServer(ThreadingHTTPServer):
    """Server that counts the bytes taken by its clients."""

    sent_bytes = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: EndlessServer

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        part = b"x" * (64 << 10)
        try:
            while self.server.sent_bytes < MOST_BYTES:
                self.wfile.write(part)
                self.server.sent_bytes += len(part)
        except OSError:
            pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving_endlessly() -> Iterator[EndlessServer]:
    """Serve in a thread."""
    with EndlessServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving_lines(before: bytes, line: bytes) -> Iterator[tuple[int, list[int]]]:
    """Send `before` and then the same line up to MOST_BYTES. Yield the port, and the sizes of what clients have taken."""
    sent: list[int] = []

    class Lines(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            part = line * 1000
            with suppress(OSError):
                self.request.sendall(before)
                while sum(sent) < MOST_BYTES:
                    self.request.sendall(part)
                    sent.append(len(part))

    with serving_tcp(Lines) as port:
        yield port, sent


@contextmanager
def serving_tcp(handler: type[socketserver.BaseRequestHandler]) -> Iterator[int]:
    """Serve in a thread and yield the port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@contextmanager
def dripping(every_s: float) -> Iterator[int]:
    """Answer every connection with a byte now and then, in a line that does not end. Yield the port."""
    stop = threading.Event()

    class Drips(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while not stop.wait(every_s):
                    self.request.sendall(b"2")

    with serving_tcp(Drips) as port:
        yield port
        stop.set()
