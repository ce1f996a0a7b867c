"""Vulnerabilities known from similar products: injection, traversal, scripts in names, foreign origins and hosts; and advice in every error."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from api.conftest import Served, serving
from api.database import HOSTILE, SampleDatabase
from flitwatch_api import security
from flitwatch_api.security import SecurityMiddleware
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import BadRequest


def test_every_answer_carries_the_headers(api: Served) -> None:
    for path in (
        "/",
        "/fabric/1",
        "/api/v1/fabrics",
        "/api/v1/nothing",
        "/healthz",
        "/metrics",
        "/openapi.json",
        "/assets/index-4f2a.js",
    ):
        answer = api.http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["referrer-policy"] == "no-referrer"
        policy = answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in policy and "script-src 'self';" in policy and "unsafe-eval" not in policy
        assert "access-control-allow-origin" not in answer.headers and "server" not in answer.headers


def test_only_the_portals_that_a_site_names_may_show_the_page(embedded_db: str) -> None:
    portals = "https://ondemand.example.edu, https://*.portals.example.edu:8443"
    with serving(Settings(db=embedded_db, api_frame_ancestors=portals)) as api:
        headers = api.http.get("/healthz").headers
    policy = headers["content-security-policy"]
    assert policy.endswith("frame-ancestors https://ondemand.example.edu https://*.portals.example.edu:8443")
    # It knows no origins: a browser that follows it would refuse them all.
    assert "x-frame-options" not in headers


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "https://*",
        "https://*.edu",
        "http://ondemand.example.edu",
        "https://a.example/path",
        "a.example",
        "https://a; script-src *",
        "'self'",
    ],
)
def test_what_would_open_the_page_to_everybody_is_no_portal(origin: str) -> None:
    with pytest.raises(BadRequest, match="FLITWATCH_API_FRAME_ANCESTORS"):
        Settings.read(api_frame_ancestors=origin)


def test_no_foreign_page_may_read_or_write(api: Served) -> None:
    foreign = {"Origin": "https://evil.example"}
    read = api.http.get("/api/v1/jobs", headers=foreign)
    assert "access-control-allow-origin" not in read.headers
    asked = api.http.options("/api/v1/tasks", headers={**foreign, "Access-Control-Request-Method": "POST"})
    assert "access-control-allow-origin" not in asked.headers and asked.status_code >= 400
    body = {"name": "demo.count", "args": {"to": 1, "delay_s": 0}}
    for origin in ("https://evil.example", "null", f"{api.url}.evil.example"):
        assert api.http.post("/api/v1/tasks", json=body, headers={"Origin": origin}).status_code == 403
    assert api.http.post("/api/v1/tasks", json=body, headers={"Origin": api.url}).status_code == 202
    plain = api.http.post("/api/v1/tasks", content=b'{"name": "demo.count"}', headers={"content-type": "text/plain"})
    assert plain.status_code == 422


def test_script_in_names_stays_text(api: Served) -> None:
    for path in (
        "/api/v1/jobs",
        "/api/v1/jobs/100",
        "/api/v1/search?q=onerror",
        "/api/v1/fabrics/small/occupancy?at=1790000500",
    ):
        answer = api.http.get(path)
        assert (
            answer.headers["content-type"] == "application/json"
            and answer.headers["x-content-type-options"] == "nosniff"
        )
    assert next(j for j in api.get("/jobs", q="onerror")["items"])["name"] == HOSTILE
    problem = api.http.get(f"/api/v1/fabrics/{HOSTILE}")
    assert problem.status_code == 404 and problem.headers["content-type"] == "application/problem+json"


PATHS = [
    "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/../../secret.txt", "/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "//etc/passwd",
    "/assets/..%5c..%5csecret.txt", "/%00", "/assets/%00.js", "/....//secret.txt", "/" + "a" * 5000 + ".js", "/.env", "/assets/", "/index.html/..",
    "/%ff%fe.js", "/etc/passwd", "/C:/Windows/win.ini",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_only_files_of_the_page_can_be_asked_for(api: Served, path: str) -> None:
    """A raw request: clients tidy paths up before they send them."""
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as conn:
        conn.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin-1"))
        answer = b"".join(iter(lambda: conn.recv(65536), b""))
    status = int(answer.split(b" ")[1])
    assert b"not for you" not in answer and b"root:" not in answer
    assert status in (400, 404) or (status == 200 and b"<title>Flitwatch</title>" in answer)


def test_names_with_path_or_sql_are_only_names(api: Served) -> None:
    for name in (
        "..%2f..%2fetc%2fpasswd",
        "x'%20OR%20'1'='1",
        "1;DROP TABLE fabric",
        "%00",
        "%F0%9F%92%A9",
        "1" * 190,
        "-1",
        "999999999999",
    ):
        answer = api.http.get(f"/api/v1/fabrics/{name}/stalls")
        assert answer.status_code in (400, 404), (name, answer.text)
        assert answer.json()["advice"]
    assert len(api.get("/fabrics")["items"]) == 3


def test_the_page_and_its_places(api: Served, site: Path) -> None:
    index = api.http.get("/")
    assert index.headers["cache-control"] == "no-cache" and "text/html" in index.headers["content-type"]
    for place in ("/fabric/1", "/jobs", "/jobs/3_4", "/health", "/lab"):
        assert api.http.get(place).content == index.content
    assert api.http.get("/", headers={"If-None-Match": index.headers["etag"]}).status_code == 304
    script = api.http.get("/assets/index-4f2a.js")
    assert "immutable" in script.headers["cache-control"] and script.headers["content-encoding"] == "gzip"
    assert script.headers["content-type"].startswith("text/javascript")
    assert api.http.get("/assets/index-0000.js").status_code == 404
    assert api.http.head("/").status_code == 200
    assert api.http.get("/api/v2/fabrics").json()["type"] == "urn:flitwatch:problem:not-found"


def test_a_rebuilt_page_is_served_without_a_restart(database: SampleDatabase, tmp_path: Path) -> None:
    with serving(Settings(db=database.url, web=tmp_path / "dist")) as served:
        absent = served.http.get("/")
        assert absent.status_code == 404 and "not built" in absent.json()["detail"]
        (tmp_path / "dist").mkdir()
        (tmp_path / "dist" / "index.html").write_text("one")
        assert served.http.get("/jobs").text == "one"
        (tmp_path / "dist" / "index.html").write_text("number two")
        assert served.http.get("/jobs").text == "number two"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example@localhost",
        "localhost@evil.example",
        "localhost/evil.example",
        "localhost?",
        "localhost#",
        "local host",
        "localhost:80:80",
        "localhost:http",
        "localhost:123456",
        "[::1",
        "::1",
        "[localhost]",
        "[::1]evil.example",
        "a\r\n b",
        "localh\u00f6st",
    ],
)
@pytest.mark.parametrize("hosts", [("localhost", "::1"), ()], ids=["restricted", "any"])
async def test_a_host_that_is_none_is_refused(host: str, hosts: tuple[str, ...]) -> None:
    for sent in ([host], ["localhost", host], ["localhost", "localhost"]):
        assert await statuses_of(hosts, sent) == [400]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1:1", "[::1]", "[::1]:8765", "localhost:"])
async def test_a_host_is_a_name_or_an_address_and_perhaps_a_port(host: str) -> None:
    assert await statuses_of(("localhost", "127.0.0.1", "[::1]"), [host]) == [200]


async def statuses_of(hosts: tuple[str, ...], sent: list[str]) -> list[int]:
    """The status that a request with these Host headers gets."""
    found: list[int] = []

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        found.extend([message["status"]] if message["type"] == "http.response.start" else [])

    headers = [(b"host", one.encode("latin-1")) for one in sent]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/healthz",
        "headers": headers,
        "query_string": b"",
        "server": ("x", 1),
    }
    scope |= {"http_version": "1.1", "scheme": "http", "root_path": ""}
    await SecurityMiddleware(served, hosts)(scope, receive, send)
    return found


def test_host_names_can_be_restricted(database: SampleDatabase) -> None:
    with serving(Settings(db=database.url, web=None, api_hosts=("127.0.0.1", "flit.example"))) as served:
        assert served.http.get("/healthz").status_code == 200
        assert served.http.get("/healthz", headers={"Host": "flit.example:8443"}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "flit.example@evil.example", "[::"):
            refused = served.http.get("/healthz", headers={"Host": host})
            assert refused.status_code == 400 and refused.headers["content-type"] == "application/problem+json"


def test_bodies_have_an_end(api: Served) -> None:
    big = api.http.post("/api/v1/tasks", content=b"x" * (2 << 20), headers={"content-type": "application/json"})
    assert big.status_code == 413 and "MAX_BODY_BYTES" in big.json()["detail"]

    def endless():
        for _ in range(64):
            yield b"x" * 65536

    try:
        answer = api.http.post("/api/v1/tasks", content=endless(), headers={"content-type": "application/json"})
        assert answer.status_code in (400, 413, 422)
    except httpx.HTTPError:
        pass  # The server may close the connection while the client still sends.
    assert api.http.get("/healthz").status_code == 200


def test_a_refusal_repeats_little_of_what_was_sent(api: Served) -> None:
    refused = api.http.post("/api/v1/tasks", json={"name": "x" * 900_000, "arguments": {}})
    assert refused.status_code == 422 and "xxx" in refused.json()["detail"] and len(refused.content) < 2000


@pytest.mark.parametrize("path", ["/tasks", "/tasks/files"])
@pytest.mark.parametrize("chunked", [False, True])
def test_who_sends_more_than_is_taken_still_reads_why(api: Served, path: str, chunked: bool) -> None:
    """Clients that send all before they read, on a connection that ends with the answer: HTTP/1.0 proxies and Python's own."""
    body = bytes(80 << 20)
    sent = (body[at : at + 65536] for at in range(0, len(body), 65536)) if chunked else body
    headers = {"Content-Type": "application/octet-stream", **({"Transfer-Encoding": "chunked"} if chunked else {})}
    request = urllib.request.Request(f"{api.url}/api/v1{path}", sent, headers, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value as answer:
        assert answer.code == 413 and "limit" in json.loads(answer.read())["detail"]


def test_who_never_ends_is_left(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so much is thrown away: the answer is there, and then the connection is closed."""
    monkeypatch.setattr(security, "LINGER_BYTES", 1 << 20)
    parts = urlsplit(api.url)
    head = (
        f"POST /api/v1/tasks HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\nContent-Length: {1 << 40}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as conn:
        conn.sendall(head.encode())
        assert conn.recv(4096).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(OSError, match=r"reset|pipe"):
            while True:
                conn.sendall(bytes(65536))
    assert api.http.get("/healthz").status_code == 200


def test_head_is_answered_as_get_without_a_body(api: Served) -> None:
    for path in (
        "/api/v1/jobs?state=COMPLETED",  # What runs has lasted longer at each answer.
        "/api/v1/fabrics",
        "/api/v1/session",
        "/api/v1/fabrics/none",
        "/api/v1/nothing",
        "/api/v2/x",
    ):
        got, head = api.http.get(path), api.http.head(path)
        assert head.status_code == got.status_code and head.content == b"", path
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-length"] == got.headers["content-length"]
        assert head.headers["x-content-type-options"] == "nosniff"
    for path in ("/api/v1/events", "/api/v1/session/oidc/back"):
        refused = api.http.head(path)
        assert refused.status_code == 405 and refused.headers["allow"] == "GET"
        assert refused.headers["x-content-type-options"] == "nosniff"
    assert api.http.get("/api/v1/jobs").json()["items"], "the connection is as good as before"


def test_wrong_methods_and_addresses_are_problems(api: Served) -> None:
    wrong = api.http.delete("/api/v1/jobs")
    assert (
        wrong.status_code == 405
        and wrong.json()["type"].endswith("method-not-allowed")
        and "GET" in wrong.headers["allow"]
    )
    problem = api.http.get("/api/v1/nothing").json()
    assert (
        set(problem) == {"type", "title", "status", "detail", "instance", "advice"}
        and problem["instance"] == "/api/v1/nothing"
    )


def test_secrets_stay_out_of_answers_and_settings(database: SampleDatabase) -> None:
    settings = Settings(db="postgresql://ann:hunter2@127.0.0.1:1/none", web=None, api_connect_timeout_s=0.3)
    assert "hunter2" not in repr(settings)
    with serving(settings) as served:
        down = served.http.get("/api/v1/jobs")
        assert down.status_code == 503 and "hunter2" not in down.text and down.headers["retry-after"]
        assert served.http.get("/readyz").status_code == 503 and served.http.get("/healthz").status_code == 200
        assert "flitwatch_database_up 0.0" in served.http.get("/metrics").text
