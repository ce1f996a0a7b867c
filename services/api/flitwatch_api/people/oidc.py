"""The site's own login: people authenticated by an OpenID Connect provider (authorization code with PKCE).

OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE), RFC 9207 (issuer in the response), RP-Initiated Logout 1.0.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from authlib.deprecate import AuthlibDeprecationWarning
from joserfc.errors import JoseError

from flitwatch_api.people.login_limiter import LOOPBACK
from flitwatch_api.people.roles import Roles, find_claim
from flitwatch_api.settings import Settings
from flitwatch_domain.errors import FlitwatchError, Forbidden, Unauthenticated, Unavailable

with warnings.catch_warnings():
    # The library deprecates httpx in favour of its successor.
    warnings.simplefilter("ignore", AuthlibDeprecationWarning)
    from authlib.integrations.base_client.errors import OAuthError
    from authlib.integrations.starlette_client import StarletteOAuth2App

log = logging.getLogger(__name__)

#: Errors of an unreachable provider: of httpx, or of its successor, which the library uses if it is installed.
UNREACHABLE = tuple(import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name) is not None)

#: Time limit of a login at the provider.
ATTEMPT_S = 600
#: Lifetime of the provider's metadata. An unknown key is fetched at once.
DISCOVERED_S = 3600.0
TIMEOUT_S = 10.0
LEEWAY_S = 60
#: Signatures that only the provider can make: never `none`, and no HMAC with a shared secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
_CODE = re.compile(r"[a-z_]{1,60}")
_AWAY = frozenset({"server_error", "temporarily_unavailable"})
_OURS = frozenset(
    {"invalid_client", "unauthorized_client", "invalid_request", "unsupported_grant_type", "invalid_scope"}
)


@dataclass(frozen=True)
class SignOnAttempt:
    """Login in progress. It is derived from a secret in one browser's cookie, so any process can complete it."""

    secret: str

    @classmethod
    def new(cls) -> SignOnAttempt:
        """Return a new attempt that cannot be guessed."""
        return cls(secrets.token_urlsafe(32))

    def _derive_part(self, kind: str) -> str:
        return hashlib.sha256(f"{kind}:{self.secret}".encode()).hexdigest()

    @property
    def state(self) -> str:
        """Return the value that binds the response to the browser that left."""
        return self._derive_part("state")

    @property
    def nonce(self) -> str:
        """Return the value that binds the ID token to this attempt."""
        return self._derive_part("nonce")

    @property
    def verifier(self) -> str:
        """Return PKCE's code verifier (RFC 7636), which makes the code useless to others."""
        return self._derive_part("verifier")

    def check(self, state: str) -> None:
        """Check that a response belongs to this attempt. Raise Unauthenticated otherwise."""
        if not self.secret or not hmac.compare_digest(self.state.encode(), state.encode()):
            raise Unauthenticated(
                f"this login was not started in this browser, or took longer than {ATTEMPT_S // 60} minutes",
                advice="Start again from the login page.",
            )


@dataclass(frozen=True)
class ProviderIdentity:
    """User authenticated by the provider. `role` is None if roles are assigned here."""

    issuer: str
    subject: str
    name: str
    role: str | None


