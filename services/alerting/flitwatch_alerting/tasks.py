"""`alerting.test` {rule, from_s, to_s}: what a rule would have done over history."""

from __future__ import annotations

from typing import Any

from flitwatch_db import connect
from flitwatch_db.tasks import Handler, TaskContext
from flitwatch_domain.alerts import LONGEST_S, read_rule
from flitwatch_domain.errors import BadRequest


def test(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """The dry run as a task."""
    from flitwatch_alerting.evaluate import dry_run

    rule, from_s, to_s = read_rule(args.get("rule")), args.get("from_s"), args.get("to_s")
    if not all(isinstance(edge, int | float) and not isinstance(edge, bool) for edge in (from_s, to_s)):
        raise BadRequest("`from_s` and `to_s` are epoch seconds")
    assert from_s is not None and to_s is not None
    if not 0 <= to_s - from_s <= LONGEST_S:
        raise BadRequest("the span is at most 31 days, and ends after it begins")
    with connect(context.dsn, role="reader") as conn:
        return dry_run(conn, rule, float(from_s), float(to_s))


HANDLERS: dict[str, Handler] = {"alerting.test": test}
