"""Connections: one place that sets the search path, the time zone and the least role that a caller needs."""

from __future__ import annotations

import math
from typing import Any, Literal

import psycopg
from psycopg.abc import Params, QueryNoTemplate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from flitwatch_db.core.deadlines import GRACE_S, STILL_S, AsyncDeadlineConnection, DeadlineConnection, check_connection
from flitwatch_domain import liveness, logins
from flitwatch_domain.errors import Unavailable

#: What a caller may be; None keeps the rights of the login role.
Role = Literal["writer", "reader", "gate", "keeper", "owner"]

CONNECT_TIMEOUT_S = 10


def build_conninfo(
    url: str,
    *,
    role: Role | None = None,
    durable: bool = True,
    application: str = "flitwatch",
    statement_s: float | None = None,
    still_s: float | None = None,
    connect_s: float = CONNECT_TIMEOUT_S,
) -> str:
    """Return `url` completed with login, search path, time zone, role and commit policy.

    Which login works as `role`, and where its password is: `flitwatch_domain.logins`. The settings travel in the startup packet, so they cost no
    round trip and `RESET ALL` returns to them.
    """
    settings = {"search_path": "flitwatch,public", "timezone": "UTC", **liveness.SERVER}
    if statement_s is not None:
        settings["statement_timeout"] = f"{math.ceil(statement_s * 1000)}"
    if still_s is not None:
        settings["idle_in_transaction_session_timeout"] = f"{math.ceil(still_s * 1000)}"
    if not durable:
        settings["synchronous_commit"] = "off"
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The text may hold a password, so it is not repeated.
        raise Unavailable("this is not a PostgreSQL URL", advice="Write postgresql://user@host/database.") from None
    parameters, become = logins.log_in(parameters, role)
    if become is not None:
        settings["role"] = become
    options = " ".join(
        [
            *([str(parameters["options"])] if parameters.get("options") else []),
            *(f"-c {k}={v}" for k, v in settings.items()),
        ]
    )
    parameters = {**liveness.CLIENT, "connect_timeout": str(math.ceil(connect_s)), **parameters}
    parameters["client_encoding"] = "utf8"
    parameters.update(options=options, application_name=application)
    return make_conninfo("", **{key: value for key, value in parameters.items() if value is not None})


def _make_unavailable(url: str, problem: Exception) -> Unavailable:
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parameters = {}
    where = f"{parameters.get('host') or 'localhost'}/{parameters.get('dbname') or parameters.get('user') or ''}"
    lines = [line for line in str(problem).splitlines() if line.strip()]
    detail = lines[-1].strip() if lines else type(problem).__name__
    advice = "Check that the server runs and that the URL (--db or FLITWATCH_DB) is right."
    if 'role "flitwatch_' in detail or "permission denied to set role" in detail:
        advice = "Run `flitwatch db migrate` as a user who can create roles, run `flitwatch db logins`, or grant this user the role."
    return Unavailable(f"the database at {where} cannot be used: {detail}", advice=advice)


def connect(
    url: str,
    role: Role | None = None,
    durable: bool = True,
    application: str = "flitwatch",
    autocommit: bool = False,
    statement_s: float | None = None,
    still_s: float | None = None,
    connect_s: float = CONNECT_TIMEOUT_S,
) -> psycopg.Connection[Any]:
    """Open a connection with Flitwatch's search path, UTC and, if named, a role.

    Parameters
    ----------
    url : str
        A PostgreSQL URL.
    role : {"writer", "reader", "gate", "keeper", "owner"}, optional
        The least role that the caller needs: a login of its own whose password the URL's file of passwords holds, or one that the URL's login is a
        member of.
    durable : bool
        False switches `synchronous_commit` off: a crash may take back the last fraction of a second, but always whole transactions.
        Right for anyone who can repeat the work, as the writer does from the log.
    statement_s : float, optional
        The server ends a statement that takes longer. If the server does not answer GRACE_S later either, the connection is closed.
    still_s : float, optional
        The server ends the connection when nothing is asked in a transaction for so long: a process that stalls holds up no one longer.
    connect_s : float
        How long each server is waited for.

    Raises
    ------
    Unavailable
        The server does not answer, or does not let the user in.
    """
    try:
        conn = DeadlineConnection.connect(
            build_conninfo(
                url,
                role=role,
                durable=durable,
                application=application,
                statement_s=statement_s,
                still_s=still_s,
                connect_s=connect_s,
            ),
            autocommit=autocommit,
        )
    except psycopg.OperationalError as problem:
        raise _make_unavailable(url, problem) from None
    except psycopg.errors.InvalidParameterValue as problem:
        raise _make_unavailable(url, problem) from None
    conn.deadline_s = _compute_deadline_s(statement_s)
    return conn


async def connect_async(
    url: str, role: Role | None = None, application: str = "flitwatch", statement_s: float | None = None
) -> AsyncDeadlineConnection:
    """The same, asynchronous, and each statement is committed; psycopg.OperationalError where the server does not answer."""
    info = build_conninfo(url, role=role, application=application, statement_s=statement_s)
    conn = await AsyncDeadlineConnection.connect(info, autocommit=True)
    conn.deadline_s = _compute_deadline_s(statement_s)
    return conn


def _compute_deadline_s(statement_s: float | None) -> float | None:
    return None if statement_s is None else statement_s + GRACE_S


def async_pool(
    url: str,
    role: Role | None = None,
    min_size: int = 1,
    max_size: int = 4,
    application: str = "flitwatch",
    reconnect_s: float = 300.0,
    statement_s: float | None = None,
) -> AsyncConnectionPool[AsyncDeadlineConnection]:
    """Return a closed pool of asynchronous connections; `await pool.open()` before use.

    Parameters
    ----------
    reconnect_s : float
        How long a connection is tried again, at longer and longer intervals; then the next who asks begins again.
    statement_s : float, optional
        As for `connect`; with it transactions that stall are ended after STILL_S.
    """

    async def limit(conn: AsyncDeadlineConnection) -> None:
        conn.deadline_s = _compute_deadline_s(statement_s)

    return AsyncConnectionPool(
        build_conninfo(
            url,
            role=role,
            application=application,
            statement_s=statement_s,
            still_s=None if statement_s is None else STILL_S,
        ),
        connection_class=AsyncDeadlineConnection,
        configure=limit,
        min_size=min_size,
        max_size=max_size,
        open=False,
        timeout=CONNECT_TIMEOUT_S,
        reconnect_timeout=reconnect_s,
        check=check_connection,
    )


def try_lock(conn: psycopg.Connection[Any], key: int) -> bool:
    """Hold an advisory lock until this transaction ends; False if another connection holds it."""
    row = conn.execute("SELECT pg_try_advisory_xact_lock(%s)", [key]).fetchone()
    return bool(row and row[0])


def version_and_clock(conn: psycopg.Connection[Any]) -> tuple[str, float]:
    """The server's version and the epoch seconds of its clock."""
    row = conn.execute("SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp())").fetchone()
    return ("?", float("nan")) if row is None else (row[0], float(row[1]))


def clock_s(conn: psycopg.Connection[Any]) -> float:
    """The server's clock, by which samples are stored, in epoch seconds."""
    row = conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    return float(row[0])


def fetch_rows(
    conn: psycopg.Connection[Any], query: QueryNoTemplate, parameters: Params | None = None
) -> list[dict[str, Any]]:
    """Return all rows of a query as dictionaries by column."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()
