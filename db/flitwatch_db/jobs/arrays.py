"""Pending tasks of an array: schedulers print them in one line, such as 77_[4-5%1], whose text changes when a task starts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed

from flitwatch_domain.jobs import FINAL_STATES, Job

# An exact match of names comes first. Joined as sets: for a run of 10,000 ranks on as many nodes, single ranks would take minutes.
_PLACE = """
    WITH held AS MATERIALIZED (
        SELECT r.run_id, n.node, host_of(n.node) AS host, min(n.endpoint) AS endpoint FROM run r JOIN job_node n USING (job_pk) WHERE r.run_id = ANY(%(runs)s) GROUP BY 1, 2
    ), alike AS MATERIALIZED (
        SELECT run_id, host, min(endpoint) AS endpoint, min(node) AS node FROM held GROUP BY 1, 2 HAVING count(*) = 1
    )
    UPDATE run_rank k SET endpoint = coalesce(h.endpoint, a.endpoint)
    FROM run_rank q LEFT JOIN held h ON h.run_id = q.run_id AND h.node = q.node LEFT JOIN alike a ON a.run_id = q.run_id AND a.host = host_of(q.node)
        AND (strpos(a.node, '.') = 0 OR strpos(q.node, '.') = 0 OR rtrim(lower(a.node), '.') = rtrim(lower(q.node), '.'))
    WHERE q.run_id = ANY(%(runs)s) AND (k.run_id, k.rank) = (q.run_id, q.rank)
