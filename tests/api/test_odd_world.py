"""The API over a database full of records that nobody would send: every page of data answers, whoever asks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from api.conftest import Served, bearer, serving
from flitwatch_api.app import create_app
from flitwatch_api.description import render_description
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.people import accounts as people
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from ingest import odd

pytestmark = pytest.mark.integration

#: Where the identities that fill a path stand in the answers of lists.
IDENTITIES = (
    "job_pk",
    "run_id",
    "job_id",
    "user",
    "exe",
    "application",
    "name",
    "node",
    "router",
    "cluster",
    "schema_id",
    "dead_letter_id",
)


@pytest.fixture(
    params=["viewer", *(pytest.param(who, marks=pytest.mark.system("processes")) for who in ("operator", "names"))]
)
def asking(request: pytest.FixtureRequest, embedded_db: str, topic: str) -> Iterator[tuple[Served, dict[str, str]]]:
    rng = random.Random(7)
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="odd"))
    odd.publish(embedded_db, odd.records(rng, topic), rng)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=120)
    headers: dict[str, str] = {}
    if request.param == "names":
        with connect(embedded_db, role="gate", autocommit=True) as conn:
            people.add_account(conn, "ada", "admin")
            scopes = ["read", "names", "operate", "tasks", "advice", "admin"]
            headers = bearer(people.add_token(conn, "ada", "test", scopes)[1])
    anonymous = "operator" if request.param == "operator" else "viewer"
    with serving(Settings(db=embedded_db, web=None, api_anonymous=anonymous)) as served:
        yield served, headers


def found_in(answer: Any, into: dict[str, set[Any]]) -> None:
    """Collect identities from an answer."""
    if isinstance(answer, list):
        for one in answer:
            found_in(one, into)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            if key in IDENTITIES and isinstance(value, str | int):
                into.setdefault(key, set()).add(value)
            found_in(value, into)


def test_every_read_answers_over_odd_records(asking: tuple[Served, dict[str, str]]) -> None:
    served, headers = asking
    described = json.loads(render_description(create_app(Settings(web=None))))
    paths = [path for path, methods in described["paths"].items() if "get" in methods and not path.endswith("/events")]
    known: dict[str, set[Any]] = {"fabric": {"odd"}}
    failed: dict[str, str] = {}
    asked = 0

    def ask(path: str) -> None:
        nonlocal asked
        asked += 1
        answer = served.http.get(path, headers=headers)
        if answer.status_code >= 500 and answer.status_code != 503:
            failed[path] = answer.text[:300]
        elif answer.headers.get("content-type", "").startswith("application/json"):
            found_in(answer.json(), known)

    for path in sorted(paths, key=lambda path: path.count("{")):
        if "{" not in path:
            ask(path)
            ask(f"{path}?limit=500")
            continue
        names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
        if len(names) == 1:
            for value in sorted(known.get(names[0], {1}), key=str)[:40]:
                ask(path.replace(f"{{{names[0]}}}", str(value)))
    for query in (
        "search?q=odd",
        "search?q=%E4%B8%80",
        "fabrics/odd/timeseries?routers=0,1",
        "jobs?user=u",
        "ingest/dead-letters?limit=500",
    ):
        ask(f"/api/v1/{query}")
    assert failed == {} and asked > 100
