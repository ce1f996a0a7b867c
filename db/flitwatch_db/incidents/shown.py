"""Read stored incidents for the API, the command line, alerts and the explanations of jobs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg.sql import SQL, Composed

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.incidents.store import Finding, as_read
from flitwatch_db.jobs.reads import NameMask, shown_jobs
from flitwatch_domain import incidents as domain
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation.incident import MOST_LINKS, sort_hottest_links
from flitwatch_domain.explanation.result import CarryingLink, IncidentSummary, SlowedTotal, SlowJob
from flitwatch_domain.incidents import (  # fmt: skip
    IncidentAlert,
    IncidentCause,
    IncidentDetail,
    IncidentHead,
    IncidentMinute,
    IncidentNote,
    LostTime,
    Minute,
    Pause,
    SlowedJob,
    State,
)

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Maximum number of returned minutes: a day.
MOST_MINUTES = 1440
#: Findings of this many incidents are in memory at a time: each can have hundreds of kilobytes.
INCIDENTS_AT_A_TIME = 50

#: If the last examined minute began longer ago, in seconds, the present state of the links is unknown.
UNCOUNTED_S = domain.CALM_S + 2 * domain.MINUTE_S

#: Ended jobs are usually examined within this time, in seconds; unexamined jobs are counted up to a limit.
EXAMINED_S, MOST_UNEXAMINED = 120.0, 1000


@dataclass(frozen=True)
class IncidentFilter:
    """Filter of incidents; None: any. `names` returns users' names as the caller sees them, with which `user` is compared."""

    fabric_id: int | None = None
    incident_id: int | None = None
    job: str | None = None
    user: str | None = None
    state: State | None = None
    from_s: float | None = None
    to_s: float | None = None
    names: NameMask | None = None


_STATE = SQL("""
    CASE WHEN NOT EXISTS (SELECT FROM incident_victim v WHERE v.incident_id = i.incident_id) THEN 'withdrawn' WHEN i.ended_at IS NULL THEN 'open' ELSE 'over' END
""")


