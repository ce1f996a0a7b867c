"""Read the data for a job's explanation, from cause to effect; the domain computes the finding itself."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.diagnosis import measured, roots
from flitwatch_db.incidents import shown
from flitwatch_db.jobs import flow, onset_counters
from flitwatch_db.jobs.as_of import job_at
from flitwatch_db.jobs.placed import list_placed_jobs
from flitwatch_domain.diagnosis.roots import CongestionRoot
from flitwatch_domain.explanation import answer, slowdown
from flitwatch_domain.explanation.candidates import LONGEST_LAG_S, Blamed, NeighbourJob, sends_more
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.explanation.onset_context import OnsetContext
from flitwatch_domain.explanation.result import Explanation
from flitwatch_domain.fabric import Fabric

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Maximum number of earlier runs that define the usual time.
MOST_RUNS = 40
#: Length of the counter windows before and after the interval of the onset.
WINDOW_S = 60.0
#: Seconds by which a run's clock may be ahead of ours: its start is rounded, and a step is recorded after its end.
CLOCKS_S = 2.0
#: Maximum number of jobs alongside, including the job.
MOST_JOBS = 2001
#: Longest period of the routers' counters that is read for a job without steps.
LONGEST_LIFE_S = 86_400.0


def explain_by_id(conn: Conn, job_id: str, cluster: str | None = None, now_s: float | None = None) -> Explanation:
    """Explain why a job is slow, if it is, and what would help (docs/contracts/explanation.md).

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    job_id, cluster : str
        As the scheduler prints it; the newest job with that id.
    now_s : float, optional
        Time of the answer, epoch seconds: later data are ignored, except that blame is the newest. Default: now.

    Raises
    ------
    NotFound
        The job does not exist.
    BadRequest
        It had not started at that time.
    """
    now_s = time.time() if now_s is None else now_s
    return explain_job(conn, job_at(conn, job_id, cluster, now_s), now_s, rooted=True)


def explain_job(conn: Conn, job: Row, now_s: float, known: Machine | None = None, rooted: bool = False) -> Explanation:
    """Explain a job from its row as returned by `at_moment`; `known` is an already loaded fabric.

    `rooted` also searches for the root of the congestion, which reads the ports of the whole machine, and for the job's incidents.
    """
    place = _find_place(conn, job["job_pk"])
    watched = _load_progress(conn, job, now_s)
    stretch = slowdown.of_steps(watched.steps) if watched.steps is not None else None
    if watched.steps is None:
        stretch = _of_counters(conn, job, place, watched, now_s)
    scene = None
    root = None
    if stretch is not None and place is not None:
        on = (
            known
            if known is not None and known.fabric_id == place["fabric_id"]
            else machine_of(conn, place["fabric_id"])
        )
        if not on.snapshot:
            scene = _build_onset_context(conn, job, place, on, stretch, watched, now_s)
            root = _find_root(conn, job, place, on.fabric, scene, now_s) if rooted else None
    incident_totals = (
        (shown.of_victim(conn, job["job_pk"], now_s), shown.slowed_by(conn, job["job_pk"], now_s))
        if rooted
        else (None, None)
    )
    return answer.build_explanation(job, watched, stretch, scene, now_s, root, *incident_totals)


def _find_root(
    conn: Conn, job: Row, place: Row, fabric: Fabric, scene: OnsetContext, now_s: float
) -> CongestionRoot | None:
    """Find the root of the congestion that delays the job, in the first minute after the onset; None if there is none."""
    window = scene.root_window(now_s)
    if window is None:
        return None
    span = window[1], window[1] - window[0]
    found = roots.by_samples(conn, job["job_id"], *span)
    if found is None:
        found = roots.of_nodes(conn, scene.fabric_id, place["router"], place["endpoint"], *span, fabric)
    job_roots: list[CongestionRoot] = found["roots"]
    return job_roots[0] if job_roots else None


def steps_of(conn: Conn, job: Row, now_s: float) -> slowdown.Steps | None:
    """Return the steps for an explanation, from earlier runs and the job's newest run up to that time; None without a recorded run."""
    return _load_progress(conn, job, now_s).steps


def _find_place(conn: Conn, job_pk: int) -> Row | None:
    """Return the fabric with most of a job's nodes, and the router of each node."""
    rows = fetch_rows(
        conn,
        SQL(
            "SELECT fabric_id, array_agg(router) AS router, array_agg(coalesce(endpoint, -1)) AS endpoint FROM job_node WHERE job_pk = %(job)s AND router IS NOT NULL"
            " GROUP BY fabric_id ORDER BY count(*) DESC, fabric_id LIMIT 1"
        ),
        {"job": job_pk},
    )
    return rows[0] if rows else None


@dataclass(frozen=True)
class Machine:
    """A fabric with its number. `snapshot`: its counters have no times."""

    fabric_id: int
    snapshot: bool
    fabric: Fabric


