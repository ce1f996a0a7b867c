"""Address of a remote, as the setting names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

MOST = 50
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_URL = re.compile(r"https?://[\x21\x22\x24-\x3b\x3d\x3f-\x5b\x5d-\x7e]+")


@dataclass(frozen=True)
class RemoteAddress:
    """A remote's name here, its address without the last slash, and the file with the token that it is asked with."""

    name: str
    url: str
    token_file: Path | None

    @classmethod
    def read(cls, text: str) -> RemoteAddress:
        """One of `NAME|URL` or `NAME|URL|TOKEN_FILE`.

        Raises
        ------
        ValueError
            What is wrong with it.
        """
        parts = [part.strip() for part in text.split("|")]
        shown = repr(text[:120])
        if len(parts) not in (2, 3) or not all(parts):
            raise ValueError(f"{shown} is not NAME|URL or NAME|URL|TOKEN_FILE")
        name, url = parts[0], parts[1].rstrip("/")
        if not _NAME.fullmatch(name):
            raise ValueError(f"the name in {shown} needs 1 to 40 small letters, digits and hyphens")
        _check_url(url, shown)
        return cls(name, url, Path(parts[2]) if len(parts) == 3 else None)


def read_all(texts: tuple[str, ...]) -> list[RemoteAddress]:
    """All remotes of the setting; ValueError where one is wrong or two have one name."""
    if len(texts) > MOST:
        raise ValueError(f"more than {MOST} remotes")
    remotes = [RemoteAddress.read(text) for text in texts]
    names = [remote.name for remote in remotes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two remotes are called {twice!r}")
    return remotes


def _check_url(url: str, shown: str) -> None:
    try:
        where = urlsplit(url)
        _ = where.port
    except ValueError:
        raise ValueError(f"{shown} holds an address that cannot be read") from None
    if not _URL.fullmatch(url) or not where.hostname or where.query or where.username is not None:
        raise ValueError(f"{shown} needs https:// and a host, without a question mark, a user or a password")
    # A token that travels in the clear is everyone's on the way.
    if where.scheme == "http" and where.hostname not in LOOPBACK:
        raise ValueError(f"{shown} begins with http://; only remotes on this machine may go without TLS")
