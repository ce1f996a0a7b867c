"""Counters and topology of Ethernet switches, polled several at a time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import orjson

from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers.lldp import Switch, fabric_of
from flitwatch_domain.secret_file import secret_of
from flitwatch_ingest.collectors.answers import BadAnswer
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.rounds import MOST_NAMED, ask_again, format_names
from flitwatch_ingest.sources.ethernet import Reading, Tally, records_of
from flitwatch_ingest.sources.rejection import Rejection

#: Limit of counters with a separate dead letter.
MOST_LETTERS = 1_000
#: Changes of neighbours come in bursts: the topology is read again after this interval at the earliest.
_SETTLE_S = 30.0

Answer = TypeVar("Answer")


class Source(Protocol):
    """A switch that can be polled."""

    @property
    def place(self) -> str:
        """Return the address of the switch, without a password."""

    def describe(self) -> Switch:
        """Return its name, ports and neighbours; raise Unavailable or BadInput."""

    def count(self) -> list[Reading]:
        """Return its counters: one reading of a polled switch, or the readings that a streaming switch has sent. Raise Unavailable or BadInput."""

    @property
    def moved(self) -> bool:
        """Return whether the switch reported a change of its neighbours since it was described."""

    def close(self) -> None:
        """Close the connection."""


class PolledSwitch:
    """A source that sends data only when polled."""

    moved = False

    def close(self) -> None:
        """Do nothing: no connection is kept between polls."""


def password_of(path: Path) -> str:
    """Return the password from a file of one line. Raise BadInput if the file cannot be read, is readable by others, or contains no password."""
    return secret_of(path, "password")


@dataclass
class Round:
    """Result of reading all switches once: places that returned nothing, by reason, and interrupted streams, by place."""

    switches: int = 0
    ports: int = 0
    records: int = 0
    tally: Tally = field(default_factory=Tally)
    bad: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)
    breaks: dict[str, int] = field(default_factory=dict)
    error: FlitwatchError | None = None

    def fail(self, place: str, problem: FlitwatchError) -> None:
        """Record a switch that returned nothing."""
        self.failed.setdefault(problem.message.removeprefix(f"{place}: "), []).append(place)
        self.error = self.error or problem


class EthernetCollector:
    """Collector that polls switches and publishes their counters.

    Parameters
    ----------
    protocol : str
        Kind of source named in the records: sonic or gnmi.
    name : str
        The fabric's name.
    checkpoint : Checkpoint
        Stores which counters already have a dead letter.
    parallel : int
        Number of switches to ask at the same time.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        publisher: Publisher,
        protocol: str,
        name: str,
        checkpoint: Checkpoint,
        parallel: int = 16,
    ) -> None:
        self._sources = sources
        self._publisher = publisher
        self._source = f"{protocol}:{name}"
        self._name = name
        self._checkpoint = checkpoint
        self._parallel = max(1, min(parallel, len(sources)))
        #: Last description of each switch: a temporary outage does not change the topology.
        self._described: dict[str, Switch] = {}

    def discover(self, found: Round | None = None) -> Fabric:
        """Return the current topology. Raise Unavailable or BadInput if no switch answers, or the answers do not form a fabric."""
        round_ = found if found is not None else Round()
        for source, answer in self._ask_all(lambda one: one.describe()):
            if isinstance(answer, Switch):
                self._described[source.place] = answer
            else:
                self._record_failure(round_, source, answer)
        if not self._described and round_.error is not None:
            raise round_.error
        return fabric_of(list(self._described.values()), self._source, self._name)

    def read(self, found: Round | None = None) -> Round:
        """Read all counters once and publish them. Switches that do not answer are counted by reason."""
        found = found if found is not None else Round()
        for source, answer in self._ask_all(lambda one: one.count()):
            self._publisher.heartbeat.beat()
            if not isinstance(answer, list):
                self._record_failure(found, source, answer)
                continue
            switch = self._name_of(source)
            if isinstance(switch, FlitwatchError):
                self._record_failure(found, source, switch)
                continue
            found.switches += 1
            found.ports += len({port for reading in answer for port in reading.ports})
            for reading in answer:
                self._publish_reading(source.place, switch, reading, found)
        for name, first in found.tally.first.items():
            self._publish_dead_letter(f"counter {name}", "the catalogue does not know this counter", name, first)
        self._flush_and_save()
        return found

    def run(
        self,
        stop: threading.Event,
        interval_s: float,
        discovery_s: float,
        say: Callable[[str], None],
        store: Callable[[Fabric], None],
    ) -> None:
        """Read counters every `interval_s` and the topology every `discovery_s` until `stop` is set. Failed switches are retried."""
        said, looked_s = set[str](), -math.inf

        def look(due: bool) -> bool:
            nonlocal said, looked_s
            outcome, discovered, begun = Round(), False, time.monotonic()
            moved = any(source.moved for source in self._sources) and begun >= looked_s + _SETTLE_S
            if due or moved:
                try:
                    store(self.discover(outcome))
                    discovered, looked_s = True, begun
                except (BadInput, Unavailable) as problem:
                    outcome.failed.setdefault(f"waiting for the topology: {problem.message}", [])
            lines = set(warnings_of(self.read(outcome)))
            for text in sorted(lines - said):
                say(text)
            said = lines
            return discovered

        ask_again(stop, self._publisher.heartbeat, interval_s, look, discovery_s)

    def _publish_reading(self, place: str, switch: str, reading: Reading, found: Round) -> None:
        for topic, port, record in records_of(reading, switch, found.tally):
            self._publisher.publish(topic, orjson.dumps(record), self._source, key=f"{switch} {port}")
            found.records += 1
        for name, value in reading.bad.items():
            found.bad += 1
            self._publish_dead_letter(f"{place} {name}", "its value is not a count", name, value)
        for reason, body in reading.broken:
            found.bad += 1
            self._publish_dead_letter(place, reason, place, body)
        if reading.breaks:
            found.breaks[place] = found.breaks.get(place, 0) + reading.breaks

    def _ask_all(self, question: Callable[[Source], Answer]) -> list[tuple[Source, Answer | FlitwatchError]]:
        def one(source: Source) -> tuple[Source, Answer | FlitwatchError]:
            try:
                return source, question(source)
            except (BadInput, Unavailable) as problem:
                return source, problem

        with ThreadPoolExecutor(self._parallel, "ethernet") as pool:
            return list(pool.map(one, self._sources))

    def _name_of(self, source: Source) -> str | FlitwatchError:
        """Return the name of the switch in the fabric."""
        description = self._described.get(source.place)
        if description is None:
            try:
                description = self._described[source.place] = source.describe()
            except (BadInput, Unavailable) as problem:
                return problem
        return description.name

    def _record_failure(self, found: Round, source: Source, problem: object) -> None:
        assert isinstance(problem, FlitwatchError)
        if source.place not in {place for places in found.failed.values() for place in places}:
            found.fail(source.place, problem)
        if isinstance(problem, BadAnswer):
            self._publish_dead_letter(str(problem.where), problem.reason, source.place, problem.body)

    def _publish_dead_letter(self, where: str, reason: str, name: str, value: object) -> None:
        """Publish a dead letter for the first occurrence of this place and reason."""
        recorded = self._checkpoint.value.setdefault("named", [])
        key = f"{where}: {reason}"[:500]
        if key in recorded or len(recorded) >= MOST_LETTERS:
            return
        raw = value if isinstance(value, bytes) else orjson.dumps({"name": name, "value": value})
        self._publisher.reject(Rejection(where[:500], reason, raw), self._source)
        recorded.append(key)

    def _flush_and_save(self) -> None:
        """Wait until all records are durable, then save which counters have a dead letter."""
        self._publisher.flush()
        self._checkpoint.save()


def warnings_of(found: Round) -> list[str]:
    """Return warnings for the operator about a reading."""
    lines = []
    for why, places in sorted(found.failed.items()):
        lines.append(f"{why} ({format_names(places)})" if places else why)
    for place, times in sorted(found.breaks.items())[:MOST_NAMED]:
        lines.append(f"{place}: stopped sending {times} times, and was asked again")
    if found.tally.unknown:
        names = ", ".join(sorted(found.tally.unknown)[:MOST_NAMED])
        lines.append(f"{len(found.tally.unknown)} counters that the catalogue does not know: {names}")
    return lines
