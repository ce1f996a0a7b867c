"""A file that holds one line which its owner alone may read: a password, or a token."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput


def secret_of(path: Path, what: str) -> str:
    """The line; `what` says in an error what it should be.

    Raises
    ------
    BadInput
        The file cannot be read, others may read it, or it holds no such line.
    """
    try:
        text, mode = path.read_text().strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot be read: {problem}", where=str(path)) from None
    if mode & 0o077:
        raise BadInput("others than its owner may read it", where=str(path), advice=f"chmod 600 {path}")
    if not text or len(text.splitlines()) != 1 or not text.isprintable():
        raise BadInput(f"holds no {what}", where=str(path))
    return text
