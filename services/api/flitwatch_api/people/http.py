"""Routes of people: sessions, accounts, tokens, the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.parameters import CursorText, Id, Limit, Text, make_cursor, read_page_cursor
from flitwatch_api.people import schemas
from flitwatch_api.people.access import require_access
from flitwatch_api.people.callers import Callers, csrf_of
from flitwatch_api.people.directory import DIRECTORY, Directory
from flitwatch_api.people.login_limiter import cookie_of, network_of, set_cookie
from flitwatch_api.platform import Platform, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.people import accounts as people
from flitwatch_db.people import audit as trail
from flitwatch_domain.access import Caller
from flitwatch_domain.errors import Forbidden, TooMany, Unauthenticated

#: Signed cookie that identifies a browser that an account logged in with. It does not log in, it only raises the limit of attempts.
KNOWN, KNOWN_S = "known", 180 * 86_400

http = APIRouter(tags=["people"], responses=RESPONSES)

AccountName = Annotated[str, Path(min_length=1, max_length=200, description="The account's name.")]
_CONFLICT: dict[int | str, dict[str, Any]] = {409: RESPONSES[404] | {"description": "It exists, or is the last admin."}}


def _callers_of(request: Request) -> Callers:
    callers: Callers = request.app.state.callers
    return callers


def _describe_session(request: Request, caller: Caller | None, secret: str | None) -> schemas.Session:
    by_session = caller is not None and caller.via == "session"
    return build_model(
        schemas.Session,
        user=None if caller is None or caller.via == "anonymous" else caller.name,
        role=None if caller is None else caller.role,
        scopes=[] if caller is None else sorted(caller.scopes),
        via=None if caller is None else caller.via,
        pseudonyms=caller is None or "names" not in caller.scopes,
        csrf=csrf_of(secret) if by_session and secret else None,
        oidc=None if request.app.state.oidc is None else request.app.state.oidc.name,
        vouched=caller is not None and caller.issuer is not None and not caller.issuer.startswith(DIRECTORY),
    )


@http.get("/session", response_model=schemas.Session, name="session", openapi_extra=require_access("anyone", "read"))
async def session(request: Request) -> Response:
    """Return the caller's account, role and scopes."""
    return json_response(
        _describe_session(request, request.state.caller, request.cookies.get(cookie_of(request))), "no-store"
    )


@http.post("/session", response_model=schemas.Session, name="log_in", openapi_extra=require_access("anyone", "read"))
async def log_in(request: Request, platform: ThePlatform, login: schemas.Login) -> Response:
    """Log in with the name and password of a local account or of the site's directory. The session is a cookie."""
    callers = _callers_of(request)
    request.state.named = login.name
    address, known_browser = network_of(request), await _find_known_browser(request, login.name)
    callers.login_limiter.take(login.name, address, known_browser)
    threads = platform.passwords if known_browser is None else platform.known_passwords
    try:
        secret, _ = await platform.in_thread(
            "gate", lambda conn: people.log_in(conn, login.name, login.password.get_secret_value()), threads
        )
    except TooMany:
        # No login was attempted.
        callers.login_limiter.give_back(login.name, address, known_browser)
        raise
    except Unauthenticated as wrong:
        secret = await _directory_session(request, platform, login, wrong)
    callers.login_limiter.give_back(login.name, address, known_browser)
    caller = await platform.in_thread("gate", lambda conn: people.of_session(conn, secret))
    response = json_response(_describe_session(request, caller, secret), "no-store")
    set_cookie(request, response, secret, int(people.SESSION.total_seconds()))
    set_cookie(request, response, await callers.cookies.sign(KNOWN, login.name, KNOWN_S), KNOWN_S, KNOWN)
    return response


