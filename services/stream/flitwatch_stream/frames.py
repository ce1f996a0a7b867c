"""How the table backend lays records into one batch: a fixed head, then key, value and headers, record after record."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from flitwatch_stream.log import Record

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
