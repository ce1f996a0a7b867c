"""The configuration file: settings of every service, as environment variables that the environment itself does not set."""

from __future__ import annotations

import os

from flitwatch_domain.errors import BadInput

#: Where packages put it; FLITWATCH_CONFIG names another one.
USUAL = "/etc/flitwatch/flitwatch.toml"
#: Every setting with its meaning, commented out: what packages install as the file. `make reference` writes it.
SAMPLE = "flitwatch.toml"


def read_sample() -> str:
    """The file as it is installed."""
    return _read_text(os.path.join(os.path.dirname(__file__), SAMPLE))


def _read_text(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def load_settings() -> None:
    """Set FLITWATCH_NAME for each `name` of the file, unless the environment sets it.

    Raises
    ------
    BadInput
        The file is no TOML, or has a name that is no setting, or a value that is no text, number, truth value or list of texts.
    """
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
        # The services' own: other users of the machine run commands without it.
        return
    for name, value in parse_values(text, place).items():
        os.environ.setdefault(name, value)


def parse_values(text: str, where: str) -> dict[str, str]:
    """Variables by their names."""
    # Most starts of the command line read no file.
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
