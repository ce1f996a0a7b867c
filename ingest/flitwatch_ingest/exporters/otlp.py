"""OTLP metrics over HTTP: bodies in protobuf or JSON as samples.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from flitwatch_ingest.exporters.limits import MOST_BYTES, MOST_SERIES, NAME, Refused, check_label_count, labels_of
from flitwatch_ingest.exporters.messages import Status
from flitwatch_ingest.exporters.sample import Sample

PROTOBUF, JSON = "application/x-protobuf", "application/json"
#: Limit of objects in a JSON request. A two-byte JSON object takes a hundred times as long to parse as a two-byte message.
MOST_OBJECTS = 300_000
_NUMBERS = frozenset({"asInt", "as_int", "asDouble", "as_double", "timeUnixNano", "time_unix_nano", "flags"})
#: Flag of a data point without a measurement (DataPointFlags).
_NO_VALUE = 1
#: Resource attributes that correspond to Prometheus' label `instance`.
_INSTANCE = ("service_instance_id", "host_name")


@dataclass
class ExportedSamples:
    """One request's samples, and the number of unusable data points by metric and reason."""

    samples: list[Sample] = field(default_factory=list)
    others: Counter[tuple[str, str]] = field(default_factory=Counter)


def form_of(content_type: str) -> str:
    """Return `PROTOBUF` or `JSON` for a Content-Type. Raise Refused if the content type is neither of them."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise Refused(415, "content_type", f"Content-Type is {content_type!r}, expected {PROTOBUF} or {JSON}")
    return kind


def decompress_gzip(body: bytes, encoding: str) -> bytes:
    """Return a body, decompressed if it is gzip-compressed. Raise Refused if the body is not valid gzip, is compressed differently, or is larger than
    the limit. Decompression stops at the limit."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise Refused(415, "encoding", f"Content-Encoding is {encoding!r}, expected gzip")
    reader = zlib.decompressobj(wbits=31)
    try:
        content = reader.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise Refused(400, "malformed", "the body is not compressed by gzip") from None
    if len(content) > MOST_BYTES:
        raise Refused(413, "too_large", f"the body has more than {MOST_BYTES} bytes when decompressed")
    if not reader.eof:
        raise Refused(400, "malformed", "the compressed body is incomplete")
    return content


def decode_export(form: str, body: bytes) -> ExportedSamples:
    """Read an export request. Raise Refused if the request is malformed, or its data points or attributes exceed the limits."""
    try:
        if form == JSON:
            document = json.loads(body, object_pairs_hook=partial(_build_object, count(1)))
            request = json_format.ParseDict(document, ExportMetricsServiceRequest(), ignore_unknown_fields=True)
        else:
            request = ExportMetricsServiceRequest.FromString(body)
    except (DecodeError, json_format.ParseError, ValueError, RecursionError):
        raise Refused(400, "malformed", "the body is not an ExportMetricsServiceRequest") from None
    export = ExportedSamples()
    # Parts without a data point are counted too: each costs a sender only two bytes.
    parts = len(request.resource_metrics)
    for resource in request.resource_metrics:
        parts += len(resource.scope_metrics) + sum(len(scope.metrics) for scope in resource.scope_metrics[:MOST_SERIES])
        if parts > MOST_SERIES:
            raise Refused(
                413, "too_many_series", f"the request has more than {MOST_SERIES} resources, scopes and metrics"
            )
        about = _labels_of(resource.resource.attributes)
        instance = next((about[name] for name in _INSTANCE if about.get(name)), "")
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                _add_metric(export, metric, {"instance": instance, **about} if instance else about)
    return export


def _build_object(numbers: Iterator[int], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if next(numbers) > MOST_OBJECTS:
        raise Refused(413, "too_many_series", f"the request has more than {MOST_OBJECTS} JSON objects")
    # If a field is repeated, one value would win; and int() accepts 1_000 and digits of other scripts.
    value = dict(pairs)
    odd = [
        name
        for name in _NUMBERS & value.keys()
        if isinstance(value[name], str) and ("_" in value[name] or not value[name].isascii())
    ]
    if odd or len(value) != len(pairs):
        raise ValueError
    return value


def _add_metric(found: ExportedSamples, metric: Any, about: dict[str, str]) -> None:
    kind = metric.WhichOneof("data")
    points = getattr(metric, kind).data_points if kind else ()
    if kind not in ("sum", "gauge"):
        found.others[metric.name, f"is a {kind or 'metric without data'}, which is not supported"] += len(points)
        return
    if (
        kind == "sum"
        and metric.sum.aggregation_temporality != AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    ):
        found.others[metric.name, "has no cumulative temporality: set it in the exporter"] += len(points)
        return
    counted = kind == "sum" and metric.sum.is_monotonic
    if len(found.samples) + len(points) > MOST_SERIES:
        raise Refused(413, "too_many_series", f"the request has more than {MOST_SERIES} data points")
    # Prometheus' OpenTelemetry receivers remove the suffix that the convention requires for counters.
    name = f"{metric.name}_total" if counted and not metric.name.endswith("_total") else metric.name
    for point in points:
        if point.flags & _NO_VALUE:
            continue
        pairs = [(NAME, name), *(about | _labels_of(point.attributes)).items()]
        _, labels = labels_of(pairs)
        value = point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
        found.samples.append(Sample(name, labels, value, point.time_unix_nano // 1_000_000))


def _labels_of(attributes: Any) -> dict[str, str]:
    check_label_count(len(attributes))
    return {item.key.replace(".", "_"): _text_of(item.value) for item in attributes if item.key != NAME}


def _text_of(value: Any) -> str:
    kind = value.WhichOneof("value")
    if kind == "bool_value":
        return str(value.bool_value).lower()
    return str(getattr(value, kind)) if kind in ("string_value", "int_value", "double_value") else ""


def build_response(form: str, rejected: int, why: str) -> bytes:
    """Return the answer to an accepted request with `rejected` data points."""
    message = ExportMetricsServiceResponse()
    if rejected:
        message.partial_success.rejected_data_points = rejected
        message.partial_success.error_message = why
    return json_format.MessageToJson(message, indent=None).encode() if form == JSON else message.SerializeToString()


def build_refusal(form: str, status: int, text: str) -> bytes:
    """Return a google.rpc.Status, as the protocol requires."""
    # Codes of google/rpc/code.proto: UNAVAILABLE, UNAUTHENTICATED, INVALID_ARGUMENT.
    code = {503: 14, 401: 16}.get(status, 3)
    if form == JSON:
        return orjson.dumps({"code": code, "message": text})
    return bytes(Status(code=code, message=text).SerializeToString())
