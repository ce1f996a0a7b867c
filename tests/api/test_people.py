"""Logins, tokens, roles by endpoint, names, the audit log and limits, over a real database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import psycopg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import Message
from support.waiting import eventually

from api.bodies import DOCUMENT
from api.conftest import Served, bearer, guess_passwords, serving
from flitwatch_api.names import Names
from flitwatch_api.people import callers, login_limiter, trail
from flitwatch_api.people.access import RANK, SAFE, Requirement, check_access
from flitwatch_api.people.callers import UNKNOWN_BURST
from flitwatch_api.people.login_limiter import Buckets
from flitwatch_api.people.trail import AuditMiddleware
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db import tasks as queue
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_db.people import audit
from flitwatch_domain.access import SCOPES, SCOPES_OF, Caller
from flitwatch_domain.errors import BadRequest, Conflict, Forbidden
from flitwatch_domain.jobs import Job
from flitwatch_domain.json_logs import JsonLines, request_id

PASSWORD = "correct horse battery"
ROLES = ("viewer", "user", "operator", "admin")
OPERATIONS = [
    (path, method, operation)
    for path, item in DOCUMENT["paths"].items()
    if path.startswith("/api/v1")
    for method, operation in item.items()
]


def job(number: int, user: str, name: str) -> Job:
    return Job(
        cluster="c",
        job_id=str(number),
        user=user,
        account=f"acc-{user}",
        name=name,
        state="COMPLETED",
        start_s=1e9 + number,
        end_s=2e9,
        nodes=1,
        node_list="nid00001",
    )


@pytest.fixture(scope="module")
def site(_embedded_template) -> Iterator[tuple[Served, str]]:  # type: ignore[no-untyped-def]
    """A site that requires a login to log in, with an account of each role and a service."""
    url = _embedded_template.create()
    with connect(url, role="gate", autocommit=True) as conn:
        for name in ROLES:
            people.add_account(conn, name, name, PASSWORD)
        people.add_account(conn, "slurm", "service")
    with connect(url, role="writer") as conn:
        for one in (job(1, "user", "mine"), job(2, "mallory", "secret-plan"), job(3, "eve", "/home/eve/x")):
            jobs.upsert_jobs(conn, [one])
    with serving(Settings(db=url, web=None, api_anonymous="none")) as served:
        yield served, url
    _embedded_template.drop(url)


def logged_in(served: Served, name: str, password: str = PASSWORD) -> httpx.Client:
    client = httpx.Client(base_url=served.url, timeout=20)
    answer = client.post("/api/v1/session", json={"name": name, "password": password})
    assert answer.status_code == 200, answer.text
    client.headers["X-CSRF-Token"] = answer.json()["csrf"]
    return client


@pytest.fixture(scope="module")
def clients(site: tuple[Served, str]) -> Iterator[dict[str, httpx.Client]]:
    made = {name: logged_in(site[0], name) for name in ROLES}
    yield made
    for client in made.values():
        client.close()


def token(url: str, name: str, *scopes: str, days: float = 1) -> dict[str, str]:
    with connect(url, role="gate", autocommit=True) as conn:
        return bearer(people.add_token(conn, name, "test", scopes, days)[1])


def ask(client: httpx.Client, method: str, path: str, **more: object) -> httpx.Response:
    """A request that is refused before anything is looked at, or else finds nothing or is not valid: nothing is changed by it."""
    for word in ("fabric", "router", "job_id", "run_id", "task_id", "estimate_id", "by", "place", "alert_id", "silence_id", "recommendation_id", "number", "token_id"):  # fmt: skip
        path = path.replace(f"{{{word}}}", "1")
    return client.request(method.upper(), path.replace("{name}", "none"), **more)  # type: ignore[arg-type]


def test_every_operation_says_what_it_asks_for() -> None:
    assert len(OPERATIONS) > 40
    for path, method, operation in OPERATIONS:
        role, scope = operation["x-required-role"], operation["x-required-scope"]
        assert role in RANK and scope in SCOPES, path
        assert role != "anyone" or path.startswith("/api/v1/session")
        assert operation["x-changes"] is False or method.upper() not in SAFE or path.endswith("/oidc/back")
        assert {"401", "403", "429"} <= set(operation["responses"])


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
def test_roles_by_endpoint(
    site: tuple[Served, str], clients: dict[str, httpx.Client], path: str, method: str, operation: dict
) -> None:
    if path.endswith(("/session", "/events")) or "password" in path or "/oidc" in path:
        pytest.skip("a login, or a stream without end: they have tests of their own")
    need = operation["x-required-role"]
    assert ask(site[0].http, method, path).status_code == 401
    for role, client in clients.items():
        status = ask(client, method, path).status_code
        if RANK[role] < RANK[need]:
            assert status == 403, (role, status)
        else:
            assert status not in (401, 403) and status < 500, (role, status)


def test_tokens_are_held_to_their_scopes(site: tuple[Served, str]) -> None:
    served, url = site
    read, both, admin = token(url, "slurm", "read"), token(url, "slurm", "advice"), token(url, "admin", "admin")
    assert served.http.get("/api/v1/jobs", headers=read).status_code == 200
    assert served.http.post("/api/v1/advice", headers=read).status_code == 403
    assert served.http.post("/api/v1/advice", headers=both).status_code == 422
    assert served.http.get("/api/v1/jobs", headers=both).status_code == 403
    assert served.http.get("/api/v1/users", headers=admin).status_code == 200
    assert served.http.get("/api/v1/users", headers=read).status_code == 403
    assert served.http.get("/api/v1/jobs", headers=bearer("fwt_none")).status_code == 401
    over = token(url, "user", "read", days=1e-9)
    assert served.http.get("/api/v1/jobs", headers=over).status_code == 401
    with connect(url, role="reader") as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("SELECT * FROM token")


def test_a_token_may_have_every_scope(clients: dict[str, httpx.Client]) -> None:
    made = clients["admin"].post("/api/v1/tokens", json={"label": "all", "scopes": list(SCOPES), "days": 1})
    assert made.status_code == 201
    assert clients["admin"].delete(f"/api/v1/tokens/{made.json()['token_id']}").status_code == 204
    beyond = clients["admin"].post("/api/v1/tokens", json={"label": "x", "scopes": [*SCOPES, "read"], "days": 1})
    assert beyond.status_code == 422


def test_tokens_are_made_and_revoked_by_their_owner_only(
    site: tuple[Served, str], clients: dict[str, httpx.Client]
) -> None:
    made = clients["user"].post("/api/v1/tokens", json={"label": "mine", "scopes": ["read", "tasks"], "days": 2})
    assert made.status_code == 201
    secret, number = bearer(made.json()["secret"]), made.json()["token_id"]
    assert site[0].http.get("/api/v1/session", headers=secret).json()["user"] == "user"
    for beyond in (["admin"], ["names"], ["operate"]):
        assert clients["user"].post("/api/v1/tokens", json={"label": "x", "scopes": beyond}).status_code == 400
    assert (
        clients["user"].post("/api/v1/tokens", json={"label": "x", "scopes": ["read"], "account": "admin"}).status_code
        == 403
    )
    # A token makes no other and revokes no other, so that one that leaked ends when it was to; an admin's may, and each may end itself.
    other = clients["user"].post("/api/v1/tokens", json={"label": "other", "scopes": ["read"], "days": 2}).json()
    renewed = site[0].http.post("/api/v1/tokens", headers=secret, json={"label": "x", "scopes": ["read"], "days": 366})
    assert renewed.status_code == 403 and "session" in renewed.json()["detail"]
    assert site[0].http.delete(f"/api/v1/tokens/{other['token_id']}", headers=secret).status_code == 403
    assert (
        site[0].http.delete(f"/api/v1/tokens/{other['token_id']}", headers=bearer(other["secret"])).status_code == 204
    )
    assert site[0].http.get("/api/v1/jobs", headers=bearer(other["secret"])).status_code == 401
    admin = token(site[1], "admin", "admin", "read")
    by_admin = site[0].http.post(
        "/api/v1/tokens", headers=admin, json={"label": "x", "scopes": ["read"], "account": "slurm"}
    )
    assert by_admin.status_code == 201
    assert site[0].http.delete(f"/api/v1/tokens/{by_admin.json()['token_id']}", headers=admin).status_code == 204
    assert clients["viewer"].delete(f"/api/v1/tokens/{number}").status_code == 404
    assert clients["user"].delete(f"/api/v1/tokens/{number}").status_code == 204
    assert site[0].http.get("/api/v1/jobs", headers=secret).status_code == 401
    listed = clients["admin"].get("/api/v1/tokens").json()["items"]
    assert next(t for t in listed if t["token_id"] == number)["revoked"] and secret["Authorization"] not in str(listed)


def test_the_session_cookie_and_its_protection(site: tuple[Served, str]) -> None:
    served, _ = site
    answer = served.http.post("/api/v1/session", json={"name": "viewer", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert (
        "httponly" in cookie
        and "samesite=lax" in cookie
        and "path=/" in cookie
        and answer.headers["cache-control"] == "no-store"
    )
    far = served.http.post(
        "/api/v1/session", json={"name": "viewer", "password": PASSWORD}, headers={"Host": "flit.example"}
    )
    cookie = far.headers["set-cookie"].lower()
    assert cookie.startswith("__host-flitwatch-session=") and "secure" in cookie and "domain" not in cookie
    served.http.cookies.clear()
    client = logged_in(served, "operator")
    body = {"matchers": {"user": "x"}, "ends": "2100-01-01T00:00:00Z", "comment": "c"}
    assert client.post("/api/v1/alerts/silences", json=body).status_code == 201
    for wrong in ("", "0" * 64, "é"):
        refused = client.post("/api/v1/alerts/silences", json=body, headers={"X-CSRF-Token": wrong.encode()})
        assert refused.status_code == 403, wrong
    assert client.delete("/api/v1/session").status_code == 204
    assert client.get("/api/v1/jobs").status_code == 401


@pytest.mark.usefixtures("no_second_chance")
def test_wrong_passwords_are_refused_alike_and_counted(site: tuple[Served, str]) -> None:
    # A server of its own: attempts are counted by address, and every other test logs in from the same one.
    with serving(Settings(db=site[1], web=None, api_anonymous="none")) as served:
        said = {
            served.http.post("/api/v1/session", json={"name": name, "password": word}).json()["detail"]
            for name, word in (("viewer", "wrong"), ("nobody", PASSWORD), ("slurm", ""), ("viewer", "x" * 1024))
        }
        assert said == {"name or password is wrong"}
        answers = [served.http.post("/api/v1/session", json={"name": "nobody2", "password": "x"}) for _ in range(12)]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1 and refused.json()["type"].endswith("too-many")


def test_own_jobs_by_name_everyone_else_by_pseudonym(clients: dict[str, httpx.Client]) -> None:
    seen = {role: {j["job_id"]: j for j in c.get("/api/v1/jobs").json()["items"]} for role, c in clients.items()}
    assert seen["operator"]["2"]["user"] == "mallory" and seen["operator"]["2"]["name"] == "secret-plan"
    own, other = seen["user"]["1"], seen["user"]["2"]
    assert (own["user"], own["name"], own["account"]) == ("user", "mine", "acc-user")
    assert (
        other["user"].startswith("user-")
        and other["name"].startswith("app-")
        and other["account"].startswith("account-")
    )
    assert seen["viewer"]["2"]["user"] == other["user"] and seen["viewer"]["1"]["user"].startswith("user-")
    user = clients["user"]
    assert "mallory" not in user.get("/api/v1/jobs/2").text and "secret-plan" not in user.get("/api/v1/jobs/2").text
    for query in ({"q": "mallory"}, {"user": "mallory"}, {"name": "secret"}):
        assert user.get("/api/v1/jobs", params=query).json()["items"] == []
    assert [j["job_id"] for j in user.get("/api/v1/jobs", params={"user": other["user"]}).json()["items"]] == ["2"]
    assert user.get("/api/v1/search", params={"q": "mallory"}).json()["items"] == []
    assert [h["kind"] for h in user.get("/api/v1/search", params={"q": other["user"]}).json()["items"]] == ["user"]
    for sort in ("user", "-name"):
        page = user.get("/api/v1/jobs", params={"sort": sort, "limit": 1}).json()
        names = [page["items"][0][sort.strip("-")]]
        while page["next_cursor"]:
            page = user.get("/api/v1/jobs", params={"sort": sort, "limit": 1, "cursor": page["next_cursor"]}).json()
            names.append(page["items"][0][sort.strip("-")])
        assert len(names) == 3 and set(names) == {j[sort.strip("-")] for j in seen["user"].values()}


@pytest.mark.parametrize("key", [b"k", b"x" * 64, b"long" * 40])
def test_the_database_makes_the_same_pseudonyms(embedded_db: str, key: bytes) -> None:
    names = Names(key)
    pads = names.for_database()
    assert pads is not None
    with connect(embedded_db, role="reader") as conn:
        for name in ("mallory", "", "Zoë", "a" * 300):
            row = conn.execute(
                "SELECT pseudonym('user', %s, %s, %s)", [name, pads.inner_pad, pads.outer_pad]
            ).fetchone()
            assert row == (names.user(name),)


def test_tasks_of_others_name_nobody_and_go_on(site: tuple[Served, str], clients: dict[str, httpx.Client]) -> None:
    with connect(site[1], role="writer") as conn:
        seen = {
            "allocation": ["n1"],
            "interval_s": 1.0,
            "request_flits": 9,
            "request_packets": 3,
            "stalled_cycles": 2,
            "cumulative_latency_us": 3.0,
        }
        observations = {"ADAPTIVE_0": [seen], "ADAPTIVE_3": [seen]}
        args = {"job": "2", "user": "mallory", "application": "secret-plan", "observations": observations}
        other = queue.start_task(conn, "routing.advice", args, created_by="mallory")
        study = queue.start_task(conn, "sim.study", {"study": "noise"}, created_by="mallory")
    for role in ("viewer", "user"):
        seen = clients[role].get("/api/v1/tasks").text + clients[role].get(f"/api/v1/tasks/{other}").text
        assert "mallory" not in seen and "secret-plan" not in seen
        assert clients[role].get(f"/api/v1/tasks/{other}").json()["args"] is None
        # The lab's addresses are shared: what is about machines is for all.
        assert clients[role].get(f"/api/v1/tasks/{study}").json()["args"] == {"study": "noise"}
    assert clients["operator"].get(f"/api/v1/tasks/{other}").json()["args"] == args
    mine = clients["user"].post("/api/v1/tasks", json={"name": "demo.count", "args": {"to": 1, "delay_s": 0.5}}).json()
    assert (mine["args"], mine["created_by"]) == ({"to": 1, "delay_s": 0.5}, "user")
    assert clients["user"].post(f"/api/v1/tasks/{other}/cancel").status_code == 403
    assert clients["user"].post(f"/api/v1/tasks/{mine['task_id']}/cancel").status_code == 202
    assert clients["operator"].post(f"/api/v1/tasks/{other}/cancel").status_code == 202
    # Callers without login are one: the page on loopback stops what it began, and nothing else.
    with serving(Settings(db=site[1], web=None)) as open_site:
        begun = open_site.http.post("/api/v1/tasks", json={"name": "demo.count", "args": {"to": 1}}).json()
        assert open_site.http.post(f"/api/v1/tasks/{begun['task_id']}/cancel").status_code == 202
        assert open_site.http.post(f"/api/v1/tasks/{study}/cancel").status_code == 403


def test_admins_handle_accounts_and_the_last_one_stays(
    site: tuple[Served, str], clients: dict[str, httpx.Client]
) -> None:
    admin = clients["admin"]
    assert admin.post("/api/v1/users", json={"name": "zoe", "role": "user", "password": PASSWORD}).status_code == 201
    assert admin.post("/api/v1/users", json={"name": "zoe", "role": "user"}).status_code == 409
    assert admin.post("/api/v1/users", json={"name": "y", "role": "user", "password": "short"}).status_code == 400
    with connect(site[1], role="gate", autocommit=True) as conn:
        secret = people.log_in(conn, "zoe", PASSWORD)[0]
        assert people.of_session(conn, secret).role == "user"  # type: ignore[union-attr]
        assert admin.patch("/api/v1/users/zoe", json={"role": "operator"}).json()["items"][0]["role"] == "operator"
        assert people.of_session(conn, secret) is None
        assert admin.patch("/api/v1/users/zoe", json={"disabled": True}).status_code == 200
        with pytest.raises(Conflict):
            people.change_account(conn, "admin", role="viewer")
    assert admin.patch("/api/v1/users/admin", json={"disabled": True}).status_code == 409
    assert admin.patch("/api/v1/users/nobody", json={"role": "user"}).status_code == 404
    assert "argon2" not in admin.get("/api/v1/users").text


@pytest.mark.system("processes")
def test_who_becomes_a_service_logs_in_no_more(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "root", "admin", PASSWORD)
        people.add_account(conn, "eve", "user", PASSWORD)
        people.add_account(conn, "old", "user", PASSWORD)
        with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
            eve, root = logged_in(api, "eve"), logged_in(api, "root")
            changed = root.patch("/api/v1/users/eve", json={"role": "service"})
            assert changed.status_code == 200 and changed.json()["items"][0]["password"] is False
            assert eve.get("/api/v1/jobs").status_code == 401
            assert api.http.post("/api/v1/session", json={"name": "eve", "password": PASSWORD}).status_code == 401
            assert api.http.get("/api/v1/jobs", headers=token(embedded_db, "eve", "read")).status_code == 200
            # As it was left by a version that kept them: password and session are worth nothing.
            old = logged_in(api, "old")
            conn.execute("UPDATE account SET role = 'service' WHERE name = 'old'")
            secret = people.begin_session(
                conn, conn.execute("SELECT account_id FROM account WHERE name = 'old'").fetchone()[0]
            )[0]  # type: ignore[index]
            assert people.of_session(conn, secret) is None
            assert api.http.post("/api/v1/session", json={"name": "old", "password": PASSWORD}).status_code == 401
            # Nor does the old password come back with another role.
            for name in ("eve", "old"):
                assert root.patch(f"/api/v1/users/{name}", json={"role": "user"}).status_code == 200
                assert api.http.post("/api/v1/session", json={"name": name, "password": PASSWORD}).status_code == 401
            for client in (eve, root, old):
                client.close()


def test_a_service_by_a_session_passes_no_check() -> None:
    service = Caller("s", "service", "session", frozenset(SCOPES_OF["service"]), "account 1")
    with pytest.raises(Forbidden):
        check_access(service, Requirement("user", "tasks", True))
    check_access(replace(service, via="token"), Requirement("user", "tasks", True))


def test_the_last_admin_who_can_log_in_stays(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "root", "admin", PASSWORD)
        people.add_account(conn, "ghost", "admin")
        for taken in ({"disabled": True}, {"role": "viewer"}, {"role": "service"}):
            with pytest.raises(Conflict, match="who can log in"):
                people.change_account(conn, "root", **taken)  # type: ignore[arg-type]
        with pytest.raises(Conflict):
            people.remove_account(conn, "root")
        assert people.log_in(conn, "root", PASSWORD)
        # Whom a provider vouches for can, too; an admin by token alone may go while another stays.
        people.of_provider(conn, "https://idp.example", "7", "ann", "admin")
        people.change_account(conn, "root", disabled=True)
        people.change_account(conn, "ghost", role="viewer")
        with pytest.raises(Conflict):
            people.change_account(conn, "ann", role="service")


def test_a_provider_logs_nobody_in_as_a_service(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.of_provider(conn, "https://idp.example", "7", "ann", None)
        people.change_account(conn, "ann", role="service")
        for role in (None, "admin"):
            with pytest.raises(Forbidden, match="service"):
                people.of_provider(conn, "https://idp.example", "7", "ann", role)


@pytest.mark.parametrize("name", ["anonymous", "nobody", "erased", " x"])
def test_names_that_stand_for_others_make_no_account(embedded_db: str, name: str) -> None:
    with connect(embedded_db, role="gate") as conn, pytest.raises(BadRequest):
        people.add_account(conn, name, "viewer")


def test_what_an_agent_sees_again_and_again_is_summed_up(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
        people.add_account(conn, "otto", "operator", PASSWORD)
    with connect(embedded_db, role="writer") as conn:
        jobs.upsert_jobs(conn, [job(1, "eve", "a"), job(2, "eve", "b")])
    headers = token(embedded_db, "slurm", "read", "names", "advice")
    other = token(embedded_db, "slurm", "read", "names")

    def seen(actor: str) -> list[tuple[str, int]]:
        with connect(embedded_db, role="gate") as conn:
            entries = audit.list_entries(conn, 1000, actor=actor)
        return sorted((e["target"], e["details"].get("times", 0)) for e in entries if e["action"].startswith("see "))

    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        for _ in range(20):
            for path in ("/api/v1/jobs", "/api/v1/jobs/1"):
                assert api.http.get(path, headers=headers).status_code == 200
        assert api.http.get("/api/v1/jobs/2", headers=headers).status_code == 200
        assert api.http.get("/api/v1/jobs", headers=other).status_code == 200
        person = logged_in(api, "otto")
        for _ in range(3):
            assert person.get("/api/v1/jobs").status_code == 200
        person.close()
        # Each kind by its first time, at once, while the platform serves.
        eventually(
            lambda: len(seen("slurm")) >= 4, every_s=0.1, what="four audit entries", detail=lambda: seen("slurm")
        )
        assert seen("slurm") == [("/api/v1/jobs", 0), ("/api/v1/jobs", 0), ("/api/v1/jobs/1", 0), ("/api/v1/jobs/2", 0)]
    again = [("/api/v1/jobs", 19), ("/api/v1/jobs/1", 19)]
    assert [one for one in seen("slurm") if one[1]] == again and len(seen("slurm")) == 6
    assert seen("otto") == [("/api/v1/jobs", 0)] * 3, "what a person sees is an entry each time"


def test_a_view_is_recorded_before_its_response_ends() -> None:
    """A route still commits after its response: a client's next request would be recorded first."""
    recorded: list[str] = []

    class Trail:
        def record_view(self, entry: audit.Entry, *_: object) -> None:
            recorded.append(entry.target)

    async def serve_view(request: Request) -> StreamingResponse:
        request.state.need, request.state.saw_names = Requirement("viewer", "read", False), True
        request.state.caller = Caller("otto", "operator", "session", frozenset(), "account 1")
        return StreamingResponse(iter([b"a", b"b"]))

    async def view() -> list[int]:
        parts: list[int] = []

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                parts.append(len(recorded))

        scope = {"type": "http", "method": "GET", "path": "/seen", "query_string": b"", "headers": [], "app": app}
        await AuditMiddleware(app)({**scope, "client": ("127.0.0.1", 1)}, asyncio.Event().wait, send)  # type: ignore[arg-type]
        return parts

    app = Starlette(routes=[Route("/seen", serve_view)])
    app.state.trail = Trail()
    parts = asyncio.run(view())
    assert parts[0] == 0 and parts[-1] == 1 and recorded == ["/seen"]