def list_heads(
    conn: Conn, asked: IncidentFilter, limit: int, before: int | None = None, at_s: float = math.inf
) -> list[IncidentHead]:
    """List incidents, newest first, after the incident numbered `before`; as of `at_s`, epoch seconds."""
    where, parameters = _build_conditions(asked)
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT i.incident_id, f.name AS fabric, i.simulated, i.began_at, i.ended_at, i.quiet, {} AS state FROM incident i JOIN fabric f USING (fabric_id)
            WHERE i.merged_into IS NULL AND {} AND (%(before)s::bigint IS NULL OR (i.began_at, i.incident_id) < (SELECT began_at, incident_id FROM incident WHERE incident_id = %(before)s))
            ORDER BY i.began_at DESC, i.incident_id DESC LIMIT %(limit)s
        """).format(_STATE, where),
        {"before": before, "limit": limit, **parameters},
    )
    rows = [_as_of(row, at_s) for row in rows]
    victims = _load_victims(conn, [row["incident_id"] for row in rows], at_s)
    causes = _load_causes(conn, [victim for group in victims.values() for victim in group], at_s)
    return [_build_head(conn, row, victims.get(row["incident_id"], []), causes, at_s) for row in rows]


def count_unexamined(conn: Conn, asked: IncidentFilter) -> int | None:
    """Count the jobs with steps that ended in the filter's time more than `EXAMINED_S` ago and are not examined yet, up to `MOST_UNEXAMINED`.

    None if the filter has no start.
    """
    if asked.from_s is None:
        return None
    (row,) = fetch_rows(
        conn,
        SQL("""
        SELECT count(*) AS number FROM (
            SELECT FROM job j WHERE j.end_ts >= to_timestamp(%(from)s)
              AND j.end_ts < least(now() - make_interval(secs => %(examined)s), to_timestamp(%(to)s))
              AND EXISTS (SELECT FROM run r WHERE r.job_pk = j.job_pk)
              AND NOT EXISTS (SELECT FROM incident_judged g WHERE g.job_pk = j.job_pk)
              AND EXISTS (SELECT FROM job_node n JOIN fabric f USING (fabric_id)
                          WHERE n.job_pk = j.job_pk AND NOT f.timeless AND (%(fabric)s::int IS NULL OR n.fabric_id = %(fabric)s))
            LIMIT %(most)s
        ) unexamined
        """),
        {
            "from": asked.from_s,
            "to": math.inf if asked.to_s is None else asked.to_s,
            "fabric": asked.fabric_id,
            "examined": EXAMINED_S,
            "most": MOST_UNEXAMINED,
        },
    )
    return int(row["number"])


def find_head(conn: Conn, incident_id: int) -> IncidentHead:
    """Return one incident; NotFound if it does not exist, or was merged into another."""
    matches = list_heads(conn, IncidentFilter(incident_id=incident_id), 1)
    if not matches:
        raise NotFound(f"there is no incident {incident_id}")
    return matches[0]


def iterate_slowed_jobs(
    conn: Conn, asked: IncidentFilter, limit: int
) -> Iterator[tuple[IncidentHead, list[SlowedJob]]]:
    """Yield incidents, newest first, each with its slowed jobs in descending order of wasted nodes. Findings of a few incidents are in memory at a
    time."""
    heads = list_heads(conn, asked, limit)
    for at in range(0, len(heads), INCIDENTS_AT_A_TIME):
        part = heads[at : at + INCIDENTS_AT_A_TIME]
        victims = _load_victims(conn, [head["incident_id"] for head in part])
        for head in part:
            yield head, [_to_slowed_job(one) for one in victims.get(head["incident_id"], [])]


def summarise_incident(conn: Conn, found: IncidentHead, at_s: float) -> IncidentSummary | None:
    """Summarise an incident for the home page as of a time, with the jobs slowed by then; None if there were none."""
    victims = _load_victims(conn, [found["incident_id"]], at_s).get(found["incident_id"], [])
    if not victims:
        return None
    first = found["causes"][0] if found["causes"] else None
    aggressors = [
        entry
        for victim in victims
        for entry in victim.finding["named"]
        if first is not None and entry["job_pk"] == first["job_pk"]
    ]
    return {
        "incident_id": found["incident_id"],
        "title": found["title"],
        "detail": _describe_incident(found, victims),
        "since": found["began"],
        "until": found["ended"],
        "aggressor": None
        if first is None or not aggressors
        else {**aggressors[0], "user": first["user"], "name": first["name"], "part": first["part"]},
        "links": _pick_hottest_links(victims),
        "victims": [_to_slow_job(entry) for entry in victims],
        "others": [],
        "remedies": victims[0].finding["remedies"] if victims else [],
    }


def list_minutes(conn: Conn, incident_id: int, at_s: float = math.inf) -> list[Minute]:
    """Return the examined minutes of an incident that had ended by `at_s`, epoch seconds."""
    rows = conn.execute(
        "SELECT extract(epoch FROM at)::float8, waiting, part FROM incident_minute WHERE incident_id = %s AND extract(epoch FROM at) + %s <= %s ORDER BY at",
        [incident_id, domain.MINUTE_S, at_s],
    )
    return [Minute(*row) for row in rows]


def _find_pause(conn: Conn, row: Row, victims: list[Victim], at_s: float) -> tuple[Pause | None, bool]:
    """Return the current pause of an open incident's causes, as of a time, while no job is slow; and whether counters show the links at that time."""
    if row["state"] != "open" or not victims or any(one.slow_now for one in victims):
        return None, True
    minutes = [] if row["quiet"] is None else list_minutes(conn, row["incident_id"], at_s)
    if not minutes or min(at_s, time.time()) - minutes[-1].at_s > UNCOUNTED_S:
        return None, False
    began_s = min(one.row["since_at"].timestamp() for one in victims)
    ends = [one.row["until_at"] or one.row["end"] for one in victims]
    until_s = max((end.timestamp() for end in ends if end is not None), default=began_s)
    return domain.find_pause(minutes, row["quiet"], began_s, until_s), True


