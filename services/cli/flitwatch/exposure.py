"""Exposure of the API at start: the host names that it accepts, and the rights of callers without a login."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast, get_args

import click

from flitwatch_domain.errors import BadRequest

F = TypeVar("F", bound=Callable[..., Any])
Role = Literal["none", "viewer", "user", "operator"]
LOOPBACK = ("127.0.0.1", "::1", "localhost")
#: Permitted roles of callers without a login from beyond this machine.
READING = ("none", "viewer")
HOSTS_VARIABLE, ANONYMOUS_VARIABLE, INSECURE_VARIABLE = (
    "FLITWATCH_API_HOSTS",
    "FLITWATCH_API_ANONYMOUS",
    "FLITWATCH_API_INSECURE_NETWORK",
)


@dataclass(frozen=True)
class Exposure:
    """Host names that the API accepts and role of anonymous callers.

    Attributes
    ----------
    hosts : tuple of str     accepted host names of requests; empty for any
    anonymous : str          role of callers without a login
    """

    hosts: tuple[str, ...]
    anonymous: Role


def exposure_of(host: str, allow_hosts: Iterable[str], anonymous: Role | None, insecure: bool, usual: Role) -> Exposure:
    """Return the exposure of an API that listens on `host`.

    Parameters
    ----------
    usual : str
        Default role of callers on this machine without a login.

    Raises
    ------
    BadRequest
        The API would listen beyond this machine and accept any host name (which allows DNS rebinding), or let callers without a login do more than
        read. `insecure` permits both.
    """
    names = tuple(name.strip() for text in allow_hosts for name in text.split(",") if name.strip())
    local = host in LOOPBACK
    if not names and local:
        names = LOOPBACK
    if "*" in names:
        names = ()
    role = anonymous or (usual if local else "none")
    if local or insecure:
        return Exposure(names, role)
    if not names:
        raise BadRequest(
            f"{host} can be reached from other machines and would answer any host name, which a foreign page can use (DNS rebinding)",
            advice=f"Name its host names: --allow-host NAME or {HOSTS_VARIABLE}; or use --insecure-network ({INSECURE_VARIABLE}=1).",
        )
    if role not in READING:
        raise BadRequest(
            f"{host} can be reached from other machines, and callers who do not log in would be {role}",
            advice=f"Use --anonymous viewer or none ({ANONYMOUS_VARIABLE}), and let people log in; or use --insecure-network ({INSECURE_VARIABLE}=1).",
        )
    return Exposure(names, role)


def exposure_options(function: F) -> F:
    """Add `--host`, `--port`, `--metrics-host` and the options of exposure; pass `host`, `port`, `metrics_host`, and `expose`, which returns the exposure for a usual role."""

    @functools.wraps(function)
    def command(
        *, host: str, allow_hosts: tuple[str, ...], anonymous: Role | None, insecure_network: bool, **options: Any
    ) -> Any:
        expose = functools.partial(exposure_of, host, allow_hosts, anonymous, insecure_network)
        return function(host=host, expose=expose, **options)

    wrapped = cast(F, command)
    for option in (
        click.option(
            "--metrics-host",
            default="127.0.0.1",
            envvar="FLITWATCH_METRICS_HOST",
            help="Address that the metrics are served on. Anyone who can reach it can read them.",
        ),
        click.option(
            "--insecure-network",
            is_flag=True,
            envvar=INSECURE_VARIABLE,
            help="Listen to other machines even if every host name is answered, or if callers without a login can do more than read.",
        ),
        click.option(
            "--anonymous",
            type=click.Choice(get_args(Role)),
            envvar=ANONYMOUS_VARIABLE,
            help="Role of callers without a login. The default is viewer if only this machine can connect (user if `flitwatch up` runs "
            "the twin), and none otherwise.",
        ),
        click.option(
            "--allow-host",
            "allow_hosts",
            multiple=True,
            envvar=HOSTS_VARIABLE,
            help="Host name that requests may use (repeatable). By default, the names of this machine if only it can connect. '*' allows any.",
        ),
        click.option(
            "--port",
            type=click.IntRange(1, 65535),
            default=8765,
            envvar="FLITWATCH_LISTEN_PORT",
            help="Port of the API and the page.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            envvar="FLITWATCH_LISTEN_HOST",
            help="Address that the API listens on.",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped
