"""Routes of alerts, rules and silences."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from flitwatch_api.alerts import schemas
from flitwatch_api.answers import json_response
from flitwatch_api.names import TheNames, names_of
from flitwatch_api.parameters import (
    LATEST_S,
    CursorText,
    Id,
    Limit,
    Text,
    Time,
    at_moment,
    make_cursor,
    read_page_cursor,
)
from flitwatch_api.people.access import made_by, require_access
from flitwatch_api.people.visits import hand_over
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_api.tasks.begin import begin_task
from flitwatch_api.tasks.shown import Task, shown_task
from flitwatch_db.alerts import contacts as contact_rows
from flitwatch_db.alerts import reads, store
from flitwatch_db.core.columns import Connection
from flitwatch_db.tasks import record as task_reads
from flitwatch_domain.alerts import Rule, read_rule
from flitwatch_domain.errors import BadInput, BadRequest, NotFound

http = APIRouter(prefix="/alerts", tags=["alerts"], responses=RESPONSES)
RuleName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$", description="Name of the rule.")]


@http.get("", response_model=schemas.AlertList)
async def alerts(
    conn: Reader,
    names: TheNames,
    phase: Annotated[Literal["pending", "firing", "resolved"] | None, Query()] = None,
    rule: Text = None,
    from_: Annotated[
        Time | None, Query(alias="from", description="Only alerts that were open at or after this time.")
    ] = None,
    to: Annotated[Time | None, Query(description="Only alerts that were open at or before this time.")] = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List alerts, newest first."""
    span = [None if edge is None else at_moment(edge) for edge in (from_, to)]
    rows = await reads.list_alerts(conn, limit + 1, read_page_cursor(cursor), phase, rule or None, *span)
    items = [schemas.mask_alert(row, names) for row in rows[:limit]]
    # A hidden rule name cannot be searched for, and its number of alerts is hidden: both would reveal the user.
    shown_alerts = [item for item in items if not rule or item["rule"] == rule]
    next_cursor = make_cursor(items[-1]["alert_id"]) if shown_alerts and len(rows) > limit else None
    return json_response({"items": shown_alerts, "next_cursor": next_cursor})


@http.get("/rules", response_model=schemas.RuleList, name="alert_rules")
async def rules(conn: Reader, names: TheNames) -> Response:
    """List all rules."""
    return json_response(
        {
            "items": [
                {**row, "rule": schemas.mask_rule(row["rule"], names)} for row in await reads.list_alert_rules(conn)
            ]
        }
    )


def _build_rule(name: str, new: schemas.NewRule) -> Rule:
    return read_rule({"name": name, **new.model_dump(by_alias=True)}, f"rule {name}")


@http.put("/rules/{name}", response_model=schemas.StoredRule, name="put_alert_rule")
async def put_rule(request: Request, platform: ThePlatform, name: RuleName, new: schemas.NewRule) -> Response:
    """Create or change a rule. It then overrides the file's rule of that name."""
    new_rule = _build_rule(name, new)
    async with platform.reading() as conn:
        old_row, names = await reads.find_alert_rule(conn, name), await names_of(request, conn)
    for rule_fields in (new_rule.model_dump(mode="json"), *([] if old_row is None else [old_row["rule"]])):
        schemas.check_written(rule_fields, schemas.mask_rule(rule_fields, names), names)
    await platform.in_thread("writer", lambda conn: store.save_rule(conn, new_rule, "api"))
    async with platform.reading() as conn:
        stored = await reads.find_alert_rule(conn, name)
    return json_response(None if stored is None else {**stored, "rule": schemas.mask_rule(stored["rule"], names)})


@http.delete("/rules/{name}", status_code=204, name="delete_alert_rule")
async def delete_rule(request: Request, platform: ThePlatform, name: RuleName) -> Response:
    """Remove a rule. A rule from the file returns when the engine starts again."""
    async with platform.reading() as conn:
        row, names = await reads.find_alert_rule(conn, name), await names_of(request, conn)
    hidden = row is not None and schemas.mask_rule(row["rule"], names)["name"] != name
    if hidden or not await platform.in_thread("writer", lambda conn: store.delete_rule(conn, name)):
        raise NotFound(f"there is no rule {name!r}", advice="/api/v1/alerts/rules lists them.")
    return Response(status_code=204)


@http.post(
    "/rules/test",
    response_model=Task,
    status_code=202,
    name="test_alert_rule",
    openapi_extra=require_access("user", "tasks"),
)
async def test_rule(request: Request, platform: ThePlatform, asked: schemas.DryRun) -> Response:
    """Test a rule over a past period as a task. Its result has {fired, alerts[], samples, series}. It sends no notification."""
    if (asked.name is None) == (asked.rule is None):
        raise BadRequest("give either `name` or `rule`")
    async with platform.reading() as conn:
        stored = None if asked.name is None else await reads.find_alert_rule(conn, asked.name)
        names = await names_of(request, conn)
    if asked.name is not None and (stored is None or schemas.mask_rule(stored["rule"], names)["name"] != asked.name):
        raise NotFound(f"there is no rule {asked.name[:80]!r}", advice="/api/v1/alerts/rules lists them.")
    if stored:
        # Its labels are an operator's text, which the caller can also read in the list of rules.
        rule = schemas.mask_rule(stored["rule"], names)
    else:
        rule = _build_rule("tried", asked.rule).model_dump(mode="json")  # type: ignore[arg-type]
    schemas.check_tried(rule, names)
    from_s, to_s = _epoch_seconds(asked.from_), _epoch_seconds(asked.to)
    if not 0 < to_s - from_s <= 31 * 86_400:
        raise BadRequest("the period must end after its start and be at most 31 days long")
    args = {"rule": rule, "from_s": from_s, "to_s": to_s}
    task_id = await begin_task(request, platform, "alerting.test", args)
    async with platform.reading() as conn:
        row = await task_reads.find_task(conn, task_id)
    shown = None if row is None else shown_task(row, request, names)
    return hand_over(request, json_response(shown, status=202, location=f"/api/v1/tasks/{task_id}"))


