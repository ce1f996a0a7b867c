"""A site that hides jobs from callers without scope `names`: no API operation reveals a job's id, nodes or pseudonymous owner to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.databases import Server

from api.bodies import DOCUMENT, fields
from api.conftest import bearer, serving
from flitwatch_api.names import TASKS_WITHOUT_JOBS, WITHOUT_JOBS
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.core import events
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_db.runs import store as runs
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run
from flitwatch_domain.task_models import STARTABLE

JOB, NODE, TIME_S = "777001", "zzcn0001", 1_790_000_123
ENDLESS = "/api/v1/events"
OPERATIONS = [
    (path, method, operation)
    for path, item in DOCUMENT["paths"].items()
    if path.startswith("/api/v1") and "/session" not in path and path != ENDLESS
    for method, operation in item.items()
]
#: What an answer about a job has, whatever it is called.
OF_JOBS = {"job_id", "job_pk", "jobs", "job", "run_id", "node_list", "neighbours"}


@pytest.fixture(scope="module")
def clients(_embedded_template: Server) -> Iterator[dict[str, httpx.Client]]:
    """Clients of a site where everything there is about jobs is about one."""
    url = _embedded_template.create()
    detail = dict.fromkeys(("before", "after", "reconstruction", "routes")) | {
        "why": [f"job {JOB}"],
        "alternatives": [],
        "parameters": {},
    }
    with connect(url, role="writer") as conn:
        fabrics.save_fabric(
            conn,
            build_dragonfly(2, 1, 2, endpoints_per_router=2, blue_routers=1, blue_cables=1, black_cables=1, name="f"),
        )
        nodes = [row[0] for row in conn.execute("SELECT node FROM endpoint ORDER BY endpoint LIMIT 2").fetchall()]
        jobs.upsert_jobs(conn, [Job(cluster="c", job_id=JOB, user="alice", account="lab", name="plan", state="COMPLETED", start_s=TIME_S,
                               end_s=TIME_S + 600.0, nodes=3, node_list=",".join([NODE, *nodes]))])  # fmt: skip
        run = Run(run_key="r", exe="/home/alice/vaspx", job_id=JOB, start_s=TIME_S, ranks=(0,), nodes=(NODE,))
        runs.upsert_run(conn, run)
        conn.execute(
            "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence) VALUES ('r', %s, 'firing', 'warning', now(),"
            " now(), 2, 2, %s, '{}')",
            [json.dumps({"job": JOB, "user": "alice"}), f"job {JOB} on {NODE}"],
        )
        ingest.add_dead_letters(
            conn, [ingest.DeadLetter("jobs", 0, 1, f"job {JOB} has no end", b"x", "s", f"job {JOB}")]
        )
        recommendations.save_recommendation(
            conn,
            recommendations.Recommendation(
                "routing_mode", "refused", f"job {JOB}", "r", detail, False, job_id=JOB, authorised=True
            ),
        )
        tasks.start_task(conn, "sim.whatif", {"fabric": "f", "at_s": TIME_S, "job": JOB}, created_by="otto")
        tasks.start_task(conn, "ml.blame", {"exe": "vaspx", "nodes": 3}, created_by="una")
        events.emit_event(conn, "job", {"job_pk": 1, "job_id": JOB, "state": "RUNNING"})
        events.emit_event(conn, "run", {"run_id": 1, "steps": 1})
        events.emit_event(conn, "fabric", {"fabric_id": 1})
    with connect(url, role="gate", autocommit=True) as conn:
        callers: dict[str, dict[str, str]] = {"anonymous": {}}
        for name, role, scopes in (
            ("vera", "viewer", ["read"]),
            ("una", "user", ["read", "tasks", "advice"]),
            ("otto", "operator", ["read", "tasks", "advice", "operate"]),
            ("olga", "operator", ["read", "names"]),
        ):
            people.add_account(conn, name, role)
            callers[name] = bearer(people.add_token(conn, name, "t", scopes)[1])
    settings = Settings(db=url, web=None, api_anonymous="user", api_jobs_below_names="hidden", api_heartbeat_s=0.3)
    with serving(settings) as api:
        made = {name: httpx.Client(base_url=api.url, headers=headers, timeout=30) for name, headers in callers.items()}
        yield made
        for client in made.values():
            client.close()
    _embedded_template.drop(url)


def filled(path: str, method: str, operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """The operation's path about what is stored, with every parameter that a job could be asked for by."""
    held = {"fabric": "f", "router": "0", "job_id": JOB, "by": "user", "place": "0"}
    query = {
        "q": JOB,
        "job": JOB,
        "user": "alice",
        "exe": "vaspx",
        "nodes": "3",
        "routers": "0",
        "counters": "all_flits",
        "limit": "100",
    }
    places = operation.get("parameters", [])
    for one in places:
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", held.get(one["name"], "1" if method == "get" else "999"))
    wanted = {one["name"]: query[one["name"]] for one in places if one["in"] == "query" and one["name"] in query}
    yield path, wanted
    yield (
        path,
        {name: value for name, value in wanted.items() if name in {p["name"] for p in places if p.get("required")}},
    )
    if "q" in wanted:
        yield path, {"q": NODE}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
