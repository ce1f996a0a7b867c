"""Answers of other servers end at a deadline, are unpacked once at most, and leave no cookies."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from support.endless_answer import dripping

from flitwatch_domain.errors import Unavailable
from flitwatch_domain.peer_answers import stream_answer
from flitwatch_ingest import registry

LONG_S = 60.0


class Peer(ThreadingHTTPServer):
    """Server that sends `body` with `headers`, and then a byte now and then if it `drips`."""

    body, headers, drips = b"", {}, False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cookies: list[str | None] = []
        self.stop = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Peer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.cookies.append(self.headers["Cookie"])
        self.send_response(200)
        length = len(self.server.body) + (1 << 20 if self.server.drips else 0)
        for name, value in {"Content-Length": str(length), "Set-Cookie": "a=1", **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(self.server.body)
            while self.server.drips and not self.server.stop.wait(0.02):
                self.wfile.write(b"x")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.stop.set()
        server.shutdown()


def read(url: str, due_s: float) -> bytes:
    with httpx.Client(timeout=LONG_S) as client, stream_answer(client, "GET", url, due_s) as answer:
        return b"".join(answer.iter_bytes())


def test_a_head_and_a_body_that_drip_end_at_the_deadline(peer: Peer) -> None:
    with dripping(0.02) as port, pytest.raises(httpx.HTTPError):
        read(f"http://127.0.0.1:{port}/", 0.3)
    peer.drips = True
    with pytest.raises(httpx.HTTPError):
        read(peer.url, 0.3)


def test_a_registry_that_drips_does_not_hold_the_writer_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TIMEOUT_S", 0.3)
    with dripping(0.02) as port, pytest.raises(Unavailable, match="the schema registry does not answer"):
        registry.HttpRegistry(f"http://127.0.0.1:{port}").text(1)


@pytest.mark.parametrize("encoding", ["zstd", "deflate", "gzip, gzip", "gzip, identity, gzip"])
def test_an_answer_is_unpacked_once_at_most(peer: Peer, encoding: str) -> None:
    peer.body, peer.headers = gzip.compress(gzip.compress(b"x")), {"Content-Encoding": encoding}
    with pytest.raises(httpx.DecodingError, match="another compression"):
        read(peer.url, LONG_S)


def test_an_answer_in_time_arrives_and_its_cookie_is_not_sent_back(peer: Peer) -> None:
    peer.body, peer.headers = gzip.compress(b"all of it"), {"Content-Encoding": "gzip"}
    with httpx.Client(timeout=LONG_S) as one:
        for _ in range(2):
            with stream_answer(one, "GET", peer.url, LONG_S) as answer:
                assert b"".join(answer.iter_bytes()) == b"all of it"
    assert peer.cookies == [None, None]
