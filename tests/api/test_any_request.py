"""Schemathesis over the whole OpenAPI: no request makes the service fail. `FUZZ_API_EXAMPLES` requests an operation, drawn anew
each time; without it twenty, always the same."""

from __future__ import annotations

import os

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error

from api.conftest import Served
from flitwatch_api.app import create_app
from flitwatch_api.description import text
from flitwatch_api.settings import Settings

EXAMPLES = os.environ.get("FUZZ_API_EXAMPLES")
schema = schemathesis.openapi.from_file(text(create_app(Settings(web=None))).decode())


@schema.exclude(path_regex="/events$").parametrize()
@hypothesis.settings(
    max_examples=int(EXAMPLES or 20),
    deadline=None,
    derandomize=EXAMPLES is None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@pytest.mark.timeout(7200)
def test_no_request_makes_the_service_fail(api: Served, case: schemathesis.Case) -> None:
    answer = case.call(base_url=api.url, timeout=30)
    # Unavailable is an answer: it says what is away and when to ask again.
    if answer.status_code != 503:
        case.validate_response(answer, checks=[not_a_server_error])
