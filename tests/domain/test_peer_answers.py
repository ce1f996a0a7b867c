"""Answers of other servers end at a deadline, are unpacked once at most, and leave no cookies."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import httpx
import pytest
from support.endless_answer import MOST_BYTES, dripping, serving_endlessly
from support.ufm import certificate

from flitwatch_domain.errors import Unavailable
from flitwatch_domain.peer_answers import stream_answer
from flitwatch_ingest import registry
from flitwatch_ingest.collectors import ufm
from flitwatch_ingest.exporters import scraper
from flitwatch_ingest.exporters.intake import Intake

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


def test_an_answer_over_tls_ends_at_the_deadline_too(peer: Peer, tmp_path: Path) -> None:
    pem, key = tmp_path / "peer.pem", tmp_path / "peer.key"
    certificate(pem, key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem, key)
    peer.socket = server.wrap_socket(peer.socket, server_side=True)
    peer.drips, has_head = True, False
    url = f"https://localhost:{peer.server_address[1]}/"
    with (
        httpx.Client(timeout=LONG_S, verify=ssl.create_default_context(cafile=pem)) as client,
        pytest.raises(httpx.HTTPError),
        stream_answer(client, "GET", url, 2.0) as answer,
    ):
        has_head = answer.status_code == 200
        b"".join(answer.iter_bytes())
    # The handshake was over, so the socket with TLS was to be ended.
    assert has_head


def test_a_registry_that_drips_does_not_hold_the_writer_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TIMEOUT_S", 0.3)
    with dripping(0.02) as port, pytest.raises(Unavailable, match="the schema registry does not answer"):
        registry.HttpRegistry(f"http://127.0.0.1:{port}").text(1)


def test_endless_answers_of_exporters_and_of_ufm_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scraper, "MOST_PAGE_BYTES", 1 << 20)
    monkeypatch.setattr(ufm, "MOST_BODY_BYTES", 1 << 20)
    reasons: list[str] = []
    with serving_endlessly() as server:
        scraper.Scraper([server.url], cast(Intake, None), reasons.append).look()
        with pytest.raises(Unavailable, match="sent more than 1 MiB"):
            ufm.Ufm(server.url, ufm.Credentials()).topology("subnet")
        assert server.sent_bytes < MOST_BYTES
    assert reasons == [f"{server.url}: its page has more than 1 MiB"]


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
