"""Batch format of the table backend: each record is a fixed head, then key, value and headers. The batch is compressed."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import zstandard

from flitwatch_stream.log import MAX_RECORD_BYTES, Record
from flitwatch_stream.topics import DAMAGED

#: Encodings of a stored batch (column `encoding` of log.batch).
PLAIN, ZSTD = 0, 1
#: Counters shrink to a fifth at 500 MB/s; higher levels gain less than they cost.
_LEVEL = 1
#: Compressing shorter payloads is not worth the call.
_LEAST_BYTES = 1024
#: More than any batch contains: record size is limited, and rows of many records are far smaller.
_MOST_BYTES = 2 * MAX_RECORD_BYTES

#: Milliseconds, key length (-1 without a key), value length, number of headers.
_HEAD = struct.Struct("<qiiH")
_HEADER = struct.Struct("<HI")


def encode_record(timestamp_ms: int, key: bytes | None, value: bytes, headers: Iterable[tuple[str, bytes]]) -> bytes:
    """Return one record's frame."""
    parts: list[bytes] = [b"", key or b"", value]
    count = 0
    for name, content in headers:
        raw = name.encode()
        parts += (_HEADER.pack(len(raw), len(content)), raw, content)
        count += 1
    parts[0] = _HEAD.pack(timestamp_ms, -1 if key is None else len(key), len(value), count)
    return b"".join(parts)


def pack_batch(frames: bytes) -> tuple[int, bytes]:
    """Return the encoding and the payload to store for a batch's frames."""
    if len(frames) < _LEAST_BYTES:
        return PLAIN, frames
    packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(frames)
    return (ZSTD, packed) if len(packed) < len(frames) else (PLAIN, frames)


def unpack_batch(encoding: int, payload: bytes) -> bytes:
    """Return a batch's frames. Raise ValueError if the payload is damaged."""
    if encoding != ZSTD:
        return payload
    try:
        size = zstandard.frame_content_size(payload)
        if not 0 <= size <= _MOST_BYTES:
            raise ValueError(
                f"{size} bytes are in it, more than {_MOST_BYTES}" if size > 0 else "it does not state its size"
            )
        return zstandard.ZstdDecompressor().decompress(payload)
    except zstandard.ZstdError as problem:
        raise ValueError(str(problem)) from problem


def read_batch(
    topic: str, partition: int, base_offset: int, records: int, encoding: int, payload: bytes
) -> list[Record]:
    """Return the records of a stored batch in order. For a damaged batch, return one record that describes the damage (`topics.DAMAGED`)."""
    try:
        return decode_batch(topic, partition, base_offset, records, unpack_batch(encoding, payload))
    except (ValueError, struct.error) as problem:
        why = f"a batch of {records} records of the log cannot be read: {problem}"
        return [Record(topic, partition, base_offset, -1, None, payload, [(DAMAGED, why.encode())])]


def decode_batch(topic: str, partition: int, base_offset: int, records: int, payload: bytes) -> list[Record]:
    """Return the records of a batch in order."""
    batch_records = []
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
        batch_records.append(Record(topic, partition, offset, timestamp_ms, key, value, headers))
    return batch_records
