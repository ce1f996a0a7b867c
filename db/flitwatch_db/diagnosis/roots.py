"""Roots of current congestion and the jobs that feed them, from port counters, or for a job from its packet samples if available."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row

from flitwatch_db.counters.reads import PORT_BUCKET_S
from flitwatch_db.diagnosis import measured
from flitwatch_db.fabrics.route_changes import routes_at
from flitwatch_db.jobs import traffic
from flitwatch_db.jobs.as_of import job_at
from flitwatch_domain.counters import COUNT_BYTES
from flitwatch_domain.diagnosis import PortWindow, answer, find_roots
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.link_shares import LEAST_SHARE, Routes, compute_shares

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

DEFAULT_WINDOW_S = 60
#: Maximum number of jobs whose shares are computed, and of jobs listed at a root.
MOST_JOBS, MOST_FEEDERS = 500, 8
NO_JOBS = "No known jobs in this window."
NO_CARDS = "The network cards of the jobs are not counted in this window."
TOO_LITTLE = "The traffic of the jobs' nodes does not match the traffic of this link."
NO_PLACE = "Its nodes on a fabric with counters are unknown."


def of_fabric(conn: Conn, fabric_id: int, from_s: float, to_s: float, fabric: Fabric | None = None) -> Row:
    """Find roots on a machine in [from, to) from port counters: docs/contracts/api.md describes the answer; times are epoch seconds."""
    fabric = measured.fabric_of(conn, fabric_id) if fabric is None else fabric
    window = measured.port_window(conn, fabric_id, fabric, from_s, to_s)
    result = answer.by_ports(window, find_roots(window, measured.turns_of(conn, fabric_id, fabric, from_s, to_s)))
    roots = _add_feeding_jobs(conn, fabric_id, fabric, window, result["roots"], from_s, to_s)
    return {**_build_head(fabric_id, fabric, from_s, to_s), **result, "roots": roots}


def of_job(
    conn: Conn, job: Row, at_s: float, window_s: float = DEFAULT_WINDOW_S, tag: str | None = None, phase: str | None = None
) -> Row:  # fmt: skip
    """Find roots that delay a job in the window ending at `at_s`, from its packet samples if there are some, otherwise from port counters.

    Parameters
    ----------
    job : dict
        job_pk and job_id.
    tag, phase : str, optional
        Only packets with that MPI tag, or of that phase of the job.
    """
    sampled = by_samples(conn, job["job_id"], at_s, window_s, tag, phase)
    if sampled is not None:
        return sampled
    with conn.cursor(row_factory=dict_row) as cursor:
        place = cursor.execute(
            "SELECT n.fabric_id, f.timeless, array_agg(DISTINCT n.router) AS routers, array_agg(DISTINCT n.endpoint) FILTER "
            "(WHERE n.endpoint IS NOT NULL) AS endpoints"
            " FROM job_node n JOIN fabric f USING (fabric_id) WHERE n.job_pk = %s AND n.router IS NOT NULL GROUP BY 1, 2 ORDER "
            "BY count(*) DESC LIMIT 1",
            [job["job_pk"]],
        ).fetchone()
    if place is None or place["timeless"] or tag is not None or phase is not None:
        reason = "There are no packet samples of this tag or phase in this window." if tag or phase else NO_PLACE
        head = {"fabric_id": None if place is None else place["fabric_id"], "from_s": at_s - window_s, "to_s": at_s}
        return {**head, **answer.none_because("samples" if tag or phase else "ports", reason), "simulated": False}
    return of_nodes(conn, place["fabric_id"], place["routers"], place["endpoints"] or [], at_s, window_s)


def of_nodes(
    conn: Conn, fabric_id: int, routers: Sequence[int], endpoints: Sequence[int], at_s: float, window_s: float, fabric: Fabric | None = None
) -> Row:  # fmt: skip
    """Find roots that delay some nodes in the window ending at `at_s`, from port counters; unknown endpoints are -1."""
    to_s = math.floor(at_s / PORT_BUCKET_S) * PORT_BUCKET_S
    fabric = measured.fabric_of(conn, fabric_id) if fabric is None else fabric
    ends = [len(fabric.routers) + end for end in endpoints if end >= 0]
    return answer.filter_roots(of_fabric(conn, fabric_id, to_s - window_s, to_s, fabric), [*routers, *ends])


def of_job_named(
    conn: Conn, job_id: str, cluster: str | None, at_s: float | None, window_s: float, tag: str | None, phase: str | None
) -> Row:  # fmt: skip
    """Find the same for a job by the scheduler's id; without a time, at its end or at the end of its measurements. Raise NotFound or BadRequest if
    the job does not exist, or had not started at that time."""
    now_s = time.time() if at_s is None else at_s
    job = job_at(conn, job_id, cluster, now_s)
    end_s = now_s if job["end_s"] is None else min(now_s, job["end_s"])
    return of_job(
        conn, job, end_s if at_s is not None else _find_measured_end_s(conn, job, end_s), window_s, tag, phase
    )


def _find_measured_end_s(conn: Conn, job: Row, end_s: float) -> float:
    """Return the end of a job's measurements: its newest sample, or its machine's newest bucket of ports, but at most `end_s`."""
    row = conn.execute(
        """
        SELECT extract(epoch FROM coalesce(
            (SELECT max(last_ts) + interval '1 s' FROM sample_context WHERE job_id = %(id)s),
            (SELECT max(p.ts) + interval '10 s' FROM port_10s p
             WHERE p.fabric_id = (SELECT fabric_id FROM job_node WHERE job_pk = %(pk)s AND router IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT
             1)
               AND p.ts <= to_timestamp(%(end)s))))::float8
        """,
        {"id": job["job_id"], "pk": job["job_pk"], "end": end_s},
    ).fetchone()
    return end_s if row is None or row[0] is None else min(end_s, row[0])


def by_samples(
    conn: Conn, job_id: str, at_s: float, window_s: float, tag: str | None = None, phase: str | None = None
) -> Row | None:
    """Return the answer from only a job's packet samples; None if there are none in the window."""
    from_s = math.floor(at_s) - window_s
    contexts = measured.find_sample_contexts(conn, None, job_id, tag, phase, from_s, at_s)
    if not contexts:
        return None
    fabric_id = contexts[0]["fabric_id"]
    contexts = [row for row in contexts if row["fabric_id"] == fabric_id]
    fabric = measured.fabric_of(conn, fabric_id)
    congestion = measured.sample_map(conn, fabric, contexts, from_s, math.floor(at_s) + 1)
    if congestion is None:
        return None
    result = answer.by_samples(congestion)
    # The jobs that feed a root are determined from port counters, if available in addition to the samples.
    window = measured.port_window(conn, fabric_id, fabric, from_s, at_s)
    roots = _add_feeding_jobs(conn, fabric_id, fabric, window, result["roots"], from_s, at_s)
    head = _build_head(fabric_id, fabric, from_s, at_s)
    return {
        **head,
        **result,
        "roots": roots,
        "simulated": fabric.simulated or any(row["simulated"] for row in contexts),
    }


def _build_head(fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> Row:
    return {"fabric_id": fabric_id, "from_s": from_s, "to_s": to_s, "simulated": fabric.simulated}


def _add_feeding_jobs(
    conn: Conn, fabric_id: int, fabric: Fabric, window: PortWindow, roots: list[Row], from_s: float, to_s: float
) -> list[Row]:
    """Return the roots with the jobs that feed them: by their shares of a link between routers; for an endpoint, the job that runs there."""
    if not roots:
        return []
    rows = traffic.in_window(conn, fabric_id, from_s, to_s, MOST_JOBS)
    rows = [row for row in rows if row["simulated"] == fabric.simulated]
    routers = len(fabric.routers)
    inner = [n for n, root in enumerate(roots) if root["src"] < routers and root["dst"] < routers]
    jobs: list[list[Row]] = [[] for _ in roots]
    reasons: list[str | None] = [NO_JOBS if not rows else None for _ in roots]
    for n, root in enumerate(roots):
        if n not in inner and rows:
            end = (root["dst"] if root["dst"] >= routers else root["src"]) - routers
            jobs[n] = [{**_pick_job_fields(row), "share": None} for row in rows if end in row["endpoint"]]
            reasons[n] = None if jobs[n] else "No known job uses this node."
    if inner and rows:
        routes = routes_at(conn, fabric_id, fabric, from_s, to_s)
        for n, (users, reason) in zip(inner, _rank_jobs(routes, window, rows, [roots[n]["link"] for n in inner], to_s - from_s), strict=True):  # fmt: skip
            jobs[n], reasons[n] = users, reason
    return [
        {**root, "jobs": jobs[n], "jobs_unknown_because": None if jobs[n] else reasons[n]}
        for n, root in enumerate(roots)
    ]


def _rank_jobs(
    routes: Routes, window: PortWindow, rows: list[Row], links: list[int], length_s: float
) -> list[tuple[list[Row], str | None]]:
    """Return jobs with their shares of each link in descending order, or why they cannot be determined (ADR 0023)."""
    present = traffic.of_jobs(rows)
    reason = routes.reason or (None if any(job.known for job in present) else NO_CARDS)
    if reason is not None:
        return [([], reason) for _ in links]
    fabric, carried = window.fabric, None
    if fabric.technology in COUNT_BYTES:
        carried = window.utilisation * fabric.links.bandwidth_bps * fabric.links.multiplicity / 8 * length_s
    link_shares = compute_shares(routes, present, np.array(links), carried, rows[0]["total"] <= len(rows))
    answers: list[tuple[list[Row], str | None]] = []
    for share in link_shares.share:
        order = [n for n in np.argsort(-np.nan_to_num(share), kind="stable") if share[n] >= LEAST_SHARE][:MOST_FEEDERS]
        users = [{**_pick_job_fields(rows[n]), "share": float(share[n])} for n in order]
        answers.append((users, None if users else TOO_LITTLE))
    return answers


def _pick_job_fields(row: Row) -> Row:
    return {key: row[key] for key in ("job_pk", "job_id", "user", "name", "nodes")}
