"""store_csv files to the log, once or by following their growth and rollovers."""

from __future__ import annotations

import itertools
import math
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from flitwatch_domain.errors import BadInput, NotFound
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.tail import Tail, need_plain
from flitwatch_ingest.schemas.rows import counts_several_ports, technology_of
from flitwatch_ingest.sources import ldms_csv
from flitwatch_ingest.sources.rejection import Rejection

#: Flush and move the checkpoint after at most this many lines.
_LINES_A_FLUSH = 20_000
#: Number of files kept open. A closed file is reopened when it grows.
_MOST_OPEN = 512
#: Bytes that contain a file's header and first row (a set has thousands of metrics), and bytes searched for a header at a time.
_BEGINNING, _BLOCK = 2**20, 2**20
#: A renamed or deleted file may still grow: it is complete after this many rounds without growth.
_IDLE_ROUNDS = 3


@dataclass
class Totals:
    """Counts of the records that one pass published."""

    records: int = 0
    values: int = 0
    schemas: set[str] = field(default_factory=set)
    #: Schemas whose rows count several ports, which are stored unchanged.
    several_ports: set[str] = field(default_factory=set)
    #: Values that are a counter's largest one, by counter.
    saturated: Counter[str] = field(default_factory=Counter)
    #: Records by topic, and the time span of each in epoch seconds.
    topics: Counter[str] = field(default_factory=Counter)
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    producers: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    #: Records and values by source.
    read: dict[str, tuple[int, int]] = field(default_factory=dict)


class _FileMark(TypedDict):
    """Position in a file: `offset` is the end of the bytes read, `fingerprint` distinguishes files with the same inode, `header` is the last header."""

    path: str
    topic: str
    source: str
    key: str
    fingerprint: str
    offset: int
    header: str | None


