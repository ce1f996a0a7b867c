"""Samples as records of the log. Unusable samples are counted, and the first of each kind becomes a dead letter."""

from __future__ import annotations

import math
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from flitwatch_domain.units import EARLIEST_S
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.link_failures import LinkChanges, scale_rate
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.exporters.table import MetricTable, Series, UnmappedSeries, UnstoredSeries
from flitwatch_ingest.sources.rejection import Rejection

#: Limit of remembered series. A sender with more has a label that changes with every sample.
MOST_SERIES = 1_000_000
#: Limit of metrics and reasons that get a dead letter.
MOST_NAMED = 10_000
#: Bytes kept of an unreadable body.
MOST_BAD_BYTES = 64 << 10
#: A sender's clock may be ahead of ours by this much.
AHEAD_S = 300.0
#: An exporter whose last wrong value is older than this may have been fixed.
WRONG_UNIT_S = 3600.0
#: Prometheus' marker for the end of a series, a special NaN (model/value/value.go).
STALE = struct.pack("<Q", 0x7FF0000000000002)
#: Every integer up to here has an exact float.
_EXACT = 1 << 53


class InvalidSample(Exception):
    """An unusable sample of a mapped metric; its text is the reason."""


class _WrongUnit(InvalidSample):
    """A value that is not a multiple of the table's divisor: this exporter's samples of the metric are not counted."""


@dataclass
class TakenSamples:
    """Results of the samples of one delivery, and the reason for the first rejection."""

    results: Counter[str] = field(default_factory=Counter)
    first: str = ""

    @property
    def invalid(self) -> int:
        """Samples of mapped metrics that could not be used."""
        return self.results["invalid"]

    @property
    def accepted(self) -> int:
        """Samples that were handled according to the table; an unmapped one counts because of its dead letter."""
        return self.results.total() - self.invalid


