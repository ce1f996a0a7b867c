"""How the table backend lays records into one batch: a fixed head, then key, value and headers, record after record; the batch compressed."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import zstandard

from flitwatch_stream.log import Record

#: Encodings of a stored batch (column `encoding` of log.batch).
PLAIN, ZSTD = 0, 1
#: Counters shrink to a fifth at 500 MB/s; higher levels gain less than they cost.
_LEVEL = 1
#: Shorter payloads are not worth the call.
_LEAST_BYTES = 1024

#: Milliseconds, length of the key (-1: none), length of the value, number of headers.
_HEAD = struct.Struct("<qiiH")
_HEADER = struct.Struct("<HI")


def encode(timestamp_ms: int, key: bytes | None, value: bytes, headers: Iterable[tuple[str, bytes]]) -> bytes:
    """Return one record's frame."""
    parts: list[bytes] = [b"", key or b"", value]
    count = 0
    for name, content in headers:
        raw = name.encode()
        parts += (_HEADER.pack(len(raw), len(content)), raw, content)
        count += 1
    parts[0] = _HEAD.pack(timestamp_ms, -1 if key is None else len(key), len(value), count)
    return b"".join(parts)


def pack(frames: bytes) -> tuple[int, bytes]:
    """Return the encoding and the payload under which a batch's frames are stored."""
    if len(frames) < _LEAST_BYTES:
        return PLAIN, frames
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(frames)
    return (ZSTD, packed) if len(packed) < len(frames) else (PLAIN, frames)


def unpack(encoding: int, payload: bytes) -> bytes:
    """Return a batch's frames."""
    return zstandard.ZstdDecompressor().decompress(payload) if encoding == ZSTD else payload


def decode(topic: str, partition: int, base_offset: int, records: int, payload: bytes) -> list[Record]:
    """Return the records of a batch in order."""
    found = []
    at = 0
    unpack, head = _HEAD.unpack_from, _HEAD.size
    for offset in range(base_offset, base_offset + records):
        timestamp_ms, key_bytes, value_bytes, count = unpack(payload, at)
        at += head
        key = None
        if key_bytes >= 0:
            key = payload[at : at + key_bytes]
            at += key_bytes
        value = payload[at : at + value_bytes]
        at += value_bytes
        headers = []
        for _ in range(count):
            name_bytes, content_bytes = _HEADER.unpack_from(payload, at)
            at += _HEADER.size
            name = payload[at : at + name_bytes].decode()
            at += name_bytes
            headers.append((name, payload[at : at + content_bytes]))
            at += content_bytes
        found.append(Record(topic, partition, offset, timestamp_ms, key, value, headers))
    return found
