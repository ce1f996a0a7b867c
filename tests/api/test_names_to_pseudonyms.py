"""A caller without scope `names` cannot map a list of all real names to pseudonyms with any API operation.

The answer about a real name must equal the answer about an unused word, apart from the word itself. So neither this answer nor later lists can contain
the name's pseudonym or data found through it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import httpx
import pytest

from api.bodies import DOCUMENT, fields
from api.conftest import Served, bearer, serving
from flitwatch_alerting.tasks import HANDLERS as ALERTING
from flitwatch_api.names import Names
from flitwatch_api.settings import Settings
from flitwatch_db import connect, tasks
from flitwatch_db.alerts import store as alerts
from flitwatch_db.alerts.store import save_rule
from flitwatch_db.estimates import recommendations
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_db.runs import store as runs
from flitwatch_domain.alerts import read_rule
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run
from flitwatch_simulation.tasks import HANDLERS as SIMULATION

LIMITS_OF_TASKS = ("api_tasks_each", "api_tasks_visit", "api_tasks_anonymous")
PASSWORD = "correct horse battery"
#: Real: a user, their job's name, their executable, a rule about them. In their place: what nobody bears, as long and of the same letters.
REAL = {"user": "alice", "job": "aliceplan", "exe": "/home/alice/bin/vaspx", "rule": "watch-alice"}
NOBODY = {kind: word.replace("alice", "zzyzx") for kind, word in REAL.items()}


def has_tests_of_its_own(path: str) -> bool:
    # A log-in is about accounts, and the stream has no end and one text for all (test_events.py).
    return "/session" in path or path.endswith("/events") or "/oidc" in path


OPERATIONS = [
    (path, method, operation)
    for path, item in DOCUMENT["paths"].items()
    if path.startswith("/api/v1") and not has_tests_of_its_own(path)
    for method, operation in item.items()
]
OBSERVED = {
    "allocation": ["n1", "n2"],
    "interval_s": 1.0,
    "request_flits": 30_000,
    "request_packets": 10_000,
    "stalled_cycles": 6,
    "cumulative_latency_us": 3.0,
}
#: Arguments by task in which a name could stand; `{}`: where.
TASKS: list[tuple[str, str]] = [
    ("routing.advice", '{"application": "{}", "observations": {"ADAPTIVE_0": [OBSERVED, OBSERVED]}}'),
    ("routing.advice", '{"application": "milc", "user": "{}", "observations": {"ADAPTIVE_0": [OBSERVED, OBSERVED]}}'),
    ("routing.advice", '{"application": "milc", "job": "{}", "observations": {"ADAPTIVE_0": [OBSERVED, OBSERVED]}}'),
    ("routing.advice", '{"user": "{}"}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "ingest_gap", "above": 1, "labels": {"user": "{}"}}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "slowdown", "above": 0, "where": {"user": "{}"}}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "slowdown", "above": 0, "where": {"exe": "{}"}}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "slowdown", "above": 0, "where": [["user", "{}"]]}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "slowdown", "above": 0, "where": "user={}"}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": {"name": "t", "signal": "slowdown", "above": 0, "summary": "{}", "labels": {"exe": "{}"}}, "from_s": 1, "to_s": 100}'),
    ("alerting.test", '{"rule": "{}", "from_s": 1, "to_s": 100}'),
    ("sim.collective", '{"topology": "{}"}'), ("sim.packet", '{"topology": "{}"}'), ("sim.study", '{"study": "{}"}'),
    ("sim.whatif", '{"fabric": "{}", "at_s": 1, "job": "{}"}'), ("routing.loop", '{"topology": "{}"}'), ("routing.optimise", '{"pattern": "{}"}'),
    ("routing.reconstruct", '{"basis": "{}"}'), ("ml.blame", '{"exe": "{}", "nodes": 1}'),
    ("ml.blame_measured", '{"name": "{}", "runs": 1, "exposure": 2}'), ("ml.deviation", '{"exe": "{}", "nodes": 1}'),
    ("ml.forecast", '{"exe": "{}", "nodes": 1}'), ("demo.count", '{"to": "{}"}'), ("{}", "{}"),
]  # fmt: skip
#: What differs from request to request.
VARYING = re.compile(
    r'"(?:task_id|recommendation_id|request_id|instance|now|as_of|created|created_at|updated|csrf|silence_id|location|position_age_s|elapsed_s)":(?:"[^"]*"|[\d.]+|null)'
    r"|tasks/\d+"
)
#: Whether there is a next page counts; its cursor holds the time.
CURSOR = re.compile(r'"next_cursor":"[^"]*"')


@dataclass(frozen=True)
class Site:
    """A served site, and a client of each kind below scope `names`."""

    served: Served
    url: str
    clients: dict[str, httpx.Client]


def rule(name: str, **more: object) -> Any:
    return read_rule({"name": name, "signal": "slowdown", "above": 1.5, **more})


@pytest.fixture(scope="module")
def site(_embedded_template) -> Iterator[Site]:  # type: ignore[no-untyped-def]
    """A site where everything names alice: jobs, runs, an alert and its rule, a silence, an operator's recommendation and task."""
    url = _embedded_template.create()
    with connect(url, role="writer") as conn:
        for number, user in ((1, "alice"), (2, "bob"), (3, "alice")):
            jobs.upsert_jobs(conn, [Job(cluster="c", job_id=str(number), user=user, account=f"{user}lab", name=f"{user}plan", state="COMPLETED",
                                   start_s=1e9 + number, end_s=1.1e9, nodes=1, node_list="nid00001")])  # fmt: skip
        runs.upsert_run(
            conn, Run(run_key="r", exe=REAL["exe"], job_id="1", start_s=1e9, ranks=(0,), nodes=("nid00001",))
        )
        for about in ({"name": "watch-alice", "where": {"user": "alice"}}, {"name": "calm"}):
            save_rule(conn, rule(**about), "file")  # type: ignore[arg-type]
        for number in range(3):
            conn.execute(
                "INSERT INTO alert (rule, labels, phase, severity, since, seen, value, peak, summary, evidence) SELECT 'watch-alice',"
                " jsonb_build_object('rule', 'watch-alice', 'user', 'alice', 'job', %s::text), 'firing', 'warning', now(), now(), 2, 2, 'alice is slow',"
                " jsonb_build_object('rule', (SELECT rule FROM alert_rule WHERE name = 'watch-alice'))",
                [str(number)],
            )
        alerts.add_silence(conn, {"user": "alice"}, *_span(conn), "about alice", "otto")
        detail = {
            "why": [],
            "before": None,
            "after": None,
            "alternatives": [],
            "reconstruction": None,
            "routes": None,
            "parameters": {},
        }
        recommendations.save_recommendation(
            conn,
            recommendations.Recommendation(
                "routing_mode",
                "refused",
                f"Mode of alice's {REAL['exe']}",
                "alice has few",
                detail,
                False,
                user="alice",
                application=REAL["exe"],
                created_by="otto",
                authorised=True,
            ),
        )
        tasks.start_task(
            conn, "routing.advice", {"user": "alice", "application": "x"}, created_by="otto", authorised=True
        )
    with connect(url, role="gate", autocommit=True) as conn:
        for name in ("viewer", "user"):
            people.add_account(conn, name, name, PASSWORD)
        people.add_account(conn, "agent", "service")
        tokens = {
            scopes: people.add_token(conn, "agent", "t", scopes.split())[1]
            for scopes in ("read", "read operate tasks advice")
        }
    # The most that callers without a login are by default, on a machine with the twin.
    with serving(
        Settings(db=url, web=None, api_anonymous="user", api_rate_burst=10**6, **dict.fromkeys(LIMITS_OF_TASKS, 10**4))
    ) as served:
        clients = {"anonymous": httpx.Client(base_url=served.url, timeout=30)}
        for name in ("viewer", "user"):
            client = clients[name] = httpx.Client(base_url=served.url, timeout=30)
            client.headers["X-CSRF-Token"] = client.post(
                "/api/v1/session", json={"name": name, "password": PASSWORD}
            ).json()["csrf"]
        for scopes, secret in tokens.items():
            clients[f"token {scopes}"] = httpx.Client(base_url=served.url, timeout=30, headers=bearer(secret))
        yield Site(served, url, clients)
        for client in clients.values():
            client.close()
    _embedded_template.drop(url)


