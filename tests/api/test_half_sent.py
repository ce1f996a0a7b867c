"""Connections that send half a request, over real sockets: they are closed, and nobody else notices."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import httpx
import pytest
from support.endless_head import BEGINNINGS, SOCKETS_BYTES, peak_bytes, sent_until_closed

from api.conftest import Served, serving
from flitwatch_api import serve
from flitwatch_api.settings import Settings
from flitwatch_domain import http_protocol

HALVES = {
    "nothing": b"",
    "half a word": b"GE",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "half a body": b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "a second request's half": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
}
EACH = 40
#: How soon is not what is asked here.
get = partial(httpx.get, timeout=60)


@pytest.fixture
def site(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.5)
    monkeypatch.setattr(http_protocol, "BODY_S", 0.5)
    with serving(Settings(db=embedded_db, web=None)) as made:
        yield made


@pytest.fixture
def api_site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None)) as made:
        yield made


def connected(site: Served, stack: ExitStack, source: str = "") -> socket.socket:
    parts, of = urlsplit(site.url), (source, 0) if source else None
    return stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60, source_address=of))


@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests_are_not_kept(site: Served, half: str) -> None:
    with ExitStack() as stack:
        open_ones = [connected(site, stack) for _ in range(EACH)]
        for one in open_ones:
            one.sendall(HALVES[half])
        for one in open_ones:
            # Until the server closes; the answer to a first request may come before.
            try:
                while one.recv(4096):
                    pass
            except ConnectionResetError:
                pass
    assert get(f"{site.url}/healthz").status_code == 200


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_an_endless_head_is_cut_off(api_site: Served, kind: str) -> None:
    parts = urlsplit(api_site.url)
    before = peak_bytes()
    assert sent_until_closed(parts.hostname or "", parts.port or 0, *BEGINNINGS[kind]) <= SOCKETS_BYTES
    # The server runs in this process.
    assert peak_bytes() - before <= 16 << 20
    assert get(f"{api_site.url}/healthz").status_code == 200


@pytest.mark.parametrize("sizes", [[80_000], [100] * 100, [8_000] * 10], ids=["one", "many", "together"])
def test_a_large_head_is_answered_431(api_site: Served, sizes: list[int]) -> None:
    headers = {f"X-{number}": "a" * size for number, size in enumerate(sizes)}
    assert get(f"{api_site.url}/healthz", headers=headers).status_code == 431
    assert get(f"{api_site.url}/healthz", headers={"X-1": "a" * 50_000}).status_code == 200


@pytest.mark.parametrize("request_", [b"GET /healthz HTTP/1.1\nHost: localhost\n\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"], ids=["none", "upgrade"])  # fmt: skip
def test_requests_that_are_refused_write_no_lines_into_the_log(
    api_site: Served, request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            one = connected(api_site, stack)
            one.sendall(request_)
            assert one.recv(12)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_an_empty_line_on_an_idle_connection_keeps_nothing_open(site: Served) -> None:
    with ExitStack() as stack:
        one = connected(site, stack)
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(65536)
        one.sendall(b"\r\n")
        assert one.recv(1) == b""


def test_dripping_bytes_keep_nothing_open(site: Served) -> None:
    with ExitStack() as stack:
        one = connected(site, stack)
        one.settimeout(0.05)
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        closed = False
        for number in range(1200):
            try:
                one.sendall(b"X-%d: 1\r\n" % number)
                closed = one.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
            if closed:
                break
        assert closed


def test_an_event_stream_and_an_idle_connection_outlive_the_limits(site: Served) -> None:
    with (
        httpx.Client(base_url=site.url, timeout=60) as client,
        httpx.stream("GET", f"{site.url}/api/v1/events", timeout=60) as stream,
        ExitStack() as stack,
    ):
        lines = stream.iter_lines()
        next(lines)
        assert client.get("/healthz").status_code == 200
        # Whoever came later was closed for sending nothing: the limit has passed for these two, too.
        assert connected(site, stack).recv(1) == b""
        assert client.get("/healthz").status_code == 200


def test_more_connections_than_the_limit_are_answered_at_once(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS", 19)
    with serving(Settings(db=embedded_db, web=None, api_streams_max=1)) as site, ExitStack() as stack:
        for _ in range(30):
            connected(site, stack)
        assert get(f"{site.url}/healthz").status_code == 503


@pytest.mark.parametrize("proxies", [(), ("127.0.0.3/32",)], ids=["a host", "a proxy"])
def test_one_address_has_a_share_of_the_connections(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS", 12)
    settings = Settings(db=embedded_db, web=None, api_streams_max=1, api_trusted_proxies=proxies)
    with serving(settings) as site, ExitStack() as stack:
        # Two thirds of 18.
        share = [connected(site, stack, "127.0.0.3") for _ in range(12)]
        more = connected(site, stack, "127.0.0.3")
        if proxies:
            more.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert more.recv(12) == (b"HTTP/1.1 200" if proxies else b"HTTP/1.1 503")
        assert get(f"{site.url}/healthz").status_code == 200
        for one in [*share, more]:
            one.close()
        again = connected(site, stack, "127.0.0.3")
        again.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert again.recv(12) == b"HTTP/1.1 200"


def test_pages_keep_the_connections_of_their_browsers(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six a page; they counted as one, so a few hundred live pages were answered 503."""
    monkeypatch.setattr(serve, "CONNECTIONS", 16)
    with serving(Settings(db=embedded_db, web=None, api_streams_max=4)) as site, ExitStack() as stack:
        for _ in range(4 * 6):
            client = stack.enter_context(httpx.Client(base_url=site.url))
            assert client.get("/healthz").status_code == 200
        assert get(f"{site.url}/healthz").status_code == 200


def test_health_that_costs_a_query_is_counted(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_rate_per_s=0.001, api_rate_burst=3)) as site:
        for path in ("/readyz", "/metrics", "/readyz"):
            assert get(site.url + path).status_code == 200
        refused = [get(site.url + path) for path in ("/readyz", "/metrics")]
        assert [answer.status_code for answer in refused] == [429, 429]
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert get(f"{site.url}/healthz").status_code == 200


def test_names_beyond_this_machine_are_told_to_insist_on_tls(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None)) as site:
        published = get(f"{site.url}/healthz", headers={"Host": "flitwatch.example.org"})
        assert published.headers["strict-transport-security"] == "max-age=31536000"
        assert "strict-transport-security" not in get(f"{site.url}/healthz").headers
