"""Settings of the API: environment variables with the prefix FLITWATCH_, or arguments of `flitwatch api`."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from flitwatch_api.jobs.links import MOST, JobLink
from flitwatch_api.remotes import address as remote_addresses
from flitwatch_domain.advice.parts import SERVED, Parts
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.base import words_of

#: An origin of a portal: TLS unless on this machine; `*.` stands for all hosts below a name of two parts or more.
_ORIGIN = re.compile(
    r"(?:https://(?:\*\.[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9-]+(?:\.[a-z0-9-]+)*)|http://(?:localhost|127\.0\.0\.1))(?::[0-9]{1,5})?",
    re.IGNORECASE,
)
_HERE, _ABOVE = Path(__file__).parent, Path(__file__).resolve().parents[3]


def built_page() -> Path:
    """The folder of the built page: the wheel's own, or the checkout's."""
    return _HERE / "page" if (_HERE / "page").is_dir() else _ABOVE / "web" / "dist"


def built_docs() -> Path:
    """The folder of the built documentation: the wheel's own, or the checkout's."""
    return _HERE / "docs" if (_HERE / "docs").is_dir() else _ABOVE / "build" / "docs"


class Settings(BaseSettings):
    """Settings of one API process; a bound exists so that no request can make the service slow for the others."""

    model_config = SettingsConfigDict(env_prefix="FLITWATCH_", extra="ignore")

    db: SecretStr = Field(default=SecretStr(""), description="URL of the database.")
    log: SecretStr = Field(
        default=SecretStr(""), description="URL of a Kafka log, to tell how far the writer is behind it."
    )
    web: Path | None = Field(default_factory=built_page, description="Folder of the built page; None: no page.")
    docs: Path | None = Field(
        default_factory=built_docs, description="Folder of the built documentation, served at /docs; None: none."
    )
    api_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Host names that requests may name, comma-separated; empty: any."
    )
    api_trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Networks of proxies (10.0.0.0/24, ...) whose X-Forwarded-For and X-Forwarded-Proto are believed, comma-separated; empty: none.",
    )
    api_frame_ancestors: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Origins of portals whose pages may show this one in a frame (https://ondemand.example.edu, ...), comma-separated; empty: none.",
    )
    api_job_links: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="CLUSTER|NAME|URL,...: links of a job's page to other monitors; * for every cluster, {job_id} and {cluster} in the URL.",
    )
    api_remotes: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="NAME|URL|TOKEN_FILE,...: other Flitwatch platforms whose machines this page shows too; the token may read only, and may be left out where no login is asked for.",
    )
    api_remotes_ca: Path | None = Field(
        default=None,
        description="Authorities (PEM) that their certificates are checked against; without it the system's.",
    )
    api_metrics_port: int | None = Field(
        default=None,
        description="A second port that answers METRICS_PATHS only, regardless of the host name in the request: for scrapers and probes.",
    )
    api_pool_max: int = Field(default=6, ge=1, le=64, description="Connections for reading.")
    api_statement_timeout_ms: int = Field(
        default=15_000, ge=100, le=600_000, description="How long a statement may take."
    )
    api_connect_timeout_s: float = Field(
        default=5.0, gt=0, le=60, description="How long a request waits for a connection."
    )
    api_cache_mb: int = Field(
        default=192, ge=8, le=65_536, description="Memory for counters that do not change any more."
    )
    api_streams_max: int = Field(default=500, ge=1, le=100_000, description="Event streams at once.")
    api_streams_each: int = Field(
        default=50, ge=1, le=100_000, description="Event streams at once of one caller (account, token, or address)."
    )
    api_tasks_each: int = Field(
        default=50, ge=1, le=100_000, description="Tasks that wait or run, of one account below scope `operate`."
    )
    api_tasks_visit: int = Field(
        default=10,
        ge=1,
        le=100_000,
        description="Tasks that wait or run, of one visit without a login; and visits of one address that have such tasks.",
    )
    api_tasks_anonymous: int = Field(
        default=50, ge=1, le=100_000, description="Tasks that wait or run, of all callers without a login together."
    )
    api_anonymous: Literal["none", "viewer", "user", "operator"] = Field(
        default="none", description="Role of callers who do not log in; `flitwatch api` takes `user` on loopback."
    )
    api_jobs_below_names: Literal["shown", "hidden"] = Field(
        default="shown",
        description="Whether callers below scope `names` see jobs (ids, times, nodes) alongside pseudonyms, or none at all.",
    )
    api_rate_per_s: float = Field(
        default=300.0, gt=0, le=1e6, description="Requests a second of one caller, sustained."
    )
    api_rate_burst: int = Field(default=1500, ge=1, le=10**7, description="Requests of one caller at once.")
    api_access_log: bool = Field(default=False, description="A line of JSON per request.")
    advice_parts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=tuple(name for name, on in vars(SERVED).items() if on),
        description="What advice may rest on, comma-separated: some of counters, blame, forecast, running, drivers, pattern, routing.",
    )
    api_heartbeat_s: float = Field(
        default=15.0, gt=0, le=300, description="How often an event stream without news sends a line."
    )
    api_url: str = Field(
        default="",
        description="Where people reach the page, for the way back from a login; empty: as they asked for it.",
    )
    oidc_issuer: str = Field(default="", description="OpenID Connect provider; empty: local accounts only.")
    oidc_client_id: str = Field(default="", description="What the provider calls this platform.")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="Empty with no file either: a public client."
    )
    oidc_client_secret_file: Path | None = Field(default=None, description="File with the client's secret.")
    oidc_name: str = Field(
        default="single sign-on", max_length=80, description="What the login page calls the provider."
    )
    oidc_scopes: str = Field(default="openid profile", description="What is asked of the provider.")
    oidc_user_claim: str = Field(default="preferred_username", description="The user's name on the machine.")
    oidc_role_claim: str = Field(
        default="", description="Claim with groups or roles (dots lead inward); empty: roles are given here."
    )
    oidc_roles: str = Field(default="", description="VALUE=ROLE,...: roles by values of that claim; else `user`.")
    ldap_url: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="LDAP servers that check passwords (ldaps://ldap.example.edu, ...), comma-separated, asked in this order; empty: local accounts only.",
    )
    ldap_name: str = Field(default="the directory", max_length=80, description="What people call the LDAP directory.")
    ldap_start_tls: bool = Field(
        default=True,
        description="Whether ldap:// begins TLS before anything is sent; without it only this machine is asked.",
    )
    ldap_insecure_network: bool = Field(
        default=False, description="Let passwords go over the network in the clear, where ldap_start_tls is off."
    )
    ldap_ca: Path | None = Field(
        default=None,
        description="File with the certificate authorities of the LDAP servers; None: those of the system.",
    )
    ldap_bind_dn: str = Field(
        default="", description="Who looks people up in the directory; empty: no directory (anonymous)."
    )
    ldap_bind_password_file: Path | None = Field(default=None, description="File with the password of ldap_bind_dn.")
    ldap_base: str = Field(default="", description="Where people are in the directory: ou=people,dc=example,dc=edu.")
    ldap_user_filter: str = Field(
        default="(uid={name})",
        description="Filter that finds a person by the name typed, {name}; it may also say who may come in.",
    )
    ldap_user_attribute: str = Field(default="uid", description="Attribute with the user's name on the machine.")
    ldap_id_attribute: str = Field(
        default="entryUUID",
        description="Attribute that stays with a person and is never given to another: entryUUID, objectGUID (Active Directory), nsUniqueId, ipaUniqueID.",
    )
    ldap_group_base: str = Field(
        default="", description="Where groups are in the directory; empty: roles are given here."
    )
    ldap_group_filter: str = Field(
        default="(|(member={dn})(uniqueMember={dn})(memberUid={name}))",
        description="Filter that finds a person's groups, by {dn} and {name}.",
    )
    ldap_group_attribute: str = Field(default="cn", description="Attribute with a group's name.")
    ldap_roles: str = Field(default="", description="GROUP=ROLE,...: roles by groups; else `user`.")

    @classmethod
    def read(cls, **given: Any) -> Self:
        """The settings of the environment, and those given.

        Raises
        ------
        BadRequest
            One cannot be used: its variable's name, and why.
        """
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
        "api_remotes",
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
        # They are written into a header: what is no origin could end the policy, or open it to everybody.
        for part in value:
            if not _ORIGIN.fullmatch(part):
                raise ValueError(
                    f"{part[:80]!r} is no origin; write https:// and a host without a path, such as https://ondemand.example.edu"
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

    @field_validator("api_remotes")
    @classmethod
    def _check_remotes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        remote_addresses.read_all(value)
        return value

    @field_validator("api_trusted_proxies")
    @classmethod
    def _check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        # The server takes what is no network for a name, and `*` for everybody.
        try:
            return tuple(str(ip_network(part)) for part in value)
        except ValueError as wrong:
            raise ValueError(f"{wrong}; write the networks of the proxies, such as 10.0.0.0/24") from None
