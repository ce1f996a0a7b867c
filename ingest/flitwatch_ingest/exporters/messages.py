"""Protobuf messages of Prometheus' remote write, 1.0 (`prometheus.WriteRequest`) and 2.0 (`io.prometheus.write.v2.Request`).

Series, histograms and exemplars are declared as bytes, which have the same wire format. Series are counted before any is parsed; the others are only
counted.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_F = descriptor_pb2.FieldDescriptorProto
_STRING, _BYTES, _DOUBLE = _F.TYPE_STRING, _F.TYPE_BYTES, _F.TYPE_DOUBLE
_INT64, _UINT32, _INT32 = _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_INT32

#: message: field: (number, type, name of the message type if it is one, repeated)
_MESSAGES: dict[str, dict[str, tuple[int, Any, str, bool]]] = {
    "Label": {"name": (1, _STRING, "", False), "value": (2, _STRING, "", False)},
    "Sample": {"value": (1, _DOUBLE, "", False), "timestamp": (2, _INT64, "", False)},
    "WriteRequest": {"timeseries": (1, _BYTES, "", True)},
    "TimeSeries": {
        "labels": (1, _F.TYPE_MESSAGE, "Label", True),
        "samples": (2, _F.TYPE_MESSAGE, "Sample", True),
        "exemplars": (3, _BYTES, "", True),
        "histograms": (4, _BYTES, "", True),
    },
    "Request": {"symbols": (4, _STRING, "", True), "timeseries": (5, _BYTES, "", True)},
    "TimeSeries2": {
        "labels_refs": (1, _UINT32, "", True),
        "samples": (2, _F.TYPE_MESSAGE, "Sample", True),
        "histograms": (3, _BYTES, "", True),
        "exemplars": (4, _BYTES, "", True),
    },
    # google.rpc.Status, OTLP's form of a refusal.
    "Status": {"code": (1, _INT32, "", False), "message": (2, _STRING, "", False)},
}


def _build_messages() -> dict[str, type[Any]]:
    file = descriptor_pb2.FileDescriptorProto(name="flitwatch_remote_write.proto", package="flitwatch", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for label, (number, kind, of, repeated) in fields.items():
            message.field.add(
                name=label,
                number=number,
                type=kind,
                type_name=f".flitwatch.{of}" if of else None,
                label=_F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"flitwatch.{name}")) for name in _MESSAGES
    }


_CLASSES = _build_messages()
WriteRequest, TimeSeries = _CLASSES["WriteRequest"], _CLASSES["TimeSeries"]
Request, TimeSeries2 = _CLASSES["Request"], _CLASSES["TimeSeries2"]
Label, SampleMessage, Status = _CLASSES["Label"], _CLASSES["Sample"], _CLASSES["Status"]
