"""OpenAPI document as text, with the access requirements of each endpoint."""

from __future__ import annotations

import json
from typing import Any, TypedDict, cast

from fastapi import FastAPI

from flitwatch_api.people.access import CHANGES, ROLE, SCOPE, Requirement, requirement_of
from flitwatch_api.problems import MEDIA_TYPE

BASE = "/api/v1"


def render_description(app: FastAPI) -> bytes:
    """Return the OpenAPI document with a stable order."""
    return (json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n").encode()


class _Document(TypedDict):
    """Parts of an OpenAPI document that are completed here: operations by path and method, and components by kind and name."""

    paths: dict[str, dict[str, dict[str, Any]]]
    components: dict[str, dict[str, dict[str, str]]]


def describe_access(app: FastAPI) -> None:
    """Add each endpoint's access requirements to the OpenAPI document, and the responses to callers who lack them."""
    plain = app.openapi

    def complete() -> _Document:
        is_complete = app.openapi_schema is not None
        document = cast(_Document, plain())
        if is_complete:
            return document
        document["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "flitwatch tokens create"},
            "session": {"type": "apiKey", "in": "cookie", "name": "__Host-flitwatch-session"},
        }
        for path, item in document["paths"].items():
            if path.startswith(BASE):
                for method, operation in item.items():
                    _complete_operation(operation, requirement_of({method.upper()}, operation))
        return document

    app.openapi = complete  # type: ignore[assignment, method-assign]


def _complete_operation(operation: dict[str, Any], need: Requirement) -> None:
    operation.update({ROLE: need.role, SCOPE: need.scope, CHANGES: need.changes})
    answers = {"429": "Too many requests; Retry-After gives the time to wait", "401": "A login or a token is required"}
    if need.role != "anyone":
        operation["security"] = [{"token": []}, {"session": []}]
        answers["403"] = "Not allowed with this role or scope"
    else:
        operation["security"] = []
        answers["403"] = "Not from here"
    for status, words in answers.items():
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        operation["responses"].setdefault(status, {"description": words, "content": content})