def machine_of(conn: Conn, fabric_id: int) -> Machine:
    """Load a machine; its fabric is cached until it is written again."""
    row = conn.execute("SELECT timeless FROM fabric WHERE fabric_id = %s", [fabric_id]).fetchone()
    assert row is not None
    return Machine(fabric_id, bool(row[0]), measured.fabric_of(conn, fabric_id))


def _load_progress(conn: Conn, job: Row, now_s: float) -> answer.JobProgress:
    """Load a job's newest run with steps, earlier runs of its application, and earlier similar jobs."""
    past = _load_past_times(conn, job, now_s)
    runs = fetch_rows(
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
        return answer.JobProgress(None, None, past)
    run = runs[0]
    step, time_s = np.array(run["step"], np.int64), np.array(run["time_s"], float)
    good = np.isfinite(time_s) & (time_s > 0)
    start_s = run["start_s"] if run["start_s"] is not None else job["start_s"]
    if start_s is not None:
        good &= start_s + np.cumsum(np.where(good, time_s, 0.0)) <= now_s + CLOCKS_S
    if start_s is None or not good.any():
        return answer.JobProgress(None, run["exe"], past)
    earlier = _load_earlier_steps(conn, run, job, start_s)
    watched = slowdown.Steps(step[good], time_s[good], start_s, earlier, ended=job["end_s"] is not None)
    return answer.JobProgress(watched, run["exe"], past)


def _load_earlier_steps(conn: Conn, run: Row, job: Row, start_s: float) -> NDArray[np.float64]:
    rows = fetch_rows(
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
            "exe": run["exe"],
            "nodes": job["nodes"],
            "ranks": run["ranks"],
            "run": run["run_id"],
            "simulated": job["simulated"],
            "start": start_s,
            "most": MOST_RUNS,
        },
    )
    times = np.full((len(rows), max((max(row["step"]) + 1 for row in rows), default=0)), np.nan)
    for at, row in enumerate(rows):
        times[at, row["step"]] = row["time_s"]
    times[~(times > 0)] = np.nan
    return times


#: Jobs with the same user and name and a similar size; then those of all users with the same name and size.
_PAST = SQL("""
    SELECT extract(epoch FROM j.end_ts - j.start_ts)::float8 AS s, j.user_name IS NOT DISTINCT FROM %(user)s AS own FROM job j
    WHERE j.job_pk <> %(job)s AND j.simulated = %(simulated)s AND j.state = 'COMPLETED' AND j.end_ts > j.start_ts AND j.name = %(name)s
      AND j.nodes BETWEEN %(nodes)s / 2.0 AND %(nodes)s * 2.0 AND j.start_ts < to_timestamp(%(start)s) AND j.end_ts <= to_timestamp(%(now)s)
    ORDER BY j.start_ts DESC LIMIT 200
""")


def _load_past_times(conn: Conn, job: Row, now_s: float) -> answer.PastRunTimes | None:
    if job["start_s"] is None or job["name"] is None or not job["nodes"]:
        return None
    rows = fetch_rows(
        conn,
        _PAST,
        {
            "user": job["user"],
            "job": job["job_pk"],
            "simulated": job["simulated"],
            "name": job["name"],
            "nodes": job["nodes"],
            "start": job["start_s"],
            "now": now_s,
        },
    )
    own = [row["s"] for row in rows if row["own"]]
    like = own if len(own) >= answer.LEAST_JOBS else [row["s"] for row in rows]
    if len(like) < answer.LEAST_JOBS:
        return None
    return answer.PastRunTimes(np.array(like, float))


def _of_counters(
    conn: Conn, job: Row, place: Row | None, watched: answer.JobProgress, now_s: float
) -> slowdown.Slowdown | None:
    """Return the slowdown of a job without steps, if it took longer than similar jobs; the onset is when stalls rose on its routers, if known."""
    factor = answer.elapsed_factor(job, watched.past, now_s)
    if factor is None or watched.past is None:
        return None
    end_s = min(now_s, job["end_s"] if job["end_s"] is not None else now_s)
    begin_s = max(job["start_s"], end_s - LONGEST_LIFE_S)
    lost_s, within_s = (end_s - job["start_s"]) * (1 - 1 / factor), slowdown.within_s(watched.past.elapsed_s)
    minutes = None if place is None else onset_counters.own_series(conn, place, begin_s, end_s, 60)
    at = None if minutes is None or len(minutes.at_s) < 6 else slowdown.find_rise_s(minutes, begin_s + 60, end_s - 60)
    if at is None:
        return slowdown.Slowdown("counters", factor, lost_s, begin_s, begin_s, end_s, None, True, within_s=within_s)
    return slowdown.Slowdown("counters", factor, lost_s, at - 60, at, at + 60, None, False, within_s=within_s)


