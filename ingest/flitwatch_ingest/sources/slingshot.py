"""Samples from records of Slingshot's fabric telemetry: counters and states of switch ports, from Kafka or from files with the same records.

Formats: HPE's collector writes Redfish events, `{"Context", "Events": [{"MessageId", "EventTimestamp", "Oem": {"Sensors": [...], "TelemetrySource"}}]}`
whose sensors have the fields `Timestamp`, `Location`, `PhysicalContext`, `Value` (a text) and others (Cray-HPE/hms-hmcollector,
internal/hmcollector/redfish.go; topics: cmd/hmcollector). SMA's telemetry API wraps these in `metrics.messages[]` (unifiedcontrolsystem/dai-ds,
eventsim). HPCM writes `{"name", "fields", "tags", "timestamp"}` (dai-ds, monitoring, TopicMetricFabricPerfTelemetry and its tests), where the fields
are a sensor's, or, as on Frontier, one value whose tags describe the sensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from flitwatch_domain import units
from flitwatch_domain.importers.slingshot import location_of
from flitwatch_ingest.exporters.limits import MOST_BYTES, MOST_LABEL_BYTES, MOST_SERIES
from flitwatch_ingest.exporters.sample import Sample

#: Topics of HPE's collector and HPCM with counters and states of ports.
TOPICS = (
    "cray-fabric-perf-telemetry",
    "cray-fabric-telemetry",
    "cray-fabric-crit-telemetry",
    "slingshot_CrayFabricPerfTelemetry",
    "slingshot_CrayFabricTelemetry",
    "slingshot_CrayFabricCritTelemetry",
)
#: A sensor's fields other than name, value and time.
_LABELS = (
    "DeviceSpecificContext",
    "Index",
    "Location",
    "MessageId",
    "ParentalContext",
    "ParentalIndex",
    "PhysicalContext",
    "PhysicalSubContext",
    "SubIndex",
    "Switch",
)
#: Factor to milliseconds by the number of digits of a Unix time: seconds, ms, us and ns in the years 2001 to 2286.
_MS = {10: 1000.0, 13: 1.0, 16: 1e-3, 19: 1e-6}

Entry = dict[str, Any]


class BadRecord(Exception):
    """A record without any readable part; its text is the reason."""


class _BadSensor(Exception):
    """An unreadable sensor; its text is the reason."""


@dataclass
class SensorSamples:
    """A record's samples, the number of unreadable sensors, and the reason for the first of them."""

    samples: list[Sample] = field(default_factory=list)
    bad: int = 0
    first: str = ""

    def refuse(self, at: int, reason: str) -> None:
        """Count an unreadable sensor."""
        self.bad += 1
        self.first = self.first or f"sensor {at}: {reason}"


def samples_of(record: bytes) -> SensorSamples:
    """Return the samples of one record. Raise BadRecord if the record is not telemetry, or exceeds the limits."""
    if len(record) > MOST_BYTES:
        raise BadRecord(f"the record has {len(record)} bytes, at most {MOST_BYTES}")
    try:
        value = orjson.loads(record)
    except orjson.JSONDecodeError as bad:
        raise BadRecord(f"not valid JSON: {bad}") from None
    result = SensorSamples()
    for at, (sensor, own) in enumerate(_list_sensors(value)):
        if at >= MOST_SERIES:
            raise BadRecord(f"the record has more than {MOST_SERIES} sensors")
        try:
            result.samples.append(_build_sample(sensor, own))
        except _BadSensor as bad:
            result.refuse(at, str(bad))
    if not result.samples and not result.bad:
        raise BadRecord("the record contains no sensor")
    return result


def _list_sensors(value: Any) -> Iterator[tuple[Any, Entry]]:
    """Yield each sensor with the fields of its event."""
    if not isinstance(value, dict):
        raise BadRecord("not a JSON object")
    if "fields" in value:
        yield from _of_hpcm(value)
        return
    wrapped = value.get("metrics")
    messages = _require_list(wrapped.get("messages"), "metrics.messages") if isinstance(wrapped, dict) else [value]
    for message in messages:
        events = message.get("Events") if isinstance(message, dict) else None
        # Some controllers write a single event without a list.
        for event in [events] if isinstance(events, dict) else _require_list(events, "Events"):
            oem = event.get("Oem") if isinstance(event, dict) else None
            if oem is None:
                continue
            for sensor in _require_list(oem.get("Sensors") if isinstance(oem, dict) else None, "Oem.Sensors"):
                yield sensor, event


def _require_list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise BadRecord(f"{what} is not a list")
    return found


def _of_hpcm(value: Entry) -> Iterator[tuple[Any, Entry]]:
    fields, tags = value["fields"], value.get("tags", {})
    if not isinstance(fields, dict) or not isinstance(tags, dict):
        raise BadRecord("fields or tags are not an object")
    about = {**tags, "MessageId": value.get("name"), "EventTimestamp": value.get("timestamp")}
    if "Value" in fields or "PhysicalContext" in fields:
        yield {**tags, **fields}, about
        return
    for name, reading in fields.items():
        yield {**tags, "PhysicalContext": f"{value.get('name')}.{name}", "Value": reading}, about


def _build_sample(sensor: Any, event: Entry) -> Sample:
    if not isinstance(sensor, dict):
        raise _BadSensor("is not an object")
    name, location = _text_of(sensor, "PhysicalContext"), _text_of(sensor, "Location")
    if not name or not location:
        raise _BadSensor(f"has no {'Location' if name else 'PhysicalContext'}")
    labels = {key: text for key in _LABELS if (text := _text_of(sensor, key))}
    if message := _text_of(event, "MessageId"):
        labels["MessageId"] = message
    place = location_of(location)
    if place is not None:
        labels |= {"switch": place.switch, "link": place.link} | (
            {} if place.port is None else {"port": str(place.port)}
        )
    time = sensor.get("Timestamp", event.get("EventTimestamp"))
    return Sample(name, tuple(sorted(labels.items())), _parse_value(sensor.get("Value")), _time_ms(time))


def _text_of(entry: Entry, key: str) -> str:
    content = entry.get(key)
    if content is None or isinstance(content, (dict, list)):
        return ""
    text = str(content)
    if "\0" in text or len(text.encode()) > MOST_LABEL_BYTES:
        raise _BadSensor(f"{key} contains NUL or has more than {MOST_LABEL_BYTES} bytes")
    return text.strip()


def _parse_value(found: Any) -> float | str:
    """Return a number if the value is one, in JSON or as text; else the text."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return found
    if not isinstance(found, str):
        raise _BadSensor("has no Value that is a number or a text")
    whole = units.parse_whole(found)
    number = whole if whole is not None else units.parse_real(found)
    if number is not None:
        return number
    return _text_of({"Value": found}, "Value")


def _time_ms(found: Any) -> int:
    if isinstance(found, int) and not isinstance(found, bool) and len(str(found)) in _MS:
        return int(found * _MS[len(str(found))])
    try:
        time = datetime.fromisoformat(str(found))
    except ValueError:
        raise _BadSensor(f"its time is {str(found)[:40]!r}, expected an ISO 8601 text or Unix time") from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
