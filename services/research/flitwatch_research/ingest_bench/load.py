"""The load, in a separate process: seconds of a machine's records, each sent at its time."""

from __future__ import annotations

import io
import itertools
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypedDict, cast

from flitwatch_research.ingest_bench.pool import Format, Pool
from flitwatch_research.ingest_bench.sets import MetricSet

#: Number of parts in which a second's records are sent, because nodes are not read simultaneously.
SLICES = 20
FLUSH_S = 60.0


@dataclass(frozen=True)
class Order:
    """Load to send.

    Attributes
    ----------
    log_url : str
    sets : list of MetricSet
    form : {"avro", "json"}
    seconds : int
    schema_ids : list of int
        Schema id of each set.
    """

    log_url: str
    sets: list[MetricSet]
    form: Format
    seconds: int
    schema_ids: list[int]

    def pools(self, only: int | None = None) -> list[Pool]:
        """Return the records, which are equal in each call."""
        numbers = range(len(self.sets)) if only is None else [only]
        return [Pool(self.sets[i], self.form, self.seconds, self.schema_ids[i], seed=i) for i in numbers]


@contextmanager
def start_load(order: Order) -> Iterator[Connection]:
    """Start the process. It sends a ready message, waits for the epoch second of the start, and sends its report at the end."""
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_run_load, args=(order, there), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.terminate()
        process.join()
        here.close()


def _run_load(order: Order, pipe: Connection) -> None:
    pools = order.pools()
    from flitwatch_stream.backends import open_log

    with open_log(order.log_url) as log, log.producer("flitwatch-bench") as producer:
        pipe.send({"ready": True, "values": sum(pool.values for pool in pools)})
        first_s = int(pipe.recv())
        begin, late_s, records, size = time.process_time(), 0.0, 0, 0
        for number in range(order.seconds):
            for due, batch in pace_records(pools, first_s, number):
                late_s = max(late_s, time.time() - due)
                for topic, record in batch:
                    # The time at which it was due, so that a delayed load does not hide the delay.
                    producer.append(topic, record, timestamp_ms=int(due * 1000))
                    size += len(record)
                records += len(batch)
                # Waiting here for a full buffer would count as the writer's lag.
                producer.flush(FLUSH_S)
        pipe.send(
            {
                "records": records,
                "bytes": size,
                "cpu_s": round(time.process_time() - begin, 2),
                "late_max_s": round(late_s, 3),
                "ended_at": time.time(),
            }
        )
        pipe.recv()


def pace_records(pools: list[Pool], first_s: int, number: int) -> Iterator[tuple[float, list[tuple[str, bytes]]]]:
    """Yield the records of one second in parts of all pools when due: (epoch seconds when due, topics and records)."""
    parts = [_split_records(pool.second(number, first_s + number)) for pool in pools]
    for part in range(SLICES):
        due = first_s + number + part / SLICES
        time.sleep(max(0.0, due - time.time()))
        yield (
            due,
            [(pool.set.topic, record) for pool, slices in zip(pools, parts, strict=True) for record in slices[part]],
        )


def _split_records(records: list[bytes]) -> list[list[bytes]]:
    bounds = [len(records) * part // SLICES for part in range(SLICES + 1)]
    return [records[a:b] for a, b in itertools.pairwise(bounds)]


class LoadStart(TypedDict):
    """Message that the process has encoded its records, with `values` per second."""

    ready: bool
    values: int


class LoadReport(TypedDict):
    """Number of sent records, maximum delay, and end in epoch seconds."""

    records: int
    bytes: int
    cpu_s: float
    late_max_s: float
    ended_at: float


def receive_start(pipe: Connection, timeout_s: float) -> LoadStart:
    """Return the first message of the process.

    Raises
    ------
    Unavailable
        The process sends nothing, or has ended.
    """
    return cast(LoadStart, _receive_message(pipe, timeout_s))


def receive_report(pipe: Connection, timeout_s: float) -> LoadReport:
    """Return the process's report, once it has sent all records. Raises the errors of `receive_start`."""
    return cast(LoadReport, _receive_message(pipe, timeout_s))


def _receive_message(pipe: Connection, timeout_s: float) -> Any:
    from flitwatch_domain.errors import Unavailable

    try:
        if pipe.poll(timeout_s):
            return pipe.recv()
    except EOFError:
        raise Unavailable("the load ended too early") from None
    raise Unavailable(f"the load said nothing for {timeout_s:.0f} s")


FOR_S = 2.0


class Baseline(TypedDict):
    """A library's name, and its decoded values per second on one core."""

    name: str
    values_per_s_per_core: int


def measure_baseline(order: Order) -> Baseline:
    """Decode records of the load with fastavro or orjson for two seconds of CPU time."""
    pool = order.pools(only=0)[0]
    records = pool.second(0, int(time.time()))[:500]
    if order.form == "avro":
        import fastavro

        name = "fastavro.schemaless_reader"
        schema = fastavro.parse_schema(json.loads(pool.set.avro_schema()))

        def decode(record: bytes) -> Any:
            return fastavro.schemaless_reader(io.BytesIO(record[5:]), schema, None)
    else:
        import orjson

        name = "orjson.loads"

        def decode(record: bytes) -> Any:
            return orjson.loads(record)

    done, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < FOR_S:
        for record in records:
            decode(record)
        done += len(records)
    return {"name": name, "values_per_s_per_core": round(done * len(pool.set.metrics) / spent)}
