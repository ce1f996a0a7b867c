"""Connections to the log's tables, and the errors of failed calls."""

from __future__ import annotations

import math
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from flitwatch_domain import logins
from flitwatch_domain.data_disk import DataDisk
from flitwatch_domain.errors import BadRequest, FlitwatchError, Unavailable

CHANNEL = "flitwatch_log"


CONNECT_TIMEOUT_S = 5
#: The server ends a statement of the log that takes longer, and a transaction in which nothing is asked for so long.
STATEMENT_S, STILL_S = 20, 30


def open_connection(url: str, application: str) -> psycopg.Connection[Any]:
    """Open an autocommit connection with schema `log` in its search path. Raise `Unavailable` if the server does not answer."""
    parameters, become = logins.log_in(_parse_url(url), "writer")
    role = {} if become is None else {"role": become}
    limits = {
        "statement_timeout": f"{math.ceil(STATEMENT_S * 1000)}",
        "idle_in_transaction_session_timeout": f"{math.ceil(STILL_S * 1000)}",
    }
    settings = {"search_path": "log,public", **role, "timezone": "UTC", **limits, **logins.SERVER}
    options = " ".join(
        [str(parameters.get("options") or ""), *(f"-c {key}={value}" for key, value in settings.items())]
    ).strip()
    parameters.update(options=options, application_name=application)
    parameters = {**logins.CLIENT, "connect_timeout": str(CONNECT_TIMEOUT_S), **parameters}
    try:
        return psycopg.connect(
            make_conninfo("", **{k: v for k, v in parameters.items() if v is not None}), autocommit=True
        )
    except psycopg.OperationalError as problem:
        # psycopg's traceback refers to itself, so it would keep the socket open until the next garbage collection.
        raise make_unavailable(problem.with_traceback(None)) from None
    except psycopg.errors.InvalidParameterValue as problem:
        raise make_unavailable(problem) from None


def disk_of(url: str) -> DataDisk:
    """Return the disk of the log's database."""
    return DataDisk.of(_parse_url(url))


def _parse_url(url: str) -> logins.Parameters:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise BadRequest("this is not the URL of a log", advice="Write postgresql://user@host/database.") from None


def is_lasting(problem: Exception) -> bool:
    """Check whether a failed call fails again: the server was reachable, and did not end the call for its duration."""
    passing = psycopg.OperationalError | psycopg.errors.IdleInTransactionSessionTimeout
    return isinstance(problem, psycopg.Error) and not isinstance(problem, passing)


def make_unavailable(problem: psycopg.Error) -> FlitwatchError:
    """Build the error of a failed call."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    # Behind a server's own message stands where in its functions it was; in front of a client's, which servers were tried.
    detail = problem.diag.message_primary or (lines[-1] if lines else type(problem).__name__)
    if (
        isinstance(problem, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedFunction)
        or 'role "flitwatch' in detail
    ):
        return Unavailable("the database has no log yet", advice="Run `flitwatch db migrate`.")
    return Unavailable(f"the log's database does not answer: {detail}", advice="Check that the server runs.")
