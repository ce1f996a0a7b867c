"""What an explanation of a job reads, in the order in which one finding leads to the next; the finding itself is the domain's."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from flitwatch_db.core import packing
from flitwatch_db.core.columns import packed_arrays, unpack_arrays
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.explanation import answer, slowdown
from flitwatch_domain.explanation.candidates import LONGEST_LAG_S, Beside, Blamed
from flitwatch_domain.explanation.carriers import Count, LinkCount
from flitwatch_domain.explanation.scenery import Scenery

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Earlier runs that say what is usual.
MOST_RUNS = 40
#: Counters are taken over so long before the interval of the onset and after it.
WINDOW_S = 60.0
#: Seconds by which a NIC's row may come after what it counts: rows stand at the sample that ends an interval.
NIC_LATE_S = 10.0
#: Seconds by which the clock of a run may be ahead of ours: its start is rounded, and a step is known once it is over.
CLOCKS_S = 2.0
#: Minutes before the onset over which a job's own most is taken, and how many of them must be counted.
MINUTES, LEAST_MINUTES = 10, 3
MOST_JOBS = 2000
MOST_ROUTERS = 256
#: Minutes of its routers' counters that are looked at where a job has no steps.
LONGEST_LIFE_S = 86_400.0


def explain(conn: Conn, job_id: str, cluster: str | None = None, now_s: float | None = None) -> dict[str, Any]:
    """Why a job is slow, whether it is, and what would help (docs/contracts/explanation.md).

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    job_id, cluster : str
        As the scheduler prints it; the newest job of that id.
    now_s : float, optional
        The moment of the answer, epoch seconds: what came later is not looked at, but blame is the newest. Without it, the clock.

    Raises
    ------
    NotFound
        There is no such job.
    BadRequest
        It had not started at that moment.
    """
    now_s = time.time() if now_s is None else now_s
    job = _at_moment(_job(conn, job_id, cluster), now_s)
    place = _place(conn, job["job_pk"])
    watched = _watched(conn, job, now_s)
    found = slowdown.of_steps(watched.steps) if watched.steps is not None else None
    if watched.steps is None and place is not None:
        found = _of_counters(conn, job, place, watched, now_s)
    fabric = None if place is None else _fabric(conn, place["fabric_id"])
    scene = None
    if found is not None and place is not None and fabric is not None and not fabric["timeless"]:
        scene = _scene(conn, job, place, fabric, found, watched, now_s)
    return answer.explanation(job, watched, found, scene, now_s)


def _rows(conn: Conn, query: SQL | Composed, parameters: dict[str, Any]) -> list[Row]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _job(conn: Conn, job_id: str, cluster: str | None) -> Row:
    rows = _rows(
        conn,
        SQL("""
            SELECT job_pk, cluster, job_id, user_name AS "user", account, name, state, nodes, simulated,
                   extract(epoch FROM start_ts)::float8 AS start_s, extract(epoch FROM end_ts)::float8 AS end_s
            FROM job WHERE job_id = %(id)s AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)
            ORDER BY coalesce(start_ts, submit_ts) DESC NULLS LAST, restart DESC, job_pk DESC LIMIT 1
        """),
        {"id": job_id, "cluster": cluster},
    )
    if not rows:
        raise NotFound(
            f"there is no job {job_id[:60]!r}" + (f" of cluster {cluster[:60]!r}" if cluster else ""),
            advice="Write the id as the scheduler prints it (42, 3_4, 10+1); /api/v1/jobs?q= finds jobs by part of it.",
        )
    return rows[0]


def _at_moment(job: Row, now_s: float) -> Row:
    """A job as it was at a moment: one that ended later was running."""
    if job["start_s"] is not None and job["start_s"] > now_s:
        raise BadRequest(
            f"job {job['job_id']} had not started at that moment",
            advice="Ask for a later `at`, or leave it out for the newest answer.",
        )
    return {**job, "end_s": None, "state": "RUNNING"} if job["end_s"] is not None and job["end_s"] > now_s else job


def _place(conn: Conn, job_pk: int) -> Row | None:
    """The fabric that holds most of a job's nodes, and the router of each."""
    rows = _rows(
        conn,
        SQL(
            "SELECT fabric_id, array_agg(router) AS router FROM job_node WHERE job_pk = %(job)s AND router IS NOT NULL"
            " GROUP BY fabric_id ORDER BY count(*) DESC, fabric_id LIMIT 1"
        ),
        {"job": job_pk},
    )
    return rows[0] if rows else None


