"""Errors as problem documents (RFC 9457): all exceptions are converted to responses here."""

from __future__ import annotations

import logging
import secrets
from html import escape
from typing import Any, TypeVar

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from psycopg_pool import PoolClosed, PoolTimeout
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from flitwatch_api.answers import dump_json
from flitwatch_domain.errors import FlitwatchError
from flitwatch_domain.json_logs import request_id
from flitwatch_domain.task_models.base import words_of

_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›")
_OPENED_BY = {"’": "‘", "”": "“„", "»": "«", "›": "‹"}
CUT = "…"


def without_values(text: str) -> str:
    """Return a reason without the text from its first to its last quote, and without folders.

    Values can contain quotes and can be truncated, so quote pairs cannot be matched. If the last quote may not close the first, the rest of the
    line is removed too. Lines after the first (a database's details) are removed.
    """
    line = (text.splitlines() or [""])[0]
    at = [i for i, c in enumerate(line) if c in _QUOTES]
    if at:
        first, last, rest = line[at[0]], line[at[-1]], line[at[-1] + 1 :]
        closed = len(at) % 2 == 0 and (first == last or first in _OPENED_BY.get(last, "")) and not rest[:1].isalnum()
        line = line[: at[0]] + CUT + (rest if closed else "")
    begin, end = line.find("/"), line.rfind("/")
    # From the first folder to the last, because folder names can contain blanks.
    return line if begin == end else line[:begin] + line[end + 1 :]


def without_folders(source: str) -> str:
    """Return the source of records without folders: `sacct:/home/alice/jobs.txt` as `sacct:jobs.txt`."""
    kind, colon, place = source.partition(":")
    if not (colon and kind.replace("_", "").isalnum()):
        kind, colon, place = "", "", source
    return kind + colon + place.rsplit("/", 1)[-1]


_Value = TypeVar("_Value")


def redact_record(row: dict[str, _Value]) -> dict[str, _Value | str]:
    """Return a refused record, or an event about some, without its values."""
    shown = {field: without_values(text) for field in ("reason", "where") if isinstance(text := row.get(field), str)}
    if isinstance(source := row.get("source"), str):
        shown["source"] = without_folders(source)
    return row | shown


log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
#: Addresses that browsers navigate to, where a problem is an HTML page.
NAVIGATED = "/api/v1/session/oidc"

#: Characters of a caller's text that a refusal repeats.
MOST_QUOTED = 500

TITLES = {
    "bad-request": "The request cannot be parsed",
    "invalid-parameters": "A parameter is not valid",
    "bad-input": "The input cannot be used",
    "not-found": "Not found",
    "method-not-allowed": "This address does not support that method",
    "conflict": "The current state does not allow this",
    "forbidden": "This is not allowed",
    "unauthenticated": "A login is required",
    "too-many": "Too many requests",
    "too-costly": "The request is too large",
    "unavailable": "A part of the service does not answer",
    "disk-full": "The database's disk is nearly full",
    "missing-dependency": "A component is not installed",
    "cancelled": "The work was cancelled",
    "not-enough-data": "There is not enough data",
    "internal": "The service failed",
}


class ParameterProblem(BaseModel):
    """An invalid parameter."""

    where: str = Field(description="The parameter, for example query.points.")
    detail: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="urn:flitwatch:problem: and the kind.")
    title: str
    status: int
    detail: str
    instance: str = Field(description="The requested path.")
    advice: str = Field(description="What the caller can do.")
    errors: list[ParameterProblem] | None = None


def problem_response(
    request: Request,
    status: int,
    kind: str,
    detail: str,
    advice: str,
    errors: list[dict[str, str]] | None = None,
    retry_after_s: int = 5,
) -> Response:
    """Return a problem document, or a page for a browser that navigated to the address."""
    body: dict[str, Any] = {
        "type": f"urn:flitwatch:problem:{kind}",
        "title": TITLES.get(kind, kind),
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "advice": advice or ADVICE.get(kind, "See /openapi.json for valid requests."),
    }
    if errors:
        body["errors"] = errors
    headers = {"Cache-Control": "no-store"}
    if status in (429, 503):
        headers["Retry-After"] = str(retry_after_s)
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="flitwatch"'
    if request.url.path.startswith(NAVIGATED) and "text/html" in request.headers.get("accept", ""):
        shown = problem_page(body["title"], detail, body["advice"], request_id.get() or "")
        return Response(shown, status, headers, "text/html; charset=utf-8")
    return Response(dump_json(body), status, headers, MEDIA_TYPE)


ADVICE = {
    "not-found": "Check the address and the identifier. The lists contain all items.",
    "unavailable": "No stored data are lost. Try again in a few seconds. If this continues, ask the operator to run `flitwatch doctor`.",
    "too-costly": "Request a shorter period, fewer routers or fewer points.",
    "internal": "Try again. If this continues, give the reference to the operator, whose log has the details.",
}