@pytest.mark.system("processes")
def test_another_look_of_a_token_is_an_entry_of_its_own(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
        people.add_account(conn, "otto", "operator", PASSWORD)
    headers = token(embedded_db, "slurm", "read", "names", "advice")

    def looks(actor: str) -> list[dict]:
        with connect(embedded_db, role="gate") as conn:
            entries = audit.list_entries(conn, 1000, actor=actor)
        return [e["details"] for e in reversed(entries) if e["action"] == "see jobs"]

    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        for query in (
            "",
            "from=1000&to=2000",
            "user=alice",
            "to=3000&user=alice",
            "junk=1&user=bob&user=alice",
            f"{'x' * 3000}=1&user=eve",
            "q=al%00ice",
            "name=secret",
            "limit=7",
            "user=alice&from=5",
        ):
            answer = api.http.get(f"/api/v1/jobs?{query}", headers=headers)
            assert answer.status_code == 200 or "%00" in query, answer.text
        person = logged_in(api, "otto")
        assert person.get("/api/v1/jobs", params={"user": "eve", "from": 1000}).status_code == 200
        person.close()
        # The sums are written when the platform stops.
        after = datetime.now(UTC)
    at_once = [one.get("query") for one in looks("slurm") if "times" not in one]
    assert [one for one in at_once if one != {"q": "al\u2400ice"}] == [
        None,
        {"user": "alice"},
        {"user": "eve"},
        {"name": "secret"},
        {"limit": "7"},
    ]
    sums = [one for one in looks("slurm") if "times" in one]
    assert [(one["times"], one["query"]) for one in sums] == [
        (1, {"from": "1000", "to": "2000"}),
        (3, {"user": "alice", "from": "5"}),
    ]
    for one in sums:
        assert datetime.fromisoformat(one["since"]) <= datetime.fromisoformat(one["until"]) < after
    assert looks("otto") == [{"query": {"user": "eve", "from": "1000"}}]


async def test_stopping_during_a_write_loses_no_entry_and_keeps_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "EVERY_S", 0.001)
    written: list[audit.Entry] = []
    monkeypatch.setattr(audit, "add_entries", lambda conn, batch: written.extend(batch))
    begun, goes_on = asyncio.Event(), asyncio.Event()

    class SlowDatabase:
        async def in_thread(self, role: str, work: Callable[[None], None]) -> None:
            begun.set()
            await goes_on.wait()
            work(None)

    entries = [audit.Entry("otto", "operator", "session", f"see {n}", "/", 200, None, None, {}) for n in range(3)]
    kept = trail.AuditTrail(SlowDatabase())  # type: ignore[arg-type]
    kept.start()
    kept.record_view(entries[0])
    await begun.wait()
    request = asyncio.create_task(kept.changed(entries[1]))
    await asyncio.sleep(0)
    request.cancel()
    kept.record_view(entries[2])
    stopping = asyncio.create_task(kept.stop())
    await asyncio.sleep(0.01)
    goes_on.set()
    await stopping
    assert written == entries


