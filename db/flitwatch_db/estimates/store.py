"""Store estimators' results with data, parameters, code version and score; also models, states and forecasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from flitwatch_db.core.columns import Connection
from flitwatch_domain.blame import CANNOT_TELL

Conn = psycopg.Connection[Any]

#: Number of versions of an estimate that are kept per application.
KEEP_VERSIONS = 20


@dataclass(frozen=True)
class Estimate:
    """Result of an estimator.

    Attributes
    ----------
    kind : blame | deviation | forecast
    data : at least runs, steps, first_s, last_s
    source : runs | files        recorded by the platform, or uploaded by a user
    created_by : the uploading user; None for recorded runs, or on the command line
    """

    kind: str
    exe: str
    nodes: int
    code_version: str
    parameters: dict[str, Any]
    data: dict[str, Any]
    score: dict[str, Any]
    result: dict[str, Any]
    simulated: bool
    source: str = "runs"
    created_by: str | None = None


@dataclass(frozen=True)
class Entry:
    """A blamed name; `overlap` and `exposure` have one value per run, in the order of the result's runs; None is unknown."""

    name: str
    entry: dict[str, Any]
    overlap: Sequence[float | None]
    exposure: Sequence[float]


def save_estimate(
    conn: Conn,
    estimate: Estimate,
    entries: Mapping[str, Sequence[Entry]] | None = None,
    models: dict[int, bytes] | None = None,
) -> int:
    """Store a result as the newest of its kind and application; return its number.

    Parameters
    ----------
    entries : blamed names in the order of their ranking, by "user" and "application"
    models : fitted forecasters by their number of past steps
    """
    row = conn.execute(
        "INSERT INTO estimate (kind, exe, nodes, code_version, parameters, data, score, result, simulated, source, created_by)"
        " VALUES (%(kind)s, %(exe)s, %(nodes)s, %(code_version)s, %(parameters)s, %(data)s, %(score)s, %(result)s, %(simulated)s, %(source)s,"
        " %(created_by)s) RETURNING estimate_id",
        {name: Jsonb(value) if isinstance(value, dict) else value for name, value in vars(estimate).items()},
    ).fetchone()
    assert row is not None
    number = int(row[0])
    with conn.cursor() as cursor:
        for by, ranked in (entries or {}).items():
            cursor.executemany(
                "INSERT INTO estimate_entry (estimate_id, by_what, place, name, entry, overlap, exposure) VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [
                    [number, by, place, entry.name, Jsonb(entry.entry), list(entry.overlap), list(entry.exposure)]
                    for place, entry in enumerate(ranked, 1)
                ],
            )
    for m, model in (models or {}).items():
        conn.execute("INSERT INTO estimate_model (estimate_id, m, model) VALUES (%s, %s, %s)", [number, m, model])
    conn.execute(
        "DELETE FROM estimate WHERE estimate_id IN (SELECT estimate_id FROM estimate WHERE (kind, exe, nodes) = (%s, %s, %s)"
        " ORDER BY estimate_id DESC OFFSET %s)",
        [estimate.kind, estimate.exe, estimate.nodes, KEEP_VERSIONS],
    )
    return number


def set_state(
    conn: Conn,
    kind: str,
    exe: str,
    nodes: int,
    *,
    runs: int,
    newest_run: int,
    estimate_id: int | None = None,
    lacks: str | None = None,
) -> None:
    """Record the state of a kind of estimate: its newest number, or the missing data; then an earlier estimate is kept."""
    conn.execute(
        "INSERT INTO estimate_state (kind, exe, nodes, runs, newest_run, estimate_id, lacks) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (kind, exe, nodes) DO UPDATE SET checked_at = now(), runs = excluded.runs, newest_run = excluded.newest_run,"
        " estimate_id = coalesce(excluded.estimate_id, estimate_state.estimate_id), lacks = excluded.lacks,"
        " drift = CASE WHEN excluded.estimate_id IS NULL THEN estimate_state.drift END",
        [kind, exe, nodes, runs, newest_run, estimate_id, lacks],
    )


def set_drift(conn: Conn, exe: str, nodes: int, drift: Mapping[str, Any]) -> None:
    """Record the accuracy of an application's forecasts since its forecaster was fitted."""
    conn.execute(
        "UPDATE estimate_state SET drift = %s WHERE (kind, exe, nodes) = ('forecast', %s, %s)",
        [Jsonb(drift), exe, nodes],
    )


@dataclass(frozen=True)
class Forecast:
    """A forecast of a run's next `ahead` steps, made after `after_steps`; `curve_s` contains the mean curve's time of each."""

    run_id: int
    after_steps: int
    ahead: int
    estimate_id: int
    forecaster: str
    expected_s: float
    low_s: float
    high_s: float
    usual_s: float
    curve_s: Sequence[float]


