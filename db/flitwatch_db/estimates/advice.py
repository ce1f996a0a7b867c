"""Basis of advice for schedulers, read as a whole: present and past congestion by group, past runs, and blamed users with running jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import psycopg

from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.advice.basis import BASIS_QUEUE, Basis, Congestion, Driver, Place
from flitwatch_domain.blame import NAMED
from flitwatch_domain.counters.features import CARRIES, in_words
from flitwatch_domain.network_noise.observations import SEVERAL_GROUPS
from flitwatch_domain.outlook import DRIVEN, USUAL, CongestionKind, Outlook
from flitwatch_domain.run_time import PastTimes, Resident

Row = dict[str, Any]
#: Current congestion is that of the last whole minutes; older data are not current.
NOW_OLDEST_MINUTES = 15
HISTORY_DAYS = 60
MOST_RUNS = 20_000
WORKER_SILENT_S = 90.0

# {kinds}: a column for each requested kind of congestion.
_NOW = """
    SELECT m.fabric_id, q.group_id, {kinds}, extract(epoch FROM max(ts))::float8 + 60 AS at
    FROM router_1m m JOIN router q USING (fabric_id, router)
    WHERE ts >= date_trunc('minute', now()) - make_interval(mins => %(oldest)s) AND q.group_id IS NOT NULL GROUP BY 1, 2
"""
_HOURS = """
    SELECT m.fabric_id, q.group_id, extract(epoch FROM ts)::bigint AS hour, {kinds}
    FROM router_1h m JOIN router q USING (fabric_id, router)
    WHERE ts >= now() - make_interval(days => %(days)s) AND q.group_id IS NOT NULL GROUP BY 1, 2, 3
"""
_DRIVERS = """
    SELECT t.exe AS application, t.nodes, e.estimate_id, e.result -> 'rates' -> 'groups' AS groups
    FROM estimate_state t JOIN estimate e USING (estimate_id) WHERE t.kind = 'deviation'
