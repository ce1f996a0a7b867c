"""Slingshot's fabric telemetry to the log, from topics of the fabric manager's Kafka or from files with one record per line."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from flitwatch_domain.errors import BadInput, NotFound, Unavailable
from flitwatch_domain.heartbeat import Heartbeat
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.tail import Tail, need_plain
from flitwatch_ingest.exporters.intake import Intake
from flitwatch_ingest.exporters.limits import MOST_BYTES
from flitwatch_ingest.exporters.sample import Sample
from flitwatch_ingest.sources.rejection import Rejection
from flitwatch_ingest.sources.slingshot import BadRecord, samples_of
from flitwatch_stream.log import Log, Record, TopicPartition

SOURCE = "slingshot"
#: The collectors of one group share the partitions; the checkpoint has the start positions.
GROUP = "flitwatch-slingshot"
#: Records processed together; the checkpoint moves after each batch.
_AT_ONCE = 500
_WAIT_S = 1.0
#: After this many polls without a record, a topic counts as read to its end: transaction markers there are never delivered.
_SILENT = 10

Say = Callable[[str], None]


class SensorRecords:
    """Publisher of the sensors in records; unreadable input becomes a dead letter with its reason.

    Parameters
    ----------
    intake : Intake
        An intake with the table of Slingshot's sensors.
    """

    def __init__(self, intake: Intake, publisher: Publisher) -> None:
        self._intake = intake
        self._publisher = publisher
        self._samples: list[Sample] = []
        self.records = 0
        #: Outcomes of the sensors' values, as counted by `Intake`.
        self.results: Counter[str] = Counter()

    def add(self, raw: bytes, where: str, source: str, sequence: int) -> None:
        """Read one record. `where` is its place for messages; `source` and `sequence` identify its dead letter."""
        self.records += 1
        try:
            parsed = samples_of(raw)
        except BadRecord as bad:
            self._reject_record(Rejection(where, str(bad), raw), source, sequence)
            return
        self._samples += parsed.samples
        if parsed.bad:
            reason = f"{parsed.bad} of {parsed.bad + len(parsed.samples)} sensors cannot be read; {parsed.first}"
            self._reject_record(Rejection(where, reason, raw), source, sequence)

    def _reject_record(self, rejection: Rejection, source: str, sequence: int) -> None:
        self._intake.note_refused(rejection.where, rejection.reason)
        self._publisher.reject(rejection, f"{SOURCE}:{source}", sequence)

    def settle(self) -> None:
        """Publish the added records and wait until they are durable."""
        self.results += self._intake.take(SOURCE, self._samples).results
        self._samples = []


class TopicReader:
    """Reader of topics of the fabric manager's Kafka.

    Parameters
    ----------
    topics : sequence of str
        They need not exist yet.
    checkpoint : Checkpoint
        Position in each partition of this cluster only. Partitions of another cluster are read from their oldest record.
    """

    def __init__(self, log: Log, topics: Sequence[str], records: SensorRecords, checkpoint: Checkpoint) -> None:
        self._log = log
        self._topics = list(dict.fromkeys(topics))
        self._records = records
        self._checkpoint = checkpoint
        self._cluster = ""

    def once(self, stop: threading.Event) -> None:
        """Publish the current content of the topics. Raise NotFound if none of the topics exists."""
        self._identify_cluster()
        here = self._log.topics()
        ends = {
            TopicPartition(topic, partition): end
            for topic in self._topics
            if topic in here
            for partition, end in enumerate(self._log.end_offsets(topic))
        }
        if not ends:
            raise NotFound(
                f"none of the topics {', '.join(self._topics)} exists",
                advice="Name the fabric manager's topics with --topic.",
            )
        with self._log.consumer(GROUP, topics=self._topics, on_assign=self._begin) as consumer:
            remaining, silent = dict(ends), 0
            while remaining and silent < _SILENT and not stop.is_set():
                records = consumer.poll(_AT_ONCE, _WAIT_S)
                self._take_records(records)
                silent = silent + 1 if not records and set(remaining) <= set(consumer.assignment()) else 0
                for at in set(remaining) & set(consumer.assignment()):
                    if consumer.position(*at) >= remaining[at]:
                        del remaining[at]

    def run(self, stop: threading.Event, heartbeat: Heartbeat, say: Say) -> None:
        """Follow the topics until `stop` is set."""
        away = ""
        while not stop.is_set():
            try:
                self._identify_cluster()
                missing = [topic for topic in self._topics if topic not in self._log.topics()]
                if len(missing) == len(self._topics):
                    say(f"waiting for one of the topics {', '.join(missing)}")
                with self._log.consumer(GROUP, topics=self._topics, on_assign=self._begin) as consumer:
                    while not stop.is_set():
                        heartbeat.beat()
                        self._take_records(consumer.poll(_AT_ONCE, _WAIT_S))
                        away = ""
            except Unavailable as problem:
                if away != problem.message:
                    say(f"waiting for the fabric manager's Kafka: {problem.message}")
                away = problem.message
                heartbeat.wait(stop, _WAIT_S)

    def _identify_cluster(self) -> None:
        self._cluster = self._log.identity()
        if self._checkpoint.value.get("cluster") != self._cluster:
            self._checkpoint.value |= {"cluster": self._cluster, "positions": {}}

    def _begin(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        positions = self._saved_positions()
        return {
            at: positions[at.topic][str(at.partition)]
            for at in places
            if str(at.partition) in positions.get(at.topic, {})
        }

    def _saved_positions(self) -> dict[str, dict[str, int]]:
        positions: dict[str, dict[str, int]] = self._checkpoint.value.setdefault("positions", {})
        return positions

    def _take_records(self, records: list[Record]) -> None:
        if not records:
            return
        for record in records:
            place = f"{record.topic}/{record.partition}"
            self._records.add(
                record.value, f"{place} offset {record.offset}", f"{self._cluster}/{place}", record.offset
            )
        self._records.settle()
        for record in records:
            self._saved_positions().setdefault(record.topic, {})[str(record.partition)] = record.offset + 1
        self._checkpoint.save()


class _FileMark(TypedDict):
    """Position in a file; `fingerprint` distinguishes files with the same inode."""

    path: str
    fingerprint: str
    offset: int


class FileReader:
    """Reader of files with one record per line, given by path or folder.

    Parameters
    ----------
    follow : bool
        The files still grow: an unfinished last line is awaited.
    """

    def __init__(self, places: Iterable[Path], records: SensorRecords, checkpoint: Checkpoint, *, follow: bool) -> None:
        self._places = [place.absolute() for place in places]
        self._records = records
        self._checkpoint = checkpoint
        self._follow = follow
        self._host = socket.gethostname()
        for place in self._places:
            if not place.exists():
                raise NotFound(f"{place} does not exist")
        for file in self._list_files():
            need_plain(file)

    def look(self, stop: threading.Event) -> None:
        """Publish the lines written since the last look."""
        for file in self._list_files():
            if stop.is_set():
                return
            try:
                tail = Tail(file, MOST_BYTES)
            except OSError as problem:
                if self._follow:
                    continue
                raise BadInput(problem.strerror or str(problem), where=str(file)) from problem
            try:
                self._read_tail(tail)
            finally:
                tail.close()

    def _list_files(self) -> Iterator[Path]:
        for place in self._places:
            yield from (
                sorted(file for file in place.iterdir() if file.is_file() and not file.name.startswith("."))
                if place.is_dir()
                else [place]
            )

    def _read_tail(self, tail: Tail) -> None:
        mark = self._find_mark(tail)
        if mark is None:
            return
        if tail.size < mark["offset"]:
            # Truncated in place: the present content is read as a new file.
            mark["offset"] = 0
        source, cut, added = f"{self._host}:{tail.path}@{mark['fingerprint']}", False, 0
        for line in tail.lines(mark["offset"], last=not self._follow):
            if line.raw.strip() and not cut:
                begins = line.end - len(line.raw)
                self._records.add(line.raw, f"{tail.path} byte {begins}", source, line.end)
                added += 1
            # If a line is too long, only its beginning is rejected.
            cut = not line.raw.endswith(b"\n")
            mark["offset"] = line.end
            if added >= _AT_ONCE:
                self._save_position()
                added = 0
        self._save_position()

    def _save_position(self) -> None:
        self._records.settle()
        self._checkpoint.save()

    def _find_mark(self, tail: Tail) -> _FileMark | None:
        """Return the checkpoint's entry of a file; None until its first line is complete."""
        marks: dict[str, Any] = self._checkpoint.value.setdefault("files", {})
        fingerprint = tail.fingerprint()
        if fingerprint is None and self._follow:
            return None
        mark: _FileMark | None = marks.get(tail.inode)
        if mark is None or mark["fingerprint"] != (fingerprint or ""):
            mark = _FileMark(path="", fingerprint=fingerprint or "", offset=0)
            marks[tail.inode] = mark
        mark["path"] = str(tail.path)
        return mark
