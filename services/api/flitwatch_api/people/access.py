"""Access requirements of endpoints: declared in the route, enforced by one dependency, documented in OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from flitwatch_api.names import WITHOUT_JOBS, hidden_jobs_error, hides_jobs
from flitwatch_api.people.callers import Callers
from flitwatch_api.people.login_limiter import network_of
from flitwatch_api.people.visits import Visit
from flitwatch_domain.access import Caller, Scope
from flitwatch_domain.errors import Forbidden, Unauthenticated

Role = Literal["anyone", "viewer", "user", "operator", "admin"]
RANK = {"anyone": 0, "viewer": 1, "service": 1, "user": 2, "operator": 3, "admin": 4}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
ROLE, SCOPE, CHANGES = "x-required-role", "x-required-scope", "x-changes"


@dataclass(frozen=True)
class Requirement:
    """Requirement of a route.

    Attributes
    ----------
    role : str
        Lowest role of a person; `anyone` needs no login.
    scope : str
        Scope that a token, including a service's token, must have.
    changes : bool
        Whether the route changes data and is thus recorded in the audit log.
    """

    role: Role
    scope: Scope
    changes: bool


def require_access(role: Role, scope: Scope, *, changes: bool | None = None) -> dict[str, Role | Scope | bool | None]:
    """Return a route's declaration for `openapi_extra`. By default, its method determines whether it changes data."""
    return {ROLE: role, SCOPE: scope, CHANGES: changes}


def requirement_of(methods: set[str], declared: Mapping[str, Any] | None) -> Requirement:
    """Return a route's declared requirement. By default, reading requires the viewer role and changing requires the operator role."""
    declaration, safe = declared or {}, methods <= SAFE
    if ROLE in declaration:
        changes = declaration.get(CHANGES)
        return Requirement(declaration[ROLE], declaration[SCOPE], not safe if changes is None else changes)
    return Requirement("viewer", "read", False) if safe else Requirement("operator", "operate", True)


def made_by(request: Request) -> str:
    """Return the author to record for the caller's tasks and files. For callers without a login, it is their visit, if they have one."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return "nobody"
    visit: Visit | None = getattr(request.state, "visit", None)
    return caller.name if visit is None else visit.author


def check_access(caller: Caller | None, need: Requirement) -> None:
    """Check that a caller has access: people by role, tokens by scope and by the role of their account. Raise Unauthenticated or Forbidden."""
    if need.role == "anyone":
        return
    if caller is None:
        raise Unauthenticated(
            "this site requires a login", advice="Log in at /login, or send a token: Authorization: Bearer fwt_..."
        )
    by_role = (caller.role == "service" and caller.via == "token") or RANK[caller.role] >= RANK[need.role]
    if by_role and need.scope in caller.scopes:
        return
    if caller.via == "anonymous":
        raise Unauthenticated(f"this requires a login with role {need.role}", advice="Log in at /login.")
    if not by_role:
        raise Forbidden(f"this requires role {need.role}; you are {caller.role}", advice="Ask an admin of this site.")
    raise Forbidden(
        f"this requires scope {need.scope}; the token has {', '.join(sorted(caller.scopes)) or 'none'}",
        advice="Create a token with that scope: flitwatch tokens create.",
    )


async def _allow_caller(request: Request) -> Caller | None:
    callers: Callers = request.app.state.callers
    route: APIRoute = request.scope["route"]
    need = requirement_of(route.methods or set(), route.openapi_extra)
    # Advice is served from memory and changes no data, so a recently known caller is enough.
    caller = await callers.of(request, from_memory=need.scope == "advice" and not need.changes)
    callers.count(caller, network_of(request))
    if caller is not None and caller.via == "anonymous":
        request.state.visit = await callers.visits.of(request)
    request.state.caller, request.state.need = caller, need
    request.state.role = None if caller is None else caller.role
    request.state.user = None if caller is None or caller.via == "anonymous" else caller.name
    check_access(caller, need)
    if hides_jobs(request.app.state.platform.settings, caller) and route.name not in WITHOUT_JOBS:
        raise hidden_jobs_error("this is about jobs")
    if caller is not None and caller.via == "session" and request.method not in SAFE:
        callers.check_csrf(request)
    return caller


allowed = Depends(_allow_caller)