class Intake:
    """Publisher of samples; safe to call from several threads.

    Parameters
    ----------
    checkpoint : Checkpoint, optional
        Stores which metrics already have a dead letter.
    """

    def __init__(self, table: MetricTable, publisher: Publisher, checkpoint: Checkpoint | None = None) -> None:
        self._table = table
        self._publisher = publisher
        self._checkpoint = checkpoint or Checkpoint(None)
        self._named: dict[str, None] = dict.fromkeys(self._checkpoint.value.get("named", []))
        #: Monotonic time until which a metric of an exporter is not counted, because its unit differs from the table's.
        self._wrong_units: dict[tuple[str, str], float] = {}
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], Series | str] = {}
        self._changes = LinkChanges(publisher)
        self._lock = threading.Lock()
        #: Samples by protocol and outcome.
        self.samples: Counter[tuple[str, str]] = Counter()
        #: Metrics, pages and records rejected since the start, with the first reason of each; the limit is that of dead letters.
        self.refused: dict[str, str] = {}
        #: Counters that are in the table but in no catalogue, in order of arrival.
        self.unknown: dict[str, None] = {}

    @property
    def series(self) -> int:
        """Number of remembered series."""
        return len(self._series)

    @property
    def named(self) -> int:
        """Number of pairs of metric and reason that have a dead letter."""
        return len(self._named)

    def take(self, source: str, samples: Iterable[Sample]) -> TakenSamples:
        """Publish the mapped samples and wait until they are durable. Raise Unavailable or Cancelled if the log does not answer. Nothing is lost if
        the sender repeats the whole delivery."""
        with self._lock:
            delivery, samples = TakenSamples(), list(samples)
            # The unit belongs to the metric: one impossible value invalidates all of them.
            for sample in samples:
                self._check_unit(sample)
            for sample in samples:
                delivery.results[self._publish_sample(source, sample, delivery)] += 1
            self._flush_and_save()
            for result, count in delivery.results.items():
                self.samples[source, result] += count
            return delivery

    def refuse(self, source: str, what: str, reason: str, taken: TakenSamples, count: int = 1) -> None:
        """Count an item that is not a counter's sample, such as a histogram."""
        with self._lock:
            taken.results["invalid"] += count
            self.samples[source, "invalid"] += count
            taken.first = taken.first or f"{what}: {reason}"
            self._reject_once(source, what, reason, orjson.dumps({"name": what}))

    def maps(self, name: str) -> bool:
        """Return whether samples of this metric can be kept."""
        return self._table.maps(name)

    def keep_bad(self, source: str, where: str, reason: str, body: bytes) -> None:
        """Make a dead letter of an unreadable body if it is the first with this reason."""
        with self._lock:
            self.samples[source, "invalid"] += 1
            self._reject_once(source, where, reason, body[:MOST_BAD_BYTES])
            self._flush_and_save()

    def note_refused(self, what: str, reason: str) -> None:
        """Add a rejected metric, page or record to the report."""
        if len(self.refused) < MOST_NAMED:
            self.refused.setdefault(what[:500], reason)

    def _flush_and_save(self) -> None:
        """Wait until all records are durable, then save which metrics have a dead letter."""
        self._publisher.flush()
        if len(self._checkpoint.value.get("named", [])) != len(self._named):
            self._checkpoint.value["named"] = list(self._named)
            self._checkpoint.save()

    def _check_unit(self, sample: Sample) -> None:
        """Block an exporter's metric if its value is not a multiple of the table's divisor."""
        key = _unit_key(sample)
        if not key[1]:
            return
        try:
            series = self._find_series(sample)
            if isinstance(series, Series) and not series.kept and series.divide > 1:
                _check_time(sample)
                _to_count(sample.value, series)
        except _WrongUnit:
            if key in self._wrong_units or len(self._wrong_units) < MOST_NAMED:
                self._wrong_units[key] = time.monotonic() + WRONG_UNIT_S
        except (UnmappedSeries, InvalidSample):
            pass

    def _has_wrong_unit(self, sample: Sample) -> bool:
        if not self._wrong_units:
            return False
        key = _unit_key(sample)
        until = self._wrong_units.get(key)
        if until is not None and until < time.monotonic():
            del self._wrong_units[key]
            return False
        return until is not None

    def _publish_sample(self, source: str, sample: Sample, taken: TakenSamples) -> str:
        if isinstance(sample.value, float) and struct.pack("<d", sample.value) == STALE:
            return "stale"
        try:
            series = self._find_series(sample)
            if isinstance(series, str):
                return series
            _check_time(sample)
            if series.rate:
                if isinstance(sample.value, str) or not 0 <= sample.value < _EXACT:
                    raise InvalidSample("its value is not a speed or a width")
                changed = self._changes.publish(source, sample.time_ms / 1000, series.key, scale_rate(sample.value))
                return "published" if changed else "unused"
            if series.kept:
                record = orjson.dumps(series.record_as_it_came(sample.time_ms, sample.value))
            else:
                if series.divide > 1 and self._has_wrong_unit(sample):
                    raise _wrong_unit(series)
                count = _to_count(sample.value, series)
                if count == series.ceiling:
                    return "saturated"
                if series.failures:
                    changed = self._changes.publish(source, sample.time_ms / 1000, series.key, count, first=True)
                    return "published" if changed else "unchanged"
                record = orjson.dumps(series.record(sample.time_ms, count))
        except UnmappedSeries as why:
            self._reject_sample(source, sample, str(why), taken)
            return "unmapped"
        except InvalidSample as why:
            self._reject_sample(source, sample, str(why), taken)
            return "invalid"
        self._publisher.publish(series.topic, record, source, key=series.key)
        return "published" if series.known else "kept"

    def _find_series(self, sample: Sample) -> Series | str:
        key = (sample.name, sample.labels)
        if (cached := self._series.get(key)) is not None:
            return cached
        series: Series | str
        try:
            series = self._table.find(sample.name, dict(sample.labels))
        except UnstoredSeries as why:
            return str(why)
        if series.kept:
            # Not remembered: most samples of a fabric are like this, and no differences are taken between them.
            return series
        if len(self._series) >= MOST_SERIES:
            raise InvalidSample(f"more than {MOST_SERIES} series: a label changes with every sample")
        if not series.known and len(self.unknown) < MOST_NAMED:
            self.unknown[series.counter] = None
        self._series[key] = series
        return series

    def _reject_sample(self, source: str, sample: Sample, reason: str, taken: TakenSamples) -> None:
        taken.first = taken.first or f"{sample.name}: {reason}"
        # orjson writes non-finite numbers as null.
        raw = {"name": sample.name, "labels": dict(sample.labels), "value": sample.value, "time_ms": sample.time_ms}
        self._reject_once(source, sample.name, reason, orjson.dumps(raw, default=str, option=orjson.OPT_NON_STR_KEYS))

    def _reject_once(self, source: str, what: str, reason: str, raw: bytes) -> None:
        self.note_refused(what, reason)
        key = f"{what}: {reason}"[:500]
        if key in self._named or len(self._named) >= MOST_NAMED:
            return
        self._publisher.reject(Rejection(f"{source} metric {what}"[:500], reason, raw), source)
        self._named[key] = None


def _check_time(sample: Sample) -> None:
    # Seconds in place of milliseconds are a time in 1970.
    if sample.time_ms / 1000 < EARLIEST_S or sample.time_ms / 1000 > time.time() + AHEAD_S:
        raise InvalidSample("its time is ahead of this host's clock, or before 2000")


def _to_count(value: float | str, series: Series) -> int:
    if isinstance(value, str) or not math.isfinite(value) or value < 0:
        raise InvalidSample("its value is not a count")
    count, rest = divmod(int(value), series.divide)
    # Floats above 2^53 are not exact anyway.
    if value < _EXACT and (rest or value != int(value)):
        raise _wrong_unit(series) if series.divide > 1 else InvalidSample("its value is not an integer")
    if count >= 1 << 64:
        raise InvalidSample("its value is beyond 64 bits")
    return count


def _wrong_unit(series: Series) -> _WrongUnit:
    return _WrongUnit(
        f"not every value of this exporter is a multiple of {series.divide}: map the metric with the factor of its release"
    )


def _unit_key(sample: Sample) -> tuple[str, str]:
    """Return a metric and the exporter that sends it, by Prometheus' label of the address."""
    return sample.name, next((value for label, value in sample.labels if label == "instance"), "")
