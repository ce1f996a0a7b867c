"""The site's own login, against a real OpenID Connect provider (npm's oidc-provider) over real HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from support.openid import SECRET, RealProvider, a_provider, settings

from api.conftest import Served, serving
from flitwatch_api.people.oidc import provider_of
from flitwatch_api.people.roles import Roles, find_claim
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadRequest, Conflict, Forbidden, Unavailable

pytestmark = pytest.mark.system("processes")

PAGE = {"Accept": "text/html,application/xhtml+xml"}


class Sites:
    """One database behind two sites: one gives roles itself, one takes them from the claim `groups`."""

    def __init__(self, url: str, provider: RealProvider, plain: Served, mapped: Served) -> None:
        self.url, self.provider, self.plain, self.mapped = url, provider, plain, mapped


@pytest.fixture(scope="module")
def sites(_embedded_template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:  # type: ignore[no-untyped-def]
    url = _embedded_template.create()
    secret = tmp_path_factory.mktemp("secret") / "oidc"
    secret.write_text(SECRET + "\n")
    with ExitStack() as stack:
        provider = stack.enter_context(a_provider())
        plain = stack.enter_context(serving(settings(url, provider.issuer)))
        by_group = {"oidc_role_claim": "groups", "oidc_roles": "flit-admins=admin, cn=staff=operator,guests=viewer"}
        kept = {"oidc_client_secret": "", "oidc_client_secret_file": secret}
        mapped = stack.enter_context(serving(settings(url, provider.issuer, **by_group, **kept)))
        provider.tell(sites=[plain.url, mapped.url])
        yield Sites(url, provider, plain, mapped)
    _embedded_template.drop(url)


@pytest.fixture(autouse=True)
def _as_it_should(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "sites" in request.fixturenames:
        request.getfixturevalue("sites").provider.tell(spoil=None, codeS=60)


@pytest.fixture
def browser() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=60, headers=PAGE) as client:
        yield client


def to_the_way_back(browser: httpx.Client, site: Served, subject: str, to: str = "/") -> str:
    """Go to the provider, log in and consent there as a person does; the address that it sends the browser back to."""
    answer = browser.get(f"{site.url}/api/v1/session/oidc", params={"to": to})
    for _ in range(20):
        if answer.is_redirect:
            target = str(answer.next_request.url)  # type: ignore[union-attr]
            if target.startswith(site.url):
                return target
            answer = browser.get(target)
            continue
        assert answer.status_code == 200, answer.text
        form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
        prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
        assert form and prompt, answer.text
        answer = browser.post(
            str(answer.url.join(form[1])), data={"prompt": prompt[1], "login": subject, "password": "any"}
        )
    raise AssertionError("the provider never sent the browser back")


def enter(browser: httpx.Client, site: Served, subject: str, to: str = "/", **claims: object) -> httpx.Response:
    return browser.get(to_the_way_back(browser, site, subject, to))


def who(browser: httpx.Client, site: Served) -> dict:
    return browser.get(f"{site.url}/api/v1/session").json()


def refused(answer: httpx.Response, status: int, *words: str) -> None:
    """A page that says why, and no session."""
    assert answer.status_code == status, answer.text
    assert (
        answer.headers["content-type"].startswith("text/html")
        and "default-src 'none'" in answer.headers["content-security-policy"]
    )
    assert "flitwatch-session" not in answer.headers.get("set-cookie", "")
    for word in (*words, 'href="/login"'):
        assert word in answer.text, answer.text


def accounts(url: str) -> dict[str, dict]:
    with connect(url, role="gate") as conn:
        return {row["name"]: row for row in people.list_accounts(conn)}


def arrivals(sites: Sites) -> list[tuple]:
    """What the audit holds of people who came back from the provider, in order."""
    with connect(sites.url, role="gate") as conn:
        return conn.execute(
            "SELECT actor, status, details, target FROM audit WHERE action = 'GET oidc_back' ORDER BY audit_id"
        ).fetchall()


def test_somebody_comes_in_and_goes_again(
    sites: Sites, browser: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sites.provider.tell(people={"s-1": {"preferred_username": "ann"}})
    earlier = len(arrivals(sites))
    assert sites.plain.get("/session")["oidc"] == "Centre login"
    left = browser.get(f"{sites.plain.url}/api/v1/session/oidc", params={"to": "/jobs?q=a"})
    asked = parse_qs(urlsplit(left.headers["location"]).query)
    assert (
        asked["code_challenge_method"] == ["S256"]
        and asked["response_type"] == ["code"]
        and "openid" in asked["scope"][0]
    )
    assert len(asked["state"][0]) == len(asked["nonce"][0]) == 64 and asked["state"] != asked["nonce"]
    cookie = left.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "max-age=600" in cookie
    answer = enter(browser, sites.plain, "s-1", "/jobs?q=a")
    assert answer.status_code == 303 and answer.headers["location"] == "/jobs?q=a"
    said = who(browser, sites.plain)
    assert (said["user"], said["role"], said["via"], said["vouched"]) == ("ann", "user", "session", True)
    assert "flitwatch-login" not in browser.cookies
    own = browser.post(
        f"{sites.plain.url}/api/v1/tokens",
        json={"label": "x", "scopes": ["read"]},
        headers={"X-CSRF-Token": said["csrf"]},
    )
    assert own.status_code == 201
    out = browser.delete(f"{sites.plain.url}/api/v1/session", headers={"X-CSRF-Token": said["csrf"]})
    assert out.status_code == 204 and who(browser, sites.plain)["user"] is None
    away = browser.get(f"{sites.plain.url}/api/v1/session/oidc/logout").headers["location"]
    assert away.startswith(sites.provider.issuer) and browser.get(away).status_code == 200
    again = enter(browser, sites.plain, "s-1")
    assert again.status_code == 303 and who(browser, sites.plain)["user"] == "ann"
    assert [row["issuer"] for row in accounts(sites.url).values() if row["name"] == "ann"] == [sites.provider.issuer]
    rows = arrivals(sites)[earlier:]
    assert [row[:2] for row in rows] == [("ann", 303)] * 2 and rows[0][2]["issuer"] == sites.provider.issuer
    # Not what the test's own browser says, nor uvicorn's access log, which the server has switched off.
    ours = [record.getMessage() for record in caplog.records if record.name not in ("httpx", "uvicorn.access")]
    at_provider = [
        text
        for record in caplog.records
        if (text := record.getMessage()).startswith(f"HTTP Request: POST {sites.provider.issuer}/token")
    ]
    assert at_provider and SECRET not in caplog.text + str(rows) and "code=" not in str(ours + at_provider + rows)


def test_a_state_of_another_browser_is_refused(sites: Sites, browser: httpx.Client) -> None:
    sites.provider.tell(people={"s-2": {"preferred_username": "ben"}})
    back = to_the_way_back(browser, sites.plain, "s-2")
    with httpx.Client(timeout=60, headers=PAGE) as victim:
        refused(victim.get(back), 401, "not started in this browser")
        victim.get(f"{sites.plain.url}/api/v1/session/oidc")
        refused(victim.get(back), 401, "not started in this browser")
    state = parse_qs(urlsplit(back).query)["state"][0]
    refused(browser.get(back.replace(state, "0" * 64)), 401, "not started in this browser")
    refused(browser.get(back.replace(state, "")), 401, "not started in this browser")
    other = re.sub(r"iss=[^&]+", "iss=https%3A%2F%2Felsewhere.example", back)
    refused(browser.get(other), 403, "another provider")
    assert "ben" not in accounts(sites.url)


@pytest.mark.parametrize("how", ["nonce", "issuer", "audience", "signature", "key", "none", "old"])
def test_a_wrong_proof_is_refused(sites: Sites, browser: httpx.Client, how: str) -> None:
    sites.provider.tell(people={"s-3": {"preferred_username": "cid"}}, spoil=how)
    refused(enter(browser, sites.plain, "s-3"), 403, "is not valid")
    assert "cid" not in accounts(sites.url)


def test_a_code_is_good_once_and_not_for_long(sites: Sites, browser: httpx.Client) -> None:
    sites.provider.tell(people={"s-4": {"preferred_username": "dan"}}, codeS=1)
    back = to_the_way_back(browser, sites.plain, "s-4")
    time.sleep(2.1)
    refused(browser.get(back), 403, "already used or has expired")
    sites.provider.tell(codeS=60)
    back = to_the_way_back(browser, sites.plain, "s-4")
    kept = browser.cookies["flitwatch-login"]
    assert browser.get(back).status_code == 303
    browser.cookies.set("flitwatch-login", kept)
    refused(browser.get(back), 403, "already used or has expired")


def test_who_says_no_at_the_provider_is_informed(sites: Sites, browser: httpx.Client) -> None:
    back = to_the_way_back(browser, sites.plain, "s-5")
    state = parse_qs(urlsplit(back).query)["state"][0]
    way = f"{sites.plain.url}/api/v1/session/oidc/back"
    refused(browser.get(way, params={"state": state, "error": "access_denied"}), 403, "access_denied")
    evil = browser.get(way, params={"state": state, "error": "<script>", "error_description": "call 555"})
    refused(evil, 403, "an unknown error")
    assert "<script>" not in evil.text and "555" not in evil.text
    refused(browser.get(way, params={"state": state, "error": "server_error"}), 503, "does not answer")
    refused(browser.get(way, params={"state": state}), 401, "sent no code")
    document = browser.get(way, headers={"Accept": "application/json"})
    assert document.headers["content-type"] == "application/problem+json"


def test_an_equal_name_takes_no_account_over(sites: Sites, browser: httpx.Client) -> None:
    with connect(sites.url, role="gate") as conn:
        people.add_account(conn, "root", "admin", "correct horse battery")
        people.add_account(conn, "taken", "viewer")
    sites.provider.tell(people={"s-6": {"preferred_username": "root"}, "s-7": {"preferred_username": "eve"}})
    refused(enter(browser, sites.plain, "s-6"), 403, "belongs to another account")
    assert accounts(sites.url)["root"]["issuer"] is None
    with connect(sites.url, role="gate") as conn:
        with pytest.raises(Conflict):
            people.rename_account(conn, "root", "taken")
        people.rename_account(conn, "root", "root-local")
    with httpx.Client(timeout=60, headers=PAGE) as other:
        assert enter(other, sites.plain, "s-6").status_code == 303 and who(other, sites.plain)["role"] == "user"
    with httpx.Client(timeout=60, headers=PAGE) as other:
        assert enter(other, sites.plain, "s-7").status_code == 303
    sites.provider.tell(people={"s-7": {"preferred_username": "root"}, "s-8": {"preferred_username": "eve"}})
    with httpx.Client(timeout=60, headers=PAGE) as other:
        refused(enter(other, sites.plain, "s-8"), 403, "belongs to another account")
    with httpx.Client(timeout=60, headers=PAGE) as other:
        assert enter(other, sites.plain, "s-7").status_code == 303 and who(other, sites.plain)["user"] == "eve"
    with connect(sites.url, role="gate") as conn, pytest.raises(BadRequest, match="cannot be changed here"):
        people.set_password(conn, "eve", "correct horse battery")


def test_a_disabled_account_stays_out(sites: Sites, browser: httpx.Client) -> None:
    sites.provider.tell(people={"s-9": {"preferred_username": "fay"}})
    assert enter(browser, sites.plain, "s-9").status_code == 303
    with connect(sites.url, role="gate") as conn:
        people.change_account(conn, "fay", disabled=True)
    with httpx.Client(timeout=60, headers=PAGE) as again:
        refused(enter(again, sites.plain, "s-9"), 403, "is disabled")


def test_roles_follow_the_claim_at_each_login(sites: Sites) -> None:
    def role(groups: object) -> str:
        sites.provider.tell(people={"s-10": {"preferred_username": "gus", "groups": groups}})
        with httpx.Client(timeout=60, headers=PAGE) as browser:
            assert enter(browser, sites.mapped, "s-10").status_code == 303
            return who(browser, sites.mapped)["role"]

    assert role(["x"]) == "user"
    assert role(["guests", "flit-admins", "cn=staff"]) == "admin"
    assert role("cn=staff") == "operator"
    assert role([]) == "user"
    assert role(["guests", 7, {"a": "flit-admins"}]) == "viewer"
    sites.provider.tell(people={"s-10": {"preferred_username": "gus"}})
    with httpx.Client(timeout=60, headers=PAGE) as browser:
        refused(enter(browser, sites.mapped, "s-10"), 403, "claim groups")
    assert accounts(sites.url)["gus"]["role"] == "viewer"


def test_a_role_given_here_stays_where_the_provider_gives_none(sites: Sites, browser: httpx.Client) -> None:
    sites.provider.tell(people={"s-11": {"preferred_username": "hal", "groups": ["flit-admins"]}})
    assert enter(browser, sites.plain, "s-11").status_code == 303 and who(browser, sites.plain)["role"] == "user"
    with connect(sites.url, role="gate") as conn:
        people.change_account(conn, "hal", role="operator")
    with httpx.Client(timeout=60, headers=PAGE) as again:
        assert enter(again, sites.plain, "s-11").status_code == 303 and who(again, sites.plain)["role"] == "operator"


@pytest.mark.parametrize(
    "claims", [{}, {"preferred_username": ""}, {"preferred_username": 7}, {"preferred_username": " a\n"}]
)
def test_who_has_no_fit_name_is_refused(sites: Sites, browser: httpx.Client, claims: dict) -> None:
    sites.provider.tell(people={"s-12": claims})
    answer = enter(browser, sites.plain, "s-12")
    assert answer.status_code in (400, 403) and "flitwatch-session" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    "to", ["//evil.example", "/\\evil.example", "https://evil.example", "/\tx", "/api/v1/tasks", "jobs"]
)
def test_the_way_back_leads_to_the_page_only(sites: Sites, browser: httpx.Client, to: str) -> None:
    sites.provider.tell(people={"s-13": {"preferred_username": "ida"}})
    assert enter(browser, sites.plain, "s-13", to).headers["location"] == "/"


def test_a_provider_that_is_away(embedded_db: str, browser: httpx.Client) -> None:
    with a_provider() as provider, serving(settings(embedded_db, provider.issuer)) as site:
        provider.tell(sites=[site.url], people={"s-1": {"preferred_username": "ann"}})
        back = to_the_way_back(browser, site, "s-1")
        provider.end()
        answer = browser.get(back)
        refused(answer, 503, "Centre login does not answer", "Local accounts can sign in")
        assert int(answer.headers["retry-after"]) > 0
    with serving(settings(embedded_db, provider.issuer)) as site:
        refused(browser.get(f"{site.url}/api/v1/session/oidc"), 503, "Centre login does not answer")
        with connect(embedded_db, role="gate") as conn:
            people.add_account(conn, "local", "viewer", "correct horse battery")
        assert (
            site.http.post("/api/v1/session", json={"name": "local", "password": "correct horse battery"}).status_code
            == 200
        )


def test_a_wrong_client_secret_is_the_sites_fault(sites: Sites, browser: httpx.Client) -> None:
    with serving(
        settings(sites.url, sites.provider.issuer, oidc_client_secret="wrong", api_url=sites.plain.url)
    ) as site:
        sites.provider.tell(people={"s-1": {"preferred_username": "ann"}})
        left = browser.get(f"{site.url}/api/v1/session/oidc").headers["location"]
        assert parse_qs(urlsplit(left).query)["redirect_uri"] == [f"{sites.plain.url}/api/v1/session/oidc/back"]
        kept = browser.cookies["flitwatch-login"]
        back = to_the_way_back(browser, sites.plain, "s-1")
        state = parse_qs(urlsplit(left).query)["state"][0]
        at_site = re.sub(r"state=[^&]+", f"state={state}", back).replace(sites.plain.url, site.url)
        browser.cookies.clear()
        browser.cookies.set("flitwatch-login", kept)
        refused(browser.get(at_site), 503, "does not accept this site (invalid_client)")


def test_a_site_without_a_provider_has_no_such_login(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None)) as site:
        assert site.get("/session")["oidc"] is None
        for way in ("", "/back?code=a&state=b", "/logout"):
            assert site.http.get(f"/api/v1/session/oidc{way}").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"oidc_client_id": ""}, "CLIENT_ID"),
        ({"oidc_issuer": "http://login.example"}, "https"),
        ({"oidc_scopes": "profile"}, "openid"),
        ({"oidc_client_secret_file": "/nowhere"}, "twice"),
        ({"oidc_client_secret": "", "oidc_client_secret_file": "/nowhere"}, "cannot be read"),
        ({"oidc_role_claim": "groups"}, "ROLES"),
        ({"oidc_roles": "a=admin"}, "ROLE_CLAIM"),
        ({"oidc_role_claim": "groups", "oidc_roles": "a=service"}, "ROLES"),
    ],
)
def test_settings_that_cannot_work_are_named_at_the_start(wrong: dict, words: str) -> None:
    with pytest.raises(Unavailable, match=words) as error:
        provider_of(settings("postgresql://x", "https://login.example", **wrong))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("name", ["authorization", "token", "userinfo", "end_session"])
def test_a_provider_that_names_any_endpoint_without_https_is_not_asked(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
            said = {"issuer": issuer, "jwks_uri": f"{issuer}/keys"}
            said |= {
                f"{one}_endpoint": f"{issuer}/{one}" for one in ("authorization", "token", "userinfo", "end_session")
            }
            said[f"{name}_endpoint"] = f"http://login.example/{name}"
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Says) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        provider = provider_of(settings("postgresql://x", f"http://127.0.0.1:{server.server_port}"))
        assert provider is not None
        with pytest.raises(Unavailable):
            asyncio.run(provider.log_out("http://localhost/"))
        server.shutdown()
    assert "without https" in caplog.text


def test_roles_of_claims_within_claims() -> None:
    roles = Roles("realm_access.roles", "flit=admin")
    assert roles.of({"realm_access": {"roles": ["flit"]}}) == "admin"
    assert find_claim({"https://a.example/groups": ["x"]}, "https://a.example/groups") == ["x"]
    for claims in ({}, {"realm_access": 3}, {"realm_access": {}}):
        with pytest.raises(Forbidden):
            roles.of(claims)
