"""A server whose answers are far longer than any client should read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
