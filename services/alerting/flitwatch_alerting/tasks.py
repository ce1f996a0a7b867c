"""Task `alerting.test` {rule, from_s, to_s}: the alerts that a rule would have raised over history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flitwatch_db import connect
from flitwatch_db.tasks import Handler, TaskContext
from flitwatch_domain.task_models.measured import DryRunArguments

if TYPE_CHECKING:
    from flitwatch_alerting.evaluate import DryRun


def run_dry_run(args: dict[str, Any], context: TaskContext) -> DryRun:
    from flitwatch_alerting.evaluate import dry_run

    arguments = DryRunArguments.of(args)
    with connect(context.dsn, role="reader") as conn:
        return dry_run(conn, arguments.rule, arguments.from_s, arguments.to_s)


HANDLERS: dict[str, Handler] = {"alerting.test": run_dry_run}
