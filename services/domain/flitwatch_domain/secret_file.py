"""One-line file with a password or a token, readable only by its owner; and files that only a command line's user can name."""

from __future__ import annotations

from pathlib import Path

from flitwatch_domain.errors import BadInput


class LocalText(str):
    """Text from the command line, which may name a file."""


def local_path(text: str, prefix: str = "") -> Path | None:
    """Return the file named after `prefix` by a local text; None if it names none, or is not local."""
    if not isinstance(text, LocalText) or not text.startswith(prefix):
        return None
    return Path(text.removeprefix(prefix))


def secret_of(path: Path, what: str) -> str:
    """Return the line without surrounding blanks.

    Parameters
    ----------
    what : str
        Expected content, for the error message.

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
        raise BadInput(f"contains no {what}: expected one line of printable characters", where=str(path))
    return text


def token_of(path: Path) -> str:
    """Return the token in a file. Raise BadInput if the file cannot be read, is readable by others, or contains no token that a header can carry."""
    text = secret_of(path, "token")
    if not text.isascii() or " " in text:
        raise BadInput("contains no token: expected one word of printable ASCII", where=str(path))
    return text


def check_private(path: Path) -> None:
    """Raise an error if users other than the owner can read or write a file. Raise BadInput; the message contains the command that restricts access."""
    if path.stat().st_mode & 0o077:
        raise BadInput("users other than its owner can read or write it", where=str(path), advice=f"chmod 600 {path}")
