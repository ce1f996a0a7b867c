"""Access control: roles, scopes and the scopes that a role can give to a token; account names and the password policy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from flitwatch_domain.errors import BadRequest

ROLES = ("viewer", "user", "operator", "admin", "service")


#: What a token may be allowed: read data, see names, ask for advice, start tasks, report runs, change alerts, manage people.
Scope = Literal["read", "names", "advice", "tasks", "runs", "operate", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


#: The most that an account of a role can hand to a token.
SCOPES_OF = {
    "viewer": ("read",),
    "user": ("read", "advice", "tasks", "runs"),
    "operator": ("read", "names", "advice", "tasks", "runs", "operate"),
    "admin": SCOPES,
    "service": ("read", "names", "advice", "tasks", "runs", "operate"),
}


#: What a visitor without a login never may, whatever their role: everyone's estimates rest on runs.
NEVER_ANONYMOUS = frozenset({"runs"})


TOKEN_DAYS = 90


TOKEN_DAYS_MAX = 366


PASSWORD_MIN, PASSWORD_MAX = 12, 1024


@dataclass(frozen=True)
class Caller:
    """Caller of the API.

    Attributes
    ----------
    name, role : str
    via : str                        session, token or anonymous
    scopes : frozenset of str        what the caller may do: all of the role's, or those of the token that the role still has
    number : str                     stands for the caller where requests are counted
    issuer : str or None             the provider that vouches for the account
    ends : datetime or None          when the session or token does
    """

    name: str
    role: str
    via: str
    scopes: frozenset[str]
    number: str
    issuer: str | None = None
    ends: datetime | None = None


#: What is written where somebody without an account made something, or somebody who was erased.
RESERVED = frozenset({"anonymous", "nobody", "erased"})


#: What the authors of visits without a login begin with: no account's name does.
VISITOR = "anonymous/"


def check_name(name: str) -> None:
    """BadRequest for what cannot be an account's name."""
    if not name or name != name.strip() or len(name) > 200 or not name.isprintable():
        raise BadRequest("an account's name is 1 to 200 printable characters without blanks around them")
    if name in RESERVED or name.startswith(VISITOR):
        raise BadRequest(f"{name!r} is a reserved name", advice="Take another name.")


def check_password(password: str) -> None:
    """BadRequest for a password that is too short or too long."""
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise BadRequest(f"a password has {PASSWORD_MIN} to {PASSWORD_MAX} characters")
