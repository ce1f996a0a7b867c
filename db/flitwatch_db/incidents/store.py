"""Store incidents: slow jobs are added to the incidents of their causes, and incidents with a common cause are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, cast

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from flitwatch_domain.explanation.result import CandidateJob, CarryingLink, Explanation, JobSlowdown, Remedy, Verdict
from flitwatch_domain.incidents import REOPENS_S, IncidentNote, Minute, epoch_to_datetime


class Finding(TypedDict):
    """Summary of a slow job's explanation.

    Attributes
    ----------
    named : the named jobs, largest part first
    quiet : the waiting of a quiet moment on its path; None: unknown
    quiet_s, quiet_width : start of that moment in epoch seconds, and its length
    to_file_system : whether the path leads to the file system
    """

    verdict: Verdict
    reasons: list[str]
    slowdown: JobSlowdown
    named: list[CandidateJob]
    links: list[CarryingLink]
    remedies: list[Remedy]
    quiet: float | None
    quiet_s: float | None
    quiet_width: int | None
    to_file_system: bool


def of_explanation(made: Explanation) -> Finding | None:
    """Return the stored part of an explanation; None if it names no job."""
    slow = made["slowdown"]
    if made["verdict"] != "named" or slow is None:
        return None
    named = [candidate for candidate in made["candidates"] if candidate["named"]]
    flow = made["flow"]
    return {
        "verdict": made["verdict"],
        "reasons": made["reasons"],
        "slowdown": slow,
        # User names are read from the job when it is shown.
        "named": [
            {**candidate, "user": None, "name": None, "blame": None} for candidate in sorted(named, key=_sort_key)
        ],
        "links": made["links"],
        "remedies": made["remedies"],
        "quiet": None if flow is None else flow["quiet"],
        "quiet_s": None if flow is None or flow["quiet_from"] is None else flow["quiet_from"].timestamp(),
        "quiet_width": None if flow is None else flow["resolution_s"],
        "to_file_system": flow is not None and flow["to_file_system"],
    }


def _sort_key(one: CandidateJob) -> float:
    return -(one["part"] if one["part"] is not None else one["score"])


_TIMES = ("since", "since_low", "since_high", "until", "start", "end", "changed")


def as_stored(value: Any) -> Any:
    """Convert plain data for storage, with times as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: as_stored(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_stored(inner) for inner in value]
    return value


def as_read(value: Any) -> Any:
    """Convert stored data back, with texts as times."""
    if isinstance(value, Mapping):
        return {
            name: datetime.fromisoformat(inner) if name in _TIMES and isinstance(inner, str) else as_read(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [as_read(inner) for inner in value]
    return value


Conn = psycopg.Connection[Any]


def store_finding(conn: Conn, fabric_id: int, job_pk: int, simulated: bool, found: Finding, final: bool) -> int:
    """Add a slow job's finding to its incident, or to a new one; return the incident's number.

    The incident is one at the same time that names one of its causes, or contains the job itself. If there are several, they are merged.
    """
    slow = found["slowdown"]
    causes = [cause["job_pk"] for cause in found["named"]]
    belongs = conn.execute(
        """
        SELECT incident_id FROM incident i
        WHERE fabric_id = %(fabric)s AND simulated = %(simulated)s AND merged_into IS NULL
          AND began_at <= coalesce(%(until)s::timestamptz, 'infinity') AND coalesce(ended_at, 'infinity') >= %(since)s::timestamptz - make_interval(secs => %(reopens)s)
          AND (EXISTS (SELECT FROM incident_part p WHERE p.incident_id = i.incident_id AND p.cause_pk = ANY(%(causes)s))
               OR EXISTS (SELECT FROM incident_victim v WHERE v.incident_id = i.incident_id AND v.job_pk = %(job)s
                          AND coalesce(v.until_at, 'infinity') >= %(since)s AND v.since_at <= coalesce(%(until)s::timestamptz, 'infinity')))
        ORDER BY incident_id
        """,
        {"fabric": fabric_id, "simulated": simulated, "since": slow["since_low"], "until": slow["until"], "causes": causes, "job": job_pk, "reopens": REOPENS_S},
    ).fetchall()  # fmt: skip
    if belongs:
        incident_id = int(belongs[0][0])
        for (other,) in belongs[1:]:
            _merge_incidents(conn, other, incident_id)
    else:
        row = conn.execute(
            "INSERT INTO incident (fabric_id, simulated, began_at, probe_pk, quiet, to_file_system) VALUES (%s, %s, %s, %s, %s, %s) RETURNING incident_id",
            [fabric_id, simulated, slow["since"], job_pk, found["quiet"], found["to_file_system"]],
        ).fetchone()
        assert row is not None
        incident_id = int(row[0])
    _keep_victim(conn, incident_id, job_pk, found, final)
    return incident_id


def _keep_victim(conn: Conn, incident_id: int, job_pk: int, found: Finding, final: bool) -> None:
    slow = found["slowdown"]
    conn.execute(
        """
        INSERT INTO incident_victim (incident_id, job_pk, since_at, until_at, lost_s, lost_low_s, lost_high_s, final, finding)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (incident_id, job_pk) DO UPDATE SET since_at = excluded.since_at, until_at = excluded.until_at, lost_s = excluded.lost_s,
            lost_low_s = excluded.lost_low_s, lost_high_s = excluded.lost_high_s, final = excluded.final, finding = excluded.finding
        """,
        [incident_id, job_pk, slow["since"], slow["until"], slow["lost_s"], slow["lost_low_s"], slow["lost_high_s"], final, Jsonb(as_stored(found))],
    )  # fmt: skip
    conn.execute("DELETE FROM incident_part WHERE incident_id = %s AND job_pk = %s", [incident_id, job_pk])
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO incident_part (incident_id, job_pk, cause_pk, part) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(incident_id, job_pk, cause["job_pk"], cause["part"]) for cause in found["named"]],
        )


