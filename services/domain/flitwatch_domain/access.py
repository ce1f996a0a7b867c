"""Access control: roles, scopes and the scopes that a role can give to a token; account names and the password policy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from flitwatch_domain.errors import BadRequest

Role = Literal["viewer", "user", "operator", "admin", "service"]
ROLES: tuple[Role, ...] = get_args(Role)


#: Permissions of a token: read data, see names, ask for advice, start tasks, report runs, change alerts, manage accounts.
Scope = Literal["read", "names", "advice", "tasks", "runs", "operate", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


#: Largest set of scopes that an account of each role can give to a token.
SCOPES_OF = {
    "viewer": ("read",),
    "user": ("read", "advice", "tasks", "runs"),
    "operator": ("read", "names", "advice", "tasks", "runs", "operate"),
    "admin": SCOPES,
    "service": ("read", "names", "advice", "tasks", "runs", "operate"),
}


#: Scopes that a visitor without a login never has, in any role: all users' estimates depend on runs.
NEVER_ANONYMOUS = frozenset({"runs"})


TOKEN_DAYS = 90


TOKEN_DAYS_MAX = 366


PASSWORD_MIN, PASSWORD_MAX = 12, 1024


@dataclass(frozen=True)
class Caller:
    """Caller of the API.

    Attributes
    ----------
    via : str                        session, token or anonymous
    scopes : frozenset of str        permissions of the caller: all of the role's scopes, or the token's scopes that the role still has
    number : str                     identifies the caller in request limits
    issuer : str or None             provider that authenticated the account
    ends : datetime or None          when the session or token expires
    """

    name: str
    role: str
    via: str
    scopes: frozenset[str]
    number: str
    issuer: str | None = None
    ends: datetime | None = None


#: Author shown for changes by a visitor without a login or by an erased user.
RESERVED = frozenset({"anonymous", "nobody", "erased"})


#: Prefix of the authors of visits without a login. An account's name cannot begin with it.
VISITOR = "anonymous/"


def check_name(name: str) -> None:
    """Raise BadRequest if the name is not valid for an account."""
    if not name or name != name.strip() or len(name) > 200 or not name.isprintable():
        raise BadRequest("an account's name must have 1 to 200 printable characters without surrounding blanks")
    if name in RESERVED or name.startswith(VISITOR):
        raise BadRequest(f"{name!r} is a reserved name", advice="Take another name.")


def check_password(password: str) -> None:
    """Raise BadRequest if the password is too short or too long."""
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise BadRequest(f"a password must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")
