"""Counters and topology of Ethernet switches that are asked one by one, several at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import orjson

from flitwatch_domain.errors import BadInput, FlitwatchError, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.importers.lldp import Switch, fabric_of
from flitwatch_ingest.collectors.checkpoint import Checkpoint
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_domain.secret_file import secret_of
from flitwatch_ingest.sources.ethernet import Reading, Tally, records_of
from flitwatch_ingest.sources.rejection import Rejection

#: Counters that a dead letter of their own names, in all.
MOST_NAMED = 1_000
_NAMED_SWITCHES = 5


class BadAnswer(BadInput):
    """What a switch, or a dump of it, says cannot be read.

    Attributes
    ----------
    body : bytes
    """

    body: bytes = b""


class Source(Protocol):
    """A switch that can be asked."""

    @property
    def place(self) -> str:
        """Where it is asked, without a password."""

    def describe(self) -> Switch:
        """Its name, ports and neighbours; raises Unavailable or BadInput."""

    def count(self) -> Reading:
        """Its counters; raises Unavailable or BadInput."""


def password_of(path: Path) -> str:
    """The password that a file holds in one line.

    Raises
    ------
    BadInput
        It cannot be read, others may read it, or it holds none.
    """
    return secret_of(path, "password")


@dataclass
class Round:
    """What one reading of all switches found: by reason, the places of those that gave nothing."""

    switches: int = 0
    ports: int = 0
    records: int = 0
    tally: Tally = field(default_factory=Tally)
    bad: int = 0
    failed: dict[str, list[str]] = field(default_factory=dict)
    error: FlitwatchError | None = None

    def fail(self, place: str, problem: FlitwatchError) -> None:
        """Keep a switch that gave nothing."""
        self.failed.setdefault(problem.message.removeprefix(f"{place}: "), []).append(place)
        self.error = self.error or problem


class EthernetCollector:
    """Asks switches and publishes what they count.

    Parameters
    ----------
    sources : sequence of Source
    publisher : Publisher
    door : str
        What the records say that they come from: sonic or gnmi.
    name : str
        The fabric's name.
    checkpoint : Checkpoint
        Remembers which counters have their dead letter.
    parallel : int
        Switches that are asked at a time.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        publisher: Publisher,
        door: str,
        name: str,
        checkpoint: Checkpoint,
        parallel: int = 16,
    ) -> None:
        self._sources = sources
        self._publisher = publisher
        self._source = f"{door}:{name}"
        self._name = name
        self._checkpoint = checkpoint
        self._parallel = max(1, min(parallel, len(sources)))
        #: What each said last: one that is away for a while does not change the topology.
        self._described: dict[str, Switch] = {}

    def discover(self, found: Round | None = None) -> Fabric:
        """The topology as it is now.

        Raises
        ------
        Unavailable, BadInput
            No switch answers, or what they say makes no fabric.
        """
        round_ = found if found is not None else Round()
        for source, answer in self._ask(lambda one: one.describe()):
            if isinstance(answer, Switch):
                self._described[source.place] = answer
            else:
                self._keep(round_, source, answer)
        if not self._described and round_.error is not None:
            raise round_.error
        return fabric_of(list(self._described.values()), self._source, self._name)

    def read(self, found: Round | None = None) -> Round:
        """Read all counters once and publish them; a switch that does not answer is counted by reason."""
        found = found if found is not None else Round()
        for source, answer in self._ask(lambda one: one.count()):
            self._publisher.heartbeat.beat()
            if not isinstance(answer, Reading):
                self._keep(found, source, answer)
                continue
            switch = self._name_of(source)
            if isinstance(switch, FlitwatchError):
                self._keep(found, source, switch)
                continue
            found.switches += 1
            found.ports += len(answer.ports)
            for topic, port, record in records_of(answer, switch, found.tally):
                self._publisher.publish(topic, orjson.dumps(record), self._source, key=f"{switch} {port}")
                found.records += 1
            for name, value in answer.bad.items():
                found.bad += 1
                self._reject(f"{source.place} {name}", "its value is no count", name, value)
        for name, first in found.tally.first.items():
            self._reject(f"counter {name}", "the catalogue does not know this counter", name, first)
        self._settle()
        return found

    def run(
        self,
        stop: threading.Event,
        interval_s: float,
        discovery_s: float,
        say: Callable[[str], None],
        store: Callable[[Fabric], None],
    ) -> None:
        """Read every `interval_s`, and the topology anew every `discovery_s`, until `stop` is set; what does not answer is asked again."""
        next_discovery, said = 0.0, set[str]()
        while not stop.is_set():
            begun = time.monotonic()
            found = Round()
            if begun >= next_discovery:
                try:
                    store(self.discover(found))
                    next_discovery = begun + discovery_s
                except (BadInput, Unavailable) as problem:
                    found.failed.setdefault(f"waiting for the topology: {problem.message}", [])
            lines = set(warnings_of(self.read(found)))
            for text in sorted(lines - said):
                say(text)
            said = lines
            self._publisher.heartbeat.wait(stop, max(0.0, interval_s - (time.monotonic() - begun)))

    def _ask(
        self, question: Callable[[Source], Switch | Reading]
    ) -> list[tuple[Source, Switch | Reading | FlitwatchError]]:
        def one(source: Source) -> tuple[Source, Switch | Reading | FlitwatchError]:
            try:
                return source, question(source)
            except (BadInput, Unavailable) as problem:
                return source, problem

        with ThreadPoolExecutor(self._parallel, "ethernet") as pool:
            return list(pool.map(one, self._sources))

    def _name_of(self, source: Source) -> str | FlitwatchError:
        """What the switch is called in the fabric."""
        known = self._described.get(source.place)
        if known is None:
            try:
                known = self._described[source.place] = source.describe()
            except (BadInput, Unavailable) as problem:
                return problem
        return known.name

    def _keep(self, found: Round, source: Source, problem: Switch | Reading | FlitwatchError) -> None:
        assert isinstance(problem, FlitwatchError)
        if source.place not in {place for places in found.failed.values() for place in places}:
            found.fail(source.place, problem)
        if isinstance(problem, BadAnswer):
            self._reject(str(problem.where), problem.reason, source.place, problem.body)

    def _reject(self, where: str, reason: str, name: str, value: object) -> None:
        """A dead letter, the first of this place and reason."""
        named = self._checkpoint.value.setdefault("named", [])
        key = f"{where}: {reason}"[:500]
        if key in named or len(named) >= MOST_NAMED:
            return
        raw = value if isinstance(value, bytes) else orjson.dumps({"name": name, "value": value})
        self._publisher.reject(Rejection(where[:500], reason, raw), self._source)
        named.append(key)

    def _settle(self) -> None:
        """Return when all is durable, and what has a dead letter is remembered."""
        self._publisher.flush()
        self._checkpoint.save()


def warnings_of(found: Round) -> list[str]:
    """What a person should know of a reading."""
    lines = []
    for why, places in sorted(found.failed.items()):
        others = f" and {len(places) - _NAMED_SWITCHES} more" if len(places) > _NAMED_SWITCHES else ""
        at = f" ({', '.join(sorted(places)[:_NAMED_SWITCHES])}{others})" if places else ""
        lines.append(f"{why}{at}")
    if found.tally.unknown:
        names = ", ".join(sorted(found.tally.unknown)[:_NAMED_SWITCHES])
        lines.append(f"{len(found.tally.unknown)} counters that the catalogue does not know: {names}")
    return lines