async def _directory_session(request: Request, platform: Platform, login: schemas.Login, wrong: Unauthenticated) -> str:
    """Return a session of a user whose password the site's directory accepts. Otherwise raise `wrong`, as for a local account."""
    directory: Directory | None = request.app.state.directory
    if directory is None:
        raise wrong
    if await platform.in_thread("gate", lambda conn: people.has_password(conn, login.name)):
        # A local account's password never leaves this site, and the response time must not reveal that the account exists.
        await directory.check_nobody()
        raise wrong
    person = await directory.check(login.name, login.password.get_secret_value())
    if person is None:
        raise wrong
    request.state.named = person.name
    request.state.audit = {"issuer": person.issuer, "role": person.role}

    def begin(conn: people.Conn) -> tuple[str, str]:
        number, name = people.of_provider(conn, person.issuer, person.subject, person.name, person.role)
        return name, people.begin_session(conn, number)[0]

    request.state.named, secret = await platform.in_thread("gate", begin)
    _callers_of(request).forget()
    return secret


async def _find_known_browser(request: Request, name: str) -> str | None:
    """Return a key for the browser if a user logged in with it under this name before, otherwise None."""
    sealed = await _callers_of(request).cookies.read(KNOWN, request.cookies.get(cookie_of(request, KNOWN), ""))
    return f"browser {sealed.number}" if sealed is not None and sealed.about == name else None


@http.delete("/session", status_code=204, name="log_out", openapi_extra=require_access("anyone", "read"))
async def log_out(request: Request, platform: ThePlatform) -> Response:
    """End the session."""
    secret = request.cookies.get(cookie_of(request))
    if secret and request.state.caller is not None and request.state.caller.via == "session":
        await platform.in_thread("gate", lambda conn: people.end_session(conn, secret))
        _callers_of(request).forget()
    response = Response(status_code=204, headers={"Cache-Control": "no-store"})
    set_cookie(request, response, "", 0)
    return response


@http.put("/session/password", status_code=204, name="own_password", openapi_extra=require_access("viewer", "read"))
async def own_password(request: Request, platform: ThePlatform, asked: schemas.NewPassword) -> Response:
    """Set a new password for the caller's own account. All its sessions end."""
    caller = request.state.caller
    if caller.via != "session":
        raise Unauthenticated("a password can only be changed in a session", advice="Log in at /login.")
    # A holder of the session cannot guess the password faster than at the login, and other people's guesses do not delay the account's owner.
    _callers_of(request).login_limiter.take(caller.name, network_of(request), f"session {caller.number}")

    def change(conn: Any) -> None:
        people.log_in(conn, caller.name, asked.password.get_secret_value())
        people.set_password(conn, caller.name, asked.new.get_secret_value())

    await platform.in_thread("gate", change, platform.known_passwords)
    _callers_of(request).forget()
    return Response(status_code=204)


@http.get("/users", response_model=schemas.AccountList, name="users", openapi_extra=require_access("admin", "admin"))
async def users(platform: ThePlatform) -> Response:
    """List all accounts."""
    return json_response({"items": await platform.in_thread("gate", people.list_accounts)}, "no-store")


@http.post(
    "/users",
    response_model=schemas.AccountList,
    status_code=201,
    name="add_user",
    responses=_CONFLICT,
    openapi_extra=require_access("admin", "admin"),
)
async def add_user(request: Request, platform: ThePlatform, new: schemas.NewAccount) -> Response:
    """Create an account."""
    password = None if new.password is None else new.password.get_secret_value()
    request.state.audit = {"name": new.name, "role": new.role}

    def add(conn: people.Conn) -> schemas.AccountList:
        people.add_account(conn, new.name, new.role, password)
        return _load_account(conn, new.name)

    return json_response(await platform.in_thread("gate", add, platform.known_passwords), "no-store", status=201)


@http.patch(
    "/users/{name}",
    response_model=schemas.AccountList,
    name="change_user",
    responses=_CONFLICT,
    openapi_extra=require_access("admin", "admin"),
)
async def change_user(request: Request, platform: ThePlatform, name: AccountName, change: schemas.Change) -> Response:
    """Change an account's role or password, or disable or enable it. Its sessions end."""
    request.state.audit = {
        "role": change.role,
        "disabled": change.disabled,
        "password": None if change.password is None else "changed",
    }

    def work(conn: people.Conn) -> schemas.AccountList:
        people.change_account(conn, name, role=change.role, disabled=change.disabled)
        if change.password is not None:
            people.set_password(conn, name, change.password.get_secret_value())
        return _load_account(conn, name)

    changed = await platform.in_thread("gate", work, platform.known_passwords)
    _callers_of(request).forget()
    return json_response(changed, "no-store")


