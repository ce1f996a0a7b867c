"""A signed cookie distinguishes callers without a login: each visit can see, list and cancel only its own tasks."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.databases import Server

from api.conftest import Served, bearer, serving
from api.estimates import add_measured_machine
from flitwatch_api.people.visits import KIND, CookieSigner
from flitwatch_api.platform import Platform
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.estimates import recommendations
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.jobs import Job

COUNT = {"name": "demo.count", "args": {"to": 1, "delay_s": 0}}
COOKIE = "flitwatch-visit"
EACH, TOGETHER = 3, 7


@pytest.fixture
def site(_embedded_template: Server) -> Iterator[tuple[Served, str]]:
    url = _embedded_template.create()
    with serving(Settings(db=url, web=None, api_tasks_visit=EACH, api_tasks_anonymous=TOGETHER)) as api:
        yield api, url
    _embedded_template.drop(url)


def visitor(api: Served, cookie: str | None = None) -> httpx.Client:
    return httpx.Client(base_url=api.url, timeout=20, cookies={} if cookie is None else {COOKIE: cookie})


def started(client: httpx.Client) -> int:
    answer = client.post("/api/v1/tasks", json=COUNT)
    assert answer.status_code == 202, answer.text
    return answer.json()["task_id"]


def listed(client: httpx.Client) -> list[int]:
    return [one["task_id"] for one in client.get("/api/v1/tasks").json()["items"]]


def test_two_visits_neither_see_nor_cancel_one_anothers_tasks(site: tuple[Served, str]) -> None:
    api, url = site
    with visitor(api) as ann, visitor(api) as ben, visitor(api) as nobody:
        anns, bens = started(ann), started(ben)
        assert listed(ann) == [anns] and listed(ben) == [bens] and listed(nobody) == []
        for other in (ben, nobody):
            assert other.get(f"/api/v1/tasks/{anns}").status_code == 404
            assert other.post(f"/api/v1/tasks/{anns}/cancel").status_code == 404
        assert ann.get(f"/api/v1/tasks/{anns}").json()["created_by"] == "anonymous"
        assert ann.post(f"/api/v1/tasks/{anns}/cancel").json()["state"] == "cancelled"
    with connect(url, role="gate", autocommit=True) as conn:
        for name, role in (("una", "user"), ("otto", "operator")):
            people.add_account(conn, name, role)
        una, otto = (bearer(people.add_token(conn, name, "t", ["read", "tasks"])[1]) for name in ("una", "otto"))
        oversees = bearer(people.add_token(conn, "otto", "t", ["read", "tasks", "operate"])[1])
    assert api.http.get("/api/v1/tasks", headers=una).json()["items"] == []
    assert api.http.get("/api/v1/tasks", headers=otto).json()["items"] == []
    seen = api.http.get("/api/v1/tasks", headers=oversees).json()["items"]
    assert {one["task_id"] for one in seen} == {anns, bens}
    assert api.http.post(f"/api/v1/tasks/{bens}/cancel", headers=oversees).status_code == 202


@pytest.mark.system("processes")
def test_the_address_of_a_simulation_can_be_shared_with_another_visit(site: tuple[Served, str]) -> None:
    api, _ = site
    study = {"name": "sim.study", "args": {"study": "hoefler-table1"}}
    with visitor(api) as ann, visitor(api) as ben:
        answer = ann.post("/api/v1/tasks", json=study)
        assert answer.status_code == 202, answer.text
        task = answer.json()["task_id"]
        read = ben.get(f"/api/v1/tasks/{task}")
        assert read.status_code == 200 and read.json()["args"]["study"] == "hoefler-table1"
        assert listed(ben) == [] and ben.post(f"/api/v1/tasks/{task}/cancel").status_code == 403


@pytest.mark.system("processes")
def test_names_of_a_simulated_machine_are_plain_and_a_visits_mark_is_not(site: tuple[Served, str]) -> None:
    api, url = site
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, build_xgft(2, [2, 2], [1, 1]))
        job = Job(job_id="1", cluster="c", user="ann", name="amg", state="RUNNING", start_s=1e9, simulated=True)
        jobs.upsert_jobs(conn, [job], fabric_id)
    with visitor(api) as ann:
        task = started(ann)
        assert ann.get(f"/api/v1/tasks/{task}").json()["created_by"] == "anonymous"
        assert ann.get("/api/v1/jobs/1").json()["user"] == "ann"
        with connect(url, role="writer") as conn:
            add_measured_machine(conn)
        assert ann.get("/api/v1/jobs/1").json()["user"] != "ann", "people of a real machine have pseudonyms"


def test_what_a_visits_tasks_leave_is_its_own(site: tuple[Served, str]) -> None:
    api, url = site
    with visitor(api) as ann, visitor(api) as ben:
        task, _ = started(ann), started(ben)
        detail = dict.fromkeys(("before", "after", "reconstruction", "routes")) | {
            "why": [],
            "alternatives": [],
            "parameters": {},
        }
        with connect(url, role="writer") as conn:
            recommendations.save_recommendation(
                conn, recommendations.Recommendation("routing_mode", "refused", "t", "r", detail, False, task_id=task)
            )
            point = {
                "topology": "torus:4",
                "routing": "dor",
                "pattern": "ring",
                "semantics": "orcs",
                "ratio": 0.5,
                "runs": 2,
                "endpoints": 4,
                "slowdown": {"mean": 1.0, "ci95": [1.0, 1.0]},
            }
            conn.execute(
                "UPDATE task SET name = 'sim.collective', state = 'succeeded', finished_at = now(), result = %s WHERE task_id = %s",
                [json.dumps(point), task],
            )
        for place in ("recommendations", "noise/simulated"):
            assert len(ann.get(f"/api/v1/{place}").json()["items"]) == 1, place
            assert ben.get(f"/api/v1/{place}").json()["items"] == [], place


def test_the_cookie_is_for_this_site_alone_and_not_for_scripts(site: tuple[Served, str]) -> None:
    api, _ = site
    with visitor(api) as ann:
        assert "set-cookie" not in ann.get("/api/v1/tasks").headers
        said = ann.post("/api/v1/tasks", json=COUNT).headers["set-cookie"].lower()
        assert said.startswith(COOKIE) and "httponly" in said and "samesite=lax" in said and "max-age=2592000" in said
        assert "set-cookie" not in ann.post("/api/v1/tasks", json=COUNT).headers
        refused = ann.post("/api/v1/tasks", json={"name": "demo.count", "args": {"to": -1}})
        assert refused.status_code == 422
    elsewhere = httpx.post(f"{api.url}/api/v1/tasks", json=COUNT, headers={"Host": "site.example"})
    assert elsewhere.headers["set-cookie"].startswith("__Host-flitwatch-visit=")
    assert "secure" in elsewhere.headers["set-cookie"].lower()


@pytest.mark.system("processes")
def test_forged_and_expired_cookies_are_none(site: tuple[Served, str]) -> None:
    api, url = site

    async def sealed() -> list[str]:
        platform = Platform(Settings(db=url))
        cookies = CookieSigner(platform)
        return [await cookies.sign(KIND, "a", -10), await cookies.sign("known", "a", 60)]

    with visitor(api) as ann:
        task = started(ann)
        good = ann.cookies[COOKIE]
        head, claims, mark = good.split(".")
        held = json.loads(base64.urlsafe_b64decode(claims + "=="))
        no_mark = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        later = base64.urlsafe_b64encode(json.dumps({**held, "exp": 2**40}).encode()).decode().rstrip("=")
        expired, other_kind = asyncio.run(sealed())
        forged = ["", "x", "a.b.c", f"{no_mark}.{claims}.", f"{head}.{later}.{mark}", good[:-2], expired, other_kind]
        for cookie in forged:
            with visitor(api, cookie) as mallory:
                assert mallory.get(f"/api/v1/tasks/{task}").status_code == 404, cookie
                assert listed(mallory) == []
        with visitor(api, good) as ann_again:
            assert listed(ann_again) == [task]
        # Whoever starts something with such a cookie gets a new one.
        with visitor(api, expired) as late:
            assert "set-cookie" in late.post("/api/v1/tasks", json=COUNT).headers


@pytest.mark.system("processes")
def test_who_drops_the_cookie_gains_nothing(site: tuple[Served, str]) -> None:
    api, _ = site
    with visitor(api) as ann:
        tasks = [started(ann) for _ in range(EACH)]
        over = ann.post("/api/v1/tasks", json=COUNT)
        assert over.status_code == 429 and "the limit api_tasks_visit is 3" in over.json()["detail"]
        for one in tasks:
            ann.post(f"/api/v1/tasks/{one}/cancel")
    # At the same moment, too: what is counted stays so until the task is stored.
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: httpx.post(f"{api.url}/api/v1/tasks", json=COUNT, timeout=30), range(16)))
    assert sorted(one.status_code for one in answers) == [202] * EACH + [429] * (16 - EACH)
    assert all(
        int(one.headers["retry-after"]) > 0 and "set-cookie" not in one.headers
        for one in answers
        if one.status_code == 429
    )


@pytest.mark.system("processes")
def test_all_visits_together_have_a_limit(site: tuple[Served, str]) -> None:
    api, url = site
    with visitor(api) as ann, visitor(api) as ben:
        for client in (ann, ben):
            for _ in range(EACH):
                started(client)
        with connect(url, role="writer") as conn:
            # Somebody at another address.
            conn.execute(
                "UPDATE task SET created_by = 'anonymous/elsewhere/1' WHERE task_id = (SELECT min(task_id) FROM task)"
            )
        started(ann)
        with connect(url, role="writer") as conn:
            conn.execute(
                "UPDATE task SET created_by = 'anonymous/elsewhere/2' WHERE task_id = (SELECT max(task_id) FROM task)"
            )
        over = ann.post("/api/v1/tasks", json=COUNT)
        assert over.status_code == 429 and f"the limit api_tasks_anonymous is {TOGETHER}" in over.json()["detail"]


def test_no_account_is_called_like_a_visit(embedded_db: str) -> None:
    with connect(embedded_db, role="gate", autocommit=True) as conn, pytest.raises(BadRequest):
        people.add_account(conn, "anonymous/0/1", "user")