@pytest.mark.system("processes")
def test_sums_of_what_was_seen_miss_nothing(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round of writing is an hour here: whatever falls into which, every look is counted once."""
    monkeypatch.setattr(trail, "SUM_EVERY_S", 0.0)
    monkeypatch.setattr(trail, "EVERY_S", 0.02)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
    headers = token(embedded_db, "slurm", "read", "names")
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        for _ in range(200):
            assert api.http.get("/api/v1/jobs", headers=headers).status_code == 200
    with connect(embedded_db, role="gate") as conn:
        times = [e["details"].get("times", 1) for e in audit.list_entries(conn, 1000, actor="slurm")]
    assert sum(times) == 200 and len(times) > 1


def test_the_audit_log_has_changes_and_what_was_seen_and_keeps_it(
    site: tuple[Served, str], clients: dict[str, httpx.Client]
) -> None:
    clients["operator"].get("/api/v1/jobs/2", headers={"X-Request-Id": "look-0042"})
    clients["user"].get("/api/v1/jobs/2", headers={"X-Request-Id": "look-0043"})
    changed = clients["operator"].put("/api/v1/alerts/rules/r1", json={}, headers={"X-Request-Id": "change-0001"})
    assert changed.headers["x-request-id"] == "change-0001"

    def entries() -> dict[str, dict]:
        answer = clients["admin"].get("/api/v1/audit", params={"actor": "operator", "limit": 1000}).json()
        return {entry["request_id"]: entry for entry in answer["items"]}

    eventually(lambda: "look-0042" in entries(), every_s=0.1, what="the audit entry of the look", detail=entries)
    by_id = entries()
    assert by_id["look-0042"]["action"] == "see job" and by_id["look-0042"]["target"] == "/api/v1/jobs/2"
    assert by_id["change-0001"]["action"] == "PUT put_alert_rule" and by_id["change-0001"]["status"] == 422
    everything = clients["admin"].get("/api/v1/audit", params={"limit": 1000}).text
    assert "look-0043" not in everything and PASSWORD not in everything and "fwt_" not in everything
    with connect(site[1]) as conn:
        for statement in ("UPDATE audit SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), conn.transaction():
                conn.execute(statement.encode())
    with connect(site[1], role="gate") as conn:
        assert len(audit.list_entries(conn, 5)) == 5


def test_more_than_the_limit_is_informed_when_to_come_back(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_rate_per_s=0.01, api_rate_burst=3)) as api:
        answers = [api.http.get("/api/v1/fabrics") for _ in range(5)]
        assert [a.status_code for a in answers] == [200, 200, 200, 429, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 100 and answers[-1].json()["advice"]
        assert api.http.get("/healthz").status_code == 200


@pytest.mark.system("processes")
def test_tasks_that_wait_are_limited_below_operator(embedded_db: str) -> None:
    count = {"name": "demo.count", "args": {"to": 1, "delay_s": 0}}
    with serving(Settings(db=embedded_db, api_anonymous="user", api_tasks_visit=3)) as served:
        made = [served.http.post("/api/v1/tasks", json=count) for _ in range(5)]
        assert [one.status_code for one in made] == [202, 202, 202, 429, 429]
        assert "api_tasks_visit" in made[-1].json()["detail"] and int(made[-1].headers["retry-after"]) > 0
        # A dry run of a rule is a task like the others.
        tried = {
            "rule": {"signal": "blamed_user", "above": 0},
            "from": "2026-11-14T00:00:00Z",
            "to": "2026-11-15T00:00:00Z",
        }
        dry = served.http.post("/api/v1/alerts/rules/test", json=tried)
        assert dry.status_code == 429 and "api_tasks_visit" in dry.json()["detail"]
        served.http.post(f"{made[0].headers['location']}/cancel")
        assert served.http.post("/api/v1/alerts/rules/test", json=tried).status_code == 202
        assert served.http.get("/api/v1/tasks", params={"state": "queued"}).json()["items"]
        assert served.http.get("/api/v1/tasks", params={"state": "nope"}).status_code == 422
    with serving(Settings(db=embedded_db, api_anonymous="operator", api_tasks_each=3)) as served:
        assert served.http.post("/api/v1/tasks", json=count).status_code == 202


def test_buckets_refill() -> None:
    buckets = Buckets(2.0, 2)
    assert [buckets.take("a", 0), buckets.take("a", 0), buckets.take("a", 0)] == [0, 0, 0.5]
    assert buckets.take("b", 0) == 0 and buckets.take("a", 0.5) == 0


def test_the_first_start_makes_an_admin_once(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        password = people.first_admin(conn)
        assert password is not None and len(password) >= 20 and people.first_admin(conn) is None
        assert people.log_in(conn, "admin", password)


def test_log_lines_are_json_with_the_request() -> None:
    held = request_id.set("abc-12345")
    line = JsonLines().format(logging.LogRecord("x", logging.INFO, "f", 1, 'a "quoted"\nword', (), None))
    request_id.reset(held)
    assert '"request_id": "abc-12345"' in line and "\n" not in line


@pytest.mark.system("processes")
def test_unknown_tokens_are_counted_by_their_address(embedded_db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "UNKNOWN_PER_S", 1 / 3600)  # nothing is given back while a slow machine asks
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "slurm", "service")
    known = token(embedded_db, "slurm", "read")
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        assert api.http.get("/api/v1/jobs", headers=known).status_code == 200
        # The same wrong token is asked about once, and counts as one.
        assert {api.http.get("/api/v1/jobs", headers=bearer("fwt_old")).status_code for _ in range(UNKNOWN_BURST)} == {
            401
        }
        answers = [
            api.http.get("/api/v1/jobs", headers=bearer(f"fwt_{n}")).status_code for n in range(2 * UNKNOWN_BURST)
        ]
        assert answers[: UNKNOWN_BURST - 1] == [401] * (UNKNOWN_BURST - 1) and answers.count(429) > UNKNOWN_BURST // 2
        refused = api.http.get("/api/v1/jobs", headers=bearer("fwt_x"))
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        assert api.http.get("/api/v1/jobs", headers={"Cookie": "flitwatch-session=x"}).status_code == 429
        # Only what nobody has is refused: a token that this process never saw is not.
        assert api.http.get("/api/v1/jobs", headers=token(embedded_db, "slurm", "read")).status_code == 200
        assert api.http.get("/api/v1/jobs", headers=known).status_code == 200


def test_beyond_its_unknown_tokens_an_address_is_asked_about_as_often_as_it_may_ask(embedded_db: str) -> None:
    with serving(
        Settings(db=embedded_db, web=None, api_anonymous="none", api_rate_per_s=0.01, api_rate_burst=UNKNOWN_BURST + 5)
    ) as api:
        said = [
            api.http.get("/api/v1/jobs", headers=bearer(f"fwt_{n}")).json()["detail"] for n in range(UNKNOWN_BURST + 20)
        ]
    assert "unknown, revoked" in said[0] and said[-1].startswith("more than 0.01 requests")


def test_wrong_tokens_count_as_requests(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None, api_rate_per_s=0.01, api_rate_burst=3)) as api:
        answers = [api.http.get("/api/v1/jobs", headers=bearer("fwt_old")).status_code for _ in range(5)]
        assert answers == [401, 401, 401, 429, 429]


@pytest.mark.usefixtures("no_second_chance")
def test_wrong_passwords_from_elsewhere_do_not_lock_the_owner_out(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator", PASSWORD)
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        guessed = guess_passwords(api, 14, "127.0.0.2")
        assert guessed[:10] == [401] * 10 and set(guessed[10:]) == {429}
        logged_in(api, "otto").close()


@pytest.mark.system("processes")
@pytest.mark.usefixtures("no_second_chance")
def test_a_signed_cookie_identifies_a_browser_that_logged_in_before(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong passwords from the same address, as behind a proxy, or for the name from everywhere, hold up who does not have it."""
    monkeypatch.setattr(login_limiter, "NAME_BURST", 12)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        for name in ("otto", "eve"):
            people.add_account(conn, name, "operator", PASSWORD)
    right = {"name": "otto", "password": PASSWORD}
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        otto, eve = logged_in(api, "otto"), logged_in(api, "eve")
        assert guess_passwords(api, 11, "127.0.0.1")[-1] == 429
        # The name alone has a limit, too: guesses from many addresses end.
        assert guess_passwords(api, 3, "127.0.0.3") == [401, 401, 429]
        assert httpx.post(f"{api.url}/api/v1/session", json=right).status_code == 429
        known = {"Cookie": f"flitwatch-known={otto.cookies['flitwatch-known']}"}
        assert httpx.post(f"{api.url}/api/v1/session", json=right, headers=known).status_code == 200
        # It is of one account, signed here, and lets nobody in without the password.
        head, body, signature = otto.cookies["flitwatch-known"].split(".")
        other = "".join("A" if c != "A" else "B" for c in signature)
        for cookie in (
            eve.cookies["flitwatch-known"],
            f"{head}.{body}.{other}",
            f"{head}.{body}.",
            "x",
            "é",
            otto.cookies["flitwatch-session"],
        ):
            headers = {"Cookie": f"flitwatch-known={cookie}".encode()}
            assert httpx.post(f"{api.url}/api/v1/session", json=right, headers=headers).status_code == 429, cookie
        tried = guess_passwords(api, 12, "127.0.0.4", headers=known)
        assert tried[0] == 401 and tried[-1] == 429
        assert httpx.get(f"{api.url}/api/v1/jobs", headers=known).status_code == 401
        for client in (otto, eve):
            client.close()


def test_refused_attempts_use_up_nothing_and_right_ones_are_given_back() -> None:
    from flitwatch_api.people.login_limiter import NAME_BURST, PAIR_BURST, LoginLimiter
    from flitwatch_domain.errors import TooMany

    held = LoginLimiter()
    for number in range(10 * NAME_BURST):
        if number < PAIR_BURST:
            held.take("otto", "guesser")
        else:
            with pytest.raises(TooMany):
                held.take("otto", "guesser")
    for _ in range(3 * NAME_BURST):
        held.take("otto", "home")
        held.give_back("otto", "home")
    held.take("otto", "elsewhere")