"""


def place_ranks(conn: psycopg.Connection[Any], runs: Sequence[int]) -> None:
    """Set the endpoint of all ranks of some runs; NULL if the node is unknown or ambiguous."""
    if runs:
        conn.execute(_PLACE, {"runs": list(runs)})


#: A run's clock is its node's, a job's is the scheduler's: the seconds by which they may differ.
CLOCK_DIFFERENCE_S = 60.0


def build_cluster_condition(start: SQL, nodes: SQL) -> Composed:
    """Return the condition that job `j` can have started a run with this start on these nodes: clusters share job ids.

    If a job of another cluster with this id ran at that time, `j` must have one of the nodes.
    """
    return SQL("""
        (NOT EXISTS (SELECT FROM job o WHERE (o.job_id, o.simulated) = (j.job_id, j.simulated) AND o.cluster <> j.cluster
            AND o.start_ts <= {start} + {clocks} * interval '1 second' AND coalesce(o.end_ts, 'infinity') >= {start})
        OR EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND host_of(n.node) IN (SELECT host_of(h.node) FROM ({nodes}) h (node))))
    """).format(start=start, nodes=nodes, clocks=CLOCK_DIFFERENCE_S)


#: Cluster and number of an array; cluster, job id and restart of a job.
_Array = tuple[str, str]
_Key = tuple[str, str, int]

#: Slurm cuts a long text short (SLURM_BITSTR_LEN) and puts dots in place of its last three characters, also within a number.
_WAITING = re.compile(r"([0-9]+)_\[([0-9,:-]*?)(?:[0-9:-]*\.\.\.)?(?:%[0-9]+)?\]")
_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8})(?::([0-9]{1,8}))?)?")
#: Maximum numbers of tasks per row and per call; rows beyond them keep their text. Slurm's MaxArraySize is 1,001 unless a site raises it.
MOST_TASKS, MOST_TASKS_AT_ONCE = 50_000, 500_000
#: Maximum length of an id, because it is in an index.
_LONGEST_ID = 1_000


@dataclass
class _View:
    """Tasks of an array in one row; `submit_s` None: unknown."""

    job_id: str
    final: bool
    submit_s: float | None
    tasks: set[int]
    restart: int = 0
    job_pk: int | None = None

    def is_of(self, submit_s: float | None) -> bool:
        """Return whether a task with this submission can be one of these: numbers are reused after a while, and a requeued task is submitted later."""
        return self.submit_s is None or submit_s is None or submit_s >= self.submit_s


def settle_arrays(conn: psycopg.Connection[Any], jobs: Mapping[_Key, Job]) -> dict[_Key, Job]:
    """Return jobs in which each task of an array occurs once, and rename the stored rows of tasks that now have their own row.

    A row of pending tasks keeps the tasks without another row. If none is left, it becomes the row of one of them, or is omitted.
    """
    tasks: defaultdict[_Array, dict[int, Job]] = defaultdict(dict)
    views: defaultdict[_Array, list[tuple[_Key, _View]]] = defaultdict(list)
    remaining = MOST_TASKS_AT_ONCE
    for key, job in jobs.items():
        array = (job.cluster, job.job_id.partition("_")[0])
        if job.array_task is not None:
            tasks[array][job.array_task] = job
        elif (view := _parse_view(job.job_id, job.state, job.submit_s)) is not None and len(view.tasks) <= remaining:
            views[array].append((key, view))
            remaining -= len(view.tasks)
    if not tasks and not views:
        return dict(jobs)
    stored = _stored_views(conn, {*tasks, *views})
    settled_jobs = dict(jobs)
    for array, keyed_views in views.items():
        own = _stored_tasks(conn, array, set().union(*(view.tasks for _, view in keyed_views)))
        for key, view in keyed_views:
            view.tasks -= {task for task, submit_s in own.items() if view.is_of(submit_s)}
            view.tasks -= {task for task, job in tasks[array].items() if view.is_of(job.submit_s)}
            for other in stored[array]:
                if other.final and not view.final and view.is_of(other.submit_s):
                    view.tasks -= other.tasks
            job = settled_jobs.pop(key)
            if view.tasks:
                view.job_id = _view_id(array[1], view.tasks) or view.job_id
                settled_jobs[job.cluster, view.job_id, job.restart] = replace(job, job_id=view.job_id)
    for array, rows in stored.items():
        for row in rows:
            _rename_row(conn, array, row, [view for _, view in views[array] if view.tasks], tasks[array])
    return settled_jobs


def count_waiting(job_id: str) -> int:
    """Count the tasks of a row: those of 77_[4-5], or 1 for a row of a single job."""
    view = _parse_view(job_id, "PENDING", None)
    return len(view.tasks) if view is not None else 1


def _rename_row(
    conn: psycopg.Connection[Any], array: _Array, row: _View, new: list[_View], tasks: Mapping[int, Job]
) -> None:
    """Set the remaining tasks of a stored row; if there are none, make it the row of one of the others."""
    if any(view.job_id == row.job_id for view in new):
        return
    own = {task: job for task, job in tasks.items() if task in row.tasks and row.is_of(job.submit_s)}
    taking = [
        view for view in new if view.tasks & row.tasks and row.is_of(view.submit_s) and (view.final or not row.final)
    ]
    remainder = row.tasks.difference(own, *(view.tasks for view in taking))
    if remainder == row.tasks:
        return
    if remainder:
        names = [(_view_id(array[1], remainder), row.restart)]
    else:
        names = [
            *((view.job_id, view.restart) for view in taking),
            *((own[task].job_id, own[task].restart) for task in sorted(own)),
        ]
    for name, restart in names:
        if name is None or (not remainder and _is_stored(conn, array[0], name, restart)):
            continue
        conn.execute("UPDATE job SET job_id = %s, restart = %s WHERE job_pk = %s", [name, restart, row.job_pk])
        return
    if not remainder:
        # All of its tasks have their own rows, so this one has no information left.
        conn.execute("UPDATE job SET state = 'UNKNOWN' WHERE job_pk = %s", [row.job_pk])


def _parse_view(job_id: str, state: str, submit_s: float | None) -> _View | None:
    """Parse a row of waiting tasks; None for another job, and for a text that names too many. Of a text that was cut short, the row stands for those that it names."""
    match = _WAITING.fullmatch(job_id)
    tasks: set[int] = set()
    for part in match.group(2).removesuffix(",").split(",") if match else ():
        range_match = _RANGE.fullmatch(part)
        if range_match is None:
            return None
        first, last, step = (int(text) if text else None for text in range_match.groups())
        assert first is not None
        span = range(first, (first if last is None else last) + 1, step or 1)
        if len(tasks) + len(span) > MOST_TASKS:
            return None
        tasks.update(span)
    return _View(job_id, state in FINAL_STATES, submit_s, tasks) if tasks else None


def _view_id(array: str, tasks: set[int]) -> str | None:
    """Build the id of a row of pending tasks: 77_[4-5,9], 77_[0-8:2]; None if it would be too long."""
    spans: list[tuple[int, int, int]] = []
    for task in sorted(tasks):
        if spans:
            first, last, step = spans[-1]
            gap = task - last
            if first == last or gap == step:
                spans[-1] = (first, task, gap)
                continue
        spans.append((task, task, 1))
    name = f"{array}_[{','.join(_format_range(*span) for span in spans)}]"
    return name if len(name) <= _LONGEST_ID else None


def _format_range(first: int, last: int, step: int) -> str:
    if first == last:
        return f"{first}"
    if last == first + step and step > 1:
        return f"{first},{last}"
    return f"{first}-{last}" if step == 1 else f"{first}-{last}:{step}"


def _is_stored(conn: psycopg.Connection[Any], cluster: str, job_id: str, restart: int) -> bool:
    cursor = conn.execute("SELECT FROM job WHERE (cluster, job_id, restart) = (%s, %s, %s)", [cluster, job_id, restart])
    return cursor.fetchone() is not None


def _stored_views(conn: psycopg.Connection[Any], arrays: Iterable[_Array]) -> dict[_Array, list[_View]]:
    keys = sorted(arrays)
    rows = conn.execute(
        """
        SELECT j.job_pk, a.cluster, a.number, j.job_id, j.restart, j.state, extract(epoch FROM j.submit_ts)::float8
        FROM unnest(%s::text[], %s::text[]) AS a (cluster, number)
        JOIN job j ON j.cluster = a.cluster AND split_part(j.job_id, '_', 1) = a.number AND strpos(j.job_id, '[') > 0 AND j.state <> 'UNKNOWN'
        """,
        [[cluster for cluster, _ in keys], [number for _, number in keys]],
    )
    views: defaultdict[_Array, list[_View]] = defaultdict(list)
    for job_pk, cluster, number, job_id, restart, state, submit_s in rows:
        view = _parse_view(job_id, state, submit_s)
        if view is not None:
            view.job_pk, view.restart = job_pk, restart
            views[cluster, number].append(view)
    return views


def _stored_tasks(conn: psycopg.Connection[Any], array: _Array, tasks: set[int]) -> dict[int, float | None]:
    """Read the latest submission (epoch seconds) of each of an array's tasks with its own row."""
    rows = conn.execute(
        "SELECT array_task, extract(epoch FROM max(submit_ts))::float8 FROM job WHERE cluster = %s AND job_id = ANY(%s) GROUP BY 1",
        [array[0], [f"{array[1]}_{task}" for task in tasks]],
    )
    return {task: submit_s for task, submit_s in rows if task is not None}
