"""Other platforms through this one's API: real remotes over real databases, and a hostile one."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from support.databases import Server
from support.endless_head import SOCKETS_BYTES, peak_bytes
from support.remotes import token_file

from api.conftest import Served, bearer, serving
from api.streams import emit, goes_on, take
from api.world import World
from flitwatch_api.events import stream_access
from flitwatch_api.people import callers
from flitwatch_api.remotes import client as remote_client
from flitwatch_api.remotes import listing, relay
from flitwatch_api.remotes.address import RemoteAddress
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadRequest

#: Nothing is believed for longer than this.
AT_ONCE_S = 1e-3


def without_clock(answer: dict) -> dict:
    """An answer without what differs between two that are asked for one after the other."""
    return {name: value for name, value in answer.items() if name not in ("next_cursor", "now")}


@dataclass(frozen=True)
class Pair:
    """A platform that shows another, and that other asked directly with the same token."""

    here: Served
    there: httpx.Client


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list waits for a remote as long as a machine that does much else needs."""
    monkeypatch.setattr(listing, "PATIENCE_S", 60.0)


@pytest.fixture(scope="module")
def pair(world: World, _embedded_template: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("remotes")
    path = token_file(folder, world.url, "read")
    own = _embedded_template.create()
    with serving(Settings(db=world.url, web=None, api_anonymous="none")) as there:
        remotes = f"theta|{there.url}|{path}, gone|http://127.0.0.1:9"
        with (
            serving(Settings(db=own, web=None, api_anonymous="viewer", api_remotes=remotes)) as here,
            httpx.Client(base_url=there.url, headers=bearer(path.read_text().strip()), timeout=60) as direct,
        ):
            yield Pair(here, direct)
    _embedded_template.drop(own)


def test_machines_of_a_remote_are_listed_and_one_that_is_away_is_said_to_be(pair: Pair) -> None:
    listed = {one["name"]: one for one in pair.here.get("/remotes")["items"]}
    assert list(listed) == ["theta", "gone"]
    own = pair.there.get("/api/v1/fabrics").json()["items"]
    assert [m["name"] for m in listed["theta"]["machines"]] == [fabric["name"] for fabric in own] != []
    assert listed["theta"]["problem"] is None
    assert listed["gone"]["machines"] == [] and listed["gone"]["problem"] == "gone does not answer"
    assert pair.here.get("/fabrics")["items"] == [], "nothing of a remote is copied"


@pytest.mark.parametrize(
    "path",
    [
        "/fabrics",
        "/fabrics/{fabric}",
        "/fabrics/{fabric}/routers",
        "/fabrics/{fabric}/links?terminals=true",
        "/fabrics/{fabric}/stalls",
        "/jobs?state=COMPLETED&limit=3",
        "/jobs/404404",
        "/fabrics/nowhere",
        "/search?q=a%26b%2Fc",
        "/alerts",
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "identity", None])
def test_a_remote_s_answer_is_handed_on_as_it_is(pair: Pair, path: str, encoding: str | None) -> None:
    fabric = pair.there.get("/api/v1/fabrics").json()["items"][0]["name"]
    headers = {"accept-encoding": encoding} if encoding else {}
    with httpx.Client(base_url=pair.here.url, timeout=60) as here:
        if encoding is None:
            del here.headers["accept-encoding"]
        relayed = here.get(f"/api/v1/remotes/theta{path.format(fabric=fabric)}", headers=headers)
    own = pair.there.get(f"/api/v1{path.format(fabric=fabric)}", headers={"accept-encoding": "identity"})
    assert relayed.status_code == own.status_code
    assert relayed.headers["content-type"] == own.headers["content-type"]
    assert relayed.headers.get("etag") == own.headers.get("etag")
    assert "public" not in relayed.headers["cache-control"]
    assert without_clock(relayed.json()) == without_clock(own.json())


def test_what_has_not_changed_is_not_sent_again(pair: Pair) -> None:
    fabric = pair.there.get("/api/v1/fabrics").json()["items"][0]["name"]
    path = f"/api/v1/remotes/theta/fabrics/{fabric}/routers"
    first = pair.here.http.get(path)
    again = pair.here.http.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_changed_at_a_remote(pair: Pair, method: str) -> None:
    refused = pair.here.http.request(method, "/api/v1/remotes/theta/tasks", json={"name": "demo.count", "args": {}})
    assert refused.status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "session", "users", "tokens", "audit", "remotes", "Users", "remotes/theta/fabrics", "", "/", "fabrics//x", "fabrics/..", "../users",
        "fabrics/%2e%2e/users", "fabrics/..%2fusers", "fabrics/..%5cusers", "%75sers", "./users", "fabrics/.%2e/x",
    ],
)  # fmt: skip
def test_people_and_logins_of_a_remote_are_not_shown(pair: Pair, path: str) -> None:
    request = pair.here.http.build_request("GET", "/")
    request.url = request.url.copy_with(raw_path=f"/api/v1/remotes/theta/{path}".encode())
    refused = pair.here.http.send(request)
    assert refused.status_code == 404 and refused.headers["content-type"] == "application/problem+json", refused.text


