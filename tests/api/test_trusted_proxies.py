"""Trusted X-Forwarded-For headers: limits and the audit log identify viewers behind a proxy, and nobody can impersonate another address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from api.conftest import Served, guess_passwords, serving
from flitwatch_api.people.login_limiter import PAIR_BURST
from flitwatch_api.serve import make_server
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import audit

#: The nearest proxy is 127.0.0.2, from where the connections come here; others before it are in 10.9.0.0/16.
PROXY = "127.0.0.2"
TRUSTED = "127.0.0.2/32, 10.9.0.0/16"
VIEWER = "198.51.100.7"

pytestmark = pytest.mark.usefixtures("no_second_chance")


@contextmanager
def behind(url: str, trusted: str = TRUSTED) -> Iterator[Served]:
    with serving(Settings(db=url, web=None, api_anonymous="none", api_trusted_proxies=trusted)) as served:
        yield served


def log_in(served: Served, forwarded: str | list[str] | None, by: str = PROXY) -> int:
    """The status of a wrong password that came by a connection from `by`."""
    lines = [] if forwarded is None else [forwarded] if isinstance(forwarded, str) else forwarded
    (status,) = guess_passwords(served, 1, by, headers=[("X-Forwarded-For", line) for line in lines])
    return status


def addresses(url: str) -> list[str]:
    """Addresses of the audit log's entries; all are written once the server has ended."""
    with connect(url, role="gate") as conn:
        return [row["address"] for row in audit.list_entries(conn, 100)]


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
        pytest.param("10.9.0.1, 10.9.3.4", PROXY, "10.9.0.1", id="a proxy itself"),
        pytest.param("203.0.113.9, unknown", PROXY, "unknown", id="a proxy that does not know"),
        pytest.param(None, PROXY, PROXY, id="a proxy that says nothing"),
        pytest.param("", PROXY, PROXY, id="an empty line"),
        pytest.param(VIEWER, "127.0.0.3", "127.0.0.3", id="who is no proxy is not believed"),
        pytest.param(f"{VIEWER}, {PROXY}", "127.0.0.3", "127.0.0.3", id="nor who names one"),
    ],
)
def test_the_right_most_address_that_is_no_proxy_s_is_the_viewer(
    embedded_db: str, forwarded: str | list[str] | None, by: str, said: str
) -> None:
    with behind(embedded_db) as served:
        assert log_in(served, forwarded, by) == 401
    assert addresses(embedded_db) == [said]


def test_without_the_setting_nobody_is_believed(embedded_db: str) -> None:
    with behind(embedded_db, trusted="") as served:
        assert log_in(served, VIEWER, "127.0.0.1") == 401
    assert addresses(embedded_db) == ["127.0.0.1"]


def test_viewers_behind_one_proxy_are_counted_apart(embedded_db: str) -> None:
    """Else whoever guesses passwords keeps everybody behind the proxy out."""
    with behind(embedded_db) as served:
        assert {log_in(served, VIEWER) for _ in range(PAIR_BURST)} == {401}
        assert log_in(served, VIEWER) == 429
        assert log_in(served, "198.51.100.8") == 401


@pytest.mark.system("numeric")
def test_whoever_invents_addresses_is_still_one(embedded_db: str) -> None:
    with behind(embedded_db) as served:
        invented = [log_in(served, f"203.0.113.{n}, {VIEWER}") for n in range(PAIR_BURST + 1)]
        assert invented == [*[401] * PAIR_BURST, 429]
        direct = [log_in(served, f"203.0.113.{n}", "127.0.0.3") for n in range(PAIR_BURST + 1)]
        assert direct == [*[401] * PAIR_BURST, 429]


@pytest.mark.parametrize(("by", "scheme"), [(PROXY, "https"), ("127.0.0.3", "http")])
async def test_the_scheme_is_a_proxy_s_word_too(by: str, scheme: str) -> None:
    running = make_server(Settings(web=None, docs=None, api_trusted_proxies=TRUSTED), "127.0.0.1", 0)
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
