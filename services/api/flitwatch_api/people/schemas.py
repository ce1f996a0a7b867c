"""Shapes of what is said about people."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from flitwatch_domain.access import PASSWORD_MAX, SCOPES, TOKEN_DAYS, TOKEN_DAYS_MAX, Scope

Role = Literal["viewer", "user", "operator", "admin", "service"]
#: PostgreSQL keeps no NUL.
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Password = Annotated[SecretStr, Field(max_length=PASSWORD_MAX)]


class RequestModel(BaseModel):
    """A body; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Login(RequestModel):
    """Name and password, of a local account or of one in the site's directory."""

    name: Name
    password: Password


class Session(BaseModel):
    """Caller as this site knows them."""

    user: str | None = Field(description="Null: the account has not logged in.")
    role: str | None = Field(description="Null: this site asks for a login.")
    scopes: list[str]
    via: str | None = Field(description="session, token or anonymous")
    pseudonyms: bool = Field(description="Whether other people's names are shown as pseudonyms.")
    csrf: str | None = Field(description="To be sent as X-CSRF-Token with changes in a session.")
    oidc: str | None = Field(
        description="What the site's own login is called, to which /api/v1/session/oidc leads; null: there is none."
    )
    vouched: bool = Field(
        description="Whether that login vouches for the session's account, so that it has no password here."
    )


class NewPassword(RequestModel):
    """Another password for one's own account."""

    password: Password
    new: Password


class Account(BaseModel):
    """An account."""

    name: str
    role: str
    disabled: bool
    password: bool = Field(description="Whether it can log in with a password.")
    issuer: str | None = Field(
        description="Of an account that comes by OpenID Connect, or `ldap:` and where people are in the directory."
    )
    created: datetime
    seen: datetime | None = Field(description="Last login.")
    tokens: int = Field(description="Valid tokens.")


class AccountList(BaseModel):
    """All accounts."""

    items: list[Account]


class NewAccount(RequestModel):
    """An account to be made."""

    name: Name
    role: Role
    password: Password | None = Field(default=None, description="Without it the account cannot log in with a password.")


class Change(RequestModel):
    """Change of an account."""

    role: Role | None = None
    disabled: bool | None = None
    password: Password | None = None


class Token(BaseModel):
    """A token, without its secret."""

    token_id: int
    account: str
    role: str
    label: str
    scopes: list[str]
    created: datetime
    expires: datetime
    revoked: datetime | None
    used: datetime | None


class TokenList(BaseModel):
    """Tokens, the newest first."""

    items: list[Token]


class NewToken(RequestModel):
    """A token to be made."""

    label: Name
    scopes: list[Scope] = Field(min_length=1, max_length=len(SCOPES))
    days: float = Field(default=TOKEN_DAYS, gt=0, le=TOKEN_DAYS_MAX)
    account: Name | None = Field(default=None, description="Without it the caller's own; another's takes role admin.")


class CreatedToken(BaseModel):
    """A token with its secret, which is shown this once."""

    token_id: int
    secret: str
    expires: datetime


class AuditEntry(BaseModel):
    """Something that a caller did or saw."""

    audit_id: int
    at: datetime
    actor: str
    role: str | None
    via: str
    action: str
    target: str | None
    status: int | None
    address: str | None
    request_id: str | None
    details: dict[str, Any]


class AuditList(BaseModel):
    """Entries, the newest first."""

    items: list[AuditEntry]
    next_cursor: str | None
