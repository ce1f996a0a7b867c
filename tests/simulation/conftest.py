"""Fixtures of the simulation tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from flitwatch_stream.log import Producer
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.run import TwinRun
from flitwatch_twin.sinks import LogSink
from flitwatch_twin.spec import load_spec

Emitted = tuple[list[tuple[str, bytes | None, bytes, tuple]], dict[str, Any]]
SECONDS = 20


class Kept(Producer):
    """Keeps what is appended."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes | None, bytes, tuple]] = []

    def append(self, topic, value, key=None, headers=(), partition=None, timestamp_ms=None) -> None:  # type: ignore[no-untyped-def]
        if topic.startswith("ldms."):  # a minute of these is large: the time, and a digest of what follows it
            stamp, rest = value.split(b",", 1)
            value = stamp + b"," + hashlib.sha256(rest).digest()
        self.records.append((topic, key, value, tuple(headers)))

    def flush(self, timeout_s: float = 30.0) -> None:
        pass

    def close(self) -> None:
        pass


@lru_cache(maxsize=4)
def _emitted(seed: int, epoch_s: int, turn: int) -> Emitted:
    producer = Kept()
    totals = TwinRun(Cluster(load_spec("small"), seed), [LogSink(producer)], epoch_s).run(SECONDS, 0)
    return producer.records, totals


@pytest.fixture(scope="session")
def twin_records() -> Callable[..., Emitted]:
    """(topic, key, value, headers) of everything that scenario `small` publishes in a minute, and the totals; `turn` simulates it anew."""

    def records(seed: int = 5, epoch_s: int = 1_800_000_000, turn: int = 0) -> Emitted:
        return _emitted(seed, epoch_s, turn)

    return records
