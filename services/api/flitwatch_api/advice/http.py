"""Routes of advice, answered from memory."""

from __future__ import annotations

import asyncio
from datetime import UTC

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response, utc_time
from flitwatch_api.names import Names, sees_names
from flitwatch_api.people.access import require_access
from flitwatch_api.platform import Platform, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_domain.advice import schemas
from flitwatch_domain.advice.basis import Basis
from flitwatch_domain.advice.decision import PlacementQuestion, give_advice, list_known_placements, stale_reasons
from flitwatch_domain.advice.pattern import SERVED, Parts

http = APIRouter(tags=["advice"], responses=RESPONSES)


def _make_names(request: Request, basis: Basis) -> Names:
    return Names(None if sees_names(request) else basis.pseudonym_key.encode(), getattr(request.state, "user", None))


#: Stands for any user that the caller may not ask about: no run and no estimate has this user.
NOBODY = ""


def _map_shown_names(basis: Basis, names: Names) -> tuple[dict[str, str], dict[str, str]]:
    """Return users by pseudonym and applications by displayed name, as far as the advice data contain them."""
    shown_names: tuple[dict[str, str], dict[str, str]] | None = basis.memo.get("meant")
    if shown_names is None:
        rows = [row for part in (basis.runs, basis.blamed) for rows in part.values() for row in rows]
        everyone = Names(names.key)
        users = {everyone.user(user): user for user in {row["user"] for row in rows} if user}
        applications = sorted(basis.runs.keys() | basis.blamed.keys() | basis.routing_modes.keys())
        # If several executables have one name, the one with most runs is used.
        applications.sort(key=lambda application: len(basis.runs.get(application, ())))
        shown_names = basis.memo["meant"] = (
            users,
            {names.path(application): application for application in applications},
        )
    return shown_names


def _resolve_names(basis: Basis, names: Names, user: str, application: str) -> tuple[str, str]:
    """Return user and application as named in the advice data. Below scope `names`, other people's real names match no one."""
    if not names.pseudonyms:
        return user, application
    users, applications = _map_shown_names(basis, names)
    own = user if user == names.own else users.get(user, NOBODY)
    # An unknown name stays unknown, even if it is an executable with its path.
    return own, applications.get(application, f"\0{application}")


def _advise_job(
    request: Request, basis: Basis, age_s: float, away: bool, job: schemas.AdviceRequest, parts: Parts = SERVED
) -> schemas.Advice:
    names = _make_names(request, basis)
    deadline = job.deadline if job.deadline is None or job.deadline.tzinfo else job.deadline.replace(tzinfo=UTC)
    deadline_s = None if deadline is None else deadline.timestamp()
    user, application = _resolve_names(basis, names, job.user, job.application)
    question = PlacementQuestion(user, application, job.nodes, job.candidates, deadline_s)
    result = give_advice(basis, question, names.user, age_s, away, parts)
    if application != job.application:
        statements: list[schemas.Reason | schemas.AdviceFinding] = [*result.reasons, *result.because]
        for statement in statements:
            statement.text = statement.text.replace(application, job.application)
        for candidate in result.candidates:
            candidate.reason = candidate.reason.replace(application, job.application)
    return result


async def _advise_jobs(
    request: Request,
    basis: Basis,
    age_s: float,
    away: bool,
    jobs: list[schemas.AdviceRequest],
    parts: Parts = SERVED,
) -> list[schemas.Advice]:
    """Return the answers in the order of the questions, yielding to other requests after each."""
    answers = []
    for job in jobs:
        answers.append(_advise_job(request, basis, age_s, away, job, parts))
        await asyncio.sleep(0)
    return answers


async def _load_state(request: Request, platform: Platform) -> tuple[Basis, float, bool]:
    """Load the state. The database also counts as unavailable if the caller could not be looked up."""
    basis, age_s, away = await platform.advice.get()
    return basis, age_s, away or getattr(request.state, "from_memory", False)


@http.post("/advice", response_model=schemas.Advice, openapi_extra=require_access("user", "advice", changes=False))
async def advice(request: Request, platform: ThePlatform, job: schemas.AdviceRequest) -> Response:
    """Advise whether a job should start, wait, or prefer some nodes. Unknown values are null, with the reason."""
    basis, age_s, away = await _load_state(request, platform)
    return json_response(_advise_job(request, basis, age_s, away, job, platform.advice_parts), "no-store")


@http.post(
    "/advice/batch",
    response_model=schemas.AdviceBatchAnswer,
    openapi_extra=require_access("user", "advice", changes=False),
)
async def advice_batch(request: Request, platform: ThePlatform, batch: schemas.AdviceBatch) -> Response:
    """Return advice for several jobs."""
    basis, age_s, away = await _load_state(request, platform)
    items = await _advise_jobs(request, basis, age_s, away, batch.jobs, platform.advice_parts)
    return json_response(build_model(schemas.AdviceBatchAnswer, items=items), "no-store")


@http.get("/advice/state", response_model=schemas.AdviceState)
async def advice_state(request: Request, platform: ThePlatform) -> Response:
    """Return the applications, sizes and node groups that have advice, so that callers request only these."""
    basis, age_s, away = await platform.advice.get()
    names = _make_names(request, basis)
    placements = list_known_placements(basis)
    for item in placements.applications:
        item.application = names.path(item.application)
        item.users = sorted(names.user(user) for user in item.users)
    state = build_model(
        schemas.AdviceState,
        applications=placements.applications,
        groups=placements.groups,
        pseudonyms=names.pseudonyms,
        stale=bool(stale_reasons(basis, age_s, away)),
        as_of=utc_time(basis.now_s),
    )
    return json_response(state, "no-store")
