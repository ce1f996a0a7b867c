"""Records encoded before the start and sent repeatedly: only the time and one group of digits of every counter change.

A counter's value is `high | turn | low`: `low` grows from phase to phase of the pool, `turn` counts the repetitions of the pool, and `high` is
constant. In Avro the turn is the fifth byte of a six-byte varint, in JSON three of thirteen digits. So preparing a second changes only these bytes,
and every counter grows during the whole load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_research.ingest_bench.sets import MetricSet

Format = Literal["avro", "json"]


@dataclass(frozen=True)
class Digits:
    """Split of a counter's value.

    Attributes
    ----------
    low : int
        Upper limit of `low`, and unit of the turn.
    turns : int
        Number of possible repetitions of the pool.
    high : int
        `high` is from 1 to this, in units of `low` x `turns`.
    """

    low: int
    turns: int
    high: int


DIGITS: dict[Format, Digits] = {"avro": Digits(1 << 27, 128, 63), "json": Digits(10_000_000, 1_000, 899)}
PHASES = {"avro": 4, "json": 2}
#: Senders sample within this part of the second, in microseconds.
SPREAD_US = 2_000


class Pool:
    """The records of one set.

    Parameters
    ----------
    metric_set : MetricSet
    form : {"avro", "json"}
    seconds : int
        Duration of the load.
    schema_id : int
        Id of the Avro schema.
    seed : int
    """

    def __init__(self, metric_set: MetricSet, form: Format, seconds: int, schema_id: int = 1, seed: int = 0) -> None:
        self.set = metric_set
        self.form: Format = form
        self.digits = DIGITS[form]
        self.phases = max(PHASES[form], -(-seconds // self.digits.turns))
        if form == "json" and self.phases > PHASES[form]:
            raise BadRequest(f"{seconds} s of JSON are too long", advice=f"At most {2 * self.digits.turns} s.")
        rng = np.random.default_rng(seed)
        shape = (len(metric_set.components), len(metric_set.metrics))
        # Larger than all added values, so that the width of a value is constant.
        self._high = rng.integers(1, self.digits.high, shape) * (self.digits.low * self.digits.turns)
        if form == "json":
            self._high += 10**12
        self._shift = rng.integers(0, 2**20, shape)
        self._rng = rng
        self._late_us = rng.integers(0, SPREAD_US, shape[0])
        self._low = [self._draw_lows(phase) for phase in range(self.phases)]
        encode = _encode_avro if form == "avro" else _encode_json
        encodings = [encode(self, self._high + low, schema_id) for low in self._low]
        self._buffers = [buffer for buffer, *_ in encodings]
        _, self._ends, self._turn_at, self._time_at = encodings[0]
        self._turn_of = [0] * self.phases

    @property
    def late_us(self) -> NDArray[np.int64]:
        """Delay of each sender's sample after the second."""
        return self._late_us

    @property
    def values(self) -> int:
        """Number of counter values per second."""
        return int(self._high.size)

    def _draw_lows(self, phase: int) -> NDArray[np.int64]:
        share = self._rng.random(self._high.shape)
        return ((phase + share) * (self.digits.low / self.phases)).astype(np.int64)

    def second(self, number: int, epoch_s: int) -> list[bytes]:
        """Return the records of the second that begins at `epoch_s`, `number` seconds after the first."""
        turn, phase = divmod(number, self.phases)
        buffer = self._buffers[phase]
        if turn != self._turn_of[phase]:
            self._turn_of[phase] = turn
            for place, byte in zip(self._turn_at, self._turn_bytes(turn), strict=True):
                buffer[place] = byte
        for place, stamp in zip(self._time_at, self._stamp_bytes(epoch_s), strict=True):
            buffer[place] = stamp
        whole, begin, records = buffer.tobytes(), 0, []
        for end in self._ends:
            records.append(whole[begin:end])
            begin = end
        return records

    def _turn_bytes(self, turn: int) -> list[int]:
        if self.form == "avro":
            return [0x80 | turn]
        return list(b"%03d" % turn)

    def _stamp_bytes(self, epoch_s: int) -> list[NDArray[np.uint8]]:
        if self.form == "avro":
            stamps = 2 * (epoch_s * 1000 + self._late_us // 1000)
            return [((stamps >> (7 * i)) & 127 | (0x80 if i < 5 else 0)).astype(np.uint8) for i in range(6)]
        return [np.full(len(self._late_us), digit, np.uint8) for digit in b"%010d" % epoch_s]

    def grown(self, seconds: int, counters: list[int]) -> NDArray[np.int64]:
        """Return, by sender, the total growth of the counters with these indices from the first to the last second of `seconds`."""
        turn, phase = divmod(seconds - 1, self.phases)
        columns = np.array(counters)
        by_counter = self._low[phase][:, columns] - self._low[0][:, columns] + turn * self.digits.low
        return by_counter.sum(axis=1)


Encoded = tuple[NDArray[np.uint8], list[int], list[NDArray[np.int64]], list[NDArray[np.int64]]]


def _layout_records(
    heads: list[bytes], stamp_at: int, stamp: int, body: int
) -> tuple[list[int], NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return (ends of records, starts of their bodies, positions of each byte of their times)."""
    sizes = np.array([len(head) + body for head in heads])
    ends = np.cumsum(sizes)
    begins = ends - sizes
    return ends.tolist(), ends - body, [begins + stamp_at + i for i in range(stamp)]


def _encode_avro(pool: Pool, values: NDArray[np.int64], schema_id: int) -> Encoded:
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    heads = [
        prefix + bytes(6) + _encode_varint(component) + b"\0\0" + _encode_varint(len(name)) + name.encode()
        for component, name in zip(pool.set.components, pool.set.names, strict=True)
    ]
    width = 6
    body = width * values.shape[1]
    ends, bodies, time_at = _layout_records(heads, len(prefix), 6, body)
    buffer = np.zeros(ends[-1], np.uint8)
    _put_heads(buffer, heads, ends, body)
    at = bodies[:, None] + width * np.arange(values.shape[1])
    for i in range(width):
        buffer[at + i] = (2 * values >> (7 * i)) & 127 | (0x80 if i < width - 1 else 0)
    return buffer, ends, [at + 4], time_at


def _encode_json(pool: Pool, values: NDArray[np.int64], schema_id: int) -> Encoded:
    heads = [
        b'{"timestamp":0000000000.%06d,"component_id":%d,"job_id":0,"app_id":0,"aries_rtr_id":"%s"'
        % (late, component, name.encode())
        for component, name, late in zip(pool.set.components, pool.set.names, pool.late_us.tolist(), strict=True)
    ]
    keys = [b',"%s":' % metric.encode() for metric in pool.set.metrics]
    digits = 13
    widths = np.array([len(key) + digits for key in keys])
    places = np.cumsum(widths) - digits
    template = np.frombuffer(b"".join(key + b"0" * digits for key in keys) + b"}", np.uint8)
    ends, bodies, time_at = _layout_records(heads, len(b'{"timestamp":'), 10, len(template))
    buffer = np.zeros(ends[-1], np.uint8)
    _put_heads(buffer, heads, ends, len(template))
    for begin in bodies.tolist():
        buffer[begin : begin + len(template)] = template
    at = bodies[:, None] + places
    rest = values
    for i in reversed(range(digits)):
        rest, digit = np.divmod(rest, 10)
        buffer[at + i] = digit + ord("0")
    return buffer, ends, [at + 3 + i for i in range(3)], time_at


def _put_heads(buffer: NDArray[np.uint8], heads: list[bytes], ends: list[int], body: int) -> None:
    for head, end in zip(heads, ends, strict=True):
        buffer[end - body - len(head) : end - body] = np.frombuffer(head, np.uint8)


def _encode_varint(value: int) -> bytes:
    """Return the zig-zag varint of a nonnegative value."""
    rest, out = 2 * value, bytearray()
    while rest >= 128:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)