def save_forecast(conn: Conn, forecast: Forecast) -> bool:
    """Store a forecast; return False if one exists for the same number of steps."""
    row = conn.execute(
        "INSERT INTO forecast (run_id, after_steps, ahead, estimate_id, forecaster, expected_s, low_s, high_s, usual_s, curve_s)"
        " VALUES (%(run_id)s, %(after_steps)s, %(ahead)s, %(estimate_id)s, %(forecaster)s, %(expected_s)s, %(low_s)s, %(high_s)s,"
        " %(usual_s)s, %(curve_s)s) ON CONFLICT DO NOTHING RETURNING true",
        {**vars(forecast), "curve_s": list(forecast.curve_s)},
    ).fetchone()
    return row is not None


def models_of(conn: Conn, estimate_id: int) -> dict[int, bytes]:
    """Return the fitted forecasters of an estimate, by their number of past steps."""
    rows = conn.execute("SELECT m, model FROM estimate_model WHERE estimate_id = %s", [estimate_id]).fetchall()
    return {int(m): bytes(model) for m, model in rows}


@dataclass(frozen=True)
class State:
    """State of an estimate at its last check."""

    runs: int
    newest_run: int
    estimate_id: int | None
    lacks: str | None
    drifting: bool


def states_of(conn: Conn, exe: str, nodes: int) -> dict[str, State]:
    """Return the states of an application's estimates, by kind."""
    rows = conn.execute(
        "SELECT kind, runs, newest_run, estimate_id, lacks, coalesce((drift ->> 'drifting')::boolean, false) FROM estimate_state"
        " WHERE exe = %s AND nodes = %s",
        [exe, nodes],
    ).fetchall()
    return {row[0]: State(*row[1:]) for row in rows}


def data_and_result_of(conn: Conn, estimate_id: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return an estimate's input data and result; None if the estimate was deleted."""
    row = conn.execute("SELECT data, result FROM estimate WHERE estimate_id = %s", [estimate_id]).fetchone()
    return None if row is None else (row[0], row[1])


def outcomes_of(conn: Conn, estimate_id: int) -> list[tuple[float, float, float, float]]:
    """Return expected, low, high and measured seconds of an estimate's forecasts whose steps have all been measured."""
    return conn.execute(
        "SELECT f.expected_s, f.low_s, f.high_s, o.s FROM forecast f JOIN LATERAL (SELECT sum(time_s) AS s, count(*) AS n FROM run_step s"
        " WHERE s.run_id = f.run_id AND s.step >= f.after_steps AND s.step < f.after_steps + f.ahead) o ON o.n = f.ahead WHERE f.estimate_id = %s",
        [estimate_id],
    ).fetchall()


Row = dict[str, Any]

# One row per entry; entries from before verdicts existed name no user.
_ENTRIES = SQL("""
    WITH now AS (
        SELECT estimate_id FROM estimate_state WHERE kind = 'blame' AND estimate_id IS NOT NULL
        UNION ALL
        SELECT max(estimate_id) FROM estimate WHERE kind = 'blame' AND source = 'files' AND %(files)s GROUP BY exe, nodes
    )
    SELECT n.name, e.estimate_id, e.exe, e.nodes, (e.data ->> 'runs')::int AS runs, n.place, e.simulated,
           jsonb_build_object('verdict', %(cannot_tell)s::text) || n.entry AS entry
    FROM now JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id)
    WHERE n.by_what = %(by)s ORDER BY e.estimate_id, n.place
""")
#: Fields of an entry that are evidence.
EVIDENCE = (
    "verdict", "testable", "score", "p", "q", "effect_s", "effect_low_s", "effect_high_s", "lost_node_hours", "exposed_runs", "mi_bits", "mi_sign", "mi_p", "mi_q",
)  # fmt: skip


async def list_evidence(conn: Connection, by: str, files: bool = True) -> list[tuple[str, Row]]:
    """Return (name, evidence with its set) of every entry; with `files`, also of sets from files."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_ENTRIES, {"by": by, "files": files, "cannot_tell": CANNOT_TELL})
        return [_pick_evidence(row) for row in await cursor.fetchall()]


def entries_now(conn: psycopg.Connection[Any], by: str) -> list[tuple[str, Row]]:
    """Return the same with a blocking connection."""
    with conn.cursor(row_factory=dict_row) as cursor:
        cursor.execute(_ENTRIES, {"by": by, "files": True, "cannot_tell": CANNOT_TELL})
        return [_pick_evidence(row) for row in cursor.fetchall()]


def _pick_evidence(row: Row) -> tuple[str, Row]:
    evidence = {name: row["entry"].get(name) for name in EVIDENCE}
    return row["name"], {
        name: row[name] for name in ("estimate_id", "exe", "nodes", "runs", "place", "simulated")
    } | evidence
