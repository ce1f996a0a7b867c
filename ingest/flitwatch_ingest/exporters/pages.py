"""Pages of exporters as samples: Prometheus' text, and UFM telemetry's CSV and JSON with one row per port.

The formats of UFM telemetry follow its documentation ("Prometheus Endpoint Support": URL prefixes /csv and /json) and Mellanox/ufm_sdk_3.0,
plugins/fluentd_telemetry_plugin (telemetry_parser.py names the columns that identify a row's port; tests/message_samples has rows).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping

import orjson
from prometheus_client.parser import text_string_to_metric_families

from flitwatch_domain import units
from flitwatch_ingest.exporters.limits import MOST_LABEL_BYTES, NAME, Refused, labels_of
from flitwatch_ingest.exporters.sample import Sample

#: Columns that identify a row's port, in any case; all others are counters.
OWNER = frozenset(
    {
        "source_id",
        "tag",
        "node_guid",
        "port_guid",
        "port_num",
        "port_number",
        "sys_image_guid",
        "aport",
        "node_description",
        "m_label",
        "port_label",
    }
    | {"status_message", "device_id", "port", "lid", "device_name", "port_type", "mvcr_sensor_name", "mtmp_sensor_name"}
    | {"switch_serial_number", "switch_part_number"}
)
TIME = "timestamp"
#: Their names in the table of metrics.
_RENAMED = {"port_number": "port_num", "port": "port_num"}
#: UFM telemetry uses microseconds; times in seconds or milliseconds are smaller numbers.
_MICROSECONDS, _MILLISECONDS = 10**14, 10**11
#: No counter is wider than 64 bits.
_LARGEST = 1 << 64
#: The labels, value and time of an example in OpenMetrics.
_EXEMPLAR = re.compile(r" # \{[^{}]*\} [^{}\n]*")
#: Texts of a cell without a value.
_NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none"})


class BadPage(Exception):
    """A page in an unknown format; its text is the reason."""


def samples_of(body: bytes, instance: str, now_ms: int, maps: Callable[[str], bool]) -> Iterator[Sample]:
    """Yield the page's samples.

    For columns for which `maps` is false, only the first value is yielded, so that the column can be named; a page may have hundreds of them. Raise
    BadPage if the page is in an unknown format or was truncated.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise BadPage(f"is not text: {bad.reason} at byte {bad.start}") from None
    start = text.lstrip()[:1]
    first = text.lstrip().split("\n", 1)[0]
    try:
        if start in ("[", "{"):
            yield from _rows_to_samples(_parse_documents(body), instance, now_ms, maps)
        elif {"port_guid", "node_guid"} & {cell.strip().lower() for cell in first.split(",")}:
            yield from _rows_to_samples(_parse_lines(text), instance, now_ms, maps)
        else:
            yield from _lines_of_prometheus(text, instance, now_ms)
    except (ValueError, KeyError, IndexError, csv.Error, Refused) as problem:
        raise BadPage(f"is not in Prometheus' text format, nor rows of ports in CSV or JSON: {problem}") from None


def _lines_of_prometheus(page: str, instance: str, now_ms: int) -> Iterator[Sample]:
    # Types are omitted: the parser would add a suffix to counters that their exporter did not use.
    lines = page.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n") and not lines[-1].startswith("#"):
        # A truncated number would be a different number.
        raise ValueError("its last line is incomplete")
    # OpenMetrics has its times in seconds, and examples behind the values.
    is_open = bool(lines) and lines[-1].strip() == "# EOF"
    if is_open:
        lines = [line if line.startswith("#") else _EXEMPLAR.sub("", line) for line in lines]
    for number, line in enumerate(lines, 1):
        # The parser accepts 1_000 and digits of other scripts; after the labels only a value and a time are valid.
        behind = line.rpartition("}")[2] if "}" in line else " ".join(line.split()[1:])
        if not line.startswith("#") and ("_" in behind or not behind.isascii()):
            raise ValueError(f"line {number} has {behind.strip()[:40]!r}, which is not a number")
    untyped = "".join(line for line in lines if not line.startswith("# TYPE"))
    for family in text_string_to_metric_families(untyped):
        for sample in family.samples:
            pairs = {"instance": instance, **sample.labels, NAME: sample.name}
            name, labels = labels_of(list(pairs.items()))
            time_ms = (
                now_ms if sample.timestamp is None else int(float(sample.timestamp) * (1_000_000 if is_open else 1000))
            )
            yield Sample(name, labels, sample.value, time_ms)


def _parse_documents(body: bytes) -> Iterator[Mapping[str, object]]:
    document = orjson.loads(body)
    rows = document.get("values") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise ValueError("it has no list of values")
    for row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{str(row)[:40]!r} is not a port")
        yield row


def _parse_lines(text: str) -> Iterator[Mapping[str, object]]:
    # A truncated number would be a different number.
    if not text.endswith("\n"):
        raise ValueError("its last line is incomplete")
    reader = csv.reader(text.lstrip().splitlines(), strict=True)
    header = [cell.strip() for cell in next(reader)]
    if repeated := [name for name in header if name and header.count(name) > 1]:
        raise ValueError(f"it names {repeated[0]} twice")
    for cells in reader:
        if not cells:
            continue
        if len(cells) not in (len(header), len(header) + 1) or (len(cells) > len(header) and cells[-1].strip()):
            raise ValueError(f"line {reader.line_num} has {len(cells)} cells, the header {len(header)}")
        yield dict(zip(header, cells, strict=False))


def _rows_to_samples(
    rows: Iterator[Mapping[str, object]], instance: str, now_ms: int, maps: Callable[[str], bool]
) -> Iterator[Sample]:
    skipped: set[str] = set()
    mapped: dict[str, bool] = {}
    for row in rows:
        owner = {"instance": instance}
        counted: list[tuple[str, float]] = []
        time_ms = now_ms
        for column, value in row.items():
            key = column.lower()
            if key == TIME:
                time_ms = _time_ms(value, now_ms)
            elif key in OWNER:
                if value is not None and str(value).strip():
                    owner[_RENAMED.get(key, key)] = str(value).strip()[:MOST_LABEL_BYTES]
            elif column and (mapped.setdefault(column, maps(column)) or column not in skipped):
                number = _parse_value(value)
                if number is None and mapped[column] and any(char.isdigit() for char in str(value)):
                    raise ValueError(f"{column} is {str(value)[:40]!r}, which is not a number")
                if number is not None:
                    counted.append((column, number))
                    skipped.add(column)
        _, labels = labels_of([(NAME, "row"), *owner.items()])
        for column, number in counted:
            yield Sample(column, labels, number, time_ms)


def _time_ms(value: object, now_ms: int) -> int:
    number = _parse_value(value)
    if number is None:
        return now_ms
    if number >= _MICROSECONDS:
        return int(number) // 1000
    return int(number) if number >= _MILLISECONDS else int(number * 1000)


def _parse_value(value: object) -> float | None:
    """Return a number; None if the cell is empty or contains words, such as states and names."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    text = str(value).strip() if value is not None else ""
    if text.lower() in _NOTHING:
        return None
    number = units.parse_whole(text, least=-_LARGEST, most=_LARGEST - 1)
    if number is not None:
        return number
    return math.inf if units.is_infinite_or_nan(text) else units.parse_real(text)
