"""Alerting configuration file: rules, receivers, grouping and inhibition."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from flitwatch_domain.alerts import OWN, SERIES_LABELS, Rule, check_matchers, parse_duration_s, read_rule
from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import parse_yaml, read_yaml
from flitwatch_domain.mails import UNPRINTABLE, Mailbox

Kind = Literal["alertmanager", "webhook", "slack", "apprise", "mail"]
_URL_KINDS = ("alertmanager", "webhook", "slack", "apprise")
_SERVER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:\[\]/@]+)(?::([0-9]{1,5}))?")
_SMTP = 25
#: An address scheme that Apprise does not support is detected only when a notification is sent.
_APPRISE = re.compile(r"[a-z0-9]+://\S+")


def _read_server(text: str) -> tuple[str, int]:
    """Return host and port from `host`, `host:port` or `[IPv6]:port`. Raise ValueError for other text."""
    match = _SERVER.fullmatch(text)
    port = int(match.group(2) or _SMTP) if match else 0
    if match is None or not 0 < port < 65_536:
        raise ValueError(f"{text!r} is not a mail server: write host:port with a port from 1 to 65535")
    return match.group(1).strip("[]"), port


def is_web(text: str) -> bool:
    """Return whether this is an http or https URL with a host."""
    try:
        parts = urlsplit(text)
        return text.isprintable() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_matchers(matchers: dict[str, str]) -> dict[str, str]:
    check_matchers(matchers)
    return matchers


Matchers = Annotated[dict[str, str], AfterValidator(_check_matchers)]
#: A list whose key has no value in the file is empty.
_NONE_IS_EMPTY = BeforeValidator(lambda value: () if value is None else value)


class MailServer(BaseModel):
    """SMTP server that sends the mails."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str = Field(default="127.0.0.1:25", description="Mail server, host:port.")
    sender: Mailbox = "flitwatch@localhost"
    username: str = ""
    password_env: str = ""
    starttls: bool = False

    @field_validator("server")
    @classmethod
    def _check_server(cls, value: str) -> str:
        _read_server(value)
        return value

    def mail_server(self) -> tuple[str, int]:
        """Return host and port."""
        return _read_server(self.server)

    def check_password(self, where: str) -> None:
        """Raise BadInput if the environment lacks the password that the server requires."""
        if self.username and not os.environ.get(self.password_env):
            raise BadInput(f"{self.password_env or 'password_env'} contains no password", where=where)


class Receiver(MailServer):
    """Alert receiver; secret addresses come from the environment or a file."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    kind: Kind
    url: str = ""
    url_env: str = ""
    url_file: str = ""
    to: Annotated[tuple[Mailbox, ...], _NONE_IS_EMPTY] = ()
    match: Matchers = Field(default_factory=dict, description="Only alerts with these labels.")
    #: Alertmanager drops an alert that is not sent repeatedly.
    repeat_s: float | None = Field(default=None, gt=0, alias="repeat")

    @field_validator("repeat_s", mode="before")
    @classmethod
    def _parse_repeat(cls, value: object) -> float | None:
        return None if value is None else parse_duration_s(value)

    @model_validator(mode="after")
    def _check_complete(self) -> Receiver:
        if self.kind in _URL_KINDS and sum(map(bool, (self.url, self.url_env, self.url_file))) != 1:
            raise ValueError("give one of url, url_env and url_file")
        if not self.url.isprintable():
            raise ValueError(f"url {UNPRINTABLE}")
        if self.url and not self._is_address(self.url):
            raise ValueError(
                "url is an address of Apprise, such as pagerduty://KEY@APIKEY"
                if self.kind == "apprise"
                else "url is http:// or https:// and a host"
            )
        if self.kind == "mail" and not self.to:
            raise ValueError("mail needs `to`")
        return self

    def check(self) -> None:
        """Raise BadInput if a required environment variable or file is missing."""
        if self.kind in _URL_KINDS:
            self.address()
        else:
            self.check_password(f"receiver {self.name}")

    def address(self) -> str:
        """Return the URL. Raise BadInput if the environment variable or the file is missing."""
        if self.url:
            return self.url
        where = f"receiver {self.name}"
        try:
            url = os.environ.get(self.url_env, "") if self.url_env else Path(self.url_file).read_text().strip()
        except OSError as problem:
            raise BadInput(f"{self.url_file}: {problem.strerror}", where=where) from None
        except UnicodeDecodeError:
            url = ""
        if not self._is_address(url):
            wanted = "address of Apprise" if self.kind == "apprise" else "http or https URL"
            raise BadInput(f"{self.url_env or self.url_file} contains no {wanted}", where=where)
        return url

    def _is_address(self, url: str) -> bool:
        return bool(_APPRISE.fullmatch(url)) if self.kind == "apprise" else is_web(url)


class Inhibition(BaseModel):
    """Inhibition rule: while an alert matching `source` fires, alerts matching `target` with the same `equal` labels are not reported."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Matchers = Field(min_length=1)
    target: Matchers = Field(min_length=1)
    equal: Annotated[tuple[str, ...], _NONE_IS_EMPTY] = ()