"""
RUNNING = """
    SELECT j.job_pk, coalesce(j.user_name, '') AS "user", coalesce(j.name, '') AS name, j.nodes, j.simulated, d.fabric_id, q.group_id, count(DISTINCT
    d.node) AS here,
           extract(epoch FROM now() - j.start_ts)::float8 AS elapsed_s, coalesce(v.factor, 1) AS factor, coalesce(v.lost_s, 0) AS lost_s
    FROM job j JOIN job_node d USING (job_pk) JOIN router q USING (fabric_id, router) LEFT JOIN LATERAL (
        SELECT (finding #>> '{slowdown,factor}')::float8 AS factor, lost_s FROM incident_victim
        WHERE job_pk = j.job_pk AND until_at IS NULL ORDER BY since_at DESC LIMIT 1
    ) v ON true
    WHERE j.state = 'RUNNING' AND j.end_ts IS NULL AND j.start_ts IS NOT NULL AND q.group_id IS NOT NULL
    GROUP BY j.job_pk, d.fabric_id, q.group_id, v.factor, v.lost_s
"""
_PAST_TIMES = """
    SELECT coalesce(user_name, '') AS "user", coalesce(name, '') AS name, nodes, simulated, extract(epoch FROM end_ts - start_ts)::float8 AS time_s
    FROM job WHERE state = 'COMPLETED' AND end_ts > start_ts AND nodes > 0 AND start_ts > now() - make_interval(days => %(days)s)
    ORDER BY start_ts DESC LIMIT %(most)s
"""
# Share of its network cards' capacity that an application sent, as computed by `routing.advice` from their counters.
_INTENSITY = """
    SELECT DISTINCT ON (application) application, recommendation_id, (detail -> 'why' -> 0 ->> 'value')::float8 AS share
    FROM recommendation WHERE authorised AND kind = 'placement' AND application IS NOT NULL AND created_at > now() - make_interval(days => %(days)s)
      AND detail -> 'why' -> 0 ->> 'text' = %(text)s
    ORDER BY application, recommendation_id DESC
"""
_RUNS = """
    SELECT r.exe AS application, coalesce(j.nodes, r.ranks) AS nodes, j.user_name AS "user", r.run_id, t.time_s, r.simulated,
           extract(epoch FROM r.start_ts)::float8 AS start_s, p.fabric_id, p.groups
    FROM (SELECT * FROM run WHERE start_ts > now() - make_interval(days => %(days)s) ORDER BY start_ts DESC LIMIT %(most)s) r
    JOIN LATERAL (SELECT sum(time_s) AS time_s, count(*) AS steps FROM run_step s WHERE s.run_id = r.run_id) t ON t.time_s > 0
    LEFT JOIN job j USING (job_pk) LEFT JOIN LATERAL (
        SELECT n.fabric_id, array_agg(DISTINCT q.group_id) AS groups FROM job_node n JOIN router q USING (fabric_id, router)
        WHERE n.job_pk = j.job_pk AND q.group_id IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1
    ) p ON true
    WHERE j.job_pk IS NULL OR j.end_ts IS NOT NULL AND j.state = 'COMPLETED'
"""
_NODES = """
    SELECT e.node, e.fabric_id, q.group_id, f.simulated, f.technology FROM endpoint e JOIN router q USING (fabric_id, router) JOIN fabric f USING
    (fabric_id)
    WHERE e.node IS NOT NULL AND q.group_id IS NOT NULL AND e.role = 'compute' ORDER BY f.created_at
"""
# The times of runs alongside a blamed user's jobs, and of those without them, as compared in the estimate.
_BLAMED = """
    SELECT n.name AS "user", e.exe AS application, e.nodes, e.estimate_id, n.place, (n.entry ->> 'q')::float8 AS q, n.exposure,
           e.result -> 'runs' AS runs, e.simulated,
           (SELECT array_agg(DISTINCT q.fabric_id || '/' || q.group_id) FROM job j JOIN job_node d USING (job_pk) JOIN router q USING (fabric_id,
           router)
            WHERE j.user_name = n.name AND j.state = 'RUNNING' AND j.end_ts IS NULL AND j.simulated = e.simulated AND q.group_id IS NOT NULL) AS
            groups,
           (SELECT array_agg(j.job_id ORDER BY j.start_ts DESC) FROM job j
            WHERE j.user_name = n.name AND j.state = 'RUNNING' AND j.end_ts IS NULL AND j.simulated = e.simulated) AS jobs
    FROM estimate_state t JOIN estimate e USING (estimate_id) JOIN estimate_entry n USING (estimate_id)
    WHERE t.kind = 'blame' AND n.by_what = 'user' AND n.entry ->> 'verdict' = %(named)s
"""
_MODES = """
    SELECT DISTINCT ON (application) application, environment, recommendation_id, reason, job_id, simulated, (detail -> 'parameters' ->>
    'groups')::int AS groups
    FROM recommendation WHERE authorised AND kind = 'routing_mode' AND application IS NOT NULL AND created_at > now() - make_interval(days =>
    %(days)s)
    ORDER BY application, coalesce((detail -> 'parameters' ->> 'groups')::int, 0) >= %(several)s DESC, recommendation_id DESC
"""
_WORKERS = """
    SELECT extract(epoch FROM clock_timestamp())::float8 AS now, (SELECT count(*) FROM worker
           WHERE %(queue)s = ANY(queues) AND seen_at > now() - make_interval(secs => %(silent)s)) AS workers,
           (SELECT value #>> '{}' FROM setting WHERE key = 'pseudonym_key') AS pseudonym_key
"""


#: First reason for the placement that `routing.advice` recommends.
SENT_SHARE = "flits sent, as a share of what a NIC can send"


def _fetch_rows(conn: psycopg.Connection[Any], query: str, **parameters: Any) -> list[Row]:
    return fetch_rows(conn, query.encode(), parameters)


def load_basis(conn: psycopg.Connection[Any]) -> Basis:
    (state,) = _fetch_rows(conn, _WORKERS, silent=WORKER_SILENT_S, queue=BASIS_QUEUE)
    basis = Basis(state["now"], state["workers"], state["pseudonym_key"] or "")
    basis.drivers.update(pick_drivers(_fetch_rows(conn, _DRIVERS)))
    congestion_kinds = [
        USUAL,
        *(DRIVEN[name] for name in sorted({app_driver.kind for app_driver in basis.drivers.values()})),
    ]
    basis.kinds.update({kind.name: Congestion() for kind in congestion_kinds if kind.name})
    columns = ", ".join(f"{_build_quotient(kind)} AS ratio{place}" for place, kind in enumerate(congestion_kinds))
    for row in _fetch_rows(conn, _NOW.replace("{kinds}", columns), oldest=NOW_OLDEST_MINUTES):
        for place, kind in enumerate(congestion_kinds):
            ratio = _finite_or_none(row[f"ratio{place}"])
            if ratio is not None:
                basis.congestion(kind.name).now[row["fabric_id"], row["group_id"]] = ratio, row["at"]
    for row in _fetch_rows(conn, _NODES):
        basis.nodes.setdefault(row["node"], []).append((row["fabric_id"], row["group_id"]))
        basis.technologies[row["fabric_id"]] = row["technology"]
    past = _fetch_rows(conn, _HOURS.replace("{kinds}", columns), days=HISTORY_DAYS)
    hours: dict[str, dict[tuple[int, int, int], float | None]] = {}
    for place, kind in enumerate(congestion_kinds):
        own = {(row["fabric_id"], row["group_id"], row["hour"]): _finite_or_none(row[f"ratio{place}"]) for row in past}
        congestion, hours[kind.name] = basis.congestion(kind.name), own
        outlook = Outlook(own)
        congestion.ahead.update(outlook.next_hour(congestion.now))
        congestion.usual.update(outlook.usual_ratio())
    for row in _fetch_rows(conn, _RUNS, days=HISTORY_DAYS, most=MOST_RUNS):
        row["congestion"] = congestion_then(hours[""], row)
        driver = basis.drivers.get((row["application"], row["nodes"]))
        row["driven"] = None if driver is None else congestion_then(hours[driver.kind], row)
        basis.runs.setdefault(row["application"], []).append(row)
    basis.residents.update(
        group_residents(_fetch_rows(conn, RUNNING), _fetch_rows(conn, _PAST_TIMES, days=HISTORY_DAYS, most=MOST_RUNS))
    )
    for row in _fetch_rows(conn, _INTENSITY, days=HISTORY_DAYS, text=SENT_SHARE):
        if row["share"] is not None:
            basis.intensity[row["application"]] = row
    for row in _fetch_rows(conn, _BLAMED, named=NAMED):
        if row["jobs"]:
            basis.blamed.setdefault(row["application"], []).append(row)
    for row in _fetch_rows(conn, _MODES, days=HISTORY_DAYS, several=SEVERAL_GROUPS):
        basis.routing_modes[row["application"]] = row
    return basis


def _finite_or_none(ratio: float | None) -> float | None:
    """Return the ratio; None if counts overflowed."""
    return ratio if ratio is not None and math.isfinite(ratio) else None


def _build_quotient(kind: CongestionKind) -> str:
    """Build the quotient of sums; NULL if one of them was not counted."""
    above, below = (" + ".join(f"sum(m.{column})" for column in columns) for columns in (kind.above, kind.below))
    return f"(({above}) / nullif({below}, 0))::float8"


def pick_drivers(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], Driver]:
    """Return, for each application and size, the strongest group of counters that explains its deviation and counts a kind of congestion."""
    drivers_by_size: dict[tuple[str, int], Driver] = {}
    for row in rows:
        carrying = (group for group in row["groups"] or () if group["verdict"] == CARRIES and group["name"] in DRIVEN)
        group = next(carrying, None)
        if group is not None:
            drivers_by_size[row["application"], row["nodes"]] = Driver(
                group["name"], in_words(group), row["estimate_id"]
            )
    return drivers_by_size


def group_residents(running: list[Row], past: list[Row]) -> dict[Place, list[Resident]]:
    """Return running jobs, by the groups of their nodes, with their remaining times. Simulated jobs are compared only with simulated ones."""
    times = {}
    for simulated in (False, True):
        own = [row for row in reversed(past) if row["simulated"] == simulated]
        times[simulated] = PastTimes(
            [row["user"] for row in own],
            [row["name"] for row in own],
            np.array([row["nodes"] for row in own], float),
            np.array([row["time_s"] for row in own], float),
        )
    residents_by_place: dict[Place, list[Resident]] = {}
    for row in running:
        elapsed_s = max(row["elapsed_s"], 0.0)
        features = (row["user"], row["name"], row["nodes"] or row["here"], elapsed_s, row["factor"], row["lost_s"])
        resident = Resident(row["user"], row["here"], times[row["simulated"]].left_s(*features))
        residents_by_place.setdefault((row["fabric_id"], row["group_id"]), []).append(resident)
    return residents_by_place


def congestion_then(hours: dict[tuple[int, int, int], float | None], run: Mapping[str, Any]) -> float | None:
    """Return the mean stall ratio of a run's groups over the hours that it touched; None if an hour was not counted."""
    if run["fabric_id"] is None or run["start_s"] is None:
        return None
    first, last = int(run["start_s"] // 3600), int((run["start_s"] + run["time_s"]) // 3600)
    ratios = [
        hours.get((run["fabric_id"], group, hour * 3600)) for group in run["groups"] for hour in range(first, last + 1)
    ]
    known_ratios = [ratio for ratio in ratios if ratio is not None]
    return sum(known_ratios) / len(known_ratios) if known_ratios and len(known_ratios) == len(ratios) else None
