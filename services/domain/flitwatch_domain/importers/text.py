"""Text files with any line end and encoding, with or without a byte order mark; numbered lines; and a limited number of warnings."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import open_plain

#: A topology of 100,000 routers is about 500 MB; a larger file is not a topology.
LARGEST_FILE_BYTES = 2**30


def read_bytes(path: str | Path) -> bytes:
    """Return a file's bytes, decompressed if necessary; NotFound or BadInput with the file's name."""
    with open_plain(path) as plain:
        data = plain.read(LARGEST_FILE_BYTES + 1)
    if len(data) > LARGEST_FILE_BYTES:
        raise BadInput("is larger than 1 GiB", where=str(path), advice="Check that this is the right file.")
    return data


def _decode_old(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes of a text that are not UTF-8 as Windows-1252, which contains Latin-1."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


#: Handler of bytes that are not UTF-8: names of users and jobs from systems with older locales.
OLD_LOCALE = "flitwatch.old-locale"
codecs.register_error(OLD_LOCALE, _decode_old)


def decode_text(raw: bytes) -> str:
    """Return a text in UTF-8 that can contain parts in Latin-1 or Windows-1252."""
    return raw.decode("utf-8", errors=OLD_LOCALE)


def read_text(path: str | Path) -> str:
    """Return a file's text without a byte order mark; NotFound or BadInput with the file's name.

    Bytes that are not UTF-8 are read as Windows-1252. NUL, which cannot be stored, becomes U+FFFD.
    """
    return decode_text(read_bytes(path)).removeprefix("\ufeff").replace("\0", "\ufffd")


def read_utf8(path: str | Path) -> str:
    """Return a file's text without its byte order mark; BadInput if it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        advice = "Check that this is the right file."
        raise BadInput(f"is not text: {bad.reason} at byte {bad.start}", where=str(path), advice=advice) from bad


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line) of `text`; LF, CRLF and CR (if there is no LF) end a line, other CRs become blanks."""
    ends = "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(ends), start=1):
        yield number, line.replace("\r", " ").rstrip()


class Warnings:
    """Collection of warnings; the first few of each kind are kept in full, the rest are counted."""

    def __init__(self, file: str, limit: int = 5) -> None:
        self._file = file
        self._limit = limit
        self._kinds: dict[str, list[str]] = {}

    def add(self, kind: str, line: int, text: str) -> None:
        """Add `text` about `line`; `kind` groups repeated warnings."""
        self._kinds.setdefault(kind, []).append(f"{self._file}:{line}: {text}")

    def texts(self) -> tuple[str, ...]:
        """Return all warnings, in the order in which their kinds appeared."""
        out: list[str] = []
        for kind, texts in self._kinds.items():
            out.extend(texts[: self._limit])
            if len(texts) > self._limit:
                out.append(f"{self._file}: {len(texts) - self._limit} more of: {kind}")
        return tuple(out)