def test_a_remote_that_is_not_known_is_named(pair: Pair) -> None:
    assert "'nobody'" in pair.here.refused("/remotes/nobody/fabrics", 404)["detail"]
    assert "gone does not answer" in pair.here.refused("/remotes/gone/fabrics", 503)["detail"]


@pytest.mark.system("numeric")
def test_whose_names_are_hidden_here_sees_no_remote_that_shows_names(
    world: World, embedded_db: str, tmp_path: Path
) -> None:
    named, masked = token_file(tmp_path, world.url, "read", "names"), token_file(tmp_path, world.url, "read")
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        operator = bearer(people.add_token(conn, "otto", "x", ["read", "names"])[1])
    with serving(Settings(db=world.url, web=None, api_anonymous="none")) as there:
        remotes = f"open|{there.url}|{named}, masked|{there.url}|{masked}"
        with serving(Settings(db=embedded_db, web=None, api_anonymous="viewer", api_remotes=remotes)) as here:
            by_name = {one["name"]: one for one in here.get("/remotes")["items"]}
            assert by_name["open"]["machines"] == [] and "names of people" in by_name["open"]["problem"]
            assert by_name["masked"]["machines"]
            assert "names of people" in here.refused("/remotes/open/jobs", 403)["detail"]
            assert here.get("/remotes/masked/jobs")["items"]
            seen = here.http.get("/api/v1/remotes/open/jobs", headers=operator)
            assert seen.status_code == 200
            assert seen.json()["items"] != here.get("/remotes/masked/jobs")["items"]
        with serving(
            Settings(
                db=embedded_db, web=None, api_anonymous="viewer", api_remotes=remotes, api_jobs_below_names="hidden"
            )
        ) as here:
            assert here.http.get("/api/v1/remotes").status_code == 200
            here.refused("/remotes/masked/jobs", 403)


def test_a_token_that_may_do_more_than_read_is_not_used(world: World, embedded_db: str, tmp_path: Path) -> None:
    path = token_file(tmp_path, world.url, "read", "operate")
    with (
        serving(Settings(db=world.url, web=None, api_anonymous="none")) as there,
        serving(Settings(db=embedded_db, web=None, api_remotes=f"theta|{there.url}|{path}")) as here,
    ):
        (one,) = here.get("/remotes")["items"]
        assert "has more scopes than read: operate" in one["problem"] and one["machines"] == []
        assert "operate" in here.refused("/remotes/theta/fabrics", 503)["detail"]