class CsvCollector:
    """Collector that publishes the lines of store_csv files.

    Parameters
    ----------
    places : iterable of Path
        Files, or folders (`<path>` or `<path>/<container>` of store_csv).
    follow : bool
        The files still grow: an unfinished last line is awaited, not rejected.
    host : str, optional
        Part of the sources' names.
    """

    def __init__(
        self,
        places: Iterable[Path],
        publisher: Publisher,
        checkpoint: Checkpoint,
        *,
        follow: bool,
        host: str | None = None,
    ) -> None:
        self._places = [place.absolute() for place in places]
        self._publisher = publisher
        self._checkpoint = checkpoint
        self._follow = follow
        self._host = host or socket.gethostname()
        self._open: dict[Path, Tail] = {}
        self.totals = Totals()
        if not follow:
            for place in self._places:
                if not place.exists():
                    raise NotFound(f"{place} does not exist")
                if place.is_dir():
                    for file in self._data_files(place):
                        need_plain(file)
                else:
                    _need_rows(place, alone=len(self._places) == 1)

    def close(self) -> None:
        for tail in self._open.values():
            tail.close()
        self._open.clear()

    def run(self, stop: threading.Event, interval_s: float = 1.0, say: Callable[[str], None] | None = None) -> None:
        """Follow until `stop` is set."""
        while True:
            before = self.totals.records
            self.once(stop)
            if say and self.totals.records != before:
                stopped = self.totals.saturated.total()
                saturated = f", {stopped} values at their largest, which are unknown" if stopped else ""
                say(
                    f"{self.totals.records} records, {self._publisher.rejected} rejected, {len(self._open)} files{saturated}"
                )
            if self._publisher.heartbeat.wait(stop, interval_s):
                return

    def once(self, stop: threading.Event | None = None) -> None:
        """Publish the current content of the files."""
        for path in self._list_files():
            if stop is not None and stop.is_set():
                break
            self._read_file(path)
        self._forget_deleted()
        self._publisher.flush()
        self._checkpoint.save()

    def _forget_deleted(self) -> None:
        open_inodes = {tail.inode for tail in self._open.values()}
        marks = self._files_known()
        for inode in [
            key for key, entry in marks.items() if key not in open_inodes and not Path(entry["path"]).exists()
        ]:
            del marks[inode]

    def _list_files(self) -> list[Path]:
        paths: set[Path] = set()
        for place in self._places:
            if place.is_file():
                paths.add(place)
            elif place.is_dir():
                paths.update(self._data_files(place))
        # A renamed file keeps its old name in _open until it is read to its end.
        paths.update(self._open)
        rows = sorted(path for path in paths if ldms_csv.parse_name(path) is not None)
        # One-shot reads follow the order of time, not of names: samples older than those kept are refused.
        return rows if self._follow else sorted(rows, key=lambda path: _first_time(path) or 0.0)

    @staticmethod
    def _data_files(place: Path) -> list[Path]:
        if not place.is_dir():
            return [place]
        return [path for path in (*place.glob("*"), *place.glob("*/*")) if path.is_file()]

    def _read_file(self, path: Path) -> None:
        tail = self._open_tail(path)
        if tail is None:
            return
        gone = tail.replaced()
        before = self.totals.records
        done = gone and tail.idle_rounds >= _IDLE_ROUNDS
        self._read_tail(tail, last=done or not self._follow)
        tail.idle_rounds = tail.idle_rounds + 1 if gone and self.totals.records == before else 0
        if done:
            tail.close()
            del self._open[path]
            if path.exists():
                self._read_file(path)

    def _open_tail(self, path: Path) -> Tail | None:
        tail = self._open.get(path)
        if tail is None:
            try:
                tail = Tail(path, ldms_csv.LONGEST_LINE)
            except OSError as problem:
                if not self._follow:
                    raise BadInput(problem.strerror or str(problem), where=str(path)) from problem
                return None
            if len(self._open) >= _MOST_OPEN:
                oldest = next(iter(self._open))
                self._open.pop(oldest).close()
            self._open[path] = tail
        return tail

    def _read_tail(self, tail: Tail, *, last: bool) -> None:
        state = tail.state
        if state == tail.read_at and not last:
            return
        entry = self._find_entry(tail, last)
        if entry is None:
            return
        if tail.size < entry["offset"]:
            # Truncated in place: the present content is read as a new file.
            entry["offset"], entry["header"] = 0, None
        decoder = self._build_decoder(tail.path, entry)
        since_flush = 0
        technology = technology_of(entry["topic"].removeprefix("ldms."))
        header: ldms_csv.Header | None = None
        ceilings: ldms_csv.Ceilings | None = None
        for line in tail.lines(entry["offset"], last=last):
            decoded = decoder.line(line.raw, offset=line.end - len(line.raw))
            if isinstance(decoded, Rejection):
                self._publisher.reject(decoded, entry["source"], line.end)
            elif decoded is not None:
                if decoder.header is not header and decoder.header is not None:
                    header, ceilings = decoder.header, ldms_csv.Ceilings(decoder.header, technology)
                if ceilings is not None:
                    self.totals.saturated.update(ceilings.find(line.raw))
                self._publisher.publish(entry["topic"], decoded, entry["source"], line.end, key=entry["key"])
            elif line.raw.lstrip(b"\xef\xbb\xbf").startswith(b"#"):
                entry["header"] = line.raw.decode("utf-8", errors="replace").rstrip("\r\n")
            entry["offset"] = line.end
            since_flush += 1
            if since_flush >= _LINES_A_FLUSH:
                self._publisher.flush()
                self._checkpoint.save()
                since_flush = 0
        tail.read_at = state
        if decoder.records:
            schema = re.sub(r"_[0-9a-f]{7}$", "", entry["topic"].removeprefix("ldms."))
            self.totals.schemas.add(schema)
            columns = decoder.header.columns if decoder.header is not None and not self._follow else []
            if counts_several_ports(columns, technology):
                self.totals.several_ports.add(schema)
            topic, before = entry["topic"], self.totals.spans.get(entry["topic"], (math.inf, -math.inf))
            self.totals.topics[topic] += decoder.records
            self.totals.spans[topic] = min(before[0], decoder.first_s), max(before[1], decoder.last_s)
        self.totals.records += decoder.records
        self.totals.values += decoder.values
        self.totals.producers |= decoder.producers
        self.totals.sources.add(entry["source"])
        records, values = self.totals.read.get(entry["source"], (0, 0))
        self.totals.read[entry["source"]] = (records + decoder.records, values + decoder.values)

    def _files_known(self) -> dict[str, _FileMark]:
        marks: dict[str, _FileMark] = self._checkpoint.value.setdefault("files", {})
        return marks

    def _find_entry(self, tail: Tail, last: bool) -> _FileMark | None:
        """Return the checkpoint's entry of a file; None until the file has a data line."""
        marks = self._files_known()
        mark = tail.fingerprint()
        if mark is None and not last:
            return None
        entry = marks.get(tail.inode)
        if entry is not None and entry["fingerprint"] == (mark or ""):
            entry["path"] = str(tail.path)
            return entry
        source = f"{self._host}:{tail.path}@{mark or 'unfinished'}"
        name = ldms_csv.parse_name(tail.path)
        assert name is not None
        entry = {
            "path": str(tail.path),
            "topic": name.topic,
            "source": source,
            # Each file of a rollover continues the previous one.
            "key": f"{self._host}:{tail.path.parent}/{name.schema}",
            "fingerprint": mark or "",
            "offset": 0,
            "header": None,
        }
        marks[tail.inode] = entry
        return entry

    def _build_decoder(self, path: Path, entry: _FileMark) -> ldms_csv.Decoder:
        decoder = ldms_csv.Decoder(str(path))
        header = entry["header"].encode() if entry["header"] else ldms_csv.side_header(path)
        if header is not None:
            try:
                decoder.header = ldms_csv.parse_header(header)
            except BadInput as bad:
                raise BadInput(f"its header file: {bad.reason}", where=str(path)) from bad
        return decoder