def _span(conn: Any) -> tuple[Any, Any]:
    row = conn.execute("SELECT now(), now() + interval '1 day'").fetchone()
    return row[0], row[1]


CALLERS = ["anonymous", "viewer", "user", "token read", "token read operate tasks advice"]


def requests(path: str, method: str, operation: dict[str, Any], word: str) -> Iterator[dict[str, Any]]:
    """Requests of an operation with the word in each of its places by itself, and in all of them."""
    places = [one for one in operation.get("parameters", []) if one["in"] in ("query", "path")]
    required = {one["name"]: "1" for one in places if one["in"] == "query" and one.get("required")}
    inside = {one["name"] for one in places if one["in"] == "path"}
    plain = path
    for name in inside:
        plain = plain.replace(f"{{{name}}}", "1")
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    filled = None if body is None else fields(body, word)
    for one in places:
        if one["in"] == "query":
            yield {"url": plain, "params": {**required, one["name"]: word}, "json": filled}
            if any(other["name"] == "limit" for other in places):
                # A page ends where there is more, which would count what a name finds.
                yield {"url": plain, "params": {**required, one["name"]: word, "limit": "1"}, "json": filled}
        else:
            others = path.replace(f"{{{one['name']}}}", word.replace("/", "%2F"))
            for name in inside:
                others = others.replace(f"{{{name}}}", "1")
            yield {"url": others, "params": required, "json": filled}
    yield {"url": plain, "params": required, "json": filled}
    if isinstance(filled, dict):
        for name in filled:
            # Each text by itself: a body that is wrong elsewhere is refused before it is looked at.
            yield {"url": plain, "params": required, "json": {**fields(body, "1"), name: filled[name]}}


