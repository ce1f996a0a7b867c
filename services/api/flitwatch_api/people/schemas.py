"""Request and response models for people."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, SecretStr

from flitwatch_api.answers import Items, Page
from flitwatch_db.people.audit import AuditEntry
from flitwatch_domain.access import PASSWORD_MAX, SCOPES, TOKEN_DAYS, TOKEN_DAYS_MAX, Role, Scope

#: PostgreSQL does not allow NUL.
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Password = Annotated[SecretStr, Field(max_length=PASSWORD_MAX)]


class RequestModel(BaseModel, extra="forbid"):
    """Request body; unknown fields are refused."""


class Login(RequestModel):
    """Name and password, of a local account or of one in the site's directory."""

    name: Name
    password: Password


class Session(BaseModel):
    """The caller, as this site identifies them."""

    user: str | None = Field(description="Null: the account has not logged in.")
    role: str | None = Field(description="Null: this site requires a login.")
    scopes: list[str]
    via: str | None = Field(description="session, token or anonymous")
    pseudonyms: bool = Field(description="Whether other people's names are shown as pseudonyms.")
    csrf: str | None = Field(description="Send this as X-CSRF-Token with changes in a session.")
    oidc: str | None = Field(description="Name of the site's own login at /api/v1/session/oidc; null: none.")
    vouched: bool = Field(description="Whether the session uses that login, so that the account has no password here.")


class NewPassword(RequestModel):
    """A new password for the caller's own account."""

    password: Password
    new: Password


class Account(BaseModel):
    """An account."""

    name: str
    role: str
    disabled: bool
    password: bool = Field(description="Whether it can log in with a password.")
    issuer: str | None = Field(
        description="Issuer of an OpenID Connect account, or `ldap:` and the base of people in the directory."
    )
    created: datetime
    seen: datetime | None = Field(description="Time of the last login.")
    tokens: int = Field(description="Number of valid tokens.")


class AccountList(Items[Account]):
    """All accounts."""


class NewAccount(RequestModel):
    """An account to create."""

    name: Name
    role: Role
    password: Password | None = Field(
        default=None, description="Without a password, the account cannot log in with one."
    )


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


class TokenList(Items[Token]):
    """Tokens, newest first."""


class NewToken(RequestModel):
    """A token to create."""

    label: Name
    scopes: list[Scope] = Field(min_length=1, max_length=len(SCOPES))
    days: float = Field(default=TOKEN_DAYS, gt=0, le=TOKEN_DAYS_MAX)
    account: Name | None = Field(
        default=None, description="Default: the caller's own account. Another one requires role admin."
    )


class CreatedToken(BaseModel):
    """A token with its secret, which is shown only once."""

    token_id: int
    secret: str
    expires: datetime


class AuditList(Page[AuditEntry]):
    """Entries, newest first."""
