"""Shared work for many viewers: shared answers, immediately visible changes, and answers that are never shared."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest
from support.waiting import eventually

from api.conftest import Served, bearer, serving
from api.database import T0, SampleDatabase
from api.streams import START, count, following, take, tell, wait_until_listening
from flitwatch_api import shared_answers
from flitwatch_api.answers import CachedAnswer, cache_json
from flitwatch_api.fabric import topology
from flitwatch_api.settings import Settings
from flitwatch_api.shared_answers import OF_COUNTERS, OF_EVERYTHING, SharedAnswers
from flitwatch_db import connect
from flitwatch_db.core.events import Event
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.people import accounts as people
from flitwatch_domain.generators import build_dragonfly

VIEWERS = 24


class Statements:
    """The statements that this process sends on asynchronous connections."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def about(self, table: str) -> int:
        """How many of them name a table."""
        return sum(table in text for text in self.sent)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    seen, execute = Statements(), psycopg.AsyncCursor.execute

    async def noted(self: Any, query: Any, *given: Any, **more: Any) -> Any:
        text = query if isinstance(query, str | bytes) else query.as_string(self)
        seen.sent.append(text if isinstance(text, str) else text.decode())
        return await execute(self, query, *given, **more)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noted)
    return seen


def at_once(api: Served, paths: list[str], headers: list[dict[str, str]] | None = None) -> list[httpx.Response]:
    """Answers of requests that are sent together, each on a connection of its own."""
    together = threading.Barrier(len(paths))

    def ask(path: str, given: dict[str, str]) -> httpx.Response:
        with httpx.Client(base_url=f"{api.url}/api/v1", timeout=60) as client:
            together.wait()
            return client.get(path, headers=given)

    with ThreadPoolExecutor(len(paths)) as pool:
        return list(pool.map(ask, paths, headers or [{}] * len(paths)))


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    "path",
    [
        "tree/stalls?window=60s",
        "tree/stalls/links?window=60s",
        f"small/matrix?from={T0}&to={T0 + 120}",
        "tree/overview",
    ],
)
def test_many_viewers_cause_the_statements_of_one(
    database: SampleDatabase, statements: Statements, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    # A slow machine may take its time over all of them.
    monkeypatch.setattr(shared_answers, "KEPT_S", 1e6)
    monkeypatch.setattr(topology, "REACH_S", 1e6)
    tables = ("port_10s", "router_1s", "FROM gap")

    def cost(viewers: int) -> list[int]:
        with serving(Settings(db=database.url, web=None)) as api:
            wait_until_listening(api)
            # Topology and reach are known to all of them.
            for fabric in ("tree", "small"):
                api.get(f"/fabrics/{fabric}/timeseries", routers="1", points=2)
            statements.sent.clear()
            answers = at_once(api, [f"/fabrics/{path}"] * viewers)
            assert {answer.status_code for answer in answers} == {200}
            assert (
                len({answer.content for answer in answers}) == len({answer.headers["etag"] for answer in answers}) == 1
            )
            return [statements.about(table) for table in tables]

    alone = cost(1)
    assert sum(alone) > 0
    assert cost(VIEWERS) == alone


def test_an_answer_that_the_caller_has_is_not_sent_again(api: Served) -> None:
    for path, accept in (("/stalls", "application/json"), ("/frames?step=10", "application/octet-stream")):
        first = api.http.get(f"/api/v1/fabrics/small{path}", headers={"Accept": accept})
        again = api.http.get(
            f"/api/v1/fabrics/small{path}", headers={"Accept": accept, "If-None-Match": first.headers["etag"]}
        )
        assert first.status_code == 200 and (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"] and "accept-encoding" in again.headers["vary"].lower()
    frames = api.http.get("/api/v1/fabrics/small/frames?step=10", headers={"Accept": "application/json"})
    assert frames.headers["content-type"] == "application/json" and frames.json()["step_s"] >= 10
    assert frames.headers["etag"] != first.headers["etag"] and "accept," in frames.headers["vary"].lower()


@pytest.fixture
def live(embedded_db: str) -> Iterator[tuple[Served, int]]:
    """A site that has counted one router in its first minute, and the fabric's number."""
    with connect(embedded_db, role="writer") as conn:
        fabric_id = begin(conn)
    with serving(Settings(db=embedded_db, web=None)) as api:
        wait_until_listening(api)
        yield api, fabric_id


def begin(conn: psycopg.Connection) -> int:
    """A fabric of which one router was counted in one second; its number."""
    made = build_dragonfly(2, 2, 2, blue_routers=1, blue_cables=1, black_cables=1, endpoints_per_router=1, name="live")
    fabric_id = fabrics.save_fabric(conn, made)
    count(conn, fabric_id, 5, 10)
    tell(conn, fabric_id)
    return fabric_id


def begin_job(conn: psycopg.Connection, fabric_id: int) -> None:
    """Alice's job on one node."""
    row = conn.execute(
        "INSERT INTO job (cluster, job_id, user_name, name, start_ts, state, nodes)"
        " VALUES ('c', '1', 'alice', 'secret-app', to_timestamp(%s), 'RUNNING', 1) RETURNING job_pk",
        [START + 10],
    ).fetchone()
    assert row is not None
    conn.execute("INSERT INTO job_node (job_pk, node, fabric_id, router) VALUES (%s, 'n1', %s, 1)", [row[0], fabric_id])


@pytest.mark.system("processes")
def test_what_the_writer_tells_of_is_seen_at_once(
    live: tuple[Served, int], embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, fabric_id = live
    # Only events end an answer here.
    monkeypatch.setattr(shared_answers, "KEPT_S", 1e6)

    def flits() -> float:
        return api.get("/fabrics/live/stalls", at=START + 60, window="60s")["routers"]["flits"][0]

    total = 10.0
    assert flits() == total
    with following(api) as lines, connect(embedded_db, role="writer", autocommit=True) as conn:
        for second in range(6, 26):
            with conn.transaction():
                count(conn, fabric_id, second, 7)
                number = tell(conn, fabric_id, late_from=datetime.fromtimestamp(START, UTC).isoformat())
            assert take(lines, 1)[0][0] == number
            total += 7
            assert flits() == total


def test_what_nobody_tells_of_is_seen_soon(live: tuple[Served, int], embedded_db: str) -> None:
    api, fabric_id = live

    def flits() -> float:
        return api.get("/fabrics/live/stalls", at=START + 120, window="60s")["routers"]["flits"]

    assert flits() == []
    with connect(embedded_db, role="writer") as conn:
        count(conn, fabric_id, 70, 3)
    eventually(lambda: flits() == [3], what="the flits of the new counters", detail=flits)


@pytest.mark.system("processes")
def test_nobody_is_given_what_another_may_see(embedded_db: str) -> None:
    """One overview, asked at once by an operator, by viewers who see pseudonyms (one the job's own user), and by callers who may see nothing."""
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fabric_id = begin(conn)
        begin_job(conn, fabric_id)
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        secrets = {}
        for name, role in (("otto", "operator"), ("anna", "viewer"), ("alice", "viewer")):
            people.add_account(conn, name, role)
            scopes = ["read", "names"] if role == "operator" else ["read"]
            secrets[name] = bearer(people.add_token(conn, name, name, scopes)[1])
        secrets["tasks"] = bearer(people.add_token(conn, "otto", "tasks", ["tasks"])[1])
    who = ["otto", "anna", "alice", "tasks", "nobody"] * 4
    path = f"/fabrics/live/overview?from={START}&to={START + 60}&points=20"
    with serving(Settings(db=embedded_db, web=None, api_anonymous="none")) as api:
        wait_until_listening(api)
        for _ in range(2):
            answers = at_once(api, [path] * len(who), [secrets.get(name, {}) for name in who])
            for name, answer in zip(who, answers, strict=True):
                if name in ("tasks", "nobody"):
                    assert answer.status_code == (401 if name == "nobody" else 403)
                    continue
                (mark,) = answer.json()["marks"]
                assert ("alice" in mark["text"]) == (name != "anna"), name
                assert ("secret-app" in mark["text"]) == (name != "anna"), name


@pytest.mark.system("processes")
def test_jobs_stay_hidden_alongside_who_sees_them(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn:
        people.add_account(conn, "otto", "operator")
        operator = bearer(people.add_token(conn, "otto", "t", ["read", "names"])[1])
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        fabric_id = begin(conn)
        begin_job(conn, fabric_id)
    settings = Settings(db=embedded_db, web=None, api_anonymous="viewer", api_jobs_below_names="hidden")
    path = f"/fabrics/live/overview?from={START}&to={START + 60}&points=20"
    with serving(settings) as api:
        wait_until_listening(api)
        seen, hidden = at_once(api, [path, path], [operator, {}])
        assert len(seen.json()["marks"]) == 1 and hidden.json()["marks"] == []


@pytest.mark.system("processes")
def test_an_error_is_reported_to_all_who_wait_and_not_kept(database: SampleDatabase, statements: Statements) -> None:
    settings = Settings(db=database.url, web=None, api_statement_timeout_ms=500)
    path = f"/fabrics/tree/stalls?at={T0 + 120}&window=60s"
    with serving(settings) as api, ExitStack() as stack:
        wait_until_listening(api)
        api.get("/fabrics/tree/timeseries", routers="1", points=2)
        locked = stack.enter_context(connect(database.url, role="owner"))
        locked.execute("LOCK TABLE port_10s IN ACCESS EXCLUSIVE MODE")
        statements.sent.clear()
        assert {answer.status_code for answer in at_once(api, [path] * 6)} == {413}
        assert statements.about("port_10s") == 1
        locked.rollback()
        assert api.http.get(f"/api/v1{path}").status_code == 200


def event(kind: str, **payload: object) -> Event:
    return Event(1, datetime.now(UTC), kind, payload)


async def test_work_from_before_an_event_is_neither_joined_nor_kept() -> None:
    answers, goes_on, made = SharedAnswers(1 << 20, lambda: True), asyncio.Event(), [0]

    async def work() -> CachedAnswer:
        made[0] += 1
        number = made[0]
        await goes_on.wait()
        return cache_json({"number": number})

    def ask(of: int = 1) -> asyncio.Task[CachedAnswer]:
        return asyncio.create_task(answers.get(("stalls", of), of, OF_COUNTERS, work))

    first, same, other = ask(), ask(), ask(2)
    await asyncio.sleep(0)
    answers.on_event(event("counters", fabric_id=1))
    answers.on_event(event("job", job_pk=7))
    later, unchanged = ask(), ask(2)
    await asyncio.sleep(0)
    goes_on.set()
    assert (await first).body == (await same).body == cache_json({"number": 1}).body
    assert (await other).body == (await unchanged).body == cache_json({"number": 2}).body
    assert (await later).body == (await ask()).body == cache_json({"number": 3}).body
    assert made == [3]


async def test_events_that_name_no_fabric_change_what_shows_them() -> None:
    answers, made = SharedAnswers(1 << 20, lambda: True), [0]

    async def work() -> CachedAnswer:
        made[0] += 1
        return cache_json(made[0])

    for kind in ("gap", "job", "routes", "counters", "fabric"):
        before = await answers.get("overview", 1, OF_EVERYTHING, work)
        answers.on_event(event(kind))
        assert await answers.get("overview", 1, OF_EVERYTHING, work) != before
    before = await answers.get("overview", 1, OF_EVERYTHING, work)
    answers.on_event(event("task", task_id=3))
    assert await answers.get("overview", 1, OF_EVERYTHING, work) == before


async def test_work_outlives_the_caller_who_began_it() -> None:
    answers, goes_on = SharedAnswers(1 << 20, lambda: True), asyncio.Event()

    async def work() -> CachedAnswer:
        await goes_on.wait()
        return cache_json("done")

    first, second = (asyncio.create_task(answers.get("key", 1, OF_COUNTERS, work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    goes_on.set()
    assert (await second).body == cache_json("done").body


async def test_answers_are_bounded_by_bytes_and_the_oldest_go_first() -> None:
    size = cache_json("x" * 1000).bytes
    answers, made = SharedAnswers(3 * size, lambda: True), []

    def work(name: str):
        async def make() -> CachedAnswer:
            made.append(name)
            return cache_json(name * 1000)

        return make

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        await answers.get(name, 1, OF_COUNTERS, work(name))
        assert answers.bytes <= 3 * size
    assert made == ["a", "b", "c", "d", "b"]
    big = await answers.get("big", 1, OF_COUNTERS, lambda: _later(cache_json(list(range(10_000)))))
    assert big.bytes > 3 * size and answers.bytes <= 3 * size


async def _later(answer: CachedAnswer) -> CachedAnswer:
    return answer


async def test_nothing_is_kept_while_events_are_not_heard() -> None:
    answers, made = SharedAnswers(1 << 20, lambda: False), [0]

    async def work() -> CachedAnswer:
        made[0] += 1
        return cache_json(made[0])

    for number in (1, 2):
        assert (await answers.get("key", 1, OF_COUNTERS, work)).body == cache_json(number).body
    assert answers.bytes == 0
