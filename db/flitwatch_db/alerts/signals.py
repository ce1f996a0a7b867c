"""Signals of alert rules as samples on a time grid; the engine and the dry run on past data use the same query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.diagnosis import roots
from flitwatch_db.fabrics.slow_cables import read_slow_cables
from flitwatch_db.incidents import shown
from flitwatch_domain.alerts import Rule, Sample
from flitwatch_domain.blame import NAMED

Connection = psycopg.Connection[Any]
Row = dict[str, Any]

#: Standard deviations on either side of a normal distribution's 90 % interval.
Z90 = 1.6448536269514722
#: A machine whose newest row is older than this is an archive, not a silent machine.
ARCHIVE_S = 86_400.0
#: Ports are sampled every ten seconds; from history, at most this number of the newest steps is read.
LEAST_ROOT_WINDOW_S, MOST_ROOT_STEPS = 20.0, 360
#: Time after its end during which an incident reports that it is over, because its end is known only minutes later.
OVER_S, MOST_INCIDENTS = 3600.0, 500
CLASSES = ("green", "black", "blue")


def _build_labels(**words: object) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(word)) for name, word in words.items() if word is not None))


def _format_page_path(fabric: str, at_s: float) -> str:
    return f"/fabric/{fabric}?at={datetime.fromtimestamp(at_s, UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}"


def _iterate_step_ends(rule: Rule, from_s: float, to_s: float) -> Iterator[float]:
    """Yield the ends of the rule's steps in (from, to]."""
    for number in range(math.floor(from_s / rule.every_s) + 1, math.floor(to_s / rule.every_s) + 1):
        yield number * rule.every_s


_COUNTERS = """
    SELECT f.name AS fabric, f.simulated, c.key, extract(epoch FROM c.bucket)::float8 + %(every)s AS at, sum(c.flits) AS flits,
           sum(c.stalls) AS stalls, count(*) FILTER (WHERE c.flits > 0) AS routers,
           count(*) FILTER (WHERE c.flits > 0 AND c.stalls >= %(congested)s * c.flits) AS congested
    FROM (
        SELECT b.fabric_id, b.router, date_bin(make_interval(secs => %(every)s), b.ts, 'epoch'::timestamptz) AS bucket, {key} AS key,
               sum({flits}) AS flits, sum({stalls}) AS stalls
        FROM {table} b {join} WHERE b.ts >= to_timestamp(%(from)s) AND b.ts < to_timestamp(%(to)s) GROUP BY 1, 2, 3, 4
    ) c JOIN fabric f USING (fabric_id)
    WHERE c.flits IS NOT NULL AND c.stalls IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY at
"""


