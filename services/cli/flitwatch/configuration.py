"""Configuration file: settings of every service, used as environment variables unless the environment sets them."""

from __future__ import annotations

import os

from flitwatch_domain.errors import BadInput

#: Installation path of packages; FLITWATCH_CONFIG overrides it.
USUAL = "/etc/flitwatch/flitwatch.toml"
#: Every setting with its meaning, commented out. Packages install it as the configuration file; `make reference` writes it.
SAMPLE = "flitwatch.toml"


def read_sample() -> str:
    """Return the file as installed."""
    return _read_text(os.path.join(os.path.dirname(__file__), SAMPLE))


def _read_text(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def load_settings() -> None:
    """Set FLITWATCH_NAME for each `name` in the file, unless the environment sets it. Raise BadInput if the file is not TOML, names an unknown
    setting, or has a value that is not a string, number, Boolean or list of strings."""
    named = os.environ.get("FLITWATCH_CONFIG")
    place = named or USUAL
    try:
        text = _read_text(place)
    except FileNotFoundError:
        if named:
            raise
        return
    except PermissionError:
        if named:
            raise
        # Readable only by the services: other users of the machine run commands without it.
        return
    for name, value in parse_values(text, place).items():
        os.environ.setdefault(name, value)


def parse_values(text: str, where: str) -> dict[str, str]:
    """Return the variables by name."""
    # Most commands read no configuration file.
    import difflib
    import re
    import tomllib

    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"{where}: {problem}") from problem
    names = re.findall(r"^# (\w+) = ", read_sample(), re.MULTILINE)
    variables = {}
    for name, value in content.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            raise BadInput(f"{where}: there is no setting {name}" + (f"; is it {close[0]}?" if close else ""))
        variables[f"FLITWATCH_{name.upper()}"] = _format_value(value, f"{where}: {name}")
    return variables


def _format_value(value: object, where: str) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ",".join(value)
    raise BadInput(f"{where} must be a text, a number, true, false or a list of texts")
