"""The tasks of this package."""

from __future__ import annotations

import time
from typing import Any

from flitwatch_db.tasks.context import Handler, TaskContext
from flitwatch_domain.errors import BadRequest

#: The cancel flag is looked at this often while waiting.
PATIENCE_S = 0.1
#: No example takes longer.
MOST_S = 3600.0


def count(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """`demo.count {to, delay_s}`: count with a pause before each number; the end-to-end example."""
    to, delay_s = args.get("to", 10), args.get("delay_s", 0.1)
    if not isinstance(to, int) or isinstance(to, bool) or not 0 <= to <= 1_000_000:
        raise BadRequest("`to` is a whole number from 0 to 1,000,000")
    if not isinstance(delay_s, int | float) or not 0 <= delay_s <= 60:
        raise BadRequest("`delay_s` is a number of seconds from 0 to 60")
    if to * delay_s > MOST_S:
        raise BadRequest(f"that takes {to * delay_s:g} s, more than {MOST_S:g}", advice="Count less far, or faster.")
    for number in range(to):
        due = time.monotonic() + delay_s
        while (left := due - time.monotonic()) > 0:
            context.check()
            time.sleep(min(left, PATIENCE_S))
        context.check()
        context.report(number + 1, to, f"counted to {number + 1}")
    return {"counted": to}


def maintain(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """`db.maintain {}`: retention and policies."""
    from flitwatch_db.maintenance import maintain as run

    def step(done: int, total: int, what: str) -> None:
        context.check()
        context.report(done, total, what)

    return run(context.dsn, on_step=step)


#: What a worker of this package can do.
HANDLERS: dict[str, Handler] = {"demo.count": count, "db.maintain": maintain}
