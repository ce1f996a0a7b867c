"""Following a growing file line by line, across rename, truncation and restart."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.packed import form_of

#: Bytes read at a time, at most.
CHUNK_BYTES = 4 * 2**20
_BEGINNING_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its line end; `end` is the offset after it. A line longer than the limit is returned in pieces without a line end."""

    raw: bytes
    end: int


class Tail:
    """One file, identified by its inode and its first lines, not by its name.

    Parameters
    ----------
    longest_line : int
        A line longer than this is returned in pieces.
    """

    def __init__(self, path: Path, longest_line: int) -> None:
        self.path = path
        self._stream: BinaryIO = path.open("rb")
        status = os.fstat(self._stream.fileno())
        self.inode = f"{status.st_dev}:{status.st_ino}"
        self._longest = longest_line
        #: Rounds in which a deleted or renamed file did not grow.
        self.idle_rounds = 0
        #: Size and modification time when the file was last read to its end.
        self.read_at: tuple[int, int] | None = None

    def close(self) -> None:
        self._stream.close()

    @property
    def size(self) -> int:
        """Current size in bytes."""
        return os.fstat(self._stream.fileno()).st_size

    @property
    def state(self) -> tuple[int, int]:
        """Size and time of the last change."""
        status = os.fstat(self._stream.fileno())
        return status.st_size, status.st_mtime_ns

    def replaced(self) -> bool:
        """Return whether the path now refers to another file, or to none."""
        try:
            status = self.path.stat()
        except OSError:
            return True
        return f"{status.st_dev}:{status.st_ino}" != self.inode

    def fingerprint(self) -> str | None:
        """Return a digest from the beginning through the first line that is not a comment; None until that line is complete."""
        start = b""
        while len(start) <= self._longest:
            more = self._read_at(len(start), _BEGINNING_BYTES)
            start += more
            end = _first_data_line(start)
            if end:
                return hashlib.blake2b(start[:end], digest_size=6).hexdigest()
            if not more:
                return None
        return hashlib.blake2b(start[: self._longest], digest_size=6).hexdigest()

    def lines(self, offset: int, *, last: bool) -> Iterator[Line]:
        """Yield lines from `offset` on.

        Parameters
        ----------
        last : bool
            The file will not grow: return the text after the last line end, too.
        """
        rest, held_at = b"", offset
        while True:
            chunk = self._read_at(held_at + len(rest), CHUNK_BYTES)
            data = rest + chunk
            start = 0
            while (end := data.find(b"\n", start)) >= 0:
                yield Line(data[start : end + 1], held_at + end + 1)
                start = end + 1
            rest, held_at = data[start:], held_at + start
            while len(rest) > self._longest:
                piece, rest = rest[: self._longest + 1], rest[self._longest + 1 :]
                held_at += len(piece)
                yield Line(piece, held_at)
            if not chunk:
                if rest and last:
                    yield Line(rest, held_at + len(rest))
                return

    def _read_at(self, offset: int, count: int) -> bytes:
        return os.pread(self._stream.fileno(), count, offset)


def _first_data_line(start: bytes) -> int:
    """Return the offset after the first line that is neither a comment nor empty; 0 if that line is not complete yet."""
    at = 0
    while (end := start.find(b"\n", at)) >= 0:
        if start[at : at + 1] != b"#" and start[at:end].strip():
            return end + 1
        at = end + 1
    return 0


def need_plain(path: Path) -> None:
    """Raise BadInput for a compressed or UTF-16 file: growing files are read from any offset, which requires plain bytes."""
    try:
        with path.open("rb") as stream:
            form = form_of(stream.peek(64))
    except OSError as problem:
        raise BadInput(problem.strerror or str(problem), where=str(path)) from problem
    if form:
        raise BadInput(f"is {form}", where=str(path), advice="Write it as plain text first.")