def _build_conditions(asked: IncidentFilter) -> tuple[Composed, Row]:
    source, hidden = shown_jobs(asked.names)
    of_job = SQL("""
        EXISTS (SELECT FROM incident_part p JOIN job j ON j.job_pk IN (p.cause_pk, p.job_pk) WHERE p.incident_id = i.incident_id AND j.job_id = %(job)s)
    """)
    of_user = SQL("EXISTS (SELECT FROM incident_part p JOIN {} ON job.job_pk = p.cause_pk WHERE p.incident_id = i.incident_id AND job.user_name = %(user)s)").format(source)  # fmt: skip
    conditions = {
        "fabric": (asked.fabric_id, SQL("i.fabric_id = %(fabric)s")),
        "incident": (asked.incident_id, SQL("i.incident_id = %(incident)s")),
        "job": (asked.job, of_job),
        "user": (asked.user, of_user),
        "state": (asked.state, SQL("{} = %(state)s").format(_STATE)),
        "from": (asked.from_s, SQL("coalesce(i.ended_at, 'infinity') >= to_timestamp(%(from)s)")),
        "to": (asked.to_s, SQL("i.began_at < to_timestamp(%(to)s)")),
    }
    chosen = {name: (value, condition) for name, (value, condition) in conditions.items() if value is not None}
    where = SQL(" AND ").join([SQL("true"), *(condition for _, condition in chosen.values())])
    return where, {**{name: value for name, (value, _) in chosen.items()}, **(hidden if asked.user is not None else {})}


def load_detail(conn: Conn, incident_id: int) -> IncidentDetail | int | None:
    """Return one incident with all details; the number of the incident into which it was merged; or None if it does not exist."""
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT i.incident_id, f.name AS fabric, i.simulated, i.began_at, i.ended_at, i.quiet, i.merged_into, {} AS state
            FROM incident i JOIN fabric f USING (fabric_id) WHERE i.incident_id = %(incident)s
        """).format(_STATE),
        {"incident": incident_id},
    )
    if not rows:
        return None
    row = rows[0]
    if row["merged_into"] is not None:
        return int(row["merged_into"])
    victims = _load_victims(conn, [incident_id]).get(incident_id, [])
    head = _build_head(conn, row, victims, _load_causes(conn, victims))
    rows = fetch_rows(
        conn,
        SQL(
            "SELECT at, waiting, part FROM incident_minute WHERE incident_id = %(incident)s ORDER BY at LIMIT %(most)s"
        ),
        {"incident": incident_id, "most": MOST_MINUTES},
    )
    return {
        **head,
        "detail": _describe_incident(head, victims),
        "quiet": row["quiet"],
        "links": _pick_hottest_links(victims),
        "victims": [_to_slowed_job(victim) for victim in victims],
        "remedies": victims[0].finding["remedies"] if victims else [],
        "minutes": cast(list[IncidentMinute], rows),
        "alerts": _list_alerts(conn, incident_id),
        "notes": _list_notes(conn, incident_id),
    }


def _describe_incident(head: IncidentHead, victims: list[Victim]) -> str:
    if not victims:
        return head["title"]
    causes = [(cause["job_id"], cause["part"]) for cause in head["causes"]]
    return domain.make_detail(causes, domain.node_hours([_lost_time(victim.row) for victim in victims]))


def _pick_hottest_links(victims: list[Victim]) -> list[CarryingLink]:
    return sort_hottest_links([link for victim in victims for link in victim.finding["links"]])[:MOST_LINKS]


def slowed_by(conn: Conn, job_pk: int, at_s: float) -> SlowedTotal | None:
    """Compute a job's cost to other jobs up to a time, from its part of each loss; None if no incident names it."""
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT p.incident_id, p.job_pk, v.lost_s, v.lost_low_s, v.lost_high_s, v.since_at, v.until_at, j.end_ts AS "end", v.finding -> 'named' AS named,
                   (v.finding -> 'slowdown' ->> 'factor')::float8 AS factor
            FROM incident_part p JOIN incident_victim v USING (incident_id, job_pk) JOIN job j USING (job_pk)
            WHERE p.cause_pk = %(job)s AND v.since_at <= to_timestamp(%(at)s)
        """),
        {"job": job_pk, "at": at_s},
    )
    if not rows:
        return None
    total, low, high = domain.sum_losses(
        [(_lost_time({**row, **_lost_until(row, at_s)}), domain.find_share(row["named"], job_pk)) for row in rows]
    )
    return {
        "jobs": len({row["job_pk"] for row in rows}),
        "lost_s": total,
        "lost_low_s": low,
        "lost_high_s": high,
        "incidents": sorted({row["incident_id"] for row in rows}, reverse=True),
    }


def _lost_time(row: Row) -> LostTime:
    return LostTime(row["lost_s"], row["lost_low_s"], row["lost_high_s"], row.get("nodes"))


def of_victim(conn: Conn, job_pk: int, at_s: float) -> int | None:
    """Return the newest incident that slowed a job, up to a time."""
    row = conn.execute(
        "SELECT incident_id FROM incident_victim WHERE job_pk = %s AND since_at <= to_timestamp(%s) ORDER BY since_at DESC LIMIT 1",
        [job_pk, at_s],
    ).fetchone()
    return None if row is None else row[0]


@dataclass(frozen=True)
class Victim:
    """A slowed job of an incident: its row and its finding."""

    row: Row
    finding: Finding

    @property
    def weight(self) -> float:
        """Return the node-seconds that it lost, by which the slowed jobs are sorted; an unknown number of nodes comes last."""
        return float((self.row["nodes"] or 1) * self.row["lost_s"])

    @property
    def slow_now(self) -> bool:
        """Return whether the job is slow according to its last examination."""
        return self.row["until_at"] is None and self.row["end"] is None and self.row["state"] == "RUNNING"


#: Times that are unknown until they have passed.
_ENDS = ("ended_at", "until_at", "end")


def _as_of(row: Row, at_s: float) -> Row:
    """Return a row as of a time: later ends are removed."""
    later: Row = {name: None for name in _ENDS if row.get(name) is not None and row[name].timestamp() > at_s}
    if "end" in later and "state" in row:
        later["state"] = "RUNNING"
    elif "ended_at" in later and row["state"] == "over":
        later["state"] = "open"
    return {**row, **later}


def _lost_until(row: Row, at_s: float) -> Row:
    """Scale a job's lost time to the part of its slow stretch before a time; the stretch is assumed to be uniformly slow."""
    since_s, until = row["since_at"].timestamp(), row["until_at"] or row["end"]
    # While the job is slow, its loss is that of the steps until the last examination, which took as long as follows from their slowdown.
    until_s = since_s + row["lost_s"] / (1 - 1 / row["factor"]) if until is None else until.timestamp()
    if until_s <= max(at_s, since_s):
        return {}
    share = (at_s - since_s) / (until_s - since_s)
    return {name: row[name] * share for name in ("lost_s", "lost_low_s", "lost_high_s")}