def _merge_incidents(conn: Conn, other: int, into: int) -> None:
    parameters = {"other": other, "into": into}
    for table in ("incident_victim", "incident_part"):
        conn.execute(
            sql.SQL(
                "DELETE FROM {0} o WHERE o.incident_id = %(other)s AND EXISTS (SELECT FROM {0} h WHERE h.incident_id = %(into)s AND h.job_pk = o.job_pk)"
            ).format(sql.Identifier(table)),
            parameters,
        )
    conn.execute(
        """
        INSERT INTO incident_victim SELECT %(into)s, job_pk, since_at, until_at, lost_s, lost_low_s, lost_high_s, final, finding
        FROM incident_victim WHERE incident_id = %(other)s
        """,
        parameters,
    )
    conn.execute(
        "INSERT INTO incident_part SELECT %(into)s, job_pk, cause_pk, part FROM incident_part WHERE incident_id = %(other)s",
        parameters,
    )
    conn.execute("DELETE FROM incident_victim WHERE incident_id = %(other)s", parameters)
    # Its minutes are of another path, and of other causes.
    conn.execute("DELETE FROM incident_minute WHERE incident_id = %(other)s", parameters)
    conn.execute("UPDATE incident_note SET incident_id = %(into)s WHERE incident_id = %(other)s", parameters)
    conn.execute("UPDATE incident SET merged_into = %(into)s WHERE %(other)s IN (incident_id, merged_into)", parameters)
    conn.execute(
        """
        UPDATE incident i SET began_at = least(i.began_at, o.began_at), ended_at = CASE WHEN o.ended_at IS NOT NULL THEN greatest(i.ended_at, o.ended_at) END
        FROM incident o WHERE i.incident_id = %(into)s AND o.incident_id = %(other)s AND (i.ended_at IS NOT NULL OR o.ended_at IS NULL)
        """,
        parameters,
    )


def withdraw_job(conn: Conn, job_pk: int, but: int | None, slow: JobSlowdown | None, end: datetime | None) -> list[int]:
    """Remove a job from incidents that were found while it ran but are not confirmed by its whole run; return their numbers.

    `but` is the confirmed incident. Incidents at another time than its slow stretch are kept: a run can be slow twice.
    """
    parameters = {"job": job_pk, "but": but, "end": end, "since": None if slow is None else slow["since_low"], "until": None if slow is None else slow["until"]}  # fmt: skip
    rows = conn.execute(
        """
        DELETE FROM incident_victim WHERE job_pk = %(job)s AND NOT final AND incident_id IS DISTINCT FROM %(but)s
          AND (%(since)s::timestamptz IS NULL OR since_at <= coalesce(%(until)s::timestamptz, 'infinity') AND coalesce(until_at, 'infinity') >= %(since)s)
        RETURNING incident_id
        """,
        parameters,
    ).fetchall()
    conn.execute(
        "UPDATE incident_victim SET final = true, until_at = coalesce(until_at, %(end)s::timestamptz) WHERE job_pk = %(job)s AND NOT final",
        parameters,
    )
    return [int(row[0]) for row in rows]


def mark_judged(conn: Conn, job_pk: int) -> None:
    """Record that a job's whole run was examined."""
    conn.execute("INSERT INTO incident_judged (job_pk) VALUES (%s) ON CONFLICT DO NOTHING", [job_pk])


def judge_again(conn: Conn, heard: int) -> int:
    """Mark jobs for another examination if counters arrived after theirs, according to events later than `heard`; return their number."""
    return conn.execute(
        """
        DELETE FROM incident_judged g USING job j,
            (SELECT min((payload ->> 'late_from')::timestamptz) AS late_from, max(at) AS at FROM event WHERE event_id > %s AND kind = 'counters' AND payload ? 'late_from') e
        WHERE j.job_pk = g.job_pk AND j.end_ts >= e.late_from AND g.judged_at < e.at
        """,
        [heard],
    ).rowcount


def add_minutes(conn: Conn, incident_id: int, minutes: Sequence[Minute]) -> None:
    """Store examined minutes."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO incident_minute (incident_id, at, waiting, part) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(incident_id, epoch_to_datetime(minute.at_s), minute.waiting, minute.part) for minute in minutes],
        )


def set_span(conn: Conn, incident_id: int, began_s: float, ended_s: float | None) -> bool:
    """Set start and end (None: ongoing) of an incident; return whether they changed."""
    changed = conn.execute(
        """
        UPDATE incident SET began_at = %(began)s, ended_at = %(ended)s
        WHERE incident_id = %(incident)s AND (began_at, ended_at) IS DISTINCT FROM (%(began)s::timestamptz, %(ended)s::timestamptz)
        """,
        {
            "incident": incident_id,
            "began": epoch_to_datetime(began_s),
            "ended": None if ended_s is None else epoch_to_datetime(ended_s),
        },
    )
    return changed.rowcount > 0


def add_note(conn: Conn, incident_id: int, author: str, text: str) -> IncidentNote | None:
    """Store a note about an action; None if the incident does not exist."""
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            """
            INSERT INTO incident_note (incident_id, author, text)
            SELECT coalesce(merged_into, incident_id), %s, %s FROM incident WHERE incident_id = %s RETURNING note_id, at, author, text
            """,
            [author, text, incident_id],
        ).fetchone()
    return cast("IncidentNote | None", row)