def _fabric(conn: Conn, fabric_id: int) -> Row:
    row = _rows(
        conn,
        SQL("""
            SELECT f.fabric_id, f.name, f.timeless, f.counted_at = 'receiver' AS at_receiver,
                   (SELECT array_agg(r.router ORDER BY r.router) FROM router r WHERE r.fabric_id = f.fabric_id) AS router,
                   (SELECT array_agg(coalesce(r.group_id, -1) ORDER BY r.router) FROM router r WHERE r.fabric_id = f.fabric_id) AS groups,
                   (SELECT array_agg(r.name ORDER BY r.router) FROM router r WHERE r.fabric_id = f.fabric_id) AS names
            FROM fabric f WHERE f.fabric_id = %(fabric)s
        """),
        {"fabric": fabric_id},
    )[0]
    group = np.full(max(row["router"], default=-1) + 1, -1, np.int64)
    group[row["router"]] = row["groups"]
    return {**row, "group": group, "names": dict(zip(row["router"], row["names"], strict=True))}


def _watched(conn: Conn, job: Row, now_s: float) -> answer.Watched:
    """The newest run of a job that has steps, with earlier runs of its application; and earlier jobs like it."""
    past = _past(conn, job, now_s)
    runs = _rows(
        conn,
        SQL("""
            SELECT r.run_id, r.exe, r.ranks, extract(epoch FROM r.start_ts)::float8 AS start_s, s.step, s.time_s
            FROM run r, LATERAL (
                SELECT array_agg(step ORDER BY step) AS step, array_agg(time_s ORDER BY step) AS time_s FROM run_step t WHERE t.run_id = r.run_id
            ) s
            WHERE r.job_pk = %(job)s AND s.step IS NOT NULL ORDER BY r.start_ts DESC NULLS LAST, r.run_id DESC LIMIT 1
        """),
        {"job": job["job_pk"]},
    )
    if not runs:
        return answer.Watched(None, None, past)
    run = runs[0]
    step, taken = np.array(run["step"], np.int64), np.array(run["time_s"], float)
    good = np.isfinite(taken) & (taken > 0)
    start_s = run["start_s"] if run["start_s"] is not None else job["start_s"]
    if start_s is not None:
        good &= start_s + np.cumsum(np.where(good, taken, 0.0)) <= now_s + CLOCKS_S
    if start_s is None or not good.any():
        return answer.Watched(None, run["exe"], past)
    earlier = _earlier(conn, run, job, start_s)
    return answer.Watched(slowdown.Steps(step[good], taken[good], start_s, earlier), run["exe"], past)


def _earlier(conn: Conn, run: Row, job: Row, start_s: float) -> NDArray[np.float64]:
    rows = _rows(
        conn,
        SQL("""
            SELECT s.step, s.time_s FROM (
                SELECT r.run_id FROM run r LEFT JOIN job j USING (job_pk)
                WHERE r.exe = %(exe)s AND (coalesce(j.nodes, r.ranks) = %(nodes)s OR r.ranks = %(ranks)s) AND r.run_id <> %(run)s
                  AND r.simulated = %(simulated)s AND r.start_ts < to_timestamp(%(start)s)
                ORDER BY r.start_ts DESC, r.run_id DESC LIMIT %(most)s
            ) n, LATERAL (
                SELECT array_agg(step ORDER BY step) AS step, array_agg(time_s ORDER BY step) AS time_s FROM run_step t WHERE t.run_id = n.run_id
            ) s WHERE s.step IS NOT NULL
        """),
        {
            "exe": run["exe"], "nodes": job["nodes"], "ranks": run["ranks"], "run": run["run_id"], "simulated": job["simulated"],
            "start": start_s, "most": MOST_RUNS,
        },
    )  # fmt: skip
    times = np.full((len(rows), max((max(row["step"]) + 1 for row in rows), default=0)), np.nan)
    for at, row in enumerate(rows):
        times[at, row["step"]] = row["time_s"]
    times[~(times > 0)] = np.nan
    return times