def _epoch_seconds(time: datetime) -> float:
    value = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if not 0 <= value < LATEST_S:
        raise BadRequest("the time must be between 1970 and 2106")
    return value


@http.get("/silences", response_model=schemas.SilenceList, name="alert_silences")
async def silences(conn: Reader, names: TheNames, limit: Limit = 100) -> Response:
    """List silences, the last to end first."""
    rules = {row["rule"]["name"]: row["rule"] for row in await reads.list_alert_rules(conn)}
    return json_response(
        {"items": [schemas.mask_silence(row, names, rules) for row in await reads.list_silences(conn, limit)]}
    )


@http.post("/silences", response_model=schemas.SilenceList, status_code=201, name="add_alert_silence")
async def add_silence(request: Request, platform: ThePlatform, new: schemas.NewSilence) -> Response:
    """Suppress the notifications of matching alerts for a period."""
    now_s, ends_s = datetime.now(UTC).timestamp(), _epoch_seconds(new.ends)
    starts_s = _epoch_seconds(new.starts) if new.starts else now_s
    if ends_s <= now_s:
        raise BadInput("the silence is in the past", advice="Set `ends` to a time in the future.")
    if ends_s <= starts_s:
        raise BadRequest("the silence ends before it begins")
    by = made_by(request)
    async with platform.reading() as conn:
        names, rules = (
            await names_of(request, conn),
            {row["rule"]["name"]: row["rule"] for row in await reads.list_alert_rules(conn)},
        )
    schemas.check_written(dict(new.matchers), schemas.mask_matchers(new.matchers, names, rules, hidden=False), names)
    number = await platform.in_thread(
        "writer",
        lambda conn: store.add_silence(
            conn, dict(new.matchers), at_moment(starts_s), at_moment(ends_s), new.comment, by
        ),
    )
    async with platform.reading() as conn:
        items = [row for row in await reads.list_silences(conn, 1000) if row["silence_id"] == number]
    return json_response({"items": items}, status=201)


@http.delete("/silences/{silence_id}", status_code=204, name="end_alert_silence")
async def end_silence(platform: ThePlatform, silence_id: Id) -> Response:
    """End a silence now."""
    if not await platform.in_thread("writer", lambda conn: store.end_silence(conn, silence_id)):
        raise NotFound(f"there is no silence {silence_id}", advice="/api/v1/alerts/silences lists them.")
    return Response(status_code=204)


ContactName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$", description="Name of the contact point.")]


async def _list_contacts(request: Request, conn: Connection, name: str | None = None) -> list[schemas.Row]:
    operates = "operate" in request.state.caller.scopes
    return [schemas.mask_contact(row, operates) for row in await contact_rows.read_contact_points(conn, name)]


@http.get("/contacts", response_model=schemas.ContactList, name="alert_contacts")
async def contacts(request: Request, conn: Reader) -> Response:
    """List contact points by name. Receivers in the engine's file are not included."""
    return json_response({"items": await _list_contacts(request, conn)})


@http.put("/contacts/{name}", response_model=schemas.Contact, name="put_alert_contact")
async def put_contact(request: Request, platform: ThePlatform, name: ContactName, new: schemas.NewContact) -> Response:
    """Create or change a contact point."""
    await platform.in_thread(
        "writer", lambda conn: contact_rows.save_contact_point(conn, name, list(new.addresses), new.least_severity)
    )
    async with platform.reading() as conn:
        return json_response(next(iter(await _list_contacts(request, conn, name)), None))


@http.delete("/contacts/{name}", status_code=204, name="delete_alert_contact")
async def delete_contact(platform: ThePlatform, name: ContactName) -> Response:
    """Remove a contact point. It receives no more mail."""
    if not await platform.in_thread("writer", lambda conn: contact_rows.delete_contact_point(conn, name)):
        raise _no_contact(name)
    return Response(status_code=204)


@http.post("/contacts/{name}/test", response_model=schemas.Contact, status_code=202, name="test_alert_contact")
async def test_contact(request: Request, platform: ThePlatform, name: ContactName) -> Response:
    """Request a test mail, which the engine sends within seconds. `GET /alerts/contacts` shows the result."""
    if not await platform.in_thread("writer", lambda conn: contact_rows.ask_test(conn, name)):
        raise _no_contact(name)
    async with platform.reading() as conn:
        return json_response(next(iter(await _list_contacts(request, conn, name)), None), status=202)


def _no_contact(name: str) -> NotFound:
    return NotFound(f"there is no contact point {name!r}", advice="/api/v1/alerts/contacts lists them.")


@http.get("/{alert_id}", response_model=schemas.AlertDetail)
async def alert(request: Request, conn: Reader, names: TheNames, alert_id: Id) -> Response:
    """Return an alert, its evidence at the time when it began to fire, and its notifications."""
    row = await reads.find_alert(conn, alert_id)
    if row is None:
        raise NotFound(f"there is no alert {alert_id}", advice="/api/v1/alerts lists them.")
    row["notices"] = schemas.mask_notices(row["notices"], "operate" in request.state.caller.scopes)
    return json_response(schemas.mask_alert(row, names))
