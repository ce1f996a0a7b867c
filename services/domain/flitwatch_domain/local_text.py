"""Permission to name a file, limited to the command line's user on the local machine.

A text is plain unless a command wraps it. Requests, tables and JSON contain only plain text, so all objects that they name are generated. Parsers of
topologies, routes and traffic open a file only if the text itself is local.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class LocalText(str):
    """Text from the command line, which may name a file."""


def local_path(text: str, prefix: str = "") -> Path | None:
    """Return the file named after `prefix` by a local text; None if it names none, or is not local."""
    if not isinstance(text, LocalText) or not text.startswith(prefix):
        return None
    return Path(text.removeprefix(prefix))


def as_local(value: Any) -> Any:
    """Return the same value with all texts marked as local, including texts in lists and objects."""
    if isinstance(value, dict):
        return {name: as_local(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_local(inner) for inner in value)
    return LocalText(value) if isinstance(value, str) else value