#: Jobs of the same user, name and about the same size; then of the same name and size, whoever ran them.
_PAST = SQL("""
    SELECT extract(epoch FROM j.end_ts - j.start_ts)::float8 AS s, j.user_name IS NOT DISTINCT FROM %(user)s AS own FROM job j
    WHERE j.job_pk <> %(job)s AND j.simulated = %(simulated)s AND j.state = 'COMPLETED' AND j.end_ts > j.start_ts AND j.name = %(name)s
      AND j.nodes BETWEEN %(nodes)s / 2.0 AND %(nodes)s * 2.0 AND j.start_ts < to_timestamp(%(start)s) AND j.end_ts <= to_timestamp(%(now)s)
    ORDER BY j.start_ts DESC LIMIT 200
""")


def _past(conn: Conn, job: Row, now_s: float) -> answer.Past | None:
    if job["start_s"] is None or job["name"] is None or not job["nodes"]:
        return None
    rows = _rows(
        conn,
        _PAST,
        {"user": job["user"], "job": job["job_pk"], "simulated": job["simulated"], "name": job["name"], "nodes": job["nodes"],
         "start": job["start_s"], "now": now_s},
    )  # fmt: skip
    own = [row["s"] for row in rows if row["own"]]
    like = own if len(own) >= answer.LEAST_JOBS else [row["s"] for row in rows]
    if len(like) < answer.LEAST_JOBS:
        return None
    return answer.Past(np.array(like, float))


def _of_counters(conn: Conn, job: Row, place: Row, watched: answer.Watched, now_s: float) -> slowdown.Slowdown | None:
    """A job without steps is slow where it took longer than its like, and since the stalls on its routers rose."""
    factor = answer.elapsed_factor(job, watched.past, now_s)
    if factor is None or watched.past is None:
        return None
    end_s = min(now_s, job["end_s"] if job["end_s"] is not None else now_s)
    begin_s = max(job["start_s"], end_s - LONGEST_LIFE_S)
    lost_s = (end_s - job["start_s"]) * (1 - 1 / factor)
    minutes = _own_series(conn, place, begin_s, end_s, 60)
    at = None if len(minutes.at_s) < 6 else slowdown.rise(minutes, begin_s + 60, end_s - 60)
    if at is None:
        return slowdown.Slowdown("counters", factor, lost_s, begin_s, begin_s, end_s, None, True)
    return slowdown.Slowdown("counters", factor, lost_s, at - 60, at, at + 60, None, False)


def _own_series(conn: Conn, place: Row, from_s: float, to_s: float, width_s: int) -> slowdown.Series:
    """Stall cycles per flit of a job's routers by time."""
    table = SQL("router_1s") if width_s == 1 else SQL("router_1m")
    where = SQL("ts = ANY(ARRAY(SELECT generate_series(to_timestamp(%(from)s), to_timestamp(%(to)s), interval '1 s')))") if width_s == 1 else SQL(
        "ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)"
    )  # fmt: skip
    rows = _rows(
        conn,
        SQL(
            "SELECT extract(epoch FROM ts)::float8 AS at, sum(rt_stall_cycles) / nullif(sum(rt_flits), 0) AS ratio FROM {}"
            " WHERE fabric_id = %(fabric)s AND router = ANY(%(routers)s) AND {} GROUP BY ts ORDER BY ts"
        ).format(table, where),  # type: ignore[arg-type]
        {
            "fabric": place["fabric_id"], "routers": sorted(set(place["router"])),
            "from": math.floor(from_s / width_s) * width_s, "to": math.floor(to_s / width_s) * width_s,
        },
    )  # fmt: skip
    ratio = np.array([math.nan if row["ratio"] is None else row["ratio"] for row in rows], float)
    return slowdown.Series(np.array([row["at"] for row in rows], float), ratio, float(width_s))


