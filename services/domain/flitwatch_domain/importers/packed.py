"""Files, plain or compressed with gzip, bzip2, xz or zstd, in UTF-8 or UTF-16, read as one stream of plain bytes."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

import zstandard

from flitwatch_domain.errors import BadInput, NotFound

_LONGEST_MAGIC = 6
_DAMAGE = (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError, gzip.BadGzipFile)

#: First bytes, the format's name, and its decompressor.
_PACKED: tuple[tuple[bytes, str, Callable[[IO[bytes]], IO[bytes]]], ...] = (
    (b"\x1f\x8b", "gzip", lambda raw: cast(IO[bytes], gzip.GzipFile(fileobj=raw))),
    (b"BZh", "bzip2", lambda raw: cast(IO[bytes], bz2.BZ2File(raw))),
    (b"\xfd7zXZ\x00", "xz", lambda raw: cast(IO[bytes], lzma.LZMAFile(raw))),
    (b"\x28\xb5\x2f\xfd", "zstd", lambda raw: cast(IO[bytes], _Zstd(raw))),
)
_ZIP = b"PK\x03\x04"
#: Bytes examined for UTF-16 without a byte order mark, in which every other byte of a letter is 0.
_LOOK_BYTES = 64


def form_of(beginning: bytes) -> str | None:
    """Return the form shown by a file's first bytes unless it is plain text: `compressed by gzip`, `UTF-16`."""
    packed = next(
        (name for magic, name, _ in _PACKED if beginning.startswith(magic)),
        "zip" if beginning.startswith(_ZIP) else None,
    )
    if packed:
        return f"compressed by {packed}"
    return "UTF-16" if _detect_utf16(beginning[:_LOOK_BYTES]) else None


@contextmanager
def open_plain(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file's bytes, decompressed, with UTF-16 converted to UTF-8 and without a byte order mark; reads only the requested bytes. Raise NotFound
    or BadInput if the file does not exist, is unreadable or damaged, or is an archive of several files."""
    try:
        raw = _open_regular(path)
    except FileNotFoundError as absent:
        raise NotFound(f"{path} does not exist") from absent
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the path
        raise BadInput(getattr(problem, "strerror", None) or str(problem), where=str(path)) from problem
    with raw:
        checked = io.BufferedReader(_Checked(raw, str(path)))
        beginning = checked.peek(_LONGEST_MAGIC)
        if beginning.startswith(_ZIP):
            raise BadInput("is a ZIP archive", where=str(path), advice="Unpack it with unzip first.")
        unpack = next((open_it for magic, _, open_it in _PACKED if beginning.startswith(magic)), None)
        plain = checked if unpack is None else io.BufferedReader(_Checked(unpack(checked), str(path)))
        beginning = plain.peek(_LOOK_BYTES)[:_LOOK_BYTES]
        if beginning.startswith(codecs.BOM_UTF8):
            plain.read(len(codecs.BOM_UTF8))
        encoding = _detect_utf16(beginning)
        yield plain if encoding is None else io.BufferedReader(_Checked(_AsUtf8(plain, encoding), str(path)))


@contextmanager
def open_text(path: str | Path) -> Iterator[io.TextIOWrapper]:
    """Open the same bytes as UTF-8 text; line ends stay unchanged. BadInput if the bytes are not UTF-8."""
    with open_plain(path) as plain:
        text = io.TextIOWrapper(cast(io.BufferedReader, plain), encoding="utf-8-sig", newline="")
        try:
            yield text
        except UnicodeDecodeError as bad:
            raise BadInput(
                f"is not text: {bad.reason} at byte {bad.start}",
                where=str(path),
                advice="Check that this is the right file.",
            ) from bad


def _detect_utf16(beginning: bytes) -> str | None:
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    pairs = beginning[: len(beginning) // 2 * 2]
    if len(pairs) < 16:
        return None
    low, high = pairs[0::2], pairs[1::2]
    return "utf-16-le" if not any(high) and all(low) else "utf-16-be" if not any(low) and all(high) else None


def _open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading, without waiting for the other end of a pipe or device."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise BadInput("is not a regular file", where=str(path), advice="Write its output to a file first.")


class _Zstd:
    """Consecutive zstd frames; the library's own stream accepts a truncated frame as a whole one."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._packed = self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            block = self._packed or self._source.read(1 << 16)
            self._packed = b""
            if not block:
                if self._frame is not None:
                    raise EOFError("the last frame is incomplete")
                break
            frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._ready = frame.decompress(block)
            self._packed, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        chunk, self._ready = self._ready[:size], self._ready[size:]
        return chunk


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Checked(io.RawIOBase):
    """Stream whose errors include the file."""

    def __init__(self, source: _Source, where: str) -> None:
        self._source = source
        self._where = where

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            block = self._source.read(len(view))
        except _DAMAGE as damage:
            raise BadInput(
                f"is damaged or incomplete: {damage}", where=self._where, advice="Unpack the rest by hand."
            ) from damage
        except UnicodeDecodeError as bad:
            raise BadInput(f"begins as UTF-16 but is not valid UTF-16: {bad.reason}", where=self._where) from bad
        except OSError as problem:  # bzip2's errors have no number
            raise BadInput(problem.strerror or f"is damaged: {problem}", where=self._where) from problem
        view[: len(block)] = block
        return len(block)


class _AsUtf8:
    """Stream that converts UTF-16 to UTF-8."""

    def __init__(self, source: IO[bytes], encoding: str) -> None:
        self._source = source
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            block = self._source.read(1 << 16)
            self._ready = self._decoder.decode(block, final=not block).encode("utf-8", errors="replace")
            if not block:
                break
        chunk, self._ready = self._ready[:size], self._ready[size:]
        return chunk