def _load_account(conn: people.Conn, name: str) -> schemas.AccountList:
    items = [build_model(schemas.Account, row) for row in people.list_accounts(conn) if row["name"] == name]
    return build_model(schemas.AccountList, items=items)


def _may_make(request: Request) -> None:
    """Refuse tokens other than an admin's: a stolen token could otherwise create new ones indefinitely."""
    caller: Caller = request.state.caller
    if caller.via == "token" and "admin" not in caller.scopes:
        raise Forbidden(
            "only a session or an admin can create and revoke tokens",
            advice="Log in at /login, or ask an admin: flitwatch tokens create.",
        )


def _token_owner(request: Request) -> str | None:
    """Return the account whose tokens a caller may manage; None for admins, who manage all accounts."""
    caller: Caller = request.state.caller
    if caller.via == "anonymous":
        raise Unauthenticated("tokens belong to accounts", advice="Log in at /login.")
    return None if "admin" in caller.scopes else caller.name


@http.get("/tokens", response_model=schemas.TokenList, name="tokens", openapi_extra=require_access("viewer", "read"))
async def tokens(request: Request, platform: ThePlatform) -> Response:
    """List the caller's tokens. Admins get the tokens of all accounts."""
    whose = _token_owner(request)
    return json_response(
        {"items": await platform.in_thread("gate", lambda conn: people.list_tokens(conn, whose))}, "no-store"
    )


@http.post(
    "/tokens",
    response_model=schemas.CreatedToken,
    status_code=201,
    name="add_token",
    openapi_extra=require_access("viewer", "read"),
)
async def add_token(request: Request, platform: ThePlatform, new: schemas.NewToken) -> Response:
    """Create a token, in a session or as an admin. Its secret is shown only once."""
    caller, whose = request.state.caller, _token_owner(request)
    name = new.account or caller.name
    if name != caller.name and whose is not None:
        raise Forbidden("only admins can create tokens for others", advice="Leave `account` out.")
    _may_make(request)
    if caller.via == "token" and not set(new.scopes) <= caller.scopes:
        raise Forbidden("a token cannot create one with more scopes", advice="Log in, or request fewer scopes.")
    request.state.audit = {"account": name, "label": new.label, "scopes": new.scopes, "days": new.days}
    number, secret, expires = await platform.in_thread(
        "gate", lambda conn: people.add_token(conn, name, new.label, new.scopes, new.days)
    )
    return json_response({"token_id": number, "secret": secret, "expires": expires}, "no-store", status=201)


@http.delete("/tokens/{token_id}", status_code=204, name="revoke_token", openapi_extra=require_access("viewer", "read"))
async def revoke_token(request: Request, platform: ThePlatform, token_id: Id) -> Response:
    """Revoke a token, in a session or as an admin. A token may revoke itself."""
    whose = _token_owner(request)
    if request.state.caller.number != f"token {token_id}":
        _may_make(request)
    await platform.in_thread("gate", lambda conn: people.revoke_token(conn, token_id, whose))
    _callers_of(request).forget()
    return Response(status_code=204)


@http.get("/audit", response_model=schemas.AuditList, name="audit", openapi_extra=require_access("admin", "admin"))
async def audit(
    request: Request, platform: ThePlatform, actor: Text = None, limit: Limit = 100, cursor: CursorText = None
) -> Response:
    """List changes, and responses that showed names of people, newest first."""
    before = read_page_cursor(cursor)
    request.state.saw_names = True
    rows = await platform.in_thread("gate", lambda conn: trail.list_entries(conn, limit + 1, before, actor or None))
    items = rows[:limit]
    following = make_cursor(items[-1]["audit_id"]) if len(rows) > limit else None
    return json_response({"items": items, "next_cursor": following}, "no-store")
