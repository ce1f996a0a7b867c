"""Services of the API return models, and models are written as JSON as they were given."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from flitwatch_api.answers import dump, shape

API = Path(__file__).parents[2] / "services" / "api" / "flitwatch_api"
UNTYPED = "dict[str, Any]"
#: What is no answer of ours: a model on its way to JSON, OpenAPI's own extras, claims of an identity provider, events and arguments whose fields their kind decides.
NO_ANSWERS = {
    "answers.py": {"_fields"},
    "description.py": {"complete"},
    "events/hub.py": {"_public"},
    "people/access.py": {"requires"},
    "people/oidc.py": {"_claims"},
    "refusals.py": {"public"},
    "tasks/http.py": {"_meant"},
}


class Inner(BaseModel):
    """A model with a field whose name is a keyword."""

    class_: str = Field(alias="class")
    note: str | None = None


class Outer(BaseModel):
    """A model with a column."""

    values: list[float | None]
    inner: Inner | None
    inners: list[Inner]


def untyped(path: Path) -> set[str]:
    """Functions of a file whose result is, or holds, a dictionary of anything."""
    functions = (
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return {function.name for function in functions if function.returns and UNTYPED in ast.unparse(function.returns)}


def test_functions_of_the_api_return_models() -> None:
    found = {str(path.relative_to(API)): untyped(path) for path in sorted(API.rglob("*.py"))}
    assert {name: functions for name, functions in found.items() if functions} == NO_ANSWERS


def test_a_model_is_written_as_it_was_given() -> None:
    row = {"class": "green", "of another version": 1}
    given = shape(
        Outer,
        values=np.array([1.5, np.nan]),
        inner=None,
        inners=[shape(Inner, row), Inner(**{"class": "b"}, note=None)],
    )
    assert dump(given) == b'{"values":[1.5,null],"inner":null,"inners":[{"class":"green"},{"class":"b","note":null}]}'


def test_a_kept_integer_stays_an_integer_and_one_beyond_64_bits_becomes_a_float() -> None:
    assert dump(shape(Outer, values=[1, 2.0], inners=[])) == b'{"values":[1,2.0],"inners":[]}'
    assert (
        dump({"a": shape(Outer, values=[1 << 70], inners=[])})
        == b'{"a":{"values":[1.1805916207174113e+21],"inners":[]}}'
    )
