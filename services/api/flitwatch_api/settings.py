"""Settings of the API: environment variables with the prefix FLITWATCH_, or arguments of `flitwatch api`."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from flitwatch_api.jobs.links import MOST, JobLink
from flitwatch_domain.advice.pattern import SERVED, Parts
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.base import words_of

#: Origin of a portal: TLS unless on this machine; `*.` stands for all hosts below a name of two parts or more.
_ORIGIN = re.compile(
    r"(?:https://(?:\*\.[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9-]+(?:\.[a-z0-9-]+)*)|http://(?:localhost|127\.0\.0\.1))(?::[0-9]{1,5})?",
    re.IGNORECASE,
)
_HERE, _ABOVE = Path(__file__).parent, Path(__file__).resolve().parents[3]


def built_page() -> Path:
    """Return the folder of the built page: in the wheel or in the checkout."""
    return _HERE / "page" if (_HERE / "page").is_dir() else _ABOVE / "web" / "dist"


def built_docs() -> Path:
    """Return the folder of the built documentation: in the wheel or in the checkout."""
    return _HERE / "docs" if (_HERE / "docs").is_dir() else _ABOVE / "build" / "docs"


class Settings(BaseSettings):
    """Settings of one API process. Limits prevent one request from slowing the service for others."""

    model_config = SettingsConfigDict(env_prefix="FLITWATCH_", extra="ignore")

    db: SecretStr = Field(default=SecretStr(""), description="URL of the database.")
    log: SecretStr = Field(
        default=SecretStr(""), description="URL of a Kafka log, to report how far the writer is behind."
    )
    web: Path | None = Field(default_factory=built_page, description="Folder of the built page. None: no page.")
    docs: Path | None = Field(
        default_factory=built_docs,
        description="Folder of the built documentation, served at /docs. None: no documentation.",
    )
    api_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Host names that requests may use, separated by commas. Empty: any."
    )
    api_trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Networks of trusted proxies (10.0.0.0/24, ...), whose X-Forwarded-For and X-Forwarded-Proto are used, "
        "separated by commas. Empty: none.",
    )
    api_frame_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Origins of portals that can show this page in a frame (https://ondemand.example.edu, ...), separated by commas. Empty: none.",
    )
    api_job_links: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="CLUSTER|NAME|URL,...: links from a job's page to other monitors. Use * for every cluster, and {job_id} and {cluster} in the URL.",
    )
    api_metrics_port: int | None = Field(
        default=None,
        description="A second port for scrapers and probes. It serves only METRICS_PATHS, for any host name.",
    )
    api_pool_max: int = Field(default=6, ge=1, le=64, description="Number of database connections for reading.")
    api_statement_timeout_ms: int = Field(
        default=15_000, ge=100, le=600_000, description="Timeout of a database statement."
    )
    api_connect_timeout_s: float = Field(
        default=5.0, gt=0, le=60, description="How long a request waits for a database connection."
    )
    api_cache_mb: int = Field(default=192, ge=8, le=65_536, description="Memory for cached counters of the past.")
    api_streams_max: int = Field(default=500, ge=1, le=100_000, description="Largest number of open event streams.")
    api_streams_each: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="Largest number of open event streams per caller (account, token or address).",
    )
    api_tasks_each: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="Largest number of waiting and running tasks per account below scope `operate`.",
    )
    api_tasks_visit: int = Field(
        default=10,
        ge=1,
        le=100_000,
        description="Largest number of waiting and running tasks per visit without a login, and of visits with such tasks per address.",
    )
    api_tasks_anonymous: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="Largest number of waiting and running tasks of all callers without a login.",
    )
    api_anonymous: Literal["none", "viewer", "user", "operator"] = Field(
        default="none", description="Role of callers without a login. `flitwatch api` uses `user` on loopback."
    )
    api_jobs_below_names: Literal["shown", "hidden"] = Field(
        default="shown",
        description="Whether callers below scope `names` see jobs (ids, times, nodes) under pseudonyms, or no jobs.",
    )
    api_rate_per_s: float = Field(
        default=300.0, gt=0, le=1e6, description="Sustained limit of requests per second and caller."
    )
    api_rate_burst: int = Field(default=1500, ge=1, le=10**7, description="Largest burst of requests of one caller.")
    api_access_log: bool = Field(default=False, description="Log one line of JSON per request.")
    advice_parts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=tuple(name for name, on in vars(SERVED).items() if on),
        description="Parts of advice that are on, separated by commas: counters, blame, forecast, running, drivers, pattern, routing.",
    )
    api_heartbeat_s: float = Field(
        default=15.0, gt=0, le=300, description="How often an idle event stream sends a line."
    )
    api_url: str = Field(
        default="",
        description="Address of the page, to which a login returns. Empty: the address of the request.",
    )
    oidc_issuer: str = Field(default="", description="OpenID Connect provider. Empty: only local accounts.")
    oidc_client_id: str = Field(default="", description="Id of this platform at the provider.")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="Secret of the client. Without secret and file: a public client."
    )
    oidc_client_secret_file: Path | None = Field(default=None, description="File with the client's secret.")
    oidc_name: str = Field(
        default="single sign-on", max_length=80, description="Name of the provider on the login page."
    )
    oidc_scopes: str = Field(default="openid profile", description="Scopes to request from the provider.")
    oidc_user_claim: str = Field(default="preferred_username", description="Claim with the user's name on the machine.")
    oidc_role_claim: str = Field(
        default="", description="Claim with groups or roles (dots for nested claims). Empty: admins assign roles here."
    )
    oidc_roles: str = Field(
        default="", description="VALUE=ROLE,...: roles for values of this claim. Without a match: `user`."
    )
    ldap_url: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="LDAP servers that check passwords (ldaps://ldap.example.edu, ...), separated by commas, in order of use. "
        "Empty: only local accounts.",
    )
    ldap_name: str = Field(
        default="the directory", max_length=80, description="Name of the LDAP directory on the login page."
    )
    ldap_start_tls: bool = Field(
        default=True,
        description="Start TLS on ldap:// before anything is sent. If this is off, only a server on this machine is accepted.",
    )
    ldap_insecure_network: bool = Field(
        default=False, description="Allow unencrypted passwords on the network if ldap_start_tls is off."
    )
    ldap_ca: Path | None = Field(
        default=None,
        description="File with the certificate authorities of the LDAP servers. None: those of the system.",
    )
    ldap_bind_dn: str = Field(default="", description="DN that looks people up in the directory. Empty: anonymous.")
    ldap_bind_password_file: Path | None = Field(default=None, description="File with the password of ldap_bind_dn.")
    ldap_base: str = Field(default="", description="Base of people in the directory: ou=people,dc=example,dc=edu.")
    ldap_user_filter: str = Field(
        default="(uid={name})",
        description="Filter that finds a person by the typed name, {name}. It can also limit who may log in.",
    )
    ldap_user_attribute: str = Field(default="uid", description="Attribute with the user's name on the machine.")
    ldap_id_attribute: str = Field(
        default="entryUUID",
        description="Attribute that identifies a person permanently: entryUUID, objectGUID (Active Directory), nsUniqueId or ipaUniqueID.",
    )
    ldap_group_base: str = Field(
        default="", description="Base of groups in the directory. Empty: admins assign roles here."
    )
    ldap_group_filter: str = Field(
        default="(|(member={dn})(uniqueMember={dn})(memberUid={name}))",
        description="Filter that finds a person's groups, with {dn} and {name}.",
    )
    ldap_group_attribute: str = Field(default="cn", description="Attribute with a group's name.")
    ldap_roles: str = Field(default="", description="GROUP=ROLE,...: roles for groups. Without a match: `user`.")

    @classmethod
    def read(cls, **given: Any) -> Self:
        """Return the settings of the environment, overridden by those given. Raise BadRequest if a setting is invalid; the message has its variable's
        name and the reason."""
        try:
            return cls(**given)
        except ValidationError as problem:
            faults = [
                f"FLITWATCH_{str(error['loc'][0]).upper()}: {words_of(error['msg'])}" for error in problem.errors()
            ]
            raise BadRequest("; ".join(faults), advice="docs/settings.md has every setting.") from None

    @field_validator(
        "api_hosts",
        "api_trusted_proxies",
        "api_frame_ancestors",
        "advice_parts",
        "api_job_links",
        "ldap_url",
        mode="before",
    )
    @classmethod
    def _split_list(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("advice_parts")
    @classmethod
    def _check_parts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            Parts.of(value)
        except BadRequest as wrong:
            raise ValueError(f"{wrong.message}; {wrong.advice}") from None
        return value

    @field_validator("api_frame_ancestors")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # They are written to a header: an invalid origin could end the policy, or open it to everyone.
        for part in value:
            if not _ORIGIN.fullmatch(part):
                raise ValueError(
                    f"{part[:80]!r} is not an origin; write https:// and a host without a path, such as https://ondemand.example.edu"
                )
        return value

    @field_validator("api_job_links")
    @classmethod
    def _job_links(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST:
            raise ValueError(f"more than {MOST} links")
        for part in value:
            JobLink.read(part)
        return value

    @field_validator("api_trusted_proxies")
    @classmethod
    def _check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # The server would treat an invalid network as a name, and `*` as everyone.
        try:
            return tuple(str(ip_network(part)) for part in value)
        except ValueError as wrong:
            raise ValueError(f"{wrong}; write the networks of the proxies, such as 10.0.0.0/24") from None
