"""Table that maps exporters' metrics to counters of a technology, and labels to ports."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from flitwatch_domain import units
from flitwatch_domain.counters import identify_counter
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Technology
from flitwatch_domain.fabric.endpoint_names import plain_guid
from flitwatch_domain.importers.text import parse_yaml, read_utf8
from flitwatch_ingest.collectors import link_failures
from flitwatch_stream.topics import ldms_topic

#: Meanings of labels, and the record's column for each (docs/contracts/log.md).
COLUMNS = {"host": "hostname", "node": "node_name", "device": "device", "guid": "guid", "lid": "lid", "port": "port"}
_NUMBERS = frozenset({"lid", "port"})
#: Topics for counters by table, and topics for raw values that are not counters.
_TOPICS = {
    "prometheus": {
        Technology.INFINIBAND: ldms_topic("ib_prometheus"),
        Technology.OPA: ldms_topic("opa_prometheus"),
        Technology.SLINGSHOT: ldms_topic("cxi_prometheus"),
    },
    "slingshot": {Technology.SLINGSHOT: ldms_topic("slingshot_port")},
}
_OTHER_TOPICS = {"prometheus": ldms_topic("prometheus"), "slingshot": ldms_topic("slingshot_other")}
_FIELD = re.compile(r"\{(\w+)\}")
_TCP_PORT = re.compile(r":[0-9]{1,5}$")

Role = Literal["host", "node", "device", "guid", "lid", "port"]


class _Strict(BaseModel, extra="forbid"):
    """Part of a table; unknown fields are refused."""


class LabelPart(_Strict):
    """A part of a label's value: the group of `match`."""

    label: str
    match: re.Pattern[str]


class Metric(_Strict):
    """Counter that a metric of an exporter corresponds to.

    Attributes
    ----------
    counter : str    the vendor's name; `{label}` is replaced by that label's value, `{group}` by a group of a pattern
    divide : int     the exporter's factor, such as 4 if it reports bytes and the device counts words of 4 bytes
    bits : int       width of a device's counter that stops at its maximum (default: from the catalogue)
    """

    counter: str
    divide: int = Field(1, ge=1)
    bits: int | None = Field(None, ge=1, le=64)


class Pattern(Metric):
    """A regular expression for whole names."""

    name: re.Pattern[str]


class Exporter(_Strict):
    name: str
    basis: str = ""
    technology: Technology
    labels: dict[Role, str | LabelPart | list[str | LabelPart]]
    metrics: dict[str, Metric] = {}
    patterns: list[Pattern] = []
    unused: list[re.Pattern[str]] = []
    kept: list[re.Pattern[str]] = []


class _Document(_Strict):
    """A file of the table."""

    exporters: list[Exporter]


class UnmappedSeries(Exception):
    """The table does not map a series; its text is the reason."""


@dataclass(frozen=True)
class Series:
    """Destination of the samples of one series.

    Attributes
    ----------
    topic, key : str
        Samples of one port and counter stay in order.
    owner : dict
        Columns of the record that identify the port.
    known : bool
        Whether the catalogue knows the counter.
    kept : bool
        Whether values are kept raw: gauges, rates or texts.
    ceiling : int or None
        The value at which the device's counter stops.
    failures : bool
        Whether it counts link failures, which are stored when they change.
    rate : bool
        Whether it is the speed or the width of a link, which is stored when it changes.
    """

    topic: str
    key: str
    counter: str
    owner: Mapping[str, str | int] = field(hash=False)
    known: bool
    divide: int
    ceiling: int | None
    kept: bool = False
    failures: bool = False
    rate: bool = False

    def record_as_it_came(self, time_ms: int, value: float | str) -> dict[str, Any]:
        """Return the record of a value that is not a count."""
        reading = {"text": value} if isinstance(value, str) else {"value": float(value)}
        return {"timestamp": time_ms / 1000, "instance": self.key, **self.owner, **reading}

    def record(self, time_ms: int, count: int) -> dict[str, Any]:
        if not self.known:
            return {"timestamp": time_ms / 1000, "instance": self.key, **self.owner, "value": count}
        # The counter's name distinguishes records of one port.
        return {"timestamp": time_ms / 1000, "instance": self.counter, **self.owner, self.counter: count}


class UnstoredSeries(Exception):
    """The table or the catalogue excludes a metric; its text says which of the two."""


@dataclass(frozen=True)
class _Row:
    exporter: Exporter
    metric: Metric | None
    kept: bool = False


#: The rows of a file by name, and by pattern in its order.
_Layer = tuple[dict[str, _Row], list[tuple[re.Pattern[str], _Row]]]