def asked(client: httpx.Client, method: str, real: str, nobody: str, request: dict[str, Any]) -> str:
    """An answer as text without what varies, and with the word of nobody for the name that was asked for."""
    answer = client.request(method, **{name: value for name, value in request.items() if value is not None})
    text = CURSOR.sub('"next_cursor":"_"', VARYING.sub("_", f"{answer.status_code} {answer.text}"))
    for one in {real, json.dumps(real)[1:-1], real.lower()}:
        text = text.replace(one, nobody)
    return text


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
def test_no_operation_answers_about_a_name_otherwise_than_about_nobody(
    site: Site, path: str, method: str, operation: dict, kind: str
) -> None:
    real, nobody, pseudonyms = REAL[kind], NOBODY[kind], _pseudonyms(site)
    # Reading tells no caller below scope `names` more than these two; what takes more than reading is asked by all who may.
    for caller in ("anonymous", "viewer") if method == "get" else CALLERS:
        client = site.clients[caller]
        pairs = zip(requests(path, method, operation, real), requests(path, method, operation, nobody), strict=True)
        for about_real, about_nobody in pairs:
            if about_real == about_nobody:
                continue
            said = asked(client, method, real, nobody, about_real)
            assert said == asked(client, method, real, nobody, about_nobody), (caller, about_real)
            # A list has pseudonyms, whatever is asked for; an answer to something written has no reason to.
            assert method == "get" or path.endswith("/advice") or not any(one in said for one in pseudonyms)


def _pseudonyms(site: Site) -> set[str]:
    with connect(site.url, role="reader") as conn:
        row = conn.execute("SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key'").fetchone()
    assert row is not None
    shown = Names(row[0].encode())
    return {
        shown.user(REAL["user"]),
        shown.application(REAL["job"]),
        shown.application(REAL["exe"]),
        shown.application("vaspx"),
    }


def listings(client: httpx.Client) -> dict[str, str]:
    """All that can be listed, and what tells more by itself."""
    said = {}
    for path, method, operation in OPERATIONS:
        required = any(one.get("required") for one in operation.get("parameters", []))
        if method == "get" and not required:
            said[path] = client.get(path, params={"limit": "1000"}).text
    for item in json.loads(said["/api/v1/recommendations"]).get("items", []):
        path = f"/api/v1/recommendations/{item['recommendation_id']}"
        said[path] = client.get(path).text
    for item in json.loads(said["/api/v1/alerts"]).get("items", []):
        said[f"/api/v1/alerts/{item['alert_id']}"] = client.get(f"/api/v1/alerts/{item['alert_id']}").text
    return said