def _build_onset_context(
    conn: Conn,
    job: Row,
    place: Row,
    machine: Machine,
    found: slowdown.Slowdown,
    watched: answer.JobProgress,
    now_s: float,
) -> OnsetContext:
    """Build the context of the onset: counters before and after it, and the jobs alongside."""
    low, high = found.low_s, found.high_s
    seconds = onset_counters.own_series(conn, place, low - WINDOW_S, min(high + WINDOW_S, now_s), 1)
    at = slowdown.find_rise_s(seconds, low, high) if not found.from_start else None
    if at is not None:
        low, high = slowdown.narrow_onset(low, high, at)
    end = min(
        found.end_s if found.end_s is not None else math.inf,
        job["end_s"] if job["end_s"] is not None else math.inf,
        now_s,
    )
    after_s = min(WINDOW_S, max(0.0, end - high))
    before = (low - WINDOW_S, low)
    after = (high, high + after_s)
    fabric = machine.fabric
    span = (low - LONGEST_LAG_S, max(end, high))
    alongside = list_placed_jobs(conn, machine.fabric_id, job["simulated"], [span], job["job_pk"], MOST_JOBS)
    jobs = [row for row in alongside if row["job_pk"] != job["job_pk"]]
    usual_s = None if found.from_start or watched.steps is None else watched.steps.start_s
    by_flow = flow.of_job(conn, job, place, low, end, now_s, usual_s, fabric, alongside)
    rates, most = _load_sent_rates(conn, machine.fabric_id, jobs, by_flow, before, after)
    blamed = _load_blame(conn, watched.exe, job["nodes"], [row["user"] for row in jobs if row["user"]])
    neighbours = [
        NeighbourJob(
            row["job_pk"],
            row["job_id"],
            row["user"],
            row["name"],
            row["nodes"],
            row["simulated"],
            row["start_s"],
            row["end_s"] if row["end_s"] is None or row["end_s"] <= now_s else None,
            row["router"],
            *rates[row["job_pk"]],
            most.get(row["job_pk"]),
            blamed.get(row["user"]),
        )
        for row in jobs
    ]
    counted = onset_counters.of_routers(conn, machine.fabric_id, len(fabric.routers), before, after)
    ends = onset_counters.onward_of(fabric, np.unique(place["router"]))
    links = onset_counters.of_links(
        conn, machine.fabric_id, fabric, np.unique(place["router"]), ends, counted, before, after
    )
    return OnsetContext(
        machine.fabric_id,
        fabric.name,
        np.array(place["router"], np.int64),
        fabric.routers.group.astype(np.int64),
        low,
        high,
        end,
        at is not None,
        counted.of(np.unique(place["router"])),
        links,
        neighbours,
        any(now is not None for _, now in rates.values()),
        counted.of(np.setdiff1d(ends, place["router"])),
        counted,
        by_flow,
    )


Rates = dict[int, tuple[float | None, float | None]]


def _load_sent_rates(
    conn: Conn,
    fabric_id: int,
    jobs: list[Row],
    by_flow: Flow,
    before: onset_counters.Window,
    after: onset_counters.Window,
) -> tuple[Rates, dict[int, float]]:
    """Return each job's bytes per second before and in the slow stretch, and, for jobs that send more, their maximum in the minutes before."""
    if by_flow.known:
        rates = {row["job_pk"]: by_flow.sent.get(row["job_pk"], (None, None)) for row in jobs}
        # A job that began between the quiet minute and the onset is compared with its own minutes.
        joined = [row["job_pk"] for row in jobs if by_flow.quiet_s < row["start_s"] < before[1] - LONGEST_LAG_S]
        own_most = onset_counters.most_sent(conn, fabric_id, joined, before[1]) if joined else {}
        rates |= {pk: (own_most.get(pk), rates[pk][1]) for pk in joined}
        return rates, {pk: was for pk, (was, _) in rates.items() if was is not None}
    sent_by_job = onset_counters.sent_by(conn, fabric_id, [row["job_pk"] for row in jobs], before, after)
    rates = {row["job_pk"]: _correct_rates(row, sent_by_job.get(row["job_pk"]), before[1]) for row in jobs}
    # The minutes before are read only for jobs that send more than a minute ago.
    grew = [pk for pk, (was, now) in rates.items() if was is not None and now is not None and sends_more(was, now)]
    return rates, onset_counters.most_sent(conn, fabric_id, grew, before[1]) if grew else {}


def _correct_rates(
    row: Row, sent: tuple[float | None, float | None] | None, low_s: float
) -> tuple[float | None, float | None]:
    if sent is None or sent[1] is None:
        return None, None
    # Traffic of its nodes before its start belonged to another job.
    return (0.0 if row["start_s"] > low_s - WINDOW_S / 2 else sent[0]), sent[1]


def _load_blame(conn: Conn, exe: str | None, nodes: int | None, users: list[str]) -> dict[str, Blamed]:
    if exe is None or not users:
        return {}
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT n.name, t.estimate_id, (n.entry ->> 'q')::float8 AS q, n.entry ->> 'verdict' AS verdict
            FROM estimate_state t JOIN estimate_entry n USING (estimate_id)
            WHERE t.kind = 'blame' AND t.exe = %(exe)s AND t.nodes = %(nodes)s AND n.by_what = 'user' AND n.name = ANY(%(users)s)
        """),
        {"exe": exe, "nodes": nodes, "users": sorted(set(users))},
    )
    return {row["name"]: Blamed(row["estimate_id"], row["q"], row["verdict"]) for row in rows}