def test_a_token_that_ends_and_one_that_takes_its_place(
    world: World, embedded_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((listing, "LISTED_S"), (remote_client, "FAILURE_BELIEVED_S"), (callers, "BELIEVED_S")):
        monkeypatch.setattr(module, name, AT_ONCE_S)
    path = token_file(tmp_path, world.url, "read")
    first = path.read_text()
    with (
        serving(Settings(db=world.url, web=None, api_anonymous="none")) as there,
        serving(Settings(db=embedded_db, web=None, api_remotes=f"theta|{there.url}|{path}")) as here,
    ):
        assert here.get("/remotes/theta/fabrics")["items"]
        with connect(world.url, role="gate", autocommit=True) as conn:
            conn.execute("UPDATE token SET revoked_at = now() WHERE label = 'remote'")
        refused = here.refused("/remotes/theta/fabrics", 503)
        assert "does not accept its token" in refused["detail"] and first.strip() not in json.dumps(refused)
        assert "does not accept its token" in here.get("/remotes")["items"][0]["problem"]
        path.chmod(0o644)
        assert "cannot be read" in here.refused("/remotes/theta/fabrics", 503)["detail"]
        token_file(tmp_path, world.url, "read")
        assert here.get("/remotes/theta/fabrics")["items"]
        assert here.get("/remotes")["items"][0]["machines"]


def test_events_of_a_remote_arrive_and_end_with_the_caller(
    _embedded_template: Server, embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "BELIEVED_S", 0.1)
    monkeypatch.setattr(stream_access, "CHECK_S", 0.1)
    far = _embedded_template.create()
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        otto = bearer(people.add_token(conn, "otto", "otto", ["read"])[1])
    with (
        serving(Settings(db=far, web=None, api_heartbeat_s=0.05)) as there,
        serving(
            Settings(
                db=embedded_db,
                web=None,
                api_anonymous="none",
                api_remotes=f"theta|{there.url}",
                api_streams_each=1,
                api_heartbeat_s=30,
            )
        ) as here,
        here.http.stream("GET", "/api/v1/remotes/theta/events", headers=otto) as answer,
    ):
        lines = answer.iter_lines()
        assert answer.headers["content-type"].startswith("text/event-stream")
        # What happens here is not told there.
        emit(embedded_db, {"job_pk": 1, "job_id": "here", "state": "RUNNING"})
        (theirs,) = emit(far, {"job_pk": 2, "job_id": "there", "state": "RUNNING"})
        assert take(lines, 1) == [(theirs, "job", {"job_pk": 2, "job_id": "there", "state": "RUNNING"})]
        assert here.http.get("/api/v1/remotes/theta/events", headers=otto).status_code == 429
        assert goes_on(lines)
        with connect(embedded_db, role="gate", autocommit=True) as conn:
            assert conn.execute("UPDATE token SET revoked_at = now() WHERE label = 'otto'").rowcount == 1
        assert not goes_on(lines, 400)
    _embedded_template.drop(far)


@dataclass
class Hostile:
    """A server that answers as it was set to, and keeps what it was asked with."""

    url: str
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    #: How often a body is sent where that is not once, and how many bytes were taken.
    times: dict[str, int] = field(default_factory=dict)
    sent: int = 0


READS = {"scopes": ["read"], "via": "anonymous", "pseudonyms": True}


@pytest.fixture(scope="module")
def hostile_server(_embedded_template: Server) -> Iterator[tuple[Hostile, Served, str]]:
    """A hostile remote, and a platform that shows it over its own database."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = held.answers.get(self.path, (404, {"Content-Type": "text/plain"}, b"none"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) * held.times.get(self.path, 1)))
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(held.times.get(self.path, 1)):
                    self.wfile.write(body)
                    held.sent += len(body)

        def log_message(self, *_: object) -> None:
            pass

    own = _embedded_template.create()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held = Hostile(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with serving(Settings(db=own, web=None, api_remotes=f"theta|{held.url}")) as here:
            yield held, here, own
        server.shutdown()
        thread.join()
    _embedded_template.drop(own)


@pytest.fixture
def hostile(hostile_server: tuple[Hostile, Served, str], monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """The hostile remote, of which nothing is believed for longer than a request."""
    for module, name in ((listing, "LISTED_S"), (remote_client, "FAILURE_BELIEVED_S"), (remote_client, "BELIEVED_S")):
        monkeypatch.setattr(module, name, AT_ONCE_S)
    held = hostile_server[0]
    held.asked.clear()
    held.answers.clear()
    held.times.clear()
    held.sent = 0
    held.answers["/api/v1/session"] = (200, {"Content-Type": "application/json"}, json.dumps(READS).encode())
    return held


@pytest.fixture
def here(hostile_server: tuple[Hostile, Served, str]) -> Served:
    return hostile_server[1]


def test_who_asks_here_stays_here(hostile: Hostile, here: Served, hostile_server: tuple[Hostile, Served, str]) -> None:
    with connect(hostile_server[2], role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        otto = bearer(people.add_token(conn, "otto", "otto", ["read"])[1])
    hostile.answers["/api/v1/jobs?limit=1"] = (
        200, {"Content-Type": "application/json", "Set-Cookie": "flitwatch-session=theirs", "Cache-Control": "public, max-age=60"}, b"{}",
    )  # fmt: skip
    asked = {**otto, "Cookie": "flitwatch-session=mine", "X-CSRF-Token": "secret", "Referer": "https://x/"}
    answer = here.http.get("/api/v1/remotes/theta/jobs?limit=1", headers=asked)
    assert answer.status_code == 200 and "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "private, max-age=60"
    _, headers = hostile.asked[-1]
    assert not headers.keys() & {"authorization", "cookie", "x-csrf-token", "referer", "x-forwarded-for"}


def test_a_remote_s_cookies_are_not_sent_back(hostile: Hostile, here: Served) -> None:
    kind = {"Content-Type": "application/json", "Set-Cookie": "theirs=1; Path=/"}
    hostile.answers["/api/v1/session"] = (200, kind, json.dumps(READS).encode())
    hostile.answers["/api/v1/jobs"] = (200, kind, b"{}")
    for _ in range(2):
        assert here.http.get("/api/v1/remotes/theta/jobs").status_code == 200
    assert not any("cookie" in headers for _, headers in hostile.asked)


@pytest.mark.parametrize("path", ["/api/v1/session", "/api/v1/fabrics"])
def test_an_answer_that_is_too_long_is_not_read(hostile: Hostile, here: Served, path: str) -> None:
    hostile.answers[path] = (200, {"Content-Type": "application/json"}, b" " * (1 << 20))
    before, hostile.times[path] = peak_bytes(), 700
    assert here.get("/remotes")["items"][0]["problem"] == "theta does not answer"
    assert hostile.sent <= remote_client.ANSWER_BYTES + SOCKETS_BYTES
    assert peak_bytes() - before <= 64 << 20


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"Content-Encoding": "gzip"}, gzip.compress(bytes(64 << 20))), ({}, b"[" * (1 << 20))],
    ids=["compressed", "nested"],
)
def test_an_answer_that_unpacks_to_far_more_is_not_unpacked(
    hostile: Hostile, here: Served, headers: dict[str, str], body: bytes
) -> None:
    before = peak_bytes()
    hostile.answers["/api/v1/session"] = (200, {"Content-Type": "application/json", **headers}, body)
    assert here.get("/remotes")["items"][0]["problem"] == "theta does not answer as Flitwatch does"
    assert peak_bytes() - before <= 32 << 20


def test_a_long_answer_is_handed_on_in_parts_up_to_a_limit(
    hostile: Hostile, here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.answers["/api/v1/jobs"] = (200, {"Content-Type": "application/octet-stream"}, bytes(1 << 20))
    before, hostile.times["/api/v1/jobs"] = peak_bytes(), 300
    monkeypatch.setattr(relay, "MOST_BYTES", 200 << 20)
    taken = 0
    plain = {"Accept-Encoding": "identity"}
    with (
        here.http.stream("GET", "/api/v1/remotes/theta/jobs", headers=plain) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        for part in answer.iter_raw():
            taken += len(part)
    assert 190 << 20 <= taken <= 200 << 20
    assert peak_bytes() - before <= 64 << 20


@pytest.mark.parametrize(
    ("status", "headers", "body", "shown", "words"),
    [
        (200, {"Content-Type": "text/javascript"}, b"alert(1)", 503, "not Flitwatch's"),
        (200, {"Content-Type": "image/svg+xml"}, b"<svg onload='alert(1)'/>", 503, "not Flitwatch's"),
        (200, {}, b"?", 503, "not Flitwatch's"),
        (302, {"Location": "http://169.254.169.254/"}, b"", 503, "another address"),
        (307, {"Location": "/api/v1/users"}, b"", 503, "another address"),
        (401, {"Content-Type": "application/problem+json"}, b"{}", 503, "does not accept"),
        (403, {"Content-Type": "application/problem+json"}, b"{}", 403, "does not show this"),
    ],
)
def test_what_is_not_flitwatch_s_is_not_handed_on(
    hostile: Hostile, here: Served, status: int, headers: dict[str, str], body: bytes, shown: int, words: str
) -> None:
    hostile.answers["/api/v1/jobs"] = (status, headers, body)
    assert words in here.refused("/remotes/theta/jobs", shown)["detail"]
    assert [path for path, _ in hostile.asked] == ["/api/v1/session", "/api/v1/jobs"]


def test_a_page_of_a_remote_runs_nothing(hostile: Hostile, here: Served) -> None:
    hostile.answers["/api/v1/jobs/1/evidence"] = (200, {"Content-Type": "text/html"}, b"<script>alert(1)</script>")
    policy = here.http.get("/api/v1/remotes/theta/jobs/1/evidence").headers["content-security-policy"]
    assert policy.startswith("sandbox;") and "script-src" not in policy and "default-src 'none'" in policy


@pytest.mark.parametrize(
    ("session", "fabrics"),
    [
        (b"<html>", b"{}"),
        (b"[]", b"{}"),
        (b'{"scopes": "read", "via": null, "pseudonyms": true}', b"{}"),
        (b'{"scopes": [], "via": "anonymous", "pseudonyms": true}', b"{}"),
        (json.dumps(READS).encode(), b'{"items": [{"name": 3}]}'),
        (json.dumps(READS).encode(), b"[1, 2"),
        (json.dumps(READS).encode(), b"null"),
    ],
)
def test_a_remote_that_answers_nonsense_is_listed_with_a_reason(
    hostile: Hostile, here: Served, session: bytes, fabrics: bytes
) -> None:
    kind = {"Content-Type": "application/json"}
    hostile.answers |= {"/api/v1/session": (200, kind, session), "/api/v1/fabrics": (200, kind, fabrics)}
    (one,) = here.get("/remotes")["items"]
    assert one["machines"] == [] and re.match(r"theta (does not|refuses)", one["problem"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("theta", "NAME|URL"),
        ("theta|", "NAME|URL"),
        ("theta|https://x|y|z", "NAME|URL"),
        ("The Ta|https://x", "small letters"),
        ("a/b|https://x", "small letters"),
        ("theta|http://example.org", "TLS"),
        ("theta|ftp://example.org", "https://"),
        ("theta|https://you:me@example.org", "password"),
        ("theta|https://example.org/?q=1", "question mark"),
        ("theta|https://example.org:port", "cannot be read"),
        ("theta|https:///x", "host"),
        ("a|https://x, a|https://y", "two remotes"),
    ],
)
def test_a_setting_that_cannot_work_is_named_at_the_start(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match="FLITWATCH_API_REMOTES") as refused:
        Settings.read(db="postgresql://x", api_remotes=text)
    assert words in refused.value.message


def test_a_remote_may_lie_below_a_path() -> None:
    assert RemoteAddress.read("a|https://example.org/flitwatch/").url == "https://example.org/flitwatch"
