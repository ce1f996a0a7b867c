"""A receiver of alerts on this host, and a configuration that notifies it immediately."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flitwatch_alerting.config import Config

SLOW = {
    "name": "slow-ahead",
    "signal": "slowdown",
    "above": 1.2,
    "probability": 0.8,
    "every": 10,
    "severity": "critical",
}


class Hook:
    """A receiver that can be set to refuse, all or some rules, or to take a message and say nothing."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        self.mute = False
        self.refused: set[str] = set()
        self.before: Callable[[], object] = lambda: None
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = 400 if hook.refused & {a["rule"] for a in body.get("alerts", ())} else hook.status
                hook.before()
                if status == 200:
                    hook.got.append(body)
                if hook.mute:
                    return
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@contextmanager
def receiving() -> Iterator[Hook]:
    """A receiver until the end of the block."""
    one = Hook()
    try:
        yield one
    finally:
        one.server.shutdown()
        one.server.server_close()


def config(*receivers: dict[str, Any], rules: tuple[dict[str, Any], ...] = (SLOW,), **more: Any) -> Config:
    quick = {"group_wait": 0, "group_interval": 0, "repeat": "1h"}
    return Config.model_validate({**quick, "receivers": receivers, "rules": rules, **more})
