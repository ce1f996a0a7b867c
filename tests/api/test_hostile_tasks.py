"""Stored hostile tasks in lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import httpx
import pytest
from support.databases import Server

from api.bodies import DOCUMENT, GOOD, ROLES
from api.conftest import bearer, serving
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadInput, TooCostly
from flitwatch_domain.task_models import STARTABLE, read_arguments
from flitwatch_domain.task_models.costs import LIMITS, check_cost, needs_of

TRIED = {"rule": {"name": "r", "signal": "blamed_user", "above": 0}, "from_s": 0, "to_s": 1}


def test_a_row_that_cannot_be_shown_is_listed_as_such_alongside_the_others(_embedded_template: Server) -> None:
    url = _embedded_template.create()
    with serving(Settings(db=url, web=None)) as api:
        good, bad = (
            api.http.post("/api/v1/tasks", json={"name": name, "args": args}).json()["task_id"]
            for name, args in (("demo.count", {}), ("alerting.test", TRIED))
        )
        with connect(url, role="writer") as conn:
            conn.execute(
                """UPDATE task SET state = 'succeeded', result = '{"alerts": ["alice"]}' WHERE task_id = %s""", [bad]
            )
        listed = {one["task_id"]: one for one in api.get("/tasks")["items"]}
        assert listed[good]["args"] is not None and listed[good]["error"] is None
        assert "cannot be shown" in listed[bad]["error"]["message"] and listed[bad]["state"] == "succeeded"
        alone = api.get(f"/tasks/{bad}")
        assert alone == listed[bad] and "alice" not in str(alone)
    _embedded_template.drop(url)


def test_a_task_keeps_the_id_of_its_request(embedded_db: str) -> None:
    with serving(Settings(db=embedded_db, web=None)) as api:
        asked = {"name": "demo.count", "args": {}}
        started = api.http.post("/api/v1/tasks", json=asked, headers={"X-Request-Id": "from-the-page"})
        assert started.headers["x-request-id"] == "from-the-page"
    with connect(embedded_db, role="reader") as conn:
        assert conn.execute("SELECT request_id FROM task").fetchall() == [("from-the-page",)]


# Every role, every task, hostile values for every argument that the tasks' models have: refused, or within the role's limits.


SCHEMAS = DOCUMENT["components"]["schemas"]

#: What no argument takes, whatever its type; and what some take and may not stay without a limit.
ANY: tuple[Any, ...] = (
    None, True, "", "\0", "x" * 5_000, " file:/etc/passwd", "\u2003lft:/dev/ptmx", "../..", "' OR 1=1 --", "<script>", "alice", "torus:999999,999999",
    -1, 0, 2.5, 10**30, -(10**30), 1e308, [], {}, [[]], ["x"] * 2_000, {"a": "\0"}, {"__proto__": 1},
)  # fmt: skip

Place = tuple[str | int, ...]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def places(schema: dict[str, Any], at: Place = (), depth: int = 0) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every place of a model where a value may stand, with its schema."""
    schema = resolved(schema)
    yield at, schema
    if depth > 8:
        return
    for several in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(several, []):
            yield from places(one, at, depth + 1)
    for name, one in schema.get("properties", {}).items():
        yield from places(one, (*at, name), depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from places(schema["items"], (*at, 0), depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from places(schema["additionalProperties"], (*at, "ADAPTIVE_0"), depth + 1)


def at_the_edges(schema: dict[str, Any]) -> Iterator[Any]:
    """Values on and beyond the bounds that a schema gives."""
    for bound, step in (("maximum", 1), ("exclusiveMaximum", 0), ("minimum", -1), ("exclusiveMinimum", 0)):
        if bound in schema:
            yield schema[bound]
            yield schema[bound] + step
            yield str(schema[bound])
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "maxItems" in schema:
        yield ["x"] * (schema["maxItems"] + 1)


def put(args: Any, place: Place, value: Any) -> Any:
    """Arguments with another value in a place; what is missing on the way is made."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if isinstance(first, int):
        return [put(args[0] if isinstance(args, list) and args else {}, rest, value)]
    held = args if isinstance(args, dict) else {}
    return {**held, first: put(held.get(first), rest, value)}


def bases(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Arguments that a task takes, with the schema of their model: one a study."""
    requests = [s for s in SCHEMAS.values() if name in _names(s)]
    schema = resolved(requests[0]["properties"]["args"])
    if name != "sim.study":
        yield GOOD[name], schema
        return
    for one in schema["oneOf"]:
        model = resolved(one)
        study = model["properties"]["study"]
        for title in study.get("enum") or [study["const"]]:
            yield {"study": title, "parameters": {}}, model


def _names(schema: dict[str, Any]) -> list[str]:
    held = schema.get("properties", {}).get("name", {})
    return (
        held.get("enum") or ([held["const"]] if "const" in held else [])
        if "args" in schema.get("properties", {})
        else []
    )


def hostile(name: str) -> Iterator[dict[str, Any]]:
    """Requests of a task with one hostile value each."""
    for base, schema in bases(name):
        yield {**base, "unknown": 1}
        for place, one in places(schema):
            for value in (*ANY, *at_the_edges(one)):
                yield put(base, place, value)


def is_within(role: str, name: str, args: dict[str, Any]) -> bool:
    needs = needs_of(name, args)
    return all(needs.get(one.name, 0) <= getattr(LIMITS[role], one.name) for one in fields(LIMITS[role]))


@pytest.mark.parametrize("name", STARTABLE)
def test_a_hostile_value_of_any_argument_is_refused_or_bounded(name: str) -> None:
    asked = refused = 0
    for args in hostile(name):
        asked += 1
        try:
            kept = read_arguments(name, args).given()
        except BadInput as problem:
            refused += 1
            assert len(str(problem)) < 2_000 and "/etc" not in str(problem)
            continue
        assert read_arguments(name, kept).given() == kept and "\\x00" not in repr(kept)
        for role in LIMITS:
            try:
                check_cost(role, name, kept)
            except TooCostly as problem:
                assert "this needs" in str(problem) and "your limit is" in str(problem)
                continue
            assert is_within(role, name, kept)
    assert asked > 40 and refused > asked / 2


@pytest.fixture(scope="module")
def callers(_embedded_template: Server) -> Iterator[tuple[str, str, dict[str, httpx.Client]]]:
    url = _embedded_template.create()
    headers: dict[str, dict[str, str]] = {"anonymous": {}}
    with connect(url, role="gate", autocommit=True) as conn:
        for role in ROLES[1:]:
            people.add_account(conn, f"a-{role}", role)
            scopes = ["read"] if role == "viewer" else ["read", "tasks"]
            headers[role] = bearer(people.add_token(conn, f"a-{role}", "test", scopes)[1])
    many = dict.fromkeys(("api_tasks_each", "api_tasks_visit", "api_tasks_anonymous", "api_rate_burst"), 10**5)
    with serving(Settings(db=url, web=None, **many)) as api:
        made = {role: httpx.Client(base_url=api.url, headers=one, timeout=30) for role, one in headers.items()}
        yield api.url, url, made
        for client in made.values():
            client.close()
    _embedded_template.drop(url)


def stored(url: str) -> list[tasks.Task]:
    with connect(url, role="writer", autocommit=True) as conn:
        rows = tasks.list_tasks(conn, limit=10**6)
        conn.execute("UPDATE task SET state = 'cancelled' WHERE state = 'queued'")
    return [one for one in rows if one.state == "queued"]


@pytest.mark.system("numeric")
@pytest.mark.parametrize("number", range(len(ROLES)), ids=ROLES)
def test_every_role_with_every_task_is_refused_or_bounded(
    callers: tuple[str, str, dict[str, httpx.Client]], number: int
) -> None:
    """Each role sends every thirty-seventh of the requests above, each beginning with another; the test above checks all of them without a server."""
    _, url, clients = callers
    role = ROLES[number]
    accepted = 0
    for name in STARTABLE:
        for args in list(hostile(name))[number * 6 :: 37]:
            answer = clients[role].post("/api/v1/tasks", json={"name": name, "args": args})
            allowed = {403} if role == "viewer" else {202, 403, 413, 422}
            if name == "ml.blame_measured" and role != "viewer":
                # Its files were never uploaded.
                allowed |= {404}
            assert answer.status_code in allowed or (role == "viewer" and answer.status_code == 422), (
                name,
                args,
                answer.text,
            )
            accepted += answer.status_code == 202
    rows = stored(url)
    assert len(rows) == accepted and (accepted > 0) == (role != "viewer")
    for one in rows:
        assert one.role == ("user" if role == "anonymous" else role)
        assert role == "admin" or is_within(role, one.name, one.args), (one.name, one.args)
