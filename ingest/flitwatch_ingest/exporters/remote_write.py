"""Prometheus' remote write: bodies of 1.0 and 2.0 as samples.

https://prometheus.io/docs/specs/prw/remote_write_spec/ and .../remote_write_spec_2_0/
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cramjam
from google.protobuf.message import DecodeError

from flitwatch_ingest.exporters import messages
from flitwatch_ingest.exporters.limits import (
    MOST_BYTES,
    MOST_SAMPLES,
    MOST_SERIES,
    Refused,
    check_label_count,
    labels_of,
)
from flitwatch_ingest.exporters.sample import Sample

ENCODING = "snappy"
V1, V2 = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"


@dataclass
class WrittenSamples:
    """One request's samples, and the number of its histograms and exemplars."""

    samples: list[Sample] = field(default_factory=list)
    histograms: int = 0
    exemplars: int = 0


def message_of(content_type: str) -> str:
    """Return the message type that a Content-Type names. Raise Refused if the type is not supported."""
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    settings = dict(part.partition("=")[::2] for part in parameters)
    proto = settings.get("proto", V1)
    if kind.lower() != "application/x-protobuf" or proto not in (V1, V2):
        raise Refused(415, "content_type", f"Content-Type is {content_type!r}, expected application/x-protobuf")
    return proto


def decompress_snappy(body: bytes) -> bytes:
    """Return a body in Snappy's block format, decompressed. Raise Refused if the body is not in this format, or its declared size, which is read
    first, exceeds the limit."""
    length = _said_length(body)
    if length > MOST_BYTES:
        raise Refused(413, "too_large", f"the body has {length} bytes when decompressed, at most {MOST_BYTES}")
    try:
        content = bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError:
        raise Refused(400, "malformed", "the body is not compressed by snappy (block format)") from None
    return content


def _said_length(body: bytes) -> int:
    length = 0
    for place, byte in enumerate(body[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return length
    raise Refused(400, "malformed", "the body is not compressed by snappy (block format)")


def decode_write(proto: str, body: bytes) -> WrittenSamples:
    """Read a decompressed message. Raise Refused if the message is malformed, or its series or labels exceed the limits."""
    written = WrittenSamples()
    try:
        if proto == V1:
            request = messages.WriteRequest.FromString(body)
            _check_series_count(request.timeseries)
            for part in request.timeseries:
                series = messages.TimeSeries.FromString(part)
                check_label_count(len(series.labels))
                _add_samples(written, series, [(label.name, label.value) for label in series.labels])
        else:
            wide = messages.Request.FromString(body)
            _check_series_count(wide.timeseries)
            symbols = list(wide.symbols)
            if symbols and symbols[0]:
                raise Refused(400, "malformed", "the first symbol is not the empty text")
            for part in wide.timeseries:
                second = messages.TimeSeries2.FromString(part)
                check_label_count(len(second.labels_refs) // 2)
                _add_samples(written, second, _resolve_labels(symbols, second.labels_refs))
    except (DecodeError, UnicodeDecodeError):
        raise Refused(400, "malformed", f"the body is no {proto}") from None
    return written


def _check_series_count(series: Any) -> None:
    if len(series) > MOST_SERIES:
        raise Refused(413, "too_many_series", f"the request has {len(series)} series, at most {MOST_SERIES}")


def _resolve_labels(symbols: list[str], references: Any) -> list[tuple[str, str]]:
    numbers = list(references)
    if len(numbers) % 2:
        raise Refused(400, "malformed", "labels_refs has an odd length")
    if any(number >= len(symbols) for number in numbers):
        raise Refused(400, "malformed", "labels_refs names a missing symbol")
    return [(symbols[a], symbols[b]) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]


def _add_samples(found: WrittenSamples, series: Any, pairs: list[tuple[str, str]]) -> None:
    name, labels = labels_of(pairs)
    if len(found.samples) + len(series.samples) > MOST_SAMPLES:
        raise Refused(413, "too_many_samples", f"the request has more than {MOST_SAMPLES} samples")
    found.histograms += len(series.histograms)
    found.exemplars += len(series.exemplars)
    found.samples += [Sample(name, labels, sample.value, sample.timestamp) for sample in series.samples]