class Provider:
    """OpenID Connect provider.

    Raises
    ------
    Unavailable
        The settings conflict; the message names them.
    """

    def __init__(self, settings: Settings) -> None:
        self.issuer, self.name = settings.oidc_issuer, settings.oidc_name
        self._client_id, self._scopes = settings.oidc_client_id, settings.oidc_scopes
        self._user_claim = settings.oidc_user_claim
        self._roles = Roles(settings.oidc_role_claim, settings.oidc_roles)
        self._app: StarletteOAuth2App | None = None
        self._until = 0.0
        if not self._client_id:
            raise _settings_error("FLITWATCH_OIDC_CLIENT_ID is not set")
        if not _is_safe(self.issuer):
            raise _settings_error("FLITWATCH_OIDC_ISSUER is not an https address")
        if "openid" not in self._scopes.split():
            raise _settings_error("FLITWATCH_OIDC_SCOPES lacks openid")
        self._secret = _read_secret(settings)

    async def authorization_url(self, attempt: SignOnAttempt, back: str) -> str:
        """Return the provider's address for the browser, which then returns to `back`. Raise Unavailable."""
        app = await self._discover_app()
        authorization = await app.create_authorization_url(
            back, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
        )
        return str(authorization["url"])

    async def log_out(self, back: str) -> str | None:
        """Return the provider's logout address, which redirects to `back`; None if there is none. Raise Unavailable."""
        app = await self._discover_app()
        if not app.server_metadata.get("end_session_endpoint"):
            return None
        logout = await app.create_logout_url(post_logout_redirect_uri=back, client_id=self._client_id)
        return str(logout["url"])

    def check_answer(self, error: str | None, issuer: str | None) -> None:
        """Check that the provider accepted the login. Raise Forbidden or Unavailable."""
        if error:
            code = error if _CODE.fullmatch(error) else "an unknown error"
            log.warning("%s answered a login with %s", self.issuer, code)
            if code in _AWAY:
                raise self._unavailable_error()
            raise Forbidden(f"{self.name} refused the login ({code})", advice="Start again from the login page.")
        if issuer is not None and issuer != self.issuer:
            raise Forbidden("the answer is from another provider", advice="Start again from the login page.")

    async def exchange_code(self, code: str, attempt: SignOnAttempt, back: str) -> ProviderIdentity:
        """Exchange a code for the user's identity. Raise Forbidden if the code was used or has expired, or the provider's answer is invalid or lacks
        a claim. Raise Unavailable."""
        app = await self._discover_app()
        try:
            token = await app.fetch_access_token(redirect_uri=back, code=code, code_verifier=attempt.verifier)
            return await self._read_identity(app, token, attempt.nonce)
        except OAuthError as refused:
            raise self._refusal_error(str(refused.error)) from None
        except (*UNREACHABLE, RuntimeError) as away:
            raise self._unavailable_error(away) from None
        except (JoseError, ValueError, KeyError, TypeError, AttributeError) as wrong:
            log.warning("a proof of %s is not valid: %s", self.issuer, type(wrong).__name__)
            raise Forbidden(
                f"the proof that {self.name} sent is not valid",
                advice="Start again from the login page. If this continues, tell an admin of this site. The log has the reason.",
            ) from None

    async def _read_identity(self, app: StarletteOAuth2App, token: dict[str, Any], nonce: str) -> ProviderIdentity:
        required_claims = {
            "iss": {"essential": True, "values": [self.issuer]},
            "aud": {"essential": True, "value": self._client_id},
        }
        proof = await app.parse_id_token(token, nonce, claims_options=required_claims, leeway=LEEWAY_S)
        if proof is None:
            raise ValueError("no ID token")
        claims = dict(proof)
        lacking = any(find_claim(claims, name) is None for name in (self._user_claim, self._roles.claim) if name)
        if lacking and app.server_metadata.get("userinfo_endpoint"):
            more = await app.userinfo(token=token)
            if more.get("sub") != claims["sub"]:
                raise ValueError("of another subject")
            claims = {**more, **claims}
        return ProviderIdentity(self.issuer, str(claims["sub"]), self._name_of(claims), self._roles.of(claims))

    def _name_of(self, claims: dict[str, Any]) -> str:
        name = find_claim(claims, self._user_claim)
        if not isinstance(name, str) or not name:
            raise Forbidden(
                f"{self.name} did not send your user name (claim {self._user_claim})",
                advice="An admin of this site can set FLITWATCH_OIDC_USER_CLAIM and FLITWATCH_OIDC_SCOPES.",
            )
        return name

    async def _discover_app(self) -> StarletteOAuth2App:
        if self._app is not None and time.monotonic() < self._until:
            return self._app
        app = StarletteOAuth2App(
            None,
            client_id=self._client_id,
            client_secret=self._secret,
            client_kwargs={
                "scope": self._scopes,
                "code_challenge_method": "S256",
                "timeout": TIMEOUT_S,
                **({} if self._secret else {"token_endpoint_auth_method": "none"}),
            },
            server_metadata_url=self.issuer.rstrip("/") + "/.well-known/openid-configuration",
        )
        try:
            metadata = await app.load_server_metadata()
            addresses = [metadata[name] for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
            # Including optional ones: a token is sent to one, a browser to the other.
            addresses += [
                address for name, address in metadata.items() if name.endswith("_endpoint") and address is not None
            ]
        except (*UNREACHABLE, ValueError, KeyError, TypeError, AttributeError) as away:
            raise self._unavailable_error(away) from None
        if metadata.get("issuer") != self.issuer:
            log.error(
                "FLITWATCH_OIDC_ISSUER is %r, but the provider calls itself %r", self.issuer, metadata.get("issuer")
            )
            raise self._unavailable_error()
        if not all(isinstance(address, str) and _is_safe(address) for address in addresses):
            log.error("%s names addresses without https", self.issuer)
            raise self._unavailable_error()
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        metadata["id_token_signing_alg_values_supported"] = [name for name in offered if name in ALGORITHMS]
        self._app, self._until = app, time.monotonic() + DISCOVERED_S
        return app

    def _refusal_error(self, code: str) -> FlitwatchError:
        error_code = code if _CODE.fullmatch(code) else "an unknown error"
        log.warning("%s refused a code: %s", self.issuer, error_code)
        if error_code in _OURS:
            return Unavailable(
                f"{self.name} does not accept this site ({error_code})",
                advice="An admin of this site can check the client's id, secret and redirect address.",
            )
        return Forbidden(
            f"this login was already used or has expired ({error_code})", advice="Start again from the login page."
        )

    def _unavailable_error(self, error: Exception | None = None) -> Unavailable:
        if error is not None:
            log.warning("%s does not answer a login: %s", self.issuer, type(error).__name__)
        return Unavailable(
            f"{self.name} does not answer correctly",
            advice="Try again in a minute. Local accounts can sign in meanwhile. If this continues, tell an admin of this site.",
        )


def provider_of(settings: Settings) -> Provider | None:
    """Return the configured provider, if any. Raise Unavailable if the settings conflict."""
    return Provider(settings) if settings.oidc_issuer else None


def _read_secret(settings: Settings) -> str | None:
    path, secret_text = settings.oidc_client_secret_file, settings.oidc_client_secret.get_secret_value()
    if path is None:
        return secret_text or None
    if secret_text:
        raise _settings_error("the client's secret is given twice")
    try:
        return path.read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        raise _settings_error(f"the client's secret cannot be read from {path}") from None


def _settings_error(what: str) -> Unavailable:
    return Unavailable(f"logins by OpenID Connect cannot work: {what}", advice="docs/accounts.md lists the settings.")


def _is_safe(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))