def _scene(
    conn: Conn, job: Row, place: Row, fabric: Row, found: slowdown.Slowdown, watched: answer.Watched, now_s: float
) -> Scenery:
    """Everything about the onset: counters on both sides of it, and the jobs that were there."""
    low, high = found.low_s, found.high_s
    seconds = _own_series(conn, place, low - WINDOW_S, min(high + WINDOW_S, now_s), 1)
    at = slowdown.rise(seconds, low, high) if not found.from_start else None
    if at is not None:
        low, high = max(low, at - answer.REFINED_S), min(high, at + answer.REFINED_S)
    end = min(
        found.end_s if found.end_s is not None else math.inf,
        job["end_s"] if job["end_s"] is not None else math.inf,
        now_s,
    )
    after_s = min(WINDOW_S, max(0.0, end - high))
    before = (low - WINDOW_S, low)
    after = (high, high + after_s)
    jobs = _beside(conn, job, fabric["fabric_id"], low, high, max(end, high))
    sent = _sent(conn, fabric["fabric_id"], [row["job_pk"] for row in jobs], before, after)
    most = _most_sent(conn, fabric["fabric_id"], [row["job_pk"] for row in jobs], low)
    blamed = _blamed(conn, watched.exe, job["nodes"], [row["user"] for row in jobs if row["user"]])
    beside = [
        Beside(
            row["job_pk"], row["job_id"], row["user"], row["name"], row["nodes"], row["simulated"], row["start_s"],
            row["end_s"] if row["end_s"] is None or row["end_s"] <= now_s else None,
            np.array(row["router"], np.int64), *_rates(row, sent.get(row["job_pk"]), low), most.get(row["job_pk"]), blamed.get(row["user"]),
        )
        for row in jobs
    ]  # fmt: skip
    links = _links(conn, place, fabric, before, after)
    return Scenery(
        fabric["fabric_id"], fabric["name"], np.array(place["router"], np.int64), fabric["group"], low, high, end, at is not None,
        _sums(conn, place, before, after), links, beside, sent.get(-1, (None, None)), any(v[1] is not None for v in sent.values()),
    )  # fmt: skip


def _rates(row: Row, sent: tuple[float | None, float | None] | None, low_s: float) -> tuple[float | None, float | None]:
    if sent is None or sent[1] is None:
        return None, None
    # What its nodes sent before it started was another job's.
    return (0.0 if row["start_s"] > low_s - WINDOW_S / 2 else sent[0]), sent[1]


def _beside(conn: Conn, job: Row, fabric_id: int, low_s: float, high_s: float, end_s: float) -> list[Row]:
    return _rows(
        conn,
        SQL("""
            SELECT j.job_pk, j.job_id, j.user_name AS "user", j.name, j.nodes, j.simulated, extract(epoch FROM j.start_ts)::float8 AS start_s,
                   extract(epoch FROM j.end_ts)::float8 AS end_s, array_agg(n.router) AS router
            FROM job j JOIN job_node n USING (job_pk)
            WHERE n.fabric_id = %(fabric)s AND n.router IS NOT NULL AND j.job_pk <> %(job)s AND j.simulated = %(simulated)s
              AND j.start_ts < to_timestamp(%(end)s) AND (j.end_ts IS NULL AND j.state = 'RUNNING' OR j.end_ts > to_timestamp(%(low)s))
            GROUP BY j.job_pk ORDER BY count(*) DESC, j.job_pk LIMIT %(most)s
        """),
        {"fabric": fabric_id, "job": job["job_pk"], "simulated": job["simulated"], "low": low_s - LONGEST_LAG_S, "end": end_s, "most": MOST_JOBS},
    )  # fmt: skip


def _sent(
    conn: Conn, fabric_id: int, jobs: list[int], before: tuple[float, float], after: tuple[float, float]
) -> dict[int, tuple[float | None, float | None]]:
    """Bytes a second that the nodes of each job sent before and after, and under -1 those of the whole machine; None where no NIC was counted."""
    rows = _rows(
        conn,
        SQL("""
            WITH counted AS (
                SELECT endpoint, sum(tx_bytes) FILTER (WHERE NOT late) / nullif(sum(seconds) FILTER (WHERE NOT late AND tx_bytes IS NOT NULL), 0) AS before,
                       sum(tx_bytes) FILTER (WHERE late) / nullif(sum(seconds) FILTER (WHERE late AND tx_bytes IS NOT NULL), 0) AS after
                FROM (
                    SELECT endpoint, tx_bytes, seconds, ts >= to_timestamp(%(c)s) AS late FROM endpoint_1s
                    WHERE fabric_id = %(fabric)s AND (ts >= to_timestamp(%(a)s) AND ts < to_timestamp(%(b)s) OR ts >= to_timestamp(%(c)s) AND ts < to_timestamp(%(d)s))
                ) e GROUP BY endpoint
            )
            SELECT n.job_pk, sum(before)::float8 * count(*) / nullif(count(before), 0) AS before, sum(after)::float8 * count(*) / nullif(count(after), 0) AS after
            FROM job_node n LEFT JOIN counted USING (endpoint) WHERE n.job_pk = ANY(%(jobs)s) AND n.fabric_id = %(fabric)s GROUP BY 1
            UNION ALL SELECT -1, sum(before)::float8, sum(after)::float8 FROM counted
        """),
        {"fabric": fabric_id, "jobs": jobs, "a": before[0], "b": before[1], "c": after[0] + NIC_LATE_S, "d": after[1] + NIC_LATE_S},
    )  # fmt: skip
    return {row["job_pk"]: (row["before"], row["after"]) for row in rows}


