"""Requests with millions of empty two-byte parts: refused by their number before any processing."""

from __future__ import annotations

import json

import pytest

from flitwatch_ingest.exporters import otlp, remote_write
from flitwatch_ingest.exporters.limits import MOST_BYTES, MOST_LABELS, MOST_SERIES, Refused

PARTS = MOST_BYTES // 4


def wrap(*fields: int, inner: bytes) -> bytes:
    """A message in a message, by the numbers of their fields."""
    for field in reversed(fields):
        length, size = bytearray(), len(inner)
        while size >= 0x80:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        inner = bytes([field << 3 | 2, *length, size]) + inner
    return inner


def empty(field: int) -> bytes:
    return bytes([field << 3 | 2, 0]) * PARTS


#: resource_metrics 1, scope_metrics 2, metrics 2, gauge 5, data_points 1; attributes 1 of a resource, 7 of a point; name 1.
EXPORTS = {
    "resources": empty(1),
    "scopes": wrap(1, inner=empty(2)),
    "metrics": wrap(1, 2, inner=empty(2)),
    "points": wrap(1, 2, 2, inner=b"\x0a\x01a" + wrap(5, inner=empty(1))),
    "attributes": wrap(1, 1, inner=empty(1)),
    "attributes of a point": wrap(1, 2, 2, inner=b"\x0a\x01a" + wrap(5, 1, inner=empty(7))),
}
#: timeseries 1 with labels 1 and samples 2; of the second version timeseries 5 with labels_refs 1 and samples 2.
NAMED = wrap(1, inner=b"\x0a\x08__name__\x12\x01a")
WRITES = {
    "labels": (remote_write.V1, wrap(1, inner=empty(1))),
    "samples": (remote_write.V1, wrap(1, inner=NAMED + empty(2))),
    "labels of the second version": (remote_write.V2, wrap(5, inner=wrap(1, inner=bytes(PARTS)))),
    "samples of the second version": (
        remote_write.V2,
        b"\x22\x00\x22\x08__name__\x22\x01a" + wrap(5, inner=b"\x0a\x02\x01\x02" + empty(2)),
    ),
}


@pytest.mark.parametrize("what", EXPORTS)
def test_an_export_of_empty_parts_is_refused(what: str) -> None:
    with pytest.raises(Refused, match=f"more than {MOST_SERIES}|at most {MOST_LABELS}"):
        otlp.decode_export(otlp.PROTOBUF, EXPORTS[what])


@pytest.mark.parametrize("what", WRITES)
def test_a_write_of_empty_parts_is_refused(what: str) -> None:
    proto, body = WRITES[what]
    with pytest.raises(Refused, match=f"more than 500000 samples|at most {MOST_LABELS}"):
        remote_write.decode_write(proto, body)


def test_so_is_one_in_json() -> None:
    with pytest.raises(Refused, match=f"more than {otlp.MOST_OBJECTS} JSON objects"):
        otlp.decode_export(otlp.JSON, b'{"resourceMetrics":[' + b"{}," * PARTS + b"{}]}")


def test_as_many_as_the_limit_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MOST_SERIES", 100)
    points = [{"asInt": "1", "timeUnixNano": "1"}] * 100
    document = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a", "gauge": {"dataPoints": points}}]}]}]}
    assert len(otlp.decode_export(otlp.JSON, json.dumps(document).encode()).samples) == 100
