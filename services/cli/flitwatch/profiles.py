"""User configuration: addresses of platforms by name, in `config.toml`, one table `[profile.NAME]` each."""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from flitwatch_domain.errors import BadInput

#: Default profile.
USUAL = "default"
KEYS = ("url", "token_file")


@dataclass(frozen=True)
class Profile:
    """Address of a platform and the file with the user's token."""

    url: str
    token_file: Path | None = None


def locate_config() -> Path:
    """Return the path of config.toml below XDG_CONFIG_HOME."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder, "flitwatch", "config.toml")


def read_profile(name: str | None) -> Profile | None:
    """Return the named profile, or the default one; None if no name was given and there is no default.

    Raises
    ------
    BadInput
        The file is not TOML, contains an unknown key, or has no profile of that name.
    """
    file = locate_config()
    try:
        profiles = parse_profiles(file.read_text("utf-8"), file)
    except FileNotFoundError:
        profiles = {}
    if name is None:
        return profiles.get(USUAL)
    if name not in profiles:
        there = (
            f"It has {', '.join(sorted(profiles))}." if profiles else f'Write [profile.{name}] and url = "https://…".'
        )
        raise BadInput(f"{file} has no profile {name}", advice=there)
    return profiles[name]


def parse_profiles(text: str, file: Path) -> dict[str, Profile]:
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
            close = difflib.get_close_matches(key, KEYS, 1)
            if key not in KEYS:
                raise BadInput(
                    f"there is no {key}",
                    where=where,
                    advice=f"Is it {close[0]}?" if close else f"It takes {' and '.join(KEYS)}.",
                )
            if not isinstance(value, str):
                raise BadInput(f"{key} must be a text", where=where)
        token = table.get("token_file")
        profiles[name] = Profile(table["url"], file.parent / Path(token).expanduser() if token else None)
    return profiles