class Config(BaseModel):
    """Contents of the alerting configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    external_url: str = Field(default="http://127.0.0.1:8765", description="Address of the page.")
    group_by: Annotated[tuple[str, ...], _NONE_IS_EMPTY] = ("rule",)
    group_wait_s: float = Field(default=10.0, alias="group_wait")
    group_interval_s: float = Field(default=60.0, alias="group_interval")
    repeat_s: float = Field(default=4 * 3600.0, gt=0, alias="repeat")
    inhibit: Annotated[tuple[Inhibition, ...], _NONE_IS_EMPTY] = ()
    receivers: Annotated[tuple[Receiver, ...], _NONE_IS_EMPTY] = ()
    mail: MailServer = Field(default=MailServer(), description="Mail server for contact points from the page.")
    rules: Annotated[tuple[Rule, ...], _NONE_IS_EMPTY] = ()

    @field_validator("group_wait_s", "group_interval_s", "repeat_s", mode="before")
    @classmethod
    def _parse_seconds(cls, value: object) -> float:
        return parse_duration_s(value)

    @model_validator(mode="after")
    def _check_distinct(self) -> Config:
        for what, names in (("rule", [r.name for r in self.rules]), ("receiver", [r.name for r in self.receivers])):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"two {what}s are called {sorted(twice)[0]!r}")
        return self

    @model_validator(mode="after")
    def _known_labels(self) -> Config:
        """Check that all labels exist: an unknown label would match either no alert or every alert."""
        labels = (*OWN, *SERIES_LABELS, *sorted({name for rule in self.rules for name in rule.labels}))
        for place, names in self._named_labels():
            unknown = [name for name in names if name not in labels]
            if unknown:
                raise ValueError(f"{place} names {', '.join(unknown)}; labels are {', '.join(labels)}")
        return self

    def _named_labels(self) -> Iterator[tuple[str, Iterable[str]]]:
        yield "`group_by`", self.group_by
        for receiver in self.receivers:
            yield f"`match` of receiver {receiver.name}", receiver.match
        for number, inhibition in enumerate(self.inhibit, 1):
            for field, names in (
                ("source", inhibition.source),
                ("target", inhibition.target),
                ("equal", inhibition.equal),
            ):
                yield f"`{field}` of inhibition {number}", names

    def check(self) -> None:
        """Check the settings outside the file. Raise BadInput that names every receiver whose address or password is missing."""
        wrong = []
        for receiver in self.receivers:
            try:
                receiver.check()
            except BadInput as problem:
                wrong.append(problem.message)
        try:
            self.mail.check_password("mail")
        except BadInput as problem:
            wrong.append(problem.message)
        if wrong:
            raise BadInput("; ".join(wrong))


def read_config(path: Path | None = None, external_url: str | None = None) -> Config:
    """Read the configuration file, or return the default rules without one. `external_url` is the page's address if the file has none. Raise BadInput
    if the file cannot be read, is not YAML, or has invalid contents. The message names the location."""
    if path is None:
        where, content = (
            "default.yaml",
            parse_yaml((resources.files(__package__) / "default.yaml").read_text("utf-8"), ""),
        )
    else:
        where, content = str(path), read_yaml(path)
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise BadInput("the file must be a mapping with rules and receivers", where=where)
    if external_url:
        content = {"external_url": external_url, **content}
    listed = content.get("rules")
    for number, rule in enumerate(listed if isinstance(listed, list) else ()):
        name = rule.get("name", number + 1) if isinstance(rule, dict) else number + 1
        read_rule(rule, f"{where}: rule {name}")
    try:
        return Config.model_validate(content)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(
            f"{place}: {first['msg']}", where=where, advice="docs/contracts/alerts.md lists the fields."
        ) from None