class MetricTable:
    """The package's table, overridden by a site's files.

    Parameters
    ----------
    paths : sequence of Path
        A site's files; later ones take precedence.
    source : str
        Name of the package's table: prometheus or slingshot.
    """

    def __init__(self, paths: Sequence[Path] = (), source: str = "prometheus") -> None:
        own = files("flitwatch_ingest.exporters") / f"{source}.yaml"
        self._topics, self._other_topic = _TOPICS[source], _OTHER_TOPICS[source]
        texts = [(own.name, own.read_text())]
        texts += [(str(path), read_utf8(path)) for path in paths]
        self._layers = [_parse_layer(where, text, self._topics) for where, text in reversed(texts)]

    def find(self, name: str, labels: Mapping[str, str]) -> Series:
        """Return the destination of a series. Raise UnmappedSeries if no row matches the metric, or a label is missing. Raise UnstoredSeries if the
        metric is excluded."""
        row, groups = self._find_row(name)
        if row.kept:
            owner = _build_owner(row.exporter, labels)
            key = f"{_build_key(owner)}/{name}"
            return Series(self._other_topic, key, name, owner, False, 1, None, kept=True)
        if row.metric is None:
            raise UnstoredSeries("unused")
        technology = row.exporter.technology
        counter = _fill_template(row.metric.counter, {**labels, **groups})
        use = identify_counter(counter, technology)
        rate = counter in link_failures.RATES
        failures = rate or (use is not None and use.kind.name in link_failures.FAILURES)
        if use is not None and not use.kind.feeds and not failures:
            raise UnstoredSeries("no_column")
        owner = _build_owner(row.exporter, labels)
        instance = _build_link_instance(owner, counter) if failures else ""
        if failures and not instance:
            raise UnstoredSeries("unused" if rate else "no_column")
        bits = row.metric.bits
        ceiling = (1 << bits) - 1 if bits is not None else use.kind.ceiling if use is not None else None
        if failures:
            return Series(
                link_failures.TOPIC,
                instance,
                counter,
                {},
                True,
                row.metric.divide,
                ceiling,
                failures=not rate,
                rate=rate,
            )
        topic = self._other_topic if use is None else self._topics[technology]
        return Series(
            topic, f"{_build_key(owner)}/{counter}", counter, owner, use is not None, row.metric.divide, ceiling
        )

    def maps(self, name: str) -> bool:
        """Return whether the table maps this metric to a counter."""
        try:
            row, _ = self._find_row(name)
        except UnmappedSeries:
            return False
        return row.kept or row.metric is not None

    def _find_row(self, name: str) -> tuple[_Row, dict[str, str]]:
        for names, patterns in self._layers:
            if (row := names.get(name)) is not None:
                return row, {}
            for pattern, row in patterns:
                if match := pattern.fullmatch(name):
                    return row, {key: text for key, text in match.groupdict().items() if text is not None}
        raise UnmappedSeries("the table has no row for this metric. Add one with --map")


def _parse_layer(where: str, text: str, technologies: Collection[Technology]) -> _Layer:
    names: dict[str, _Row] = {}
    patterns: list[tuple[re.Pattern[str], _Row]] = []
    for exporter in _parse_document(where, text).exporters:
        if exporter.technology not in technologies:
            raise BadInput(
                f"exporter {exporter.name}: no metrics of {exporter.technology} are read",
                where=where,
                advice=f"Say one of {', '.join(technologies)}.",
            )
        names |= {name: _Row(exporter, metric) for name, metric in exporter.metrics.items()}
        patterns += [(pattern.name, _Row(exporter, pattern)) for pattern in exporter.patterns]
        patterns += [(pattern, _Row(exporter, None)) for pattern in exporter.unused]
        patterns += [(pattern, _Row(exporter, None, kept=True)) for pattern in exporter.kept]
    return names, patterns


def _parse_document(where: str, text: str) -> _Document:
    try:
        return _Document.model_validate(parse_yaml(text, where))
    except ValidationError as problem:
        first = problem.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise BadInput(f"{at}: {first['msg']}", where=where, advice="See docs/sources.md for the form.") from None


def _fill_template(template: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        if match.group(1) not in values:
            raise UnmappedSeries(f"the series has no label {match.group(1)}, which its counter's name needs")
        return values[match.group(1)]

    return _FIELD.sub(value, template)


def _build_owner(exporter: Exporter, labels: Mapping[str, str]) -> dict[str, str | int]:
    """Return the owner's columns. Text columns are always present, so that all records of a counter match; numbers only if labels give them."""
    columns: dict[str, str | int] = {column: "" for role, column in COLUMNS.items() if role not in _NUMBERS}
    for role, rules in exporter.labels.items():
        text = _first_text(rules if isinstance(rules, list) else [rules], labels)
        if role == "host":
            text = _TCP_PORT.sub("", text).strip("[]")
        if role not in _NUMBERS:
            columns[COLUMNS[role]] = text
        elif text:
            number = _parse_number(text)
            if number is None:
                raise UnmappedSeries(f"its {role} is {text[:40]!r}, expected a number")
            columns[COLUMNS[role]] = number
    if not any(columns[COLUMNS[role]] for role in ("guid", "host", "node")) and "lid" not in columns:
        expected = ", ".join(_label_names(exporter.labels.values()))
        raise UnmappedSeries(f"no label identifies the port: expected one of {expected}")
    return columns


def _build_link_instance(owner: Mapping[str, str | int], counter: str) -> str:
    """Return the instance of a link's count by the port's GUID, or else by its host and adapter; empty if the owner has neither."""
    guid, host, adapter = (str(owner[column]) for column in ("guid", "hostname", "device"))
    if "port" not in owner:
        return ""
    if plain_guid(guid):
        return link_failures.build_instance(guid, int(owner["port"]), counter)
    return link_failures.build_host_instance(host, adapter, int(owner["port"]), counter) if host and adapter else ""


def _build_key(owner: Mapping[str, str | int]) -> str:
    return "/".join(str(part) for part in owner.values() if part != "")


def _first_text(rules: Iterable[str | LabelPart], labels: Mapping[str, str]) -> str:
    for rule in rules:
        if isinstance(rule, str):
            text = labels.get(rule, "")
        else:
            match = rule.match.fullmatch(labels.get(rule.label, ""))
            text = (match.group(1) or "") if match else ""
        if text.strip():
            return text.strip()
    return ""


def _parse_number(text: str) -> int | None:
    return units.whole_or_hexadecimal(text, most=(1 << 16) - 1)


def _label_names(rules: Iterable[Any]) -> list[str]:
    flat = [rule for some in rules for rule in (some if isinstance(some, list) else [some])]
    return list(dict.fromkeys(rule if isinstance(rule, str) else rule.label for rule in flat))