def _load_victims(conn: Conn, incidents: list[int], at_s: float = math.inf) -> dict[int, list[Victim]]:
    """Load slowed jobs of some incidents as of a time, in descending order of wasted nodes."""
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT v.incident_id, v.since_at, v.until_at, v.lost_s, v.lost_low_s, v.lost_high_s, v.finding,
                   (v.finding -> 'slowdown' ->> 'factor')::float8 AS factor, j.job_pk, j.job_id, j.user_name AS "user",
                   j.account, j.name, j.nodes, j.state, j.simulated, j.end_ts AS "end"
            FROM incident_victim v JOIN job j USING (job_pk) WHERE v.incident_id = ANY(%(incidents)s)
        """),
        {"incidents": incidents},
    )
    by_incident: dict[int, list[Victim]] = {}
    for row in rows:
        if row["since_at"].timestamp() <= at_s:
            victim = {**_as_of(row, at_s), **_lost_until(row, at_s)}
            by_incident.setdefault(row["incident_id"], []).append(Victim(victim, as_read(row["finding"])))
    return {
        number: sorted(some, key=lambda one: (-one.weight, one.row["job_id"])) for number, some in by_incident.items()
    }


def _load_causes(conn: Conn, victims: list[Victim], at_s: float = math.inf) -> dict[int, IncidentCause]:
    """Load the jobs that are named for some slowed ones, as of a time, by job_pk."""
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT job_pk, job_id, user_name AS "user", account, name, nodes, simulated, start_ts AS start, end_ts AS "end", NULL::float8 AS part
            FROM job WHERE job_pk = ANY(%(jobs)s)
        """),
        {"jobs": sorted({cause["job_pk"] for victim in victims for cause in victim.finding["named"]})},
    )
    begun = [row for row in rows if row["start"] is None or row["start"].timestamp() <= at_s]
    return {row["job_pk"]: cast(IncidentCause, _as_of(row, at_s)) for row in begun}


