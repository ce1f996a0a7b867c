"""An HTTP server with the API's explanations of jobs: a slow one with a named neighbour, and a quiet one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUIET: dict[str, Any] = {
    "job_id": "42", "start": "2026-11-01T10:00:00Z", "end": "2026-11-01T11:00:00Z", "as_of": "2026-11-01T11:00:00Z", "simulated": False,
    "title": "It was not slow", "detail": "", "slowdown": None, "chain": [], "candidates": [],
}  # fmt: skip
SLOW = QUIET | {
    "title": "Job 77 slowed it",
    "slowdown": {"since": "2026-11-01T10:20:00Z", "until": None, "lost_s": 900.0, "factor": 1.4},
    "chain": [{"part": "jobs", "text": "Job 77 feeds the links <1>."}],
    "candidates": [
        {"job_id": "77", "named": True, "start": "2026-11-01T10:19:00Z", "end": None},
        {"job_id": "78", "named": False, "start": "2026-11-01T10:19:00Z", "end": None},
    ],
}


@contextmanager
def explaining_api(**answers: tuple[int, Any]) -> Iterator[tuple[str, list[str]]]:
    """Run an API with an answer for each given job (`job42=`) and for all others (`other=`). Yield its address and the received requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('Authorization')}")
            job_id = self.path.split("/")[4]
            status, body = answers.get(f"job{job_id}") or answers["other"]
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
