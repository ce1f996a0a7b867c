"""Errors of requests to the API."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """A call failed. `advice` recommends an action, if there is one."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(f"{message} ({advice})" if advice else message)
        self.message = message
        self.advice = advice


class Unavailable(ClientError):
    """The API does not answer."""


class Refused(ClientError):
    """The API refused the request.

    Attributes
    ----------
    status : int
        The HTTP status.
    problem : dict
        The problem document (RFC 9457), unchanged.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        reason = problem.get("detail") or problem.get("title") or f"status {status}"
        super().__init__(str(reason), str(problem.get("advice") or ""))
        self.status = status
        self.problem = problem


class TaskFailed(ClientError):
    """A task ended without a result.

    Attributes
    ----------
    task_id : int
    state : str
        `failed` or `cancelled`.
    """

    def __init__(self, task_id: int, state: str, error: Any) -> None:
        reason = error.get("message", error) if isinstance(error, dict) else error
        super().__init__(f"task {task_id} {state}" + (f": {reason}" if reason else ""))
        self.task_id = task_id
        self.state = state
