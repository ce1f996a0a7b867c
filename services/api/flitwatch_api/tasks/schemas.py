"""Response models for tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


class Task(BaseModel):
    """Work in the queue."""

    task_id: int
    name: str
    args: dict[str, Any] | None = Field(
        description="Null below scope names if another account started it and it may be about people. The same holds for result and error."
    )
    state: str = Field(description="queued, running, succeeded, failed or cancelled")
    done: int
    total: int
    message: str
    cancel_requested: bool
    result: Any | None
    error: Any | None
    created_by: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class TaskList(BaseModel):
    """A page of tasks."""

    items: list[Task]
    next_cursor: str | None


class TaskFile(BaseModel):
    """An uploaded file that waits for its task."""

    file: int = Field(description="Number of the file, for arguments of tasks.")
    bytes: int
