"""The API description is current. Answers conform to it and never fail for any request.

`FUZZ_API_EXAMPLES` sets the number of random requests per operation; the default is eight, always the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.pytest._test_builder import build_operation_test
from support.databases import Server

from api.conftest import Served, serving
from api.database import SampleDatabase, seed
from flitwatch_api import app, openapi
from flitwatch_api.app import create_app
from flitwatch_api.settings import Settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "contracts" / "openapi.json"
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")

EXAMPLES = os.environ.get("FUZZ_API_EXAMPLES")

load_all_checks()
# The event stream has no end; it has tests of its own.
ENDLESS = "/api/v1/events"
#: Method and path of each operation, from the committed description: workers that collect the tests need no application.
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, item in json.loads(DOCUMENT.read_bytes())["paths"].items()
    for method in item
    if path != ENDLESS
]
#: Its body is any task's: drawing eight of them takes a minute.
STARTING_TASKS = "POST /api/v1/tasks"


@pytest.fixture(scope="module")
def schema() -> schemathesis.schemas.BaseSchema:
    """The application's description, as Schemathesis reads it."""
    generation = GenerationConfig(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    config = SchemathesisConfig(projects=ProjectsConfig(default=ProjectConfig(generation=generation)))
    return schemathesis.openapi.from_dict(create_app(Settings(web=None)).openapi(), config=config)


def test_the_description_in_the_contracts_is_current() -> None:
    assert openapi.render_description(create_app(Settings(web=None))) == DOCUMENT.read_bytes(), (
        "run: python -m flitwatch_api.app > docs/contracts/openapi.json"
    )


def test_each_former_path_is_described_like_its_successor() -> None:
    operations = {
        path: item["get"] for path, item in json.loads(DOCUMENT.read_bytes())["paths"].items() if "get" in item
    }
    described = {
        path: [one.get(key) for key in ("description", "parameters", "responses")] for path, one in operations.items()
    }
    former = [path for path, one in operations.items() if one.get("deprecated")]
    current = [described[path] for path in operations if path not in former]
    assert len(former) >= 8 and [path for path in former if described[path] not in current] == []


def test_the_description_is_served(api: Served) -> None:
    for encoding in ("gzip", "identity"):
        answer = api.http.get("/openapi.json", headers={"Accept-Encoding": encoding})
        assert answer.content == DOCUMENT.read_bytes()
        assert answer.headers.get("Content-Encoding", "identity") == encoding


def test_the_document_is_made_once(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests for it have no limit, and making it takes a quarter of a second."""
    api.http.get("/openapi.json")
    monkeypatch.setattr(app, "render_description", lambda _: pytest.fail("it is made again"))
    assert api.http.get("/openapi.json").status_code == 200


@pytest.fixture(scope="module")
def fuzzed(_embedded_template: Server, site: Path) -> Iterator[tuple[Served, SampleDatabase]]:
    """A database of its own: generated requests begin tasks, write rules and log people in and out."""
    url = _embedded_template.create()
    database = seed(url)
    with serving(Settings(db=url, web=site, api_anonymous="operator")) as served:
        yield served, database
    _embedded_template.drop(url)


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(each, marks=pytest.mark.system("numeric")) if each == STARTING_TASKS else each
        for each in OPERATIONS
    ],
)
@pytest.mark.timeout(7200)
def test_no_input_makes_an_answer_fail_or_differ_from_its_description(
    operation: str, schema: schemathesis.schemas.BaseSchema, fuzzed: tuple[Served, SampleDatabase]
) -> None:
    api, database = fuzzed
    method, path = operation.split()
    # Generated names find nothing; half of the cases are about things that are there.
    there = {"fabric": "small", "run_id": database.run_ids[0], "job_id": "100", "router": 3, "number": 1}

    @settings(
        max_examples=int(EXAMPLES or 8),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=EXAMPLES is None,
    )
    def holds(case: schemathesis.Case) -> None:
        if len(str(case.query)) % 2:
            for name in set(case.path_parameters or ()) & set(there):
                case.path_parameters[name] = there[name]
        # A line of more than 64 KB is refused by the HTTP server itself, before the API sees it.
        assume(len(urlencode(case.query or {}, doseq=True)) <= 60_000)
        case.call_and_validate(
            base_url=api.url, timeout=60, checks=[check for check in CHECKS.get_all() if check.__name__ in CHECKED]
        )

    # `SCHEMA.parametrize()` has one id for all operations under pytest 9.2, so that none can run alone.
    build_operation_test(
        config=schema.config, operation=schema[path][method], test_func=holds, given_kwargs={}, feedback=NO_FEEDBACK
    )()


@pytest.mark.parametrize("fabric", ["small", "still", "tree"])
def test_every_kind_of_fabric_answers_as_described(
    api: Served, schema: schemathesis.schemas.BaseSchema, fabric: str
) -> None:
    for path in (
        "",
        "/routers",
        "/links",
        "/endpoints",
        "/stalls",
        "/stalls/links",
        "/lanes",
        "/matrix",
        "/overview",
        "/frames",
        "/occupancy",
        "/routers/1",
        "/timeseries",
    ):
        operation = schema[f"/api/v1/fabrics/{{fabric}}{path.replace('/routers/1', '/routers/{router}')}"]["GET"]
        case = operation.Case(
            path_parameters={"fabric": fabric, "router": 1},
            query={"/timeseries": {"routers": "all"}, "/lanes": {"endpoint": 0}}.get(path, {}),
        )
        answer = case.call(base_url=api.url)
        assert answer.status_code == 200
        operation.validate_response(answer)
