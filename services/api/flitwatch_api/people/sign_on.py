"""Browser routes to the site's own login and back."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from flitwatch_api.people.access import require_access
from flitwatch_api.people.callers import Callers
from flitwatch_api.people.login_limiter import base_of, cookie_of, set_cookie
from flitwatch_api.people.oidc import ATTEMPT_S, Provider, SignOnAttempt
from flitwatch_api.platform import ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.people import accounts as people
from flitwatch_domain.errors import NotFound, Unauthenticated

http = APIRouter(prefix="/session/oidc", tags=["people"], responses=RESPONSES)

BACK = "/api/v1/session/oidc/back"
LONGEST_PLACE = 1500
#: Path on this site: one slash, then neither another host nor text that browsers treat as one.
_PLACE = re.compile(r"/(?!/|api/)[\x21-\x5b\x5d-\x7e]*")
_REDIRECT: dict[str, Any] = {"status_code": 303, "response_class": RedirectResponse}

Word = Annotated[str | None, Query(max_length=4096)]


def _require_provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.oidc
    if provider is None:
        raise NotFound("this site has no login by OpenID Connect", advice="Sign in with a local account at /login.")
    return provider


def _safe_place(text: str) -> str:
    return text if len(text) <= LONGEST_PLACE and _PLACE.fullmatch(text) else "/"


def _redirect_to(address: str) -> Response:
    return RedirectResponse(address, 303, {"Cache-Control": "no-store"})


@http.get("", **_REDIRECT, name="oidc_leave", openapi_extra=require_access("anyone", "read"))
async def leave(
    request: Request,
    to: Annotated[str, Query(max_length=LONGEST_PLACE, description="Path of the page to return to.")] = "/",
) -> Response:
    """Redirect to the site's own login."""
    attempt = SignOnAttempt.new()
    base = base_of(request, request.app.state.platform.settings.api_url)
    response = _redirect_to(await _require_provider(request).authorization_url(attempt, base + BACK))
    set_cookie(request, response, f"{attempt.secret}~{quote(_safe_place(to), safe='/')}", ATTEMPT_S, "login")
    return response


@http.get("/back", **_REDIRECT, name="oidc_back", openapi_extra=require_access("anyone", "read", changes=True))
async def back(
    request: Request, platform: ThePlatform, code: Word = None, state: Word = None, error: Word = None, iss: Word = None
) -> Response:
    """Return from the site's own login with a code, which is exchanged for a session."""
    provider = _require_provider(request)
    secret, _, place = request.cookies.get(cookie_of(request, "login"), "").partition("~")
    attempt = SignOnAttempt(secret)
    attempt.check(state or "")
    provider.check_answer(error, iss)
    if not code:
        raise Unauthenticated(f"{provider.name} sent no code", advice="Start again from the login page.")
    vouched = await provider.exchange_code(code, attempt, base_of(request, platform.settings.api_url) + BACK)
    request.state.named = vouched.name
    request.state.audit = {"issuer": vouched.issuer, "role": vouched.role}

    def begin(conn: Any) -> tuple[str, str]:
        number, name = people.of_provider(conn, vouched.issuer, vouched.subject, vouched.name, vouched.role)
        return name, people.begin_session(conn, number)[0]

    request.state.named, session = await platform.in_thread("gate", begin)
    callers: Callers = request.app.state.callers
    callers.forget()
    response = _redirect_to(_safe_place(unquote(place)))
    set_cookie(request, response, session, int(people.SESSION.total_seconds()))
    set_cookie(request, response, "", 0, "login")
    return response


@http.get("/logout", **_REDIRECT, name="oidc_log_out", openapi_extra=require_access("anyone", "read"))
async def log_out(request: Request, platform: ThePlatform) -> Response:
    """Redirect to the provider's logout, which also ends the provider's session. DELETE /session ends this site's."""
    login = base_of(request, platform.settings.api_url) + "/login"
    return _redirect_to(await _require_provider(request).log_out(login) or login)
