"""Whose X-Forwarded-For is believed: limits and the audit log count a viewer behind a proxy as themselves, and nobody as somebody else."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from api.conftest import Served, serving
from flitwatch_api.people import attempts
from flitwatch_api.people.attempts import PAIR_BURST
from flitwatch_api.serve import server
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_db.people import audit

#: The proxies stand at 127.0.0.2 (whom the connections come from here) and at 10.9.0.0/16 before it.
PROXY = "127.0.0.2"
TRUSTED = "127.0.0.2/32, 10.9.0.0/16"
VIEWER = "198.51.100.7"


@pytest.fixture(autouse=True)
def no_second_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts are not given back while a test runs, however slow the machine."""
    for each in ("PAIR", "NAME", "ADDRESS"):
        monkeypatch.setattr(attempts, f"{each}_EVERY_S", 1e6)


@pytest.fixture
def behind(embedded_db: str) -> Iterator[Served]:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add(conn, "otto", "operator", "correct horse battery")
    settings = Settings(db=embedded_db, web=None, api_anonymous="none", api_trusted_proxies=TRUSTED)
    with serving(settings) as served:
        yield served


def log_in(served: Served, forwarded: str | list[str] | None, by: str = PROXY) -> int:
    """The status of a wrong password that came by a connection from `by`."""
    lines = [] if forwarded is None else [forwarded] if isinstance(forwarded, str) else forwarded
    with httpx.Client(transport=httpx.HTTPTransport(local_address=by), base_url=served.url) as client:
        headers = [("X-Forwarded-For", line) for line in lines]
        return client.post("/api/v1/session", json={"name": "otto", "password": "wrong"}, headers=headers).status_code


def addresses(url: str) -> list[str]:
    """Addresses of the audit log's entries, once there is one: it is written when the answer is on its way."""
    deadline = time.monotonic() + 60
    with connect(url, role="gate", autocommit=True) as conn:
        while not (rows := audit.list_entries(conn, 100, None, None)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    return [row["address"] for row in rows]


@pytest.mark.parametrize(
    ("forwarded", "by", "said"),
    [
        pytest.param(VIEWER, PROXY, VIEWER, id="the proxy's word"),
        pytest.param(f"203.0.113.9, {VIEWER}", PROXY, VIEWER, id="what the viewer sent before is not heeded"),
        pytest.param(f"10.9.0.1, {VIEWER}", PROXY, VIEWER, id="nor where it looks like a proxy"),
        pytest.param(f"{VIEWER}, 10.9.3.4", PROXY, VIEWER, id="two proxies"),
        pytest.param(["203.0.113.9", VIEWER], PROXY, VIEWER, id="lines are one list, in their order"),
        pytest.param(["203.0.113.9", f"{VIEWER}, 10.9.3.4"], PROXY, VIEWER, id="lines and two proxies"),
        pytest.param(f"203.0.113.9, {VIEWER}:51234", PROXY, VIEWER, id="with a port"),
        pytest.param("203.0.113.9, [2001:db8::7]:443", PROXY, "2001:db8::7", id="IPv6 with a port"),
        pytest.param(None, PROXY, PROXY, id="a proxy that says nothing"),
        pytest.param("", PROXY, PROXY, id="an empty line"),
        pytest.param(VIEWER, "127.0.0.3", "127.0.0.3", id="who is no proxy is not believed"),
        pytest.param(f"{VIEWER}, {PROXY}", "127.0.0.3", "127.0.0.3", id="nor who names one"),
    ],
)
def test_the_right_most_address_that_is_no_proxy_s_is_the_viewer(
    behind: Served, embedded_db: str, forwarded: str | list[str] | None, by: str, said: str
) -> None:
    assert log_in(behind, forwarded, by) == 401
    assert addresses(embedded_db) == [said]


def test_without_the_setting_nobody_is_believed(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as served:
        assert log_in(served, VIEWER, "127.0.0.1") == 401
    assert addresses(embedded_db) == ["127.0.0.1"]


def test_viewers_behind_one_proxy_are_counted_apart(behind: Served) -> None:
    """Today's failure: all passwords counted as of the proxy, and who guessed kept everybody out."""
    assert {log_in(behind, VIEWER) for _ in range(PAIR_BURST)} == {401}
    assert log_in(behind, VIEWER) == 429
    assert log_in(behind, "198.51.100.8") == 401


def test_whoever_invents_addresses_is_still_one(behind: Served) -> None:
    invented = [log_in(behind, f"203.0.113.{n}, {VIEWER}") for n in range(PAIR_BURST + 1)]
    assert invented == [*[401] * PAIR_BURST, 429]
    direct = [log_in(behind, f"203.0.113.{n}", "127.0.0.3") for n in range(PAIR_BURST + 1)]
    assert direct == [*[401] * PAIR_BURST, 429]


@pytest.mark.parametrize(("by", "scheme"), [(PROXY, "https"), ("127.0.0.3", "http")])
async def test_the_scheme_is_a_proxy_s_word_too(by: str, scheme: str) -> None:
    running = server(Settings(web=None, docs=None, api_trusted_proxies=TRUSTED), "127.0.0.1", 0)
    seen: list[str] = []

    class Seen:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            seen.append(scope["scheme"])

    running.config.app.add_middleware(Seen)
    running.config.load()
    scope = {"type": "http", "client": (by, 1), "scheme": "http", "headers": [(b"x-forwarded-proto", b"https")]}
    await running.config.loaded_app(scope, None, None)
    assert seen == [scheme]


@pytest.mark.parametrize("wrong", ["*", "proxy.example", "10.0.0.1/8", "10.0.0.0/40", "10.0.0.0/8 10.1.0.0/16"])
def test_what_is_no_network_is_refused_at_the_start(wrong: str) -> None:
    with pytest.raises(ValidationError, match="networks of the proxies"):
        Settings(api_trusted_proxies=wrong)


def test_an_address_alone_is_a_network_of_one() -> None:
    assert Settings(api_trusted_proxies="10.0.0.1, 2001:db8::1").api_trusted_proxies == (
        "10.0.0.1/32",
        "2001:db8::1/128",
    )
