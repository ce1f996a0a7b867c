"""The API during failures: an unwritable log, a full disk, a frozen database, and clients that send half a request."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import pytest
from support.databases import server_processes, stopped
from support.endless_head import BEGINNINGS, SOCKETS_BYTES, peak_bytes, sent_until_closed
from support.waiting import eventually

from api.conftest import Served, bearer, serving
from flitwatch.http_server import HttpServer, open_listener
from flitwatch_api import serve
from flitwatch_api.ingest.lag import LogEnds
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.core import connection, deadlines
from flitwatch_db.ingest import store as ingest
from flitwatch_db.people import accounts as people
from flitwatch_domain import http_protocol
from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.log import Log

HOUR_S = 3600.0

TOPIC = "ldms.planted"


@pytest.fixture
def site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None)) as served:
        yield served


def append(url: str, log: Log, partition: int, records: int, age_s: float) -> None:
    """Plant a batch that was appended so long ago."""
    with log.producer() as producer:
        for _ in range(records):
            producer.append(TOPIC, b"{}", partition=partition)
        producer.flush()
    with connect(url) as conn:
        conn.execute(
            "UPDATE log.batch SET appended_at = now() - make_interval(secs => %s) WHERE appended_at > now() - interval '1 minute'",
            [age_s],
        )


def move(url: str, log: Log, partition: int, position: int, before: int | None) -> None:
    """Write up to there, as a writer does."""
    place = TOPIC, partition
    with connect(url, role="writer") as conn:
        reader = ingest.Reader("writer", log.identity())
        ingest.advance_positions(conn, reader, {place: ingest.Position(position, position)}, {place: before})


def shown(site: Served) -> tuple[int, float]:
    """Records that wait, and for how many hours the oldest does."""
    (topic,) = (topic for topic in site.get("/ingest/status")["topics"] if topic["topic"] == TOPIC)
    return topic["lag_records"], round(topic["lag_s"] / HOUR_S, 1)


def test_the_oldest_unwritten_record_is_that_of_any_partition(site: Served, embedded_db: str, table_log: Log) -> None:
    for partition, records, hours in ((0, 1, 9), (0, 3, 5), (0, 1, 2), (1, 2, 1)):
        append(embedded_db, table_log, partition, records, hours * HOUR_S)
    move(embedded_db, table_log, 0, 1, None)
    assert shown(site) == (6, 5.0)
    # In the middle of a batch.
    move(embedded_db, table_log, 0, 2, 1)
    assert shown(site) == (5, 5.0)
    move(embedded_db, table_log, 0, 4, 2)
    assert shown(site) == (3, 2.0)
    # That a writer wrote just now says nothing of a partition which none has read.
    move(embedded_db, table_log, 0, 5, 4)
    assert shown(site) == (2, 1.0)
    figure = f'flitwatch_ingest_unwritten_seconds{{topic="{TOPIC}"}} 36'
    assert figure in site.http.get("/metrics").text
    move(embedded_db, table_log, 1, 2, None)
    assert shown(site) == (0, 0.0)


def test_what_was_trimmed_waits_no_longer(site: Served, embedded_db: str, table_log: Log) -> None:
    append(embedded_db, table_log, 0, 2, 5 * HOUR_S)
    append(embedded_db, table_log, 0, 2, HOUR_S)
    move(embedded_db, table_log, 0, 1, None)
    with connect(embedded_db) as conn:
        conn.execute("DELETE FROM log.batch WHERE base_offset = 0")
    assert shown(site) == (3, 1.0)


@pytest.mark.system("stores")
async def test_kafka_says_the_same(kafka_log: Log, topic: str) -> None:
    now_ms = time.time_ns() // 1_000_000
    with kafka_log.producer() as producer:
        for partition, hours in ((0, 9), (0, 5), (1, 1), (1, 2)):
            stamp_ms = now_ms - int(hours * HOUR_S * 1000)
            producer.append(topic, b"x" * 100_000, partition=partition, timestamp_ms=stamp_ms)

    async def oldest_h(places: dict[str, int]) -> tuple[int, float | None]:
        offset, oldest_at = (await LogEnds(kafka_log.url).get({topic: places}))[topic]
        return offset, None if oldest_at is None else round(now_ms / 3_600_000 - oldest_at.timestamp() / 3600, 1)

    eventually(lambda: kafka_log.end_offsets(topic)[:2] == [2, 2], what="the records")
    assert await oldest_h({"0": 1}) == (4, 5.0)
    assert await oldest_h({"0": 2, "1": 0}) == (4, 1.0)
    assert await oldest_h({"0": 2, "1": 2}) == (4, None)


# A disk with too little free space: the API says so and refuses what would take more, and serves what is stored.


#: MiB that no disk has.
TOO_MUCH = "1e15"


@pytest.fixture
def full_site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None, api_anonymous="viewer")) as made:
        yield made


@pytest.mark.system("processes")
def test_new_data_are_refused_with_the_reason_until_there_is_space(
    full_site: Served, embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(embedded_db, autocommit=True) as conn:
        people.add_account(conn, "portal", "service")
        login = bearer(people.add_token(conn, "portal", "test", ["runs", "tasks", "read"])[1])

    def ask(path: str, **body: object) -> httpx.Response:
        return httpx.post(f"{full_site.url}/api/v1{path}", headers=login, timeout=60, **body)  # type: ignore[arg-type]

    task = {"name": "demo.count", "args": {"to": 1, "delay_s": 0.0}}
    run = {"key": "0123456789abcdef", "application": "milc", "start": "2026-11-23T10:00:00Z"}
    assert httpx.get(f"{full_site.url}/readyz").json() == {"status": "ready", "read_only": None}
    monkeypatch.setenv(LEAST_FREE, TOO_MUCH)
    for refused in (ask("/tasks", json=task), ask("/tasks/files", content=b"1,2"), ask("/runs", json=run)):
        assert refused.status_code == 503, refused.text
        assert refused.json()["type"] == "urn:flitwatch:problem:disk-full"
        assert "MiB left" in refused.json()["detail"]
    ready = httpx.get(f"{full_site.url}/readyz")
    status = httpx.get(f"{full_site.url}/api/v1/ingest/status")
    assert ready.status_code == status.status_code == 200
    assert "MiB left" in ready.json()["read_only"] and "MiB left" in status.json()["read_only"]
    with connect(embedded_db, role="writer") as conn:
        # Frees space.
        assert tasks.start_task(conn, "db.maintain") > 0
    monkeypatch.setenv(LEAST_FREE, "0")
    assert ask("/tasks", json=task).status_code == 202
    assert httpx.get(f"{full_site.url}/readyz").json()["read_only"] is None


# A database that is stopped while the API runs: probes and requests are answered all the same.


@pytest.fixture
def frozen_site(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(deadlines, "CHECK_S", 0.5)
    monkeypatch.setattr(connection, "GRACE_S", 0.5)
    with serving(Settings(db=embedded_db, web=None, api_statement_timeout_ms=500, api_connect_timeout_s=0.5)) as made:
        yield made


def get(frozen_site: Served, path: str) -> httpx.Response:
    # How soon is not what is asked here; before, there was no answer at all.
    return httpx.get(frozen_site.url + path, timeout=60)


@pytest.mark.system("processes")
def test_a_frozen_server_is_reported_and_answered_for(frozen_site: Served, embedded_server: Embedded) -> None:
    assert get(frozen_site, "/readyz").status_code == 200
    with stopped(*server_processes(embedded_server)):
        unready = get(frozen_site, "/readyz")
        assert (unready.status_code, unready.headers["content-type"]) == (503, "application/problem+json")
        assert unready.json()["detail"] == "the database does not answer"
        assert get(frozen_site, "/healthz").status_code == 200
        assert get(frozen_site, "/metrics").status_code == 200
        assert get(frozen_site, "/api/v1/fabrics").status_code == 503
        login = httpx.post(f"{frozen_site.url}/api/v1/session", json={"name": "ann", "password": "wrong"}, timeout=60)
        assert login.status_code == 503
    eventually(lambda: get(frozen_site, "/readyz").status_code == 200, what="the API to be ready again")
    assert get(frozen_site, "/api/v1/fabrics").status_code == 200


def test_a_probe_waits_two_seconds_for_a_server_that_is_slow(
    embedded_db: str, embedded_server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "CHECK_S", 3600.0)
    with serving(Settings(db=embedded_db, web=None)) as frozen_site:
        assert get(frozen_site, "/readyz").status_code == 200
        with stopped(*server_processes(embedded_server)):
            assert get(frozen_site, "/readyz").json()["detail"] == "the database has not answered for 2 s"
        eventually(lambda: get(frozen_site, "/readyz").status_code == 200, what="the API to be ready again")


# Connections that send half a request, over real sockets: they are closed, and nobody else notices.


HALVES = {
    "nothing": b"",
    "half a word": b"GE",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "half a body": b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "a second request's half": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
}

EACH = 40

#: How soon is not what is asked here.
get_patiently = partial(httpx.get, timeout=60)


@pytest.fixture
def half_sent_site(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(http_protocol, "HEAD_S", 0.5)
    monkeypatch.setattr(http_protocol, "BODY_S", 0.5)
    with serving(Settings(db=embedded_db, web=None)) as made:
        yield made


@pytest.fixture
def api_site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None)) as made:
        yield made


def connected(half_sent_site: Served, stack: ExitStack, source: str = "") -> socket.socket:
    parts, of = urlsplit(half_sent_site.url), (source, 0) if source else None
    return stack.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=60, source_address=of))


@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests_are_not_kept(half_sent_site: Served, half: str) -> None:
    with ExitStack() as stack:
        open_ones = [connected(half_sent_site, stack) for _ in range(EACH)]
        for one in open_ones:
            one.sendall(HALVES[half])
        for one in open_ones:
            # Until the server closes; the answer to a first request may come before.
            try:
                while one.recv(4096):
                    pass
            except ConnectionResetError:
                pass
    assert get_patiently(f"{half_sent_site.url}/healthz").status_code == 200


@pytest.mark.system("processes")
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_an_endless_head_is_cut_off(api_site: Served, kind: str) -> None:
    parts = urlsplit(api_site.url)
    before = peak_bytes()
    assert sent_until_closed(parts.hostname or "", parts.port or 0, *BEGINNINGS[kind]) <= SOCKETS_BYTES
    # The server runs in this process.
    assert peak_bytes() - before <= 16 << 20
    assert get_patiently(f"{api_site.url}/healthz").status_code == 200


@pytest.mark.system("processes")
@pytest.mark.parametrize("sizes", [[80_000], [100] * 100, [8_000] * 10], ids=["one", "many", "together"])
def test_a_large_head_is_answered_431(api_site: Served, sizes: list[int]) -> None:
    headers = {f"X-{number}": "a" * size for number, size in enumerate(sizes)}
    assert get_patiently(f"{api_site.url}/healthz", headers=headers).status_code == 431
    assert get_patiently(f"{api_site.url}/healthz", headers={"X-1": "a" * 50_000}).status_code == 200


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


def test_an_empty_line_on_an_idle_connection_keeps_nothing_open(half_sent_site: Served) -> None:
    with ExitStack() as stack:
        one = connected(half_sent_site, stack)
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = HTTPResponse(one)
        answer.begin()
        assert answer.read()
        one.sendall(b"\r\n")
        assert one.recv(1) == b""


def test_dripping_bytes_keep_nothing_open(half_sent_site: Served) -> None:
    with ExitStack() as stack:
        one = connected(half_sent_site, stack)
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


def test_a_request_whose_client_left_waits_for_no_turn() -> None:
    loop, turns, started = asyncio.new_event_loop(), http_protocol.Turns(), list[str]()
    starts = {name: partial(started.append, name) for name in ("left", "stays", "other")}
    turns.take(loop, "a", starts["left"])
    turns.take(loop, "a", starts["stays"])
    turns.drop("a", starts["left"])
    turns.take(loop, "b", starts["other"])
    turns.drop("b", starts["other"])
    assert turns._waiting.keys() == {"a"}
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    loop.close()
    assert started == ["stays"] and not turns._waiting


PAGE = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n%s\r\n"


def open_at(served: Served) -> int:
    """Return how many connections of a server in this process are open at its end."""
    port = urlsplit(served.url).port or 0
    lines = Path("/proc/self/net/tcp").read_text().splitlines()
    return sum(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "01" for line in lines)


@pytest.mark.system("processes")
@pytest.mark.parametrize("ahead", [0, http_protocol.WAITING_REQUESTS])
@pytest.mark.parametrize("last", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
def test_answers_that_are_not_read_are_not_kept(
    api_site: Served, last: bytes, ahead: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_protocol, "READ_S", 0.3)
    with ExitStack() as stack:
        # Each is larger than UNSENT_BYTES and the client's socket together.
        for one in [connected(api_site, stack) for _ in range(3)]:
            one.sendall(PAGE % b"" * ahead + PAGE % last)
        eventually(lambda: open_at(api_site) == 0, 20, what="the end of the connections")
    assert get_patiently(f"{api_site.url}/healthz").status_code == 200
    assert "Exception in ASGI application" not in caplog.text


def test_the_description_is_made_once_and_holds_up_no_other_request(
    api_site: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = [], threading.Event()

    def render(app: object) -> bytes:
        begun.append(app)
        assert go_on.wait(60)
        return b"{}"

    monkeypatch.setattr("flitwatch_api.app.render_description", render)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(get_patiently, f"{api_site.url}/openapi.json") for _ in range(2)]
        eventually(lambda: bool(begun), what="the first request")
        assert get_patiently(f"{api_site.url}/healthz").status_code == 200
        go_on.set()
        assert [one.result().json() for one in asked] == [{}, {}]
    assert len(begun) == 1


def test_the_description_is_made_before_anybody_asks_for_it(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr("flitwatch_api.app.render_description", lambda app: made.append(app) or b"{}")
    monkeypatch.setattr("flitwatch_api.app.DESCRIBED_AFTER_S", 0.0)
    with serving(Settings(db=embedded_db, web=None)):
        eventually(lambda: bool(made), what="the description")


@pytest.mark.system("processes")
def test_unread_answers_share_a_bounded_memory(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "READ_S", 3600.0)
    monkeypatch.setattr(http_protocol, "UNREAD_BYTES", 1)
    with serving(Settings(db=embedded_db, web=None)) as small, ExitStack() as stack:
        one = connected(small, stack)
        one.sendall(PAGE % b"" * http_protocol.WAITING_REQUESTS)
        eventually(lambda: open_at(small) == 0, 20, what="the end of the connection")


@pytest.mark.parametrize(("address", "kept"), [("127.0.0.2", False), ("127.0.0.3", True)], ids=["a host", "a proxy"])
def test_a_proxy_has_a_share_of_unread_answers_for_each_connection(address: str, kept: bool) -> None:
    config = http_protocol.HttpConfig(lambda: None, 10, ["127.0.0.3/32"], log_config=None)
    two_thirds, a_fifth = 2 * http_protocol.UNREAD_BYTES // 3, http_protocol.UNREAD_BYTES // 5
    assert config.keep_unread(config.sharer((address, 1)), two_thirds) is not None
    assert (config.keep_unread(config.sharer((address, 2)), a_fifth) is not None) == kept


async def test_requests_start_one_by_one_and_addresses_take_turns() -> None:
    turns, loop, started = http_protocol.Turns(), asyncio.get_running_loop(), []
    for of in ["a"] * 5 + ["b", "b", "c"]:
        turns.take(loop, of, partial(started.append, of))
    for count in range(1, 9):
        await asyncio.sleep(0)
        assert len(started) == count
    assert "".join(started) == "abcabaaa"


async def test_connections_are_accepted_before_requests_start_but_not_for_ever() -> None:
    turns, loop, started = http_protocol.Turns(), asyncio.get_running_loop(), []
    for of in "ab":
        turns.take(loop, of, partial(started.append, of))
    for _ in range(http_protocol.ARRIVALS_FIRST):
        turns.note_arrival()
        await asyncio.sleep(0)
        assert started == []
    turns.note_arrival()
    await asyncio.sleep(0)
    assert started == ["a"]
    # No further connection.
    for _ in range(2):
        await asyncio.sleep(0)
    assert started == ["a", "b"]


def test_a_flood_of_one_address_does_not_come_before_the_requests_of_another() -> None:
    begun, all_sent, addresses = threading.Event(), threading.Event(), []

    async def app(scope: dict, receive: object, send: Callable[[dict], Awaitable[None]]) -> None:
        addresses.append(scope["client"][0])
        begun.set()
        # Holds up the loop: the server finds all others at the same time.
        assert all_sent.wait(60)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    ask, ahead = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", http_protocol.WAITING_REQUESTS
    listening = open_listener("127.0.0.1", 0, "the test", "port")
    server = HttpServer(app, listening, 100)
    with ExitStack() as stack:

        def connect_from(address: str) -> socket.socket:
            one = stack.enter_context(socket.create_connection(listening.getsockname(), 60, (address, 0)))
            one.sendall(ask)
            assert one.recv(4096)
            return one

        all_sent.set()
        flood = [connect_from("127.0.0.3") for _ in range(20)]
        other, first = connect_from("127.0.0.4"), connect_from("127.0.0.5")
        addresses.clear()
        begun.clear()
        all_sent.clear()
        first.sendall(ask)
        assert begun.wait(60)
        for one in [*flood, other]:
            one.sendall(ask * (1 + ahead))
        all_sent.set()
        eventually(lambda: len(addresses) == 1 + 21 * (1 + ahead), what="all requests")
        server.stop()
    assert addresses.index("127.0.0.4") < 5


@pytest.mark.parametrize(("read_bytes", "ended"), [(0, True), (http_protocol.READ_BYTES, False)])
def test_only_a_client_that_reads_too_little_is_disconnected(read_bytes: int, ended: bool) -> None:
    unread_bytes = 1 << 20
    ends: list[bool] = []
    transport = SimpleNamespace(
        get_write_buffer_size=lambda: unread_bytes - read_bytes, abort=lambda: ends.append(True)
    )
    protocol = SimpleNamespace(transport=transport, _await_reading=lambda: ends.append(False))
    http_protocol.HttpProtocol._check_reading(protocol, unread_bytes)  # type: ignore[arg-type]
    assert ends == [ended]


def test_requests_that_wait_for_an_answer_are_few(api_site: Served) -> None:
    with ExitStack() as stack:
        one = connected(api_site, stack)
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        answers = b""
        with suppress(ConnectionResetError):
            while part := one.recv(64 << 10):
                answers += part
    assert answers.count(b"HTTP/1.1 ") <= http_protocol.WAITING_REQUESTS + 1


def test_an_event_stream_and_an_idle_connection_outlive_the_limits(half_sent_site: Served) -> None:
    with (
        httpx.Client(base_url=half_sent_site.url, timeout=60) as client,
        httpx.stream("GET", f"{half_sent_site.url}/api/v1/events", timeout=60) as stream,
        ExitStack() as stack,
    ):
        lines = stream.iter_lines()
        next(lines)
        assert client.get("/healthz").status_code == 200
        # Whoever came later was closed for sending nothing: the limit has passed for these two, too.
        assert connected(half_sent_site, stack).recv(1) == b""
        assert client.get("/healthz").status_code == 200


def test_more_connections_than_the_limit_are_answered_at_once(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS", 19)
    with serving(Settings(db=embedded_db, web=None, api_streams_max=1)) as half_sent_site, ExitStack() as stack:
        for _ in range(30):
            connected(half_sent_site, stack)
        assert get_patiently(f"{half_sent_site.url}/healthz").status_code == 503


@pytest.mark.parametrize("proxies", [(), ("127.0.0.3/32",)], ids=["a host", "a proxy"])
def test_one_address_has_a_share_of_the_connections(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS", 12)
    settings = Settings(db=embedded_db, web=None, api_streams_max=1, api_trusted_proxies=proxies)
    with serving(settings) as half_sent_site, ExitStack() as stack:
        # Two thirds of 18.
        share = [connected(half_sent_site, stack, "127.0.0.3") for _ in range(12)]
        more = connected(half_sent_site, stack, "127.0.0.3")
        if proxies:
            more.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert more.recv(12) == (b"HTTP/1.1 200" if proxies else b"HTTP/1.1 503")
        assert get_patiently(f"{half_sent_site.url}/healthz").status_code == 200
        for one in [*share, more]:
            one.close()
        again = connected(half_sent_site, stack, "127.0.0.3")
        again.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert again.recv(12) == b"HTTP/1.1 200"


@pytest.mark.system("processes")
def test_pages_keep_the_connections_of_their_browsers(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six a page; they counted as one, so a few hundred live pages were answered 503."""
    monkeypatch.setattr(serve, "CONNECTIONS", 16)
    with serving(Settings(db=embedded_db, web=None, api_streams_max=4)) as half_sent_site, ExitStack() as stack:
        for _ in range(4 * 6):
            client = stack.enter_context(httpx.Client(base_url=half_sent_site.url))
            assert client.get("/healthz").status_code == 200
        assert get_patiently(f"{half_sent_site.url}/healthz").status_code == 200


def test_health_that_costs_a_query_is_counted(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_rate_per_s=0.001, api_rate_burst=3)) as half_sent_site:
        for path in ("/readyz", "/metrics", "/readyz"):
            assert get_patiently(half_sent_site.url + path).status_code == 200
        refused = [get_patiently(half_sent_site.url + path) for path in ("/readyz", "/metrics")]
        assert [answer.status_code for answer in refused] == [429, 429]
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert get_patiently(f"{half_sent_site.url}/healthz").status_code == 200


def test_names_beyond_this_machine_are_asked_to_insist_on_tls(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None)) as half_sent_site:
        published = get_patiently(f"{half_sent_site.url}/healthz", headers={"Host": "flitwatch.example.org"})
        assert published.headers["strict-transport-security"] == "max-age=31536000"
        assert "strict-transport-security" not in get_patiently(f"{half_sent_site.url}/healthz").headers