def _build_head(
    conn: Conn, row: Row, victims: list[Victim], causes: dict[int, IncidentCause], at_s: float = math.inf
) -> IncidentHead:
    parts = domain.parts_of([{entry["job_pk"]: entry["part"] for entry in victim.finding["named"]} for victim in victims], [victim.weight for victim in victims])  # fmt: skip
    parts = {pk: part for pk, part in parts.items() if pk in causes}
    chosen = domain.causes_of(parts, {victim.row["job_pk"]: _list_present(victim, causes) for victim in victims})
    named: list[IncidentCause] = [{**causes[pk], "part": parts[pk]} for pk in chosen]
    gone = [cause["job_id"] for cause in named if cause["end"] is not None]
    hours = domain.node_hours([_lost_time(entry.row) for entry in victims]) or (None, None, None)
    now = sum(entry.slow_now for entry in victims)
    ended = row["ended_at"]
    ids = [cause["job_id"] for cause in named]
    return {
        "incident_id": row["incident_id"], "fabric": row["fabric"], "simulated": row["simulated"], "state": row["state"], "began": row["began_at"], "ended": ended,
        "title": domain.make_title(ids, [entry.row["job_id"] for entry in victims], now, row["began_at"].timestamp(), None if ended is None else ended.timestamp(), gone, *_find_pause(conn, row, victims, at_s)),
        "causes": named, "worst": victims[0].row["job_id"] if victims else None, "slowed": len(victims), "slow_now": now, "lost_s": sum(entry.row["lost_s"] for entry in victims),
        "node_hours": hours[0], "node_hours_low": hours[1], "node_hours_high": hours[2],
    }  # fmt: skip


def _list_present(victim: Victim, causes: dict[int, IncidentCause]) -> list[int]:
    """Return the jobs named for a slowed one that had started when it became slow, at the latest bound of that time."""
    became_slow = victim.finding["slowdown"]["since_high"]
    named = [entry["job_pk"] for entry in victim.finding["named"]]
    return [pk for pk in named if pk in causes and (causes[pk]["start"] or became_slow) <= became_slow]


def _to_slow_job(one: Victim) -> SlowJob:
    row, slow = one.row, one.finding["slowdown"]
    return {
        "job_pk": row["job_pk"], "job_id": row["job_id"], "user": row["user"], "account": row["account"], "name": row["name"], "nodes": row["nodes"],
        "state": row["state"], "simulated": row["simulated"], "verdict": one.finding["verdict"], "reasons": one.finding["reasons"], "factor": slow["factor"],
        "lost_s": row["lost_s"], "since": slow["since"], "until": row["until_at"] if row["until_at"] is not None else row["end"],
    }  # fmt: skip


def _to_slowed_job(one: Victim) -> SlowedJob:
    named = [cause["job_id"] for cause in one.finding["named"]]
    return {
        **_to_slow_job(one),
        "lost_low_s": one.row["lost_low_s"],
        "lost_high_s": one.row["lost_high_s"],
        "named": named,
    }


def _list_alerts(conn: Conn, incident_id: int) -> list[IncidentAlert]:
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT a.alert_id, a.rule, a.phase, a.fired_at, a.resolved_at,
                   (SELECT count(*) FROM alert_notice n WHERE n.alert_id = a.alert_id AND n.delivered_at IS NOT NULL)::int AS delivered
            FROM alert a WHERE a.labels ->> 'incident' = %(incident)s::text ORDER BY a.alert_id DESC LIMIT 100
        """),
        {"incident": str(incident_id)},
    )
    return cast(list[IncidentAlert], rows)


def _list_notes(conn: Conn, incident_id: int) -> list[IncidentNote]:
    rows = fetch_rows(
        conn,
        SQL(
            "SELECT note_id, at, author, text FROM incident_note WHERE incident_id = %(incident)s ORDER BY note_id LIMIT 200"
        ),
        {"incident": incident_id},
    )
    return cast(list[IncidentNote], rows)