def test_no_operation_tells_of_a_job(clients: dict[str, httpx.Client], path: str, method: str, operation: dict) -> None:
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    for asked, query in filled(path, method, operation):
        body = None if schema is None else fields(schema, JOB)
        for name in ("anonymous", "vera", "una", "otto"):
            answer = clients[name].request(method, asked, params=query, json=body)
            said = answer.text.replace(asked, "")
            if answer.status_code < 300 and method == "get":
                assert operation["operationId"] in WITHOUT_JOBS
                assert not any(word in said for word in (JOB, NODE, "user-", "account-", "app-")), (name, asked, said)
            assert NODE not in said and "alice" not in said, (name, asked, said)


def test_who_sees_names_sees_jobs(clients: dict[str, httpx.Client]) -> None:
    """Or the test above would find nothing if nothing is."""
    seen = {
        path: clients["olga"].get(f"/api/v1/{path}", params=query).text
        for path, query in (
            ("jobs", {}),
            (f"jobs/{JOB}", {}),
            ("runs", {}),
            ("alerts", {}),
            ("recommendations", {}),
            ("tasks", {}),
            ("search", {"q": JOB}),
        )
    }
    assert all(JOB in text for text in seen.values()), [path for path, text in seen.items() if JOB not in text]
    for name in ("anonymous", "vera", "una", "otto"):
        refused = clients[name].get("/api/v1/jobs")
        assert refused.status_code == 403 and "shows jobs only with scope names" in refused.json()["detail"]


def test_no_listed_operation_has_a_place_for_jobs() -> None:
    names = {operation["operationId"] for item in DOCUMENT["paths"].values() for operation in item.values()}
    assert names >= WITHOUT_JOBS
    for _, _, operation in OPERATIONS:
        if operation["operationId"] in WITHOUT_JOBS:
            for answer in operation["responses"].values():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                assert not OF_JOBS & set(_properties(schema, frozenset())), operation["operationId"]


def _properties(schema: dict[str, Any], seen: frozenset[str]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from _properties(DOCUMENT["components"]["schemas"][name], seen | {name})
    for several in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(several, []):
            yield from _properties(one, seen)
    for name, one in schema.get("properties", {}).items():
        yield name
        yield from _properties(one, seen)
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from _properties(schema[inner], seen)


@pytest.mark.parametrize("name", sorted(set(STARTABLE) - TASKS_WITHOUT_JOBS))
def test_no_task_that_reads_jobs_starts(clients: dict[str, httpx.Client], name: str) -> None:
    from api.bodies import GOOD

    for caller in ("anonymous", "una", "otto"):
        answer = clients[caller].post("/api/v1/tasks", json={"name": name, "args": GOOD[name]})
        assert answer.status_code == 403, answer.text


def test_the_stream_leaves_out_what_happens_to_jobs(clients: dict[str, httpx.Client]) -> None:
    with clients["vera"].stream("GET", ENDLESS, headers={"Last-Event-ID": "0"}) as stream:
        said = ""
        for line in stream.iter_lines():
            said += line + "\n"
            if "still here" in line:
                break
    assert "event: fabric" in said
    assert JOB not in said and "event: job" not in said and "event: run" not in said
