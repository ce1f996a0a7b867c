"""LDMS metric sets of the simulated machine, in the encodings of `store_avro_kafka` and `store_csv`.

Names, order, types and quirks follow captures of ldmsd 4.5.1: JSON has microsecond times, Avro truncates them to milliseconds; u64 values are sent as
signed longs; the row schema is `<schema>_<first 7 hex digits of the set's digest>`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flitwatch_stream.topics import ldms_topic

COMMON = ("component_id", "job_id", "app_id", "aries_rtr_id")


def encode_varints(values: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """Encode a matrix of longs as zig-zag varints.

    Parameters
    ----------
    values : int64[rows, columns]; unsigned values above 2^63 are their two's complement, as in LDMS.

    Returns
    -------
    encoded, ends : the bytes of all rows in order, and the end of each row in them (int64[rows]).
    """
    rows, columns = values.shape
    flat = values.ravel()
    rest = ((flat << 1) ^ (flat >> 63)).view(np.uint64)
    length = np.ones(len(flat), np.int64)
    bound = np.uint64(1 << 7)
    for size in range(1, 10):
        longer = rest >= bound
        if not longer.any():
            break
        length += longer
        bound = np.uint64(1 << min(7 * (size + 1), 63))
    ends = np.cumsum(length)
    place = ends - length
    encoded = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    index = np.arange(len(flat))
    while len(index):
        more = rest >= np.uint64(128)
        encoded[place] = (rest & np.uint64(127)).astype(np.uint8) | (more.astype(np.uint8) << 7)
        if not more.any():
            break
        index, place, rest = index[more], place[more] + 1, rest[more] >> np.uint64(7)
    return encoded.tobytes(), ends.reshape(rows, columns)[:, -1] if columns else np.zeros(rows, np.int64)


def long_bytes(value: int) -> bytes:
    """Return one zig-zag varint."""
    return encode_varints(np.array([[value]], np.int64))[0]


def string_bytes(text: str) -> bytes:
    """Return an Avro string: its length in bytes, then UTF-8."""
    raw = text.encode()
    return long_bytes(len(raw)) + raw


@dataclass(frozen=True, eq=False)
class SetLayout:
    """Metric list and the devices that send it.

    Attributes
    ----------
    schema : str; the sampler's schema name, `aries_rtr_mmr` or `aries_nic_mmr`.
    metrics : tuple of str; the u64 counters after the common metrics.
    rows : int64[D]; row of the counter matrix that each device reads.
    columns : int64[M]; column of each metric in that matrix.
    component_ids : int64[D]; names : tuple of str, the routers' names; nodes : tuple of str, the producers.
    """

    schema: str
    metrics: tuple[str, ...]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    component_ids: NDArray[np.int64]
    names: tuple[str, ...]
    nodes: tuple[str, ...]
    digest: str = field(init=False)
    _json_heads: tuple[bytes, ...] = field(init=False, repr=False)
    _json_tail: bytes = field(init=False, repr=False)
    _avro_heads: tuple[bytes, ...] = field(init=False, repr=False)
    _csv_heads: tuple[bytes, ...] = field(init=False, repr=False)
    _csv_tail: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        listing = "\n".join([self.schema, *COMMON, *self.metrics])
        ids = [int(number) for number in self.component_ids]
        attributes = {
            "digest": hashlib.sha256(listing.encode()).hexdigest(),
            "_json_heads": tuple(
                b',"component_id":%d,"job_id":0,"app_id":0,"aries_rtr_id":"%s"' % (number, name.encode())
                for number, name in zip(ids, self.names, strict=True)
            ),
            "_json_tail": b"".join(b',"%s":%%d' % metric.encode() for metric in self.metrics) + b"}",
            "_avro_heads": tuple(
                long_bytes(number) + long_bytes(0) * 2 + string_bytes(name)
                for number, name in zip(ids, self.names, strict=True)
            ),
            "_csv_heads": tuple(
                b",%d,0,0,%s" % (number, name.encode()) for number, name in zip(ids, self.names, strict=True)
            ),
            "_csv_tail": b",%d" * len(self.metrics) + b"\n",
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def row_schema(self) -> str:
        """Return the name of the stored row's schema, which the topic ends in."""
        return f"{self.schema}_{self.digest[:7]}"

    @property
    def topic(self) -> str:
        """Return the topic to which `store_avro_kafka` publishes with `topic=ldms.%S`."""
        return ldms_topic(self.row_schema)

    def take(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return this layout's part of a counter matrix: int64[D, M]."""
        return values[self.rows[:, None], self.columns]

    def json_records(self, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield one JSON object per device. `micros` (int64[D]) is each device's sampling time after the epoch second."""
        tail = self._json_tail
        for head, row, late in zip(self._json_heads, taken.tolist(), micros.tolist(), strict=True):
            yield b'{"timestamp":%d.%06d' % (second, late) + head + tail % tuple(row)

    def avro_records(
        self, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64], schema_id: int
    ) -> Iterator[bytes]:
        """Yield one Avro message per device: magic 0, the 4-byte schema id, the record."""
        magic = b"\0" + schema_id.to_bytes(4, "big")
        stamps, stamp_ends = encode_varints((second * 1000 + micros // 1000)[:, None])
        encoded, ends = encode_varints(taken)
        begin = stamp_begin = 0
        for head, end, stamp_end in zip(self._avro_heads, ends.tolist(), stamp_ends.tolist(), strict=True):
            yield magic + stamps[stamp_begin:stamp_end] + head + encoded[begin:end]
            begin, stamp_begin = end, stamp_end

    def csv_header(self) -> bytes:
        """Return the header of an `as_is` CSV file."""
        return ",".join(["#Time", "Time_usec", *COMMON, *self.metrics]).encode() + b"\n"

    def csv_rows(self, taken: NDArray[np.int64], second: int, micros: NDArray[np.int64]) -> bytes:
        """Return one CSV line per device."""
        tail = self._csv_tail
        return b"".join(
            b"%d.%06d,%d" % (second, late, late) + head + tail % tuple(row)
            for head, row, late in zip(self._csv_heads, taken.tolist(), micros.tolist(), strict=True)
        )

    def avro_schema(self) -> str:
        """Return the schema that `store_avro_kafka` registers under the subject `row_schema`."""
        return avro_schema(self.row_schema, self.metrics)


def avro_schema(name: str, metrics: Sequence[str]) -> str:
    """Return the schema that `store_avro_kafka` registers for the row schema `name`."""
    unsigned = {"type": "long", "logicalType": "unsigned-long"}
    fields: list[dict[str, object]] = [
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    ]
    fields += [{"name": common, "type": unsigned, "default": 0} for common in COMMON[:3]]
    fields.append({"name": COMMON[3], "type": "string", "default": ""})
    fields += [{"name": metric, "type": unsigned, "default": 0} for metric in metrics]
    return json.dumps({"name": name, "type": "record", "fields": fields}, separators=(",", ":"))
