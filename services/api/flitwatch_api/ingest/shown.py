"""Refused records as shown to a caller."""

from __future__ import annotations

from fastapi import Request

from flitwatch_api.answers import build_model
from flitwatch_api.ingest import schemas
from flitwatch_api.names import hides_jobs_from, sees_names
from flitwatch_api.refusals import CUT, redact_record
from flitwatch_db.ingest.reads import Row


def dead_letters(request: Request, rows: list[Row]) -> list[schemas.DeadLetter]:
    """Return refused records as shown to the caller. Full reasons are recorded in the audit log."""
    return [build_model(schemas.DeadLetter, row) for row in mask_reasons(request, rows)]


def mask_topics(request: Request, rows: list[schemas.Topic]) -> list[schemas.Topic]:
    """Return topics as shown to the caller. The reason why counters have no fabric names hosts, which can belong to a job."""
    reason_rows = [{"reason": topic.unplaced_because, "where": ""} for topic in rows]
    texts = [row["reason"] for row in mask_reasons(request, [row for row in reason_rows if row["reason"] is not None])]
    return [
        topic if topic.unplaced_because is None else topic.model_copy(update={"unplaced_because": texts.pop(0)})
        for topic in rows
    ]


def mask_reasons(request: Request, rows: list[Row]) -> list[Row]:
    """Return rows with `reason`, `where` and possibly `source` as shown to the caller. Full reasons are recorded in the audit log."""
    cut = [redact_record(row) for row in rows]
    if hides_jobs_from(request):
        # Reasons quote refused values, and places can be jobs.
        return [{**row, "reason": CUT, "where": ""} for row in cut]
    if not sees_names(request):
        return cut
    request.state.saw_names = any(row["reason"] != shown["reason"] for row, shown in zip(rows, cut, strict=True))
    return rows
