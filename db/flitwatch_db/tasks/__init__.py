"""Task queue: start, follow and cancel tasks; and the worker that runs them.

The queue is table `task`: workers claim its rows with SKIP LOCKED, and a NOTIFY wakes them.
"""

from flitwatch_db.tasks.context import HANDLERS, Handler, TaskContext, lazy_handler
from flitwatch_db.tasks.process import Limits
from flitwatch_db.tasks.table import Task, cancel_task, get_task, list_tasks, open_of, open_of_visits, start_task
from flitwatch_db.tasks.worker import Worker

__all__ = [
    "HANDLERS",
    "Handler",
    "Limits",
    "Task",
    "TaskContext",
    "Worker",
    "cancel_task",
    "get_task",
    "lazy_handler",
    "list_tasks",
    "open_of",
    "open_of_visits",
    "start_task",
]
