"""Permission to name a file: only the command line's user may name one, on the machine that the command runs on.

A text is plain until a command wraps it. Requests, tables and JSON hold plain text alone, so that everything that they name is made by a
generator: parsers of topologies, routes and traffic look for a file only where the text itself is local.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class LocalText(str):
    """A text that was typed at the command line, and may name a file."""


def local_path(text: str, prefix: str = "") -> Path | None:
    """The file that a local text names after `prefix`; None if it names none, or is not local."""
    if not isinstance(text, LocalText) or not text.startswith(prefix):
        return None
    return Path(text.removeprefix(prefix))


def as_local(value: Any) -> Any:
    """The same value with every text in it, also in lists and objects, as a local one."""
    if isinstance(value, dict):
        return {name: as_local(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_local(inner) for inner in value)
    return LocalText(value) if isinstance(value, str) else value