def _need_rows(path: Path, *, alone: bool) -> None:
    """Raise BadInput for a named file that cannot contain rows. A side file may be named together with others, as in `folder/*`."""
    expected = "Expected a file of store_csv: its first line, or a .HEADER file next to it, names the columns."
    if not path.is_file():
        raise BadInput("is not a regular file", where=str(path), advice=expected)
    if ldms_csv.parse_name(path) is None:
        if not alone:
            return
        raise BadInput(
            "is a file of store_csv without rows",
            where=str(path),
            advice="Name the data file or the folder.",
        )
    need_plain(path)
    if ldms_csv.side_header(path) is not None:
        return
    try:
        with path.open("rb") as stream:
            if not stream.peek(1) and not alone:
                # After a rollover a file is empty until its first row.
                return
            first = b"\n" + stream.readline(_BEGINNING).removeprefix(b"\xef\xbb\xbf")
            previous = b""
            for block in itertools.chain([first], iter(lambda: stream.read(_BLOCK), b"")):
                if b"\n#Time" in previous + block:
                    return
                previous = block[-8:]
    except OSError as problem:
        raise BadInput(problem.strerror or str(problem), where=str(path)) from problem
    raise BadInput(
        "has no header of store_csv and there is no .HEADER file next to it: it has no rows",
        where=str(path),
        advice=expected,
    )


def _first_time(path: Path) -> float | None:
    """Return the epoch seconds of a file's first row; None if the beginning of the file does not contain it."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(_BEGINNING).split(b"\n")[:-1]
    except OSError:
        return None
    row = next(
        (line for line in lines if line.strip() and not line.removeprefix(b"\xef\xbb\xbf").startswith(b"#")), b""
    )
    whole = row.partition(b",")[0].partition(b".")[0]
    if not whole.isdigit() or len(whole) > 15:
        return None
    # With time_format=1 the first column is in milliseconds.
    return int(whole) / (1e3 if len(whole) > 11 else 1.0)