def _most_sent(conn: Conn, fabric_id: int, jobs: list[int], low_s: float) -> dict[int, float]:
    """The most bytes a second that the nodes of each job sent in a minute before the onset in which it ran; jobs with enough such minutes only."""
    end_s = math.floor(low_s / 60) * 60
    rows = _rows(
        conn,
        SQL("""
            SELECT job_pk, max(rate) AS most FROM (
                SELECT n.job_pk, e.ts, sum(e.tx_bytes) / nullif(sum(e.seconds), 0) * j.size AS rate
                FROM endpoint_1m e JOIN job_node n ON (n.fabric_id, n.endpoint) = (e.fabric_id, e.endpoint)
                JOIN (
                    SELECT m.job_pk, o.start_ts, count(*) AS size FROM job_node m JOIN job o USING (job_pk)
                    WHERE m.job_pk = ANY(%(jobs)s) AND (m.fabric_id = %(fabric)s OR m.fabric_id IS NULL) GROUP BY 1, 2
                ) j ON j.job_pk = n.job_pk AND j.start_ts <= e.ts
                WHERE e.fabric_id = %(fabric)s AND e.ts >= to_timestamp(%(from)s) AND e.ts < to_timestamp(%(to)s) AND e.tx_bytes IS NOT NULL
                GROUP BY n.job_pk, e.ts, j.size
            ) m GROUP BY job_pk HAVING count(*) >= %(least)s
        """),
        {"fabric": fabric_id, "jobs": jobs, "from": end_s - 60 * MINUTES, "to": end_s, "least": LEAST_MINUTES},
    )
    return {row["job_pk"]: row["most"] for row in rows}


def _blamed(conn: Conn, exe: str | None, nodes: int | None, users: list[str]) -> dict[str, Blamed]:
    if exe is None or not users:
        return {}
    rows = _rows(
        conn,
        SQL("""
            SELECT n.name, t.estimate_id, (n.entry ->> 'q')::float8 AS q, n.entry ->> 'verdict' AS verdict
            FROM estimate_state t JOIN estimate_entry n USING (estimate_id)
            WHERE t.kind = 'blame' AND t.exe = %(exe)s AND t.nodes = %(nodes)s AND n.by_what = 'user' AND n.name = ANY(%(users)s)
        """),
        {"exe": exe, "nodes": nodes, "users": sorted(set(users))},
    )
    return {row["name"]: Blamed(row["estimate_id"], row["q"], row["verdict"]) for row in rows}


def _sums(conn: Conn, place: Row, before: tuple[float, float], after: tuple[float, float]) -> Count:
    """Counts of the job's own routers."""
    rows = _rows(
        conn,
        SQL("""
            SELECT ts >= to_timestamp(%(c)s) AS late, sum(rt_flits) AS flits, sum(rt_stall_cycles) AS stalls FROM router_1s
            WHERE fabric_id = %(fabric)s AND router = ANY(%(routers)s) AND ts = ANY(ARRAY(
                SELECT to_timestamp(s) FROM generate_series(%(a)s::int, %(b)s::int - 1) s UNION SELECT to_timestamp(s) FROM generate_series(%(c)s::int, %(d)s::int - 1) s
            )) GROUP BY 1
        """),
        {"fabric": place["fabric_id"], "routers": sorted(set(place["router"])), **_whole(before, after)},
    )
    by_side = {row["late"]: row for row in rows}
    early, late = by_side.get(False, {}), by_side.get(True, {})
    return Count(early.get("flits"), early.get("stalls"), late.get("flits"), late.get("stalls"))


