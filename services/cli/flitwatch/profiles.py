"""The user's configuration: addresses of platforms by name, in `config.toml`, each as a table `[profile.NAME]`."""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from flitwatch_domain.errors import BadInput

#: The profile that is taken if none is named.
USUAL = "default"
KEYS = ("url", "token_file")


@dataclass(frozen=True)
class Profile:
    """Address of a platform and the file with the user's token for it."""

    url: str
    token_file: Path | None = None


def locate_config() -> Path:
    """The file: config.toml below XDG_CONFIG_HOME."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder, "flitwatch", "config.toml")


def read_profile(name: str | None) -> Profile | None:
    """The profile of that name, or the usual one; None if none was named and there is no usual one.

    Raises
    ------
    BadInput
        The file is not TOML, names something unknown, or has no profile of that name.
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
    """Every profile by its name; a token file's path is relative to the folder of `file`."""
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