def in_words(text: str, word: str, pseudonyms: set[str]) -> list[str]:
    """Items of an answer in which what the caller wrote and a pseudonym stand together."""
    if not text.startswith(("{", "[")):
        # A file with an item on each line.
        items: list[Any] = text.splitlines()
    else:
        held = json.loads(text)
        items = held["items"] if isinstance(held, dict) and isinstance(held.get("items"), list) else [held]
    return [
        one
        for one in map(json.dumps, items)
        if word in one.lower() and any(pseudonym in one for pseudonym in pseudonyms)
    ]


class Context:
    """A task's context."""

    def __init__(self, url: str, task_id: int) -> None:
        self.dsn, self.task_id = url, task_id

    def report(self, *_: object) -> None:
        pass

    def cancelled(self) -> bool:
        return False

    def check(self) -> None:
        pass


def run_waiting(url: str, names: tuple[str, ...]) -> int:
    """Do what waits of these tasks, as a worker would."""
    with connect(url, role="writer", autocommit=True) as conn:
        waiting = [one for one in tasks.list_tasks(conn, state="queued", limit=1000) if one.name in names]
        for one in waiting:
            state, result, error = "succeeded", None, None
            try:
                result = (ALERTING | SIMULATION)[one.name](one.args, Context(url, one.task_id))  # type: ignore[arg-type]
            except FlitwatchError as problem:
                state, error = "failed", {"kind": problem.kind, "message": problem.message}
            conn.execute(
                "UPDATE task SET state = %s, result = %s, error = %s WHERE task_id = %s",
                [state, json.dumps(result) if result else None, json.dumps(error) if error else None, one.task_id],
            )
    return len(waiting)


@pytest.mark.system("numeric")
def test_no_task_and_nothing_that_it_leaves_joins_a_name_with_a_pseudonym(site: Site) -> None:
    held = _pseudonyms(site)
    for caller, (name, template) in product(CALLERS, TASKS):
        client = site.clients[caller]
        for kind, real in REAL.items():
            answers = []
            for word in (real, NOBODY[kind]):
                args = (
                    template.replace("OBSERVED", json.dumps(OBSERVED)).replace("{}", word) if template != "{}" else "{}"
                )
                body = f'{{"name": {json.dumps(name.replace("{}", word))}, "args": {args}}}'
                request = {"url": "/api/v1/tasks", "content": body, "headers": {"Content-Type": "application/json"}}
                answers.append(asked(client, "post", word, NOBODY[kind], request))
            assert answers[0] == answers[1], (name, args)
            assert not any(pseudonym in answers[0] for pseudonym in held)
    assert run_waiting(site.url, ("routing.advice", "alerting.test")) > 10
    for other in CALLERS:
        for path, text in listings(site.clients[other]).items():
            for real in REAL.values():
                assert in_words(text, real, held) == [], (other, path)


def test_the_names_are_there_for_who_sees_names(site: Site) -> None:
    """Or the tests above would compare nothing with nothing."""
    with connect(site.url, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        sees = bearer(people.add_token(conn, "otto", "t", ["read", "names"])[1])
    everything = listings(httpx.Client(base_url=site.served.url, headers=sees, timeout=30))
    for path in (
        "/api/v1/jobs",
        "/api/v1/alerts",
        "/api/v1/alerts/rules",
        "/api/v1/alerts/silences",
        "/api/v1/recommendations",
        "/api/v1/tasks",
    ):
        assert "alice" in everything[path], path
    below = listings(site.clients["viewer"])
    # Runs and estimates name executables without folders, and tasks about machines what their authors wrote.
    assert [path for path, text in below.items() if "alice" in text and path != "/api/v1/tasks"] == []
    assert any(one in text for text in below.values() for one in _pseudonyms(site))
