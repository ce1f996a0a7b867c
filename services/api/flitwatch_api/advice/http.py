"""Routes of advice; answered from memory."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flitwatch_api.advice import schemas
from flitwatch_api.advice.decide import Asked, advise, known, stale_reasons
from flitwatch_api.answers import answer, moment
from flitwatch_api.names import Names, sees_names
from flitwatch_api.people.access import needs
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.advice import Basis

http = APIRouter(tags=["advice"], responses=RESPONSES)


def _names(request: Request, basis: Basis) -> Names:
    return Names(None if sees_names(request) else basis.pseudonym_key.encode(), getattr(request.state, "user", None))


def _one(request: Request, basis: Basis, age_s: float, away: bool, job: schemas.AdviceRequest) -> dict[str, Any]:
    names = _names(request, basis)
    deadline = job.deadline if job.deadline is None or job.deadline.tzinfo else job.deadline.replace(tzinfo=UTC)
    deadline_s = None if deadline is None else deadline.timestamp()
    asked = Asked(job.user, job.application, job.nodes, job.candidates, deadline_s)
    made = advise(basis, asked, names.user, age_s, away)
    made["as_of"] = moment(made.pop("as_of_s"))
    return made


@http.post("/advice", response_model=schemas.Advice, openapi_extra=needs("user", "advice", changes=False))
async def advice(request: Request, platform: ThePlatform, job: schemas.AdviceRequest) -> Response:
    """Whether a job should start, wait, or prefer some nodes; unknown is null, with the reason."""
    basis, age_s, away = await platform.advice.get()
    return answer(_one(request, basis, age_s, away, job), "no-store")


@http.post(
    "/advice/batch", response_model=schemas.AdviceBatchAnswer, openapi_extra=needs("user", "advice", changes=False)
)
async def advice_batch(request: Request, platform: ThePlatform, batch: schemas.AdviceBatch) -> Response:
    """The same for several jobs."""
    basis, age_s, away = await platform.advice.get()
    return answer({"items": [_one(request, basis, age_s, away, job) for job in batch.jobs]}, "no-store")


@http.get("/advice/state", response_model=schemas.AdviceState)
async def advice_state(request: Request, platform: ThePlatform) -> Response:
    """The applications, sizes and groups of nodes that advice knows: what is worth asking about."""
    basis, age_s, away = await platform.advice.get()
    names = _names(request, basis)
    made = known(basis)
    for item in made["applications"]:
        item["users"] = sorted(names.user(user) for user in item["users"])
    return answer({**made, "stale": bool(stale_reasons(basis, age_s, away)), "as_of": moment(basis.now_s)}, "no-store")
