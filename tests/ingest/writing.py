"""Feeds with known sums for the writer, and their sums in the tables."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flitwatch_db import connect
from flitwatch_domain.fabric import Fabric
from flitwatch_ingest.writer import Drain, Measures, WriterSettings
from flitwatch_stream.log import Log, Record

START_S = 1_795_000_000

QUANTITIES = ("INCOMING_FLIT_VC0", "INCOMING_FLIT_VC4", "ROWBUS_STALL_CNT")

NODES = 4


def drain_log(
    url: str,
    log_url: str,
    until: Mapping[tuple[str, int], int] | None = None,
    settings: WriterSettings | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
    limit_s: float | None = None,
) -> Measures:
    """Write records until the database is at `until`, then stop."""
    with Drain(url, log_url, settings) as drain:
        return drain.write(until, progress, limit_s)


def metrics(slot: int) -> list[str]:
    """What node `slot` of a router samples: two tile columns of the first row."""
    return [f"AR_RTR_0_{2 * slot + tile}_INQ_PRF_{quantity}" for tile in (0, 1) for quantity in QUANTITIES]


@dataclass
class Quarters:
    """Four nodes on each of `routers`, each with its own tiles; every second of every node is one JSON record.

    Attributes
    ----------
    sums : by router, (flits, stalls) of all seconds but the first
    seconds : how many seconds were made
    """

    fabric: Fabric
    routers: Sequence[int]
    seed: int = 0
    topic: str = "ldms.aries_rtr_mmr"
    second: int = START_S
    seconds: int = 0
    sums: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        homes = self.fabric.endpoints.router.tolist()
        nodes = {router: [e for e, home in enumerate(homes) if home == router] for router in self.routers}
        sets = [(router, slot) for router in self.routers for slot in range(NODES)]
        self.values = {one: [self.random.randrange(2**44) for _ in range(2 * len(QUANTITIES))] for one in sets}
        self.component = {(r, slot): int(self.fabric.endpoints.component_id[nodes[r][slot]]) for r, slot in sets}

    def tick(self) -> list[bytes]:
        """The next second's records."""
        records = []
        for (router, slot), values in self.values.items():
            if self.seconds:
                for index in range(len(values)):
                    step = self.random.randrange(1_000_000)
                    values[index] += step
                    self.sums[router][index % 3 == 2] += step
            pairs = "".join(f',"{name}":{value}' for name, value in zip(metrics(slot), values, strict=True))
            late = self.random.randrange(2_000)
            records.append(
                f'{{"timestamp":{self.second}.{late:06d},"component_id":{self.component[router, slot]},"job_id":0{pairs}}}'.encode()
            )
        self.second += 1
        self.seconds += 1
        return records

    def ticks(self, count: int) -> Iterator[bytes]:
        """Records of several seconds."""
        for _ in range(count):
            yield from self.tick()

    def expected(self) -> dict[int, tuple[int, int, int, int, int]]:
        """By router: seconds, samples, flits, stalls, and the flits of its ports."""
        rows = self.seconds - 1
        return {r: (rows, rows * NODES, flits, stalls, flits) for r, (flits, stalls) in sorted(self.sums.items())}


def append(log, topic: str, records: Iterable[bytes], spread: Sequence[int] = (0,), timed: bool = False) -> None:
    """Append records, one after the other over the partitions of `spread`.

    `timed`: the log has them as of the seconds that they were sampled in. Else all are of now, as if a minute of samples had come within one.
    """
    with log.producer() as producer:
        for number, record in enumerate(records):
            sampled_ms = int(record.partition(b":")[2].partition(b".")[0]) * 1000 if timed else None
            producer.append(topic, record, partition=spread[number % len(spread)], timestamp_ms=sampled_ms)
        producer.flush()


def stored(url: str) -> dict[int, tuple[int, int, int, int, int]]:
    """What the tables say, in the shape of `Quarters.expected`; minutes and hours must agree with the seconds."""
    with connect(url) as conn:
        # One view for all queries, also while a writer works.
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        seconds = conn.execute(
            "SELECT router, count(*), sum(samples), sum(rt_flits), sum(rt_stall_cycles) FROM router_1s WHERE samples > 0 GROUP BY router ORDER BY router"
        ).fetchall()
        for table in ("router_1m", "router_1h"):
            rolled = conn.execute(
                f"SELECT router, sum(samples), sum(rt_flits), sum(rt_stall_cycles) FROM {table} GROUP BY router ORDER BY router".encode()
            ).fetchall()
            assert rolled == [(r, n, f, s) for r, _, n, f, s in seconds], table
        ports = dict(conn.execute("SELECT router, sum(f) FROM port_10s, unnest(flits) AS f GROUP BY router").fetchall())
    return {r: (count, samples, int(f), int(s), int(ports.get(r, 0))) for r, count, samples, f, s in seconds}


def uneven_seconds(url: str, samples: int = NODES) -> list[tuple[int, float, int]]:
    """(router, second, samples) where these are not `samples`: what a wrong sum is looked for by."""
    with connect(url, autocommit=True) as conn:
        return conn.execute(
            "SELECT router, extract(epoch FROM ts)::float8, samples FROM router_1s WHERE samples <> %s ORDER BY ts, router",
            [samples],
        ).fetchall()


@dataclass(frozen=True)
class Kept:
    """What became of LDMS records; letters are (source, reason, raw)."""

    accepted: int
    duplicates: int
    letters: list[tuple[str, str, bytes]]


def kept(url: str) -> Kept:
    """Records by what became of them; those that no fabric knows stand in table observation, one row each."""
    with connect(url, autocommit=True) as conn:
        accepted = conn.execute("SELECT count(*) FROM observation").fetchone()
        duplicates = conn.execute("SELECT coalesce(sum(duplicates), 0) FROM ingest_minute").fetchone()
        letters = conn.execute(
            "SELECT source, reason, raw FROM dead_letter ORDER BY topic, partition, offset_"
        ).fetchall()
    assert accepted is not None
    assert duplicates is not None
    return Kept(int(accepted[0]), int(duplicates[0]), [(s, r, bytes(raw)) for s, r, raw in letters])


def quality(url: str) -> tuple[list, list]:
    """(gaps, dead letters)"""
    with connect(url, autocommit=True) as conn:
        gaps = conn.execute("SELECT device, reason, from_ts, to_ts, counts FROM gap").fetchall()
        letters = conn.execute("SELECT topic, offset_, reason FROM dead_letter").fetchall()
    return gaps, letters


# Records of a log, in the order of their topics.


def read_all(log: Log, group: str = "reader") -> list[Record]:
    """Everything in the log."""
    names = [name for name in log.topics() if name.startswith(("ldms.", "flitwatch."))]
    ends = {name: sum(log.end_offsets(name)) for name in names}
    out: list[Record] = []
    with log.consumer(f"{group}-{time.time_ns()}", topics=names) as consumer:
        while len(out) < sum(ends.values()):
            out.extend(consumer.poll(timeout_s=1.0))
    return out
