"""Stored batches of the embedded log: what was packed comes back, and nothing that stands there ends a reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flitwatch_stream import frames
from flitwatch_stream.topics import DAMAGED

RECORDS = st.tuples(
    st.none() | st.binary(max_size=40),
    st.binary(max_size=3000),
    st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=30)), max_size=3),
)


@given(st.lists(RECORDS, min_size=1, max_size=20))
def test_what_was_packed_comes_back(given_records: list) -> None:
    encoded = b"".join(frames.encode_record(7, key, value, headers) for key, value, headers in given_records)
    found = frames.read_batch("t", 2, 100, len(given_records), *frames.pack_batch(encoded))
    assert [(one.key, one.value, list(one.headers)) for one in found] == given_records
    assert [one.offset for one in found] == list(range(100, 100 + len(given_records)))


@given(st.integers(0, 1), st.integers(1, 40), st.binary(max_size=400))
def test_whatever_stands_there_is_read_or_said_to_be_damaged(encoding: int, records: int, payload: bytes) -> None:
    found = frames.read_batch("t", 0, 5, records, encoding, payload)
    assert len(found) == records or (
        len(found) == 1 and found[0].headers[0][0] == DAMAGED and found[0].value == payload
    )


@given(st.lists(RECORDS, min_size=1, max_size=8), st.data())
def test_a_flipped_byte_never_ends_a_reader(given_records: list, data: st.DataObject) -> None:
    encoding, payload = frames.pack_batch(
        b"".join(frames.encode_record(7, key, value, headers) for key, value, headers in given_records)
    )
    at = data.draw(st.integers(0, len(payload) - 1))
    broken = payload[:at] + bytes([payload[at] ^ data.draw(st.integers(1, 255))]) + payload[at + 1 :]
    assert frames.read_batch("t", 0, 5, len(given_records), encoding, broken)
