"""Tasks of the queue, as a test follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from support.waiting import eventually

from flitwatch_db.tasks import Task, get_task


def wait_for(
    conn: psycopg.Connection[Any], task_id: int, condition: Callable[[Task], object], timeout_s: float = 150.0
) -> Task:
    """The task, once it meets the condition."""

    def met() -> Task | None:
        task = get_task(conn, task_id)
        return task if condition(task) else None

    return eventually(met, timeout_s, what="the task to meet the condition", detail=lambda: get_task(conn, task_id))