def _sum_counters(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[tuple[str | None, Row]]:
    """Yield sums by machine, group or link class and step, only for whole steps: (kind of the key, row)."""
    first, end = (math.floor(edge / rule.every_s) * rule.every_s for edge in (from_s, to_s))
    parameters = {"every": rule.every_s, "from": first, "to": end, "congested": rule.congested_at}
    table = sql.Identifier("router_1m" if rule.every_s % 60 == 0 else "router_1s")
    none, join = sql.SQL(""), sql.SQL("JOIN router q USING (fabric_id, router)")
    kinds: list[tuple[str | None, sql.Composable, sql.Composable, str]]
    if rule.by == "class":
        kinds = [("class", sql.Literal(name), none, name) for name in CLASSES]
    elif rule.by == "group":
        kinds = [("group", sql.SQL("q.group_id::text"), join, "rt")]
    else:
        kinds = [(None, sql.SQL("NULL::text"), none, "rt")]
    for what, key, joined, prefix in kinds:
        columns = {
            name: sql.Identifier("b", f"{prefix}_{column}")
            for name, column in (("flits", "flits"), ("stalls", "stall_cycles"))
        }
        query = sql.SQL(_COUNTERS).format(key=key, table=table, join=joined, **columns)
        yield from ((what, row) for row in fetch_rows(conn, query, parameters))


def _counter_sample(what: str | None, row: Row, value: float) -> Sample:
    named = {what: row["key"]} if what else {}
    evidence = {
        "page": _format_page_path(row["fabric"], row["at"]),
        "flits": row["flits"],
        "stall_cycles": row["stalls"],
        "routers": row["routers"],
        "congested_routers": row["congested"],
        "simulated": row["simulated"],
    }
    return Sample(row["at"], _build_labels(fabric=row["fabric"], **named), value, None, evidence)


def stall_ratio(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield stall cycles per flit of a machine, a group or a link class."""
    for what, row in _sum_counters(conn, rule, from_s, to_s):
        if row["flits"]:
            yield _counter_sample(what, row, row["stalls"] / row["flits"])


def congested_routers(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the share of counted routers with stalls per flit of at least `congested_at`."""
    for what, row in _sum_counters(conn, rule, from_s, to_s):
        if row["routers"]:
            yield _counter_sample(what, row, row["congested"] / row["routers"])


_MERGED_WITH_ALERT = sql.SQL("""
    SELECT f.name AS fabric, i.incident_id, i.merged_into, i.simulated FROM incident i JOIN fabric f USING (fabric_id)
    WHERE i.merged_into IS NOT NULL AND EXISTS (SELECT FROM alert a WHERE a.resolved_at IS NULL AND a.labels ->> 'incident' = i.incident_id::text)
""")


def sample_incidents(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the number of jobs that an incident has slowed so far, one series per incident; 0 once it is over or part of another."""
    incident_filter = shown.IncidentFilter(from_s=from_s - OVER_S, to_s=to_s)
    for head in shown.list_heads(conn, incident_filter, MOST_INCIDENTS):
        labels = _build_labels(fabric=head["fabric"], incident=head["incident_id"])
        began_s, ended_s = head["began"].timestamp(), None if head["ended"] is None else head["ended"].timestamp()
        over = head["state"] == "withdrawn"
        evidence = {
            "page": f"/incidents/{head['incident_id']}",
            # The job with the stored explanation: the one that lost most.
            "job": head["worst"],
            "causes": [cause["job_id"] for cause in head["causes"]],
            **{name: head[name] for name in ("title", "slowed", "node_hours", "node_hours_low", "node_hours_high", "simulated")},
        }  # fmt: skip
        for at in _iterate_step_ends(rule, max(from_s, began_s - rule.every_s), to_s):
            lasts = at >= began_s and (ended_s is None or at < ended_s) and not over
            yield Sample(at, labels, float(head["slowed"] if lasts else 0), None, evidence, {"title": head["title"]})
    for row in fetch_rows(conn, _MERGED_WITH_ALERT):
        labels = _build_labels(fabric=row["fabric"], incident=row["incident_id"])
        evidence = {"page": f"/incidents/{row['merged_into']}", "simulated": row["simulated"]}
        words = {"title": f"Incident {row['incident_id']} is part of incident {row['merged_into']}"}
        for at in _iterate_step_ends(rule, from_s, to_s):
            yield Sample(at, labels, 0.0, None, evidence, words)


def sample_slowdowns(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the predicted time of a run's next steps over their usual time, and the probability that it reaches the rule's threshold.

    A forecast is valid until the run's next one, and not beyond its horizon. The 90 % interval is treated as that of a normal distribution.
    """
    rows = fetch_rows(
        conn,
        sql.SQL("""
            SELECT f.*, r.exe, r.simulated, coalesce(j.job_id, r.job_id) AS job_id, j.user_name, extract(epoch FROM f.made_at)::float8 AS made,
                   extract(epoch FROM lead(f.made_at) OVER (PARTITION BY f.run_id ORDER BY f.after_steps))::float8 AS next
            FROM forecast f JOIN run r USING (run_id) LEFT JOIN job j USING (job_pk)
            WHERE f.run_id IN (SELECT run_id FROM forecast WHERE made_at > to_timestamp(%(from)s) - interval '1 day' AND made_at <= to_timestamp(%(to)s))
              AND f.usual_s > 0
            ORDER BY f.made_at
        """),
        {"from": from_s, "to": to_s},
    )
    for row in rows:
        until = row["made"] + max(row["expected_s"], rule.every_s)
        value = row["expected_s"] / row["usual_s"]
        deviation = (row["high_s"] - row["low_s"]) / (2 * Z90 * row["usual_s"])
        beyond = (value - rule.above) / deviation if deviation > 0 else math.copysign(math.inf, value - rule.above)
        probability = 0.5 * math.erfc(-beyond / math.sqrt(2))
        labels = _build_labels(run=row["run_id"], job=row["job_id"], exe=row["exe"], user=row["user_name"])
        evidence = {
            "page": f"/jobs/{row['job_id']}" if row["job_id"] else None,
            **{name: row[name] for name in ("after_steps", "ahead", "expected_s", "low_s", "high_s", "usual_s", "forecaster", "estimate_id", "simulated")},
        }  # fmt: skip
        for at in _iterate_step_ends(rule, max(from_s, row["made"] - rule.every_s), min(to_s, until)):
            if row["made"] <= at and (row["next"] is None or at < row["next"]):
                yield Sample(at, labels, value, probability, evidence)


def blamed_user(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the nodes used by a user whom the newest estimate of an application names alongside its slow runs."""
    rows = fetch_rows(
        conn,
        sql.SQL("""
            SELECT n.name AS user, e.exe, e.estimate_id, e.simulated, (n.entry ->> 'q')::float8 AS q, (n.entry ->> 'effect_s')::float8 AS effect_s, j.job_id, coalesce(j.nodes, 0) AS nodes,
                   extract(epoch FROM j.start_ts)::float8 AS begins, extract(epoch FROM j.end_ts)::float8 AS ends
            FROM estimate_state t JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id) JOIN job j ON j.user_name = n.name
            WHERE t.kind = 'blame' AND n.by_what = 'user' AND n.entry ->> 'verdict' = %(named)s AND e.simulated = j.simulated
              AND j.start_ts < to_timestamp(%(to)s) AND (j.end_ts > to_timestamp(%(from)s) OR j.end_ts IS NULL AND j.state = 'RUNNING')
        """),
        {"from": from_s, "to": to_s, "named": NAMED},
    )
    for at in _iterate_step_ends(rule, from_s, to_s):
        rows_by_labels: dict[tuple[tuple[str, str], ...], list[Row]] = {}
        for row in rows:
            if row["begins"] <= at and (row["ends"] is None or at < row["ends"]):
                rows_by_labels.setdefault(_build_labels(user=row["user"], exe=row["exe"]), []).append(row)
        for labels, jobs in rows_by_labels.items():
            evidence = {
                "page": f"/jobs/{jobs[0]['job_id']}",
                "jobs": [job["job_id"] for job in jobs[:50]],
                "estimate_id": jobs[0]["estimate_id"],
                "q": jobs[0]["q"],
                "effect_s": jobs[0]["effect_s"],
                "simulated": jobs[0]["simulated"],
                "caveat": "dependence, never proof of cause",
            }
            yield Sample(at, labels, float(sum(job["nodes"] for job in jobs)), None, evidence)


def sample_roots(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the number of links that wait behind each root of congestion: on machines from port counters, for jobs from packet samples.

    Each step reads the ports of whole machines, so only the newest steps of a long history are used.
    """
    for at in list(_iterate_step_ends(rule, from_s, to_s))[-MOST_ROOT_STEPS:]:
        begin = at - max(rule.every_s, LEAST_ROOT_WINDOW_S)
        span = {"from": begin, "to": at}
        machines = fetch_rows(
            conn,
            sql.SQL(
                "SELECT fabric_id, name FROM fabric f WHERE NOT timeless AND EXISTS (SELECT FROM port_10s p WHERE p.fabric_id = f.fabric_id"
                " AND p.ts >= to_timestamp(%(from)s) AND p.ts < to_timestamp(%(to)s)) ORDER BY fabric_id"
            ),
            span,
        )
        for machine in machines:
            fabric_roots = roots.of_fabric(conn, machine["fabric_id"], begin, at)
            yield from (
                _root_sample(at, machine["name"], None, fabric_roots, root_row) for root_row in fabric_roots["roots"]
            )
        sampled = fetch_rows(
            conn,
            sql.SQL(
                "SELECT DISTINCT ON (c.job_id) c.job_id, f.name FROM sample_context c JOIN fabric f USING (fabric_id) WHERE c.job_id IS NOT NULL"
                " AND c.first_ts < to_timestamp(%(to)s) AND c.last_ts >= to_timestamp(%(from)s) ORDER BY c.job_id, c.last_ts DESC LIMIT 100"
            ),
            span,
        )
        for job in sampled:
            job_roots = roots.by_samples(conn, job["job_id"], at, at - begin)
            if job_roots is not None:
                yield from (
                    _root_sample(at, job["name"], job["job_id"], job_roots, root_row) for root_row in job_roots["roots"]
                )


def _root_sample(at_s: float, fabric: str, job: str | None, found: Row, one: Row) -> Sample:
    evidence = {
        "page": _format_page_path(fabric, at_s) if job is None else f"/jobs/{job}",
        "method": found["method"],
        **{name: one[name] for name in ("link", "cause", "confidence", "utilisation", "advice")},
        "victims": [f"{victim['src_name']} to {victim['dst_name']}" for victim in one["victims"][:20]],
        "jobs": [feeder["job_id"] for feeder in one["jobs"]],
        "simulated": found["simulated"],
    }
    labels = _build_labels(fabric=fabric, root=f"{one['src_name']} to {one['dst_name']}", job=job)
    return Sample(at_s, labels, float(one["victims_total"]), None, evidence)


def forecast_drift(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the largest population stability index of a forecaster's features. Only the current value is stored, so history begins at the last check."""
    rows = fetch_rows(
        conn,
        sql.SQL(
            "SELECT exe, nodes, estimate_id, drift, extract(epoch FROM checked_at)::float8 AS checked FROM estimate_state"
            " WHERE kind = 'forecast' AND drift IS NOT NULL AND estimate_id IS NOT NULL AND checked_at <= to_timestamp(%(to)s)"
        ),
        {"to": to_s},
    )
    for row in rows:
        indices = [value for value in (row["drift"].get("psi") or {}).values() if value is not None]
        if not indices:
            continue
        evidence = {"page": None, "drift": row["drift"], "estimate_id": row["estimate_id"]}
        for at in _iterate_step_ends(rule, max(from_s, row["checked"] - rule.every_s), to_s):
            if at >= row["checked"]:
                yield Sample(at, _build_labels(exe=row["exe"], nodes=row["nodes"]), float(max(indices)), None, evidence)


def ingest_gap(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the number of devices of a fabric with a gap in their records that touches the step."""
    rows = fetch_rows(
        conn,
        sql.SQL("""
            SELECT coalesce(f.name, 'unknown') AS fabric, coalesce(f.simulated, false) AS simulated, g.device, g.reason,
                   extract(epoch FROM g.from_ts)::float8 AS begins, extract(epoch FROM g.to_ts)::float8 AS ends
            FROM gap g LEFT JOIN fabric f USING (fabric_id) WHERE g.to_ts > to_timestamp(%(from)s) AND g.from_ts < to_timestamp(%(to)s)
        """),
        {"from": from_s - rule.every_s, "to": to_s},
    )
    fabrics = {(row["fabric"], row["simulated"]) for row in rows}
    for at in _iterate_step_ends(rule, from_s, to_s):
        for fabric, simulated in fabrics:
            touching = [
                row
                for row in rows
                if row["fabric"] == fabric and row["begins"] < at and row["ends"] > at - rule.every_s
            ]
            devices = sorted({row["device"] for row in touching})
            evidence = {
                "page": "/health",
                "devices": devices[:50],
                "reasons": sorted({row["reason"] for row in touching}),
                "simulated": simulated,
            }
            yield Sample(at, _build_labels(fabric=fabric), float(len(devices)), None, evidence)


def counter_silence(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield the seconds since the newest counters of a fabric with counters in the last day; archives and recordings are excluded."""
    rows = fetch_rows(
        conn,
        sql.SQL("""
            SELECT f.name AS fabric, f.simulated, array_agg(extract(epoch FROM m.ts)::float8 + m.width) AS ends
            FROM fabric f JOIN LATERAL (
                SELECT g AS ts, 60 AS width FROM generate_series(date_trunc('minute', to_timestamp(%(first)s)), to_timestamp(%(to)s) - interval '2 minutes', interval '1 minute') g
                WHERE EXISTS (SELECT FROM router_1m r WHERE r.fabric_id = f.fabric_id AND r.ts = g)
                UNION ALL
                SELECT g, 1 FROM generate_series(date_trunc('second', to_timestamp(%(to)s)) - interval '5 minutes', to_timestamp(%(to)s) - interval '1 second', interval '1 second') g
                WHERE EXISTS (SELECT FROM router_1s r WHERE r.fabric_id = f.fabric_id AND r.ts = g)
            ) m ON true WHERE NOT f.timeless AND NOT f.attributes @> '{"recorded": true}' GROUP BY 1, 2
        """),
        {"first": from_s - ARCHIVE_S, "to": to_s},
    )
    for row in rows:
        ends = sorted(row["ends"])
        place, newest = 0, None
        for at in _iterate_step_ends(rule, from_s, to_s):
            while place < len(ends) and ends[place] <= at:
                newest, place = ends[place], place + 1
            if newest is not None and at - newest <= ARCHIVE_S:
                evidence = {"page": "/health", "newest_s": newest, "simulated": row["simulated"]}
                yield Sample(at, _build_labels(fabric=row["fabric"]), at - newest, None, evidence)


def watch_slow_cables(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Yield how many times slower each cable is that runs at half the usual speed of its kind or less."""
    slow = [(row, row["usual_bps"] / row["bandwidth_bps"]) for row in read_slow_cables(conn) if row["slow"]]
    return _sample_cables(rule, slow, from_s, to_s)


def watch_flapping_cables(conn: Connection, rule: Rule, from_s: float, to_s: float) -> Iterator[Sample]:
    """Watch cables whose link flaps: how often each went down, recovered or changed its speed in the last day."""
    failures = [
        (row, float(row["link_downs"] + row["link_recoveries"] + row["link_speed_changes"]))
        for row in read_slow_cables(conn)
        if row["flapping"]
    ]
    return _sample_cables(rule, failures, from_s, to_s)


def _sample_cables(rule: Rule, cables: list[tuple[Row, float]], from_s: float, to_s: float) -> Iterator[Sample]:
    for row, value in cables:
        cable = f"{row['src_name']} - {row['dst_name']}"
        evidence = {
            "page": f"/fabric/{row['fabric']}",
            "link": row["link"],
            "simulated": row["simulated"],
            "condition": row["condition"],
        }
        words = {"condition": row["condition"]}
        for at in _iterate_step_ends(rule, max(from_s, row["since_s"]), to_s):
            yield Sample(at, _build_labels(fabric=row["fabric"], cable=cable), value, None, evidence, words)


SIGNALS: dict[str, Callable[[Connection, Rule, float, float], Iterator[Sample]]] = {
    "incident": sample_incidents,
    "slowdown": sample_slowdowns,
    "stall_ratio": stall_ratio,
    "congested_routers": congested_routers,
    "root": sample_roots,
    "blamed_user": blamed_user,
    "forecast_drift": forecast_drift,
    "ingest_gap": ingest_gap,
    "counter_silence": counter_silence,
    "slow_cable": watch_slow_cables,
    "flapping_cable": watch_flapping_cables,
}


def collect_samples(conn: Connection, rule: Rule, from_s: float, to_s: float) -> list[Sample]:
    """Return the rule's series over (from, to] in order of time, filtered by the labels in `where`, with the rule's labels added."""
    labelled_samples = [
        replace(sample, labels=tuple(sorted((*sample.labels, *rule.labels.items()))))
        for sample in SIGNALS[rule.signal](conn, rule, from_s, to_s)
        if all(dict(sample.labels).get(name) == word for name, word in rule.where.items())
    ]
    return sorted(labelled_samples, key=lambda sample: (sample.at_s, sample.labels))
