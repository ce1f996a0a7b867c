"""A file with one line that its owner alone may read: a password, or a token."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput


def secret_of(path: Path, what: str) -> str:
    """The line, without blanks around it.

    Parameters
    ----------
    path : Path
    what : str
        What the line should be, for the error.

    Raises
    ------
    BadInput
        The file cannot be read, users other than its owner can read or write it, or it is not one line of printable characters.
    """
    try:
        text = path.read_text().strip()
        check_private(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot be read: {problem}", where=str(path)) from None
    if not text or len(text.splitlines()) != 1 or not text.isprintable():
        raise BadInput(f"holds no {what}: expected one line of printable characters", where=str(path))
    return text


def check_private(path: Path) -> None:
    """Refuse a file that others than its owner may read or write.

    Raises
    ------
    BadInput
        With the command that closes it.
    """
    if path.stat().st_mode & 0o077:
        raise BadInput("users other than its owner can read or write it", where=str(path), advice=f"chmod 600 {path}")