def _whole(before: tuple[float, float], after: tuple[float, float]) -> dict[str, int]:
    """Whole seconds within the windows."""
    return {"a": math.ceil(before[0]), "b": math.floor(before[1]), "c": math.ceil(after[0]), "d": math.floor(after[1])}


def _links(
    conn: Conn, place: Row, fabric: Row, before: tuple[float, float], after: tuple[float, float]
) -> list[LinkCount]:
    """Links at the job's routers, and those that join its groups, with what was counted on them."""
    own = sorted(set(place["router"]))
    groups = sorted({int(fabric["group"][router]) for router in own} - {-1})
    end = "dst" if fabric["at_receiver"] else "src"
    between = np.isin(fabric["group"], groups)
    rows = _rows(
        conn,
        SQL(
            "SELECT link, class, src_router, dst_router, {} AS router, {} AS port FROM link WHERE fabric_id = %(fabric)s AND {} IS NOT NULL"
            " AND src_router IS NOT NULL AND dst_router IS NOT NULL AND (src_router = ANY(%(own)s) OR dst_router = ANY(%(own)s)"
            " OR src_router = ANY(%(near)s) AND dst_router = ANY(%(near)s) AND class NOT IN ('green', 'black'))"
        ).format(Identifier(f"{end}_router"), Identifier(f"{end}_port"), Identifier(f"{end}_port")),
        {
            "fabric": fabric["fabric_id"],
            "own": own,
            "near": np.flatnonzero(between).tolist() if len(groups) > 1 else [],
        },
    )
    held = set(own)
    group = fabric["group"]
    rows = [
        row for row in rows
        if row["src_router"] in held or row["dst_router"] in held or group[row["src_router"]] != group[row["dst_router"]]
    ]  # fmt: skip
    counts = _port_counts(conn, fabric["fabric_id"], sorted({row["router"] for row in rows}), before, after)
    return [
        LinkCount(
            row["link"], row["class"], row["src_router"], fabric["names"][row["src_router"]], int(group[row["src_router"]]),
            row["dst_router"], fabric["names"][row["dst_router"]], int(group[row["dst_router"]]), counts[row["router"], row["port"]],
        )
        for row in rows if (row["router"], row["port"]) in counts
    ]  # fmt: skip


def _port_counts(
    conn: Conn, fabric_id: int, routers: list[int], before: tuple[float, float], after: tuple[float, float]
) -> dict[tuple[int, int], Count]:
    """Counts of every port of some routers over both windows; whole buckets of ten seconds only."""
    query = SQL("""
        SELECT array_send(array_agg(router)), array_send(array_agg((ts >= to_timestamp(%(c)s))::int)), {}, {} FROM port_10s
        WHERE fabric_id = %(fabric)s AND router = ANY(%(routers)s)
          AND (ts >= to_timestamp(%(a)s) AND ts <= to_timestamp(%(b)s - 10) OR ts >= to_timestamp(%(c)s) AND ts <= to_timestamp(%(d)s - 10))
    """).format(*(packed_arrays(Identifier(name)) for name in ("flits", "stall_cycles")))
    with conn.cursor(binary=True) as cursor:
        sent = cursor.execute(query, {"fabric": fabric_id, "routers": routers, **_whole(before, after)}).fetchone()
    assert sent is not None
    router, late = (np.asarray(packing.unpack(column, ">i4"), np.int64) for column in sent[:2])
    found: dict[tuple[int, int], Count] = {}
    if not len(router):
        return found
    # Sums by router and side: [flits or stalls][side][router][port], NaN where nothing was counted.
    place, index = np.unique(router, return_inverse=True)
    sums = []
    for values in (unpack_arrays(sent[2], sent[3]), unpack_arrays(sent[4], sent[5])):
        total, known = np.zeros((2, len(place), values.shape[1])), np.zeros((2, len(place), values.shape[1]), np.int64)
        np.add.at(total, (late, index), np.nan_to_num(values))
        np.add.at(known, (late, index), np.isfinite(values))
        sums.append(np.where(known > 0, total, np.nan))
    flits, stalls = sums
    for at, number in enumerate(place.tolist()):
        for port in range(min(flits.shape[2], stalls.shape[2])):
            held = (flits[0, at, port], stalls[0, at, port], flits[1, at, port], stalls[1, at, port])
            found[number, port] = Count(*(None if math.isnan(value) else float(value) for value in held))
    return found
