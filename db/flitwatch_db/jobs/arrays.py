"""Waiting tasks of an array: schedulers print them in one line, such as 77_[4-5%1], whose text changes with every task that starts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from flitwatch_domain.jobs import FINAL_STATES, Job

#: Cluster and number of an array; cluster, job id and restart of a job.
_Array = tuple[str, str]
_Key = tuple[str, str, int]

_WAITING = re.compile(r"([0-9]+)_\[([0-9,:-]*)(?:%[0-9]+)?\]")
_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8})(?::([0-9]{1,8}))?)?")
#: Tasks that an array may have (Slurm's MaxArraySize is below it).
_MOST_TASKS = 4_000_001


@dataclass
class _View:
    """Tasks of an array that one row stands for."""

    job_id: str
    final: bool
    tasks: set[int]
    job_pk: int | None = None


def settled(conn: psycopg.Connection[Any], jobs: Mapping[_Key, Job]) -> dict[_Key, Job]:
    """Return jobs of which each task of an array occurs once, and rename the stored rows of tasks that have a row of their own now.

    A row of waiting tasks keeps those that no other row has. Where none is left, it becomes the row of one of them, or is left out.
    """
    tasks: defaultdict[_Array, dict[int, _Key]] = defaultdict(dict)
    views: defaultdict[_Array, list[tuple[_Key, _View]]] = defaultdict(list)
    for key, job in jobs.items():
        array = (job.cluster, job.job_id.partition("_")[0])
        if job.array_task is not None:
            tasks[array][job.array_task] = key
        elif (view := _view(job.job_id, job.state)) is not None:
            views[array].append((key, view))
    if not tasks and not views:
        return dict(jobs)
    stored = _stored_views(conn, [*tasks, *views])
    own = _stored_tasks(conn, {array: set().union(*(view.tasks for _, view in held)) for array, held in views.items()})
    kept = dict(jobs)
    for array, held in views.items():
        told = {task for view in stored[array] if view.final for task in view.tasks}
        for key, view in held:
            view.tasks -= own[array] | set(tasks[array]) | (set() if view.final else told)
            job = kept.pop(key)
            if view.tasks:
                view.job_id = _named(array[1], view.tasks)
                kept[job.cluster, view.job_id, job.restart] = replace(job, job_id=view.job_id)
    for array, rows in stored.items():
        new = [view for _, view in views[array] if view.tasks]
        for row in rows:
            _rename(conn, array, row, new, tasks[array])
    return kept


def _rename(conn: psycopg.Connection[Any], array: _Array, row: _View, new: list[_View], tasks: dict[int, _Key]) -> None:
    """Give a stored row the tasks that are left to it."""
    if any(view.job_id == row.job_id for view in new):
        return
    by_views = {task for view in new if view.final or not row.final for task in view.tasks}
    left = row.tasks - by_views - set(tasks)
    if left == row.tasks:
        return
    successors = _successors(row, new, tasks)
    named = _named(array[1], left) if left else next(successors, None)
    if named is not None:
        conn.execute(
            "UPDATE job SET job_id = %s, array_task = %s WHERE job_pk = %s AND NOT EXISTS (SELECT FROM job WHERE (cluster, job_id) = (%s, %s))",
            [named, None, row.job_pk, array[0], named],
        )


def _successors(row: _View, new: list[_View], tasks: dict[int, _Key]) -> Iterator[str]:
    yield from (view.job_id for view in new if view.tasks & row.tasks)
    yield from (tasks[task][1] for task in sorted(row.tasks & set(tasks)))


def _view(job_id: str, state: str) -> _View | None:
    """What a row of waiting tasks stands for; None for another job, and where its text does not name them all."""
    match = _WAITING.fullmatch(job_id)
    tasks: set[int] = set()
    for part in match.group(2).split(",") if match else ():
        found = _RANGE.fullmatch(part)
        if found is None:
            return None
        first, last, step = (int(text) if text else None for text in found.groups())
        assert first is not None
        span = range(first, (first if last is None else last) + 1, step or 1)
        if len(tasks) + len(span) > _MOST_TASKS:
            return None
        tasks.update(span)
    return _View(job_id, state in FINAL_STATES, tasks) if tasks else None


def _named(array: str, tasks: set[int]) -> str:
    """The id of a row of waiting tasks: 77_[4-5,9]."""
    spans: list[list[int]] = []
    for task in sorted(tasks):
        if spans and spans[-1][1] == task - 1:
            spans[-1][1] = task
        else:
            spans.append([task, task])
    return f"{array}_[{','.join(str(low) if low == high else f'{low}-{high}' for low, high in spans)}]"


def _stored_views(conn: psycopg.Connection[Any], arrays: list[_Array]) -> dict[_Array, list[_View]]:
    rows = conn.execute(
        """
        SELECT j.job_pk, a.cluster, a.number, j.job_id, j.state FROM (SELECT DISTINCT * FROM unnest(%s::text[], %s::text[]) AS a (cluster, number)) a
        JOIN job j ON j.cluster = a.cluster AND split_part(j.job_id, '_', 1) = a.number AND strpos(j.job_id, '[') > 0
        """,
        [[cluster for cluster, _ in arrays], [number for _, number in arrays]],
    )
    held: defaultdict[_Array, list[_View]] = defaultdict(list)
    for job_pk, cluster, number, job_id, state in rows:
        view = _view(job_id, state)
        if view is not None:
            view.job_pk = job_pk
            held[cluster, number].append(view)
    return held


def _stored_tasks(conn: psycopg.Connection[Any], wanted: dict[_Array, set[int]]) -> dict[_Array, set[int]]:
    """Which of an array's tasks have a row of their own."""
    held: defaultdict[_Array, set[int]] = defaultdict(set)
    for (cluster, number), tasks in wanted.items():
        rows = conn.execute(
            "SELECT array_task FROM job WHERE cluster = %s AND job_id = ANY(%s)",
            [cluster, [f"{number}_{task}" for task in tasks]],
        )
        held[cluster, number] = {task for (task,) in rows}
    return held
