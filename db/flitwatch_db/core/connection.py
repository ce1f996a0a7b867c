"""Connections: the only place that sets the search path, the time zone and the least role that a caller needs."""

from __future__ import annotations

import math
from typing import Any, Literal

import psycopg
from psycopg.abc import Params, QueryNoTemplate
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from flitwatch_db.core.deadlines import GRACE_S, STILL_S, AsyncDeadlineConnection, DeadlineConnection, check_connection
from flitwatch_domain import logins
from flitwatch_domain.errors import Unavailable

Edition = Literal["plain", "apache", "timescale"]


def detect_edition(conn: psycopg.Connection[Any]) -> Edition:
    """Return the edition used by this database's tables.

    "plain": native partitions; "apache": hypertables without compression and policies (Debian's packages); "timescale": the full edition.
    """
    row = conn.execute(
        "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb'), current_setting('timescaledb.license', true)"
    ).fetchone()
    if row is None or not row[0]:
        return "plain"
    return "timescale" if row[1] == "timescale" else "apache"


#: Roles of a caller; None keeps the rights of the login role.
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

    `flitwatch_domain.logins` selects the login for `role` and finds its password. The settings are part of the startup packet, so they need no
    round trip, and `RESET ALL` returns to them.
    """
    settings = {"search_path": "flitwatch,public", "timezone": "UTC", **logins.SERVER}
    if statement_s is not None:
        settings["statement_timeout"] = f"{math.ceil(statement_s * 1000)}"
    if still_s is not None:
        settings["idle_in_transaction_session_timeout"] = f"{math.ceil(still_s * 1000)}"
    if not durable:
        settings["synchronous_commit"] = "off"
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The text may contain a password, so it is not repeated.
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
    parameters = {**logins.CLIENT, "connect_timeout": str(math.ceil(connect_s)), **parameters}
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
    """Open a connection with Flitwatch's search path, UTC and, if given, a role.

    Parameters
    ----------
    url : str
        A PostgreSQL URL.
    role : {"writer", "reader", "gate", "keeper", "owner"}, optional
        The least role that the caller needs: either a separate login with a password in the URL's password file, or a role that has the URL's login
        as a member.
    durable : bool
        False disables `synchronous_commit`: a crash may lose the last fraction of a second, but only whole transactions.
        This suits callers that can repeat the work, such as the writer, which reads the log again.
    statement_s : float, optional
        The server ends a longer statement. If the server does not respond within another GRACE_S, the connection is closed.
    still_s : float, optional
        The server ends the connection if its transaction is idle for this long, so that a stalled process does not block others longer.
    connect_s : float
        Time limit for connecting to each server.

    Raises
    ------
    Unavailable
        The server does not respond, or rejects the user.
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
    """Open an asynchronous connection with autocommit; raise psycopg.OperationalError if the server does not respond."""
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
        Time limit for reconnection attempts, at increasing intervals; later requests start again.
    statement_s : float, optional
        As in `connect`; if set, stalled transactions are also ended after STILL_S.
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
    """Acquire an advisory lock until this transaction ends; return False if another connection has it."""
    row = conn.execute("SELECT pg_try_advisory_xact_lock(%s)", [key]).fetchone()
    return bool(row and row[0])


def version_and_clock(conn: psycopg.Connection[Any]) -> tuple[str, float]:
    """Return the server's version and its clock in epoch seconds."""
    row = conn.execute("SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp())").fetchone()
    return ("?", float("nan")) if row is None else (row[0], float(row[1]))


def clock_s(conn: psycopg.Connection[Any]) -> float:
    """Return the server's clock in epoch seconds, which defines the times of stored samples."""
    row = conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    return float(row[0])


def database_key(conn: psycopg.Connection[Any]) -> tuple[object, ...]:
    """Return what distinguishes a database from others."""
    return conn.info.host, conn.info.port, conn.info.dbname


def fetch_rows(
    conn: psycopg.Connection[Any], query: QueryNoTemplate, parameters: Params | None = None
) -> list[dict[str, Any]]:
    """Return all rows of a query as dictionaries by column."""
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()