async def answer_known_error(request: Request, error: Exception) -> Response:
    """Answer an error of the project's error tree."""
    assert isinstance(error, FlitwatchError)
    after_s = getattr(error, "retry_after_s", 5)
    return problem_response(request, error.status, error.kind, error.message, error.advice, retry_after_s=after_s)


async def answer_invalid_request(request: Request, error: Exception) -> Response:
    """Answer parameters or a body that do not match their declaration."""
    assert isinstance(error, RequestValidationError)
    faults = [
        {
            "where": ".".join(str(part) for part in item["loc"])[:MOST_QUOTED],
            "detail": words_of(str(item["msg"]))[:MOST_QUOTED],
        }
        for item in error.errors()[:20]
    ]
    detail = "; ".join(f"{item['where']}: {item['detail']}" for item in faults[:3])
    return problem_response(
        request,
        422,
        "invalid-parameters",
        detail,
        "Correct the parameters named in `errors`. /openapi.json describes all parameters.",
        faults,
    )


_BY_STATUS = {
    404: "not-found",
    405: "method-not-allowed",
    403: "forbidden",
    409: "conflict",
    413: "too-costly",
    422: "bad-input",
    503: "unavailable",
}


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Answer errors of the framework: unknown paths, methods, malformed bodies."""
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, "bad-request")
    advice = "/openapi.json lists all addresses." if error.status_code in (404, 405) else ""
    answer = problem_response(request, error.status_code, kind, str(error.detail), advice)
    answer.headers.update(error.headers or {})
    return answer


async def answer_database_error(request: Request, error: Exception) -> Response:
    if isinstance(error, psycopg.errors.QueryCanceled):
        return problem_response(
            request, 413, "too-costly", "the query took longer than the limit api_statement_timeout_ms", ""
        )
    if isinstance(
        error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn | psycopg.errors.UndefinedFunction
    ):
        log.error("the schema belongs to another version: %s", error)
        return problem_response(
            request,
            503,
            "unavailable",
            "the database has the schema of another version",
            "Ask the operator to run `flitwatch db migrate`.",
        )
    if isinstance(error, psycopg.DataError):
        return problem_response(
            request,
            400,
            "bad-request",
            "a value cannot be represented in the database",
            "Remove NUL characters and keep numbers in range.",
        )
    # The last of these means that a request computed longer than a transaction may be idle.
    if isinstance(
        error, psycopg.OperationalError | PoolTimeout | PoolClosed | psycopg.errors.IdleInTransactionSessionTimeout
    ):
        log.warning("the database does not answer: %s", type(error).__name__)
        return problem_response(request, 503, "unavailable", "the database does not answer", "")
    return await answer_unexpected_error(request, error)


async def answer_unicode_error(request: Request, error: Exception) -> Response:
    """Answer invalid text: lone surrogates in JSON."""
    return problem_response(
        request, 400, "bad-request", "the request contains text that is not valid Unicode", "Send valid UTF-8."
    )


async def answer_unexpected_error(request: Request, error: Exception) -> Response:
    """Answer a defect: the log has the details, the caller a reference to it."""
    reference = secrets.token_hex(6)
    log.error("reference %s: %s %s failed", reference, request.method, request.url.path, exc_info=error)
    return problem_response(request, 500, "internal", f"unexpected error, reference {reference}", "")


def install_handlers(app: FastAPI) -> None:
    """Make the application answer every error with a problem document."""
    app.add_exception_handler(FlitwatchError, answer_known_error)
    app.add_exception_handler(RequestValidationError, answer_invalid_request)
    app.add_exception_handler(HTTPException, answer_http_error)
    app.add_exception_handler(psycopg.Error, answer_database_error)
    app.add_exception_handler(UnicodeError, answer_unicode_error)
    app.add_exception_handler(Exception, answer_unexpected_error)


#: For the routes' declarations.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "model": Problem,
        "description": words,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, words in (
        (400, "The request cannot be parsed"),
        (404, "Not found"),
        (413, "Over the named limit"),
        (422, "A parameter is not valid"),
        (503, "A part of the service does not answer"),
    )
}
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "The caller's copy (If-None-Match) is current."}}


#: Without scripts, and readable in both themes.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title} - Flitwatch</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 Inter, system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1.5rem; }}
h1 {{ font-size: 1.375rem; }}
small {{ opacity: .75; }}
</style></head>
<body><main><h1>{title}</h1><p>{detail}.</p><p>{advice}</p><p><a href="/login">To the login page</a></p><p><small>Request
{request}</small></p></main></body></html>
"""


def problem_page(title: str, detail: str, advice: str, request: str) -> str:
    """Return the page. All arguments are escaped as text."""
    return _PAGE.format(
        title=escape(title),
        detail=escape(detail[:1].upper() + detail[1:]),
        advice=escape(advice),
        request=escape(request),
    )
