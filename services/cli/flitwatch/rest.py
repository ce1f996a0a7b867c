"""API access of commands: address, token, and advice to users about refusals."""

from __future__ import annotations

import difflib
import functools
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable
from flitwatch_domain.secret_file import token_of

if TYPE_CHECKING:
    from flitwatch_client import Client, Refused

F = TypeVar("F", bound=Callable[..., Any])
GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
#: Advice for terminal users; the API's own advice also addresses browsers.
ADVICE = {
    401: "Name a file with an API token: --token-file FILE, or token_file of the profile; `flitwatch tokens create` creates one.",
    403: "Use a token with that scope (--token-file FILE), or ask an admin of this site.",
    429: "Wait and try again. `flitwatch top --every SECONDS` asks less often.",
}

#: Default profile.
DEFAULT_PROFILE = "default"
PROFILE_KEYS = ("url", "token_file")


@dataclass(frozen=True)
class Place:
    """API address and the file with its token."""

    url: str
    token_file: Path | None = None

    def token(self) -> str:
        """Return the token; empty for an anonymous caller. Raise BadInput if the file contains no token, or other users can read it."""
        return "" if self.token_file is None else token_of(self.token_file)


def locate_config() -> Path:
    """Return the path of config.toml below XDG_CONFIG_HOME, with the addresses of platforms by name: one table `[profile.NAME]` each."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder, "flitwatch", "config.toml")


def read_profile(name: str | None) -> Place | None:
    """Return the named profile, or the default one; None if no name was given and there is no default. Raise BadInput if the file is not TOML,
    contains an unknown key, or has no profile of that name."""
    file = locate_config()
    try:
        profiles = parse_profiles(file.read_text("utf-8"), file)
    except FileNotFoundError:
        profiles = {}
    if name is None:
        return profiles.get(DEFAULT_PROFILE)
    if name not in profiles:
        there = (
            f"It has {', '.join(sorted(profiles))}." if profiles else f'Write [profile.{name}] and url = "https://…".'
        )
        raise BadInput(f"{file} has no profile {name}", advice=there)
    return profiles[name]


def parse_profiles(text: str, file: Path) -> dict[str, Place]:
    """Return all profiles by name. A token file's path is relative to the folder of `file`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(str(problem), where=str(file)) from None
    for name in content:
        if name != "profile":
            raise BadInput(f"{name} is unknown here", where=str(file), advice="Profiles are tables: [profile.NAME].")
    profiles = {}
    for name, table in content.get("profile", {}).items():
        where = f"{file}: [profile.{name}]"
        if not isinstance(table, dict) or not isinstance(table.get("url"), str):
            raise BadInput("it has no url", where=where, advice='Write url = "https://…" below it.')
        for key, value in table.items():
            close = difflib.get_close_matches(key, PROFILE_KEYS, 1)
            if key not in PROFILE_KEYS:
                raise BadInput(
                    f"there is no {key}",
                    where=where,
                    advice=f"Is it {close[0]}?" if close else f"It takes {' and '.join(PROFILE_KEYS)}.",
                )
            if not isinstance(value, str):
                raise BadInput(f"{key} must be a text", where=where)
        token = table.get("token_file")
        profiles[name] = Place(table["url"], file.parent / Path(token).expanduser() if token else None)
    return profiles


@dataclass(frozen=True)
class ApiOptions:
    """API options of a command; see `api_options`."""

    url: str | None
    token_file: Path | None
    profile: str | None

    def choose(self) -> Place | None:
        """Return the selected API, or None.

        Options have priority over the environment, and the environment over the user's file. A profile's token is sent only to the profile's own address.
        """
        source = click.get_current_context().get_parameter_source
        by_option = [name for name in ("api_url", "profile") if source(name) == ParameterSource.COMMANDLINE]
        if len(by_option) == 2:
            raise click.UsageError("give --url or --profile, not both")
        databases = {source(name) for name in ("db_url", "ephemeral")}
        if ParameterSource.COMMANDLINE in databases and not by_option:
            return None
        if self.url and by_option != ["profile"]:
            return Place(_check_address(self.url), self.token_file)
        # A database was given, so the default profile does not override it.
        if self.profile is None and databases & set(GIVEN):
            return None
        chosen = read_profile(self.profile)
        return None if chosen is None else Place(_check_address(chosen.url), self.token_file or chosen.token_file)

    def require(self) -> Place:
        """Return the selected API, or else that of the platform running here. Raise BadInput if there is no such API."""
        chosen = self.choose()
        if chosen is not None:
            return chosen
        from flitwatch_ops.home import home_folder
        from flitwatch_ops.supervisor import read_running_state

        state = read_running_state(home_folder())
        if state is None or "url" not in state:
            advice = f"Give --url URL, set FLITWATCH_URL, write [profile.default] into {locate_config()}, or start one here: flitwatch up."
            raise BadInput("no platform is running", advice=advice)
        return Place(_check_address(str(state["url"])), self.token_file)


def api_options(function: F, token_exists: bool = True) -> F:
    """Add `--url`, `--token-file` and `--profile`, and pass them as `api`; with `token_exists`, reject a missing file."""

    @functools.wraps(function)
    def command(*, api_url: str | None, token_file: Path | None, profile: str | None, **options: Any) -> Any:
        return function(api=ApiOptions(api_url, token_file, profile), **options)

    wrapped = click.option(
        "--profile",
        envvar="FLITWATCH_PROFILE",
        metavar="NAME",
        help="Use the address and token of [profile.NAME] in ~/.config/flitwatch/config.toml. Without this option and --url, "
        "[profile.default] is used.",
    )(cast(F, command))
    wrapped = click.option(
        "--token-file",
        type=click.Path(exists=token_exists, dir_okay=not token_exists, path_type=Path),
        envvar="FLITWATCH_TOKEN_FILE",
        help="File with an API token, for --url or the profile.",
    )(wrapped)
    return click.option("--url", "api_url", envvar="FLITWATCH_URL", help="Address of the API to use.")(wrapped)


def application_options(required: bool, without_nodes: str = "that of the newest estimate") -> Callable[[F], F]:
    """Add `--application` and `--nodes`, which select the stored estimate. `without_nodes` describes the default number of nodes."""

    def added(function: F) -> F:
        function = click.option(
            "--nodes",
            type=click.IntRange(1),
            help=f"The application's number of nodes (default: {without_nodes}).",
        )(function)
        return click.option(
            "--application",
            metavar="NAME",
            required=required,
            help="Application with a stored estimate.",
        )(function)

    return added


def _check_address(url: str) -> str:
    import httpx

    try:
        right = httpx.URL(url).scheme in ("http", "https") and bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        right = False
    if not right:
        raise BadInput(f"{url} is not an address", advice="Write it like https://flitwatch.site.example.")
    return url.rstrip("/")


@contextmanager
def open_client(at: Place) -> Iterator[Client]:
    """Yield a client of that API. Errors become one line with advice."""
    from flitwatch_client import ClientError, Refused, connect

    try:
        with connect(at.url, at.token()) as fw:
            yield fw
    except Refused as problem:
        raise make_refusal(at, problem) from None
    except ClientError as problem:
        raise Unavailable(problem.message, advice=problem.advice) from None


def make_refusal(at: Place, problem: Refused) -> FlitwatchError:
    """Convert a refusal for terminal users."""
    reason = str(problem.problem.get("detail") or problem.problem.get("title") or "it gave no reason")
    error = FlitwatchError(
        f"{at.url} answers {problem.status}: {reason}", advice=ADVICE.get(problem.status, problem.advice)
    )
    error.status = problem.status
    return error
