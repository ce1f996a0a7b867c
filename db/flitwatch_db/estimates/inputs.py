"""Inputs of estimators, read from runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql

from flitwatch_db.jobs.as_of import end_or
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LDMS_FOUR, TABLE_II
from flitwatch_domain.counters.features import NIC
from flitwatch_domain.errors import Conflict
from flitwatch_domain.fabric import Technology
from flitwatch_domain.neighbourhood import Jobs, Windows

Connection = psycopg.Connection[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Runs:
    """Runs of one application on one number of nodes, in order of start.

    Attributes
    ----------
    run_id, start_s : int64, float64 (runs,)
    step_time_s : float64 (runs, steps), NaN for missing steps
    simulated : bool     whether any run is simulated
    """

    run_id: NDArray[np.int64]
    start_s: Floats
    step_time_s: Floats
    simulated: bool


#: Number of nodes of a run's set: those of its job, or the number of reporting ranks if the job is unknown.
_NODES = sql.SQL("coalesce(j.nodes, r.ranks)")


def list_applications(conn: Connection, least_runs: int = 1) -> list[tuple[str, int, int, int]]:
    """Return (exe, nodes, runs, newest run_id) of each application with enough started and ended runs, most runs first."""
    return conn.execute(
        sql.SQL(
            "SELECT r.exe, {}, count(*), max(r.run_id) FROM run r LEFT JOIN job j USING (job_pk)"
            " WHERE r.start_ts IS NOT NULL AND EXISTS (SELECT FROM run_step s WHERE s.run_id = r.run_id)"
            " AND (j.job_pk IS NULL OR j.end_ts IS NOT NULL) GROUP BY 1, 2 HAVING count(*) >= %s ORDER BY 3 DESC, 1, 2"
        ).format(_NODES),
        [least_runs],
    ).fetchall()


def check_name_of_files(conn: Connection, name: str) -> None:
    """Check that a set of runs from files may have this name; users see an application's name without folders. Raise Conflict if the platform records
    runs of an application with this name."""
    there = conn.execute(
        "SELECT EXISTS (SELECT FROM run WHERE regexp_replace(exe, '^.*/', '') = %s)", [name]
    ).fetchone()
    if there and there[0]:
        raise Conflict(
            f"{name!r} is an application whose runs are recorded here", advice="Give your own runs another name."
        )


def runs_of(conn: Connection, exe: str, nodes: int, most: int = 2000) -> Runs:
    """Return the newest runs of an application with a start and steps, in order of start."""
    rows = conn.execute(
        sql.SQL(
            "SELECT * FROM (SELECT r.run_id, extract(epoch FROM r.start_ts)::float8 AS start_s, r.simulated, array_agg(s.step ORDER BY s.step),"
            " array_agg(s.time_s ORDER BY s.step) FROM run r JOIN run_step s USING (run_id) LEFT JOIN job j USING (job_pk)"
            " WHERE r.exe = %s AND {} = %s AND r.start_ts IS NOT NULL GROUP BY r.run_id ORDER BY r.start_ts DESC, r.run_id DESC LIMIT %s) n"
            " ORDER BY start_s, run_id"
        ).format(_NODES),
        [exe, nodes, most],
    ).fetchall()
    steps = max((max(row[3]) + 1 for row in rows), default=0)
    times = np.full((len(rows), steps), np.nan)
    for at, row in enumerate(rows):
        times[at, row[3]] = row[4]
    return Runs(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], float),
        times,
        any(row[2] for row in rows),
    )


@dataclass(frozen=True, eq=False)
class CoRunningJobs:
    """Jobs that overlapped the runs, as tables of `flitwatch_domain.neighbourhood`.

    Attributes
    ----------
    windows, jobs                  `jobs.name` is the index of the user
    users, applications : list     sorted names; `application` (jobs,) is the index of a job's name, -1: none
    own : {"user" | "application": names of the runs' own jobs}
    """

    windows: Windows
    jobs: Jobs
    users: list[str]
    applications: list[str]
    application: NDArray[np.int64]
    own: dict[str, set[str]]

    def by(self, what: str) -> tuple[list[str], Jobs]:
        """Return the names of a kind, and the jobs with indices into these names."""
        return (
            (self.users, self.jobs)
            if what == "user"
            else (self.applications, replace(self.jobs, name=self.application))
        )


#: Kinds of names that can be blamed.
BY = ("user", "application")

_WINDOWS = """
    SELECT r.run_id, r.job_pk, extract(epoch FROM r.start_ts)::float8, extract(epoch FROM r.start_ts)::float8 + s.time_s
    FROM run r JOIN LATERAL (SELECT sum(time_s) AS time_s FROM run_step t WHERE t.run_id = r.run_id) s ON s.time_s > 0
    WHERE r.run_id = ANY(%s)
"""
_JOBS = f"""
    SELECT job_pk, user_name, name, extract(epoch FROM start_ts)::float8,
           extract(epoch FROM coalesce({end_or("'infinity'::timestamptz")}, start_ts))::float8, coalesce(nodes, 0)
    FROM job WHERE start_ts < to_timestamp(%s) AND (end_ts IS NULL OR end_ts > to_timestamp(%s)) ORDER BY job_pk
"""  # noqa: S608 - a text of ours
_PLACES = """
    SELECT n.job_pk, n.fabric_id, q.group_id, sum(1.0 / n.endpoints)::float8
    FROM (SELECT *, count(*) OVER (PARTITION BY job_pk, node) AS endpoints FROM job_node WHERE job_pk = ANY(%s)) n
         JOIN router q ON (q.fabric_id, q.router) = (n.fabric_id, n.router)
    WHERE q.group_id IS NOT NULL GROUP BY 1, 2, 3
"""


def co_running(conn: Connection, run_id: NDArray[np.int64]) -> CoRunningJobs:
    """Return all jobs that overlapped one of the runs, and their places. Jobs with an unknown end are excluded."""
    run_windows = {row[0]: row[1:] for row in conn.execute(_WINDOWS, [run_id.tolist()])}
    own_pk = [run_windows[run][0] if run in run_windows else None for run in run_id.tolist()]
    # A run without steps has no window and overlaps no job.
    begin_s, end_s = (
        np.array([run_windows[run][k] if run in run_windows else np.nan for run in run_id.tolist()]) for k in (1, 2)
    )
    span = (
        [max(row[2] for row in run_windows.values()), min(row[1] for row in run_windows.values())]
        if run_windows
        else [0.0, 0.0]
    )
    rows = conn.execute(_JOBS, span).fetchall()
    rows = _filter_overlapping(rows, begin_s, end_s, {pk for pk in own_pk if pk is not None})
    at = {row[0]: index for index, row in enumerate(rows)}
    users, applications = (sorted({row[k] for row in rows if row[k] is not None}) for k in (1, 2))
    index = [{name: i for i, name in enumerate(names)} for names in (users, applications)]
    columns = [np.array([index[k].get(row[k + 1], -1) for row in rows], np.int64) for k in (0, 1)]
    starts, stops, nodes = (np.array([row[k] for row in rows], float) for k in (3, 4, 5))
    jobs = Jobs(columns[0], starts, stops, nodes, _count_nodes_by_group(conn, at))
    own = np.array([at.get(pk, -1) if pk is not None else -1 for pk in own_pk], np.int64)
    bears = {by: {rows[job][k] for job in own.tolist() if job >= 0} - {None} for k, by in enumerate(BY, 1)}
    return CoRunningJobs(Windows(begin_s, end_s, own), jobs, users, applications, columns[1], bears)


def _filter_overlapping(rows: list[Any], begin_s: Floats, end_s: Floats, own: set[int]) -> list[Any]:
    """Return jobs that overlap one of the runs, and the runs' own, from the jobs between the first and last run."""
    begins, ends = np.sort(begin_s), np.sort(end_s)
    starts, stops = (np.array([row[k] for row in rows], float) for k in (3, 4))
    # More runs began before the job's end than ended before its start, so at least one overlaps it.
    meets = np.searchsorted(begins, stops, "left") > np.searchsorted(ends, starts, "right")
    return [row for row, met in zip(rows, meets.tolist(), strict=True) if met or row[0] in own]


def _count_nodes_by_group(conn: Connection, at: dict[int, int]) -> Floats:
    """Return the nodes of each job in each group of each fabric, (jobs, groups); a node with several endpoints is divided among them."""
    placed = conn.execute(_PLACES, [list(at)]).fetchall()
    groups = {place: i for i, place in enumerate(sorted({(row[1], row[2]) for row in placed}))}
    nodes = np.zeros((len(at), len(groups)))
    for job, fabric, group, count in placed:
        nodes[at[job], groups[fabric, group]] = count
    return nodes


def step_counters(conn: Connection, runs: Runs) -> Floats:
    """Return the values of table II's counters on the runs' own routers during each step, (runs, steps, 13); NaN if nothing was counted.

    They are the run's own records (AriesNCL) if available, otherwise LDMS counts of its nodes' routers.
    """
    place = {counter.vendor: at for at, counter in enumerate(TABLE_II)}
    counts = np.full((*runs.step_time_s.shape, len(TABLE_II)), np.nan)
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    names: dict[int, list[tuple[int, int]]] = {}
    for run, listed in conn.execute("SELECT run_id, counter_names FROM run WHERE run_id = ANY(%s)", [list(line)]):
        names[run] = [(at, place[name]) for at, name in enumerate(listed) if name in place]
    for run, step, sums in conn.execute(
        "SELECT run_id, step, counter_sums FROM run_step WHERE run_id = ANY(%s) AND counter_sums IS NOT NULL",
        [list(line)],
    ):
        if step < counts.shape[1] and sums and names[run]:
            source, target = zip(*names[run], strict=True)
            counts[line[run], step, list(target)] = np.array(sums, float)[list(source)]
    for run, step, rates in conn.execute(
        "SELECT run_id, step, own FROM run_step_around WHERE run_id = ANY(%s) AND own IS NOT NULL", [list(line)]
    ):
        if step < counts.shape[1] and np.isnan(counts[line[run], step]).all():
            counts[line[run], step] = np.array(rates, float) * runs.step_time_s[line[run], step]
    return counts


#: Maximum number of a run's own counters that are used; a program may record any number.
MOST_OTHERS = 200


def step_features(conn: Connection, runs: Runs) -> tuple[list[str], Floats]:
    """Return all counted values during each step, (runs, steps, features), and the features' names; NaN if not counted.

    Features are table II's counters by abbreviation, other counters under the names in the runs' records, and columns of the runs' network cards
    (`nic.`).
    """
    recorded, of_runs = _read_recorded_counters(conn, runs)
    cards = np.full((*runs.step_time_s.shape, len(ENDPOINT_COLUMNS)), np.nan)
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    for run, step, rates in conn.execute(
        "SELECT run_id, step, rates FROM run_step_nic WHERE run_id = ANY(%s) AND rates IS NOT NULL", [list(line)]
    ):
        if step < cards.shape[1]:
            cards[line[run], step] = np.array(rates, float) * runs.step_time_s[line[run], step]
    names = (
        [counter.abbreviation for counter in TABLE_II] + recorded + [f"{NIC}{column}" for column in ENDPOINT_COLUMNS]
    )
    return names, np.concatenate([step_counters(conn, runs), of_runs, cards], axis=2)


def _read_recorded_counters(conn: Connection, runs: Runs) -> tuple[list[str], Floats]:
    """Return counters outside table II from the runs' own records, ordered by their number of runs."""
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    listed = conn.execute("SELECT run_id, counter_names FROM run WHERE run_id = ANY(%s)", [list(line)]).fetchall()
    vendor_names = {counter.vendor for counter in TABLE_II}
    often = Counter(name for _, names in listed for name in set(names or ()) - vendor_names)
    chosen = sorted(often, key=lambda name: (-often[name], name))[:MOST_OTHERS]
    place = {name: at for at, name in enumerate(chosen)}
    columns = {
        run: [(at, place[name]) for at, name in enumerate(names or ()) if name in place] for run, names in listed
    }
    counts = np.full((*runs.step_time_s.shape, len(chosen)), np.nan)
    run_ids = [run for run, pairs in columns.items() if pairs]
    for run, step, sums in conn.execute(
        "SELECT run_id, step, counter_sums FROM run_step WHERE run_id = ANY(%s) AND counter_sums IS NOT NULL", [run_ids]
    ):
        if step < counts.shape[1] and sums:
            source, target = zip(*columns[run], strict=True)
            counts[line[run], step, list(target)] = np.array(sums, float)[list(source)]
    return chosen, counts


def io_and_other_counters(conn: Connection, runs: Runs) -> tuple[Floats, Floats]:
    """Return counts per second on routers with I/O nodes, and on those without the runs' nodes, each (runs, steps, 4); NaN if not kept."""
    io, rest = (np.full((*runs.step_time_s.shape, len(LDMS_FOUR)), np.nan) for _ in range(2))
    line = {run: i for i, run in enumerate(runs.run_id.tolist())}
    for run, step, of_io, of_rest in conn.execute(
        "SELECT run_id, step, io, sys FROM run_step_around WHERE run_id = ANY(%s)", [list(line)]
    ):
        if step < io.shape[1]:
            for target, values in ((io, of_io), (rest, of_rest)):
                if values is not None:
                    target[line[run], step] = values
    return io, rest


def load_placement(conn: Connection, run_id: NDArray[np.int64]) -> Floats:
    """Return NUM_ROUTERS and NUM_GROUPS of each run, (runs, 2); NaN if its job's place is unknown."""
    counts = np.full((len(run_id), 2), np.nan)
    line = {run: i for i, run in enumerate(run_id.tolist())}
    for run, routers, groups in conn.execute(
        "SELECT r.run_id, count(DISTINCT (n.fabric_id, n.router)), count(DISTINCT (q.fabric_id, q.group_id)) FILTER (WHERE q.group_id IS NOT NULL) FROM run r JOIN job_node n USING (job_pk)"
        " JOIN router q ON (q.fabric_id, q.router) = (n.fabric_id, n.router) WHERE r.run_id = ANY(%s) GROUP BY r.run_id",
        [list(line)],
    ):
        if routers and groups:
            counts[line[run]] = routers, groups
    return counts


def machine_nodes(conn: Connection, run_id: NDArray[np.int64]) -> int | None:
    """Return the number of compute nodes of the fabric with most of the runs; None if unknown."""
    row = conn.execute(
        "SELECT (SELECT count(DISTINCT e.node) FROM endpoint e WHERE e.fabric_id = n.fabric_id AND e.role = 'compute') FROM run r JOIN job_node n USING (job_pk)"
        " WHERE r.run_id = ANY(%s) AND n.fabric_id IS NOT NULL GROUP BY n.fabric_id ORDER BY count(*) DESC LIMIT 1",
        [run_id.tolist()],
    ).fetchone()
    return None if row is None or not row[0] else int(row[0])


def find_technology(conn: Connection, run_id: NDArray[np.int64]) -> Technology | None:
    """Return the technology of the fabric with most of the runs; None if unknown."""
    row = conn.execute(
        "SELECT f.technology FROM run r JOIN job_node n USING (job_pk) JOIN fabric f USING (fabric_id)"
        " WHERE r.run_id = ANY(%s) GROUP BY f.fabric_id ORDER BY count(*) DESC, f.fabric_id LIMIT 1",
        [run_id.tolist()],
    ).fetchone()
    return None if row is None else Technology(row[0])


def route_changes_s(conn: Connection, run_id: NDArray[np.int64]) -> Floats:
    """Load the times of route changes on the fabrics of these runs, ascending epoch seconds: tables with changed entries, and operators' notes."""
    rows = conn.execute(
        "SELECT DISTINCT extract(epoch FROM c.ts)::float8 FROM route_change c WHERE (c.note IS NOT NULL OR c.changed > 0) AND c.fabric_id IN"
        " (SELECT n.fabric_id FROM run r JOIN job_node n USING (job_pk) WHERE r.run_id = ANY(%s)) ORDER BY 1",
        [run_id.tolist()],
    ).fetchall()
    return np.array([row[0] for row in rows], float)


def has_runs(conn: Connection, cluster: str) -> bool:
    """Return whether any run of a cluster's jobs is stored."""
    row = conn.execute(
        "SELECT EXISTS (SELECT FROM run JOIN job USING (job_pk) WHERE job.cluster = %s)", [cluster]
    ).fetchone()
    return bool(row and row[0])
