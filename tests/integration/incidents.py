"""Incidents drawn from the cluster twin, written into a real database as its producers' records would be, and explained.

One machine, many days: on each an instrumented run begins, and on some of them a planted job starts beside it. Only the scoring here knows which.
`python -m benchmarks.explanation` (in tests/) runs many and prints figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.explanation import explain
from flitwatch_db.runs import store as runs
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LINK_CLASS_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.jobs import Job
from flitwatch_domain.runs import Run, RunStep
from flitwatch_twin.accounting import Accounting
from flitwatch_twin.cluster import Cluster, RunningJob
from flitwatch_twin.ncl_files import run_header
from flitwatch_twin.runs import InstrumentedRun
from flitwatch_twin.spec import TwinSpec

EPOCH_S = 1_790_000_000 // 3600 * 3600
DAY_S = 7200
#: A history without incidents would flatter: the planted user comes there too.
HISTORY_S = 3400
#: How often routers and network cards are sampled; a row stands at the sample that ends it.
SAMPLED_S = 10
APPLICATIONS = ("amg-128", "milc-128")


@dataclass(frozen=True)
class Draw:
    """One day: what is planted, if anything. Times are seconds of that day."""

    day: int
    application: str
    planted: dict[str, Any] | None

    @property
    def epoch_s(self) -> int:
        return EPOCH_S + self.day * DAY_S

    def cluster(self, seed: int, muted: frozenset[str] = frozenset()) -> Cluster:
        """The machine on that day."""
        entries = [{"application": self.application, "first_s": 0.0, "every_s": 100_000.0}]
        return Cluster(spec(self.planted, entries), seed, muted, first_job=10_000 * (1 + self.day), day=self.day)


def draws(seed: int, count: int, quiet: bool) -> Iterator[Draw]:
    """Days of a machine, with a planted job of drawn mechanism, size, rate and time, or quiet."""
    rng = np.random.default_rng([seed, int(quiet)])
    for number in range(count):
        planted = {
            "mechanism": "bandwidth" if rng.random() < 0.75 else "incast",
            "nodes": int(rng.integers(160, 321)),
            "rate": float(rng.uniform(1.0, 1.4)),
            "first_s": float(rng.integers(70, 150)),
            "lasts_s": float(rng.integers(150, 320)),
            "every_s": 100_000.0,
        }
        yield Draw(1 + number + (500 if quiet else 0), APPLICATIONS[number % 2], None if quiet else planted)


def spec(planted: dict[str, Any] | None, instrumented: list[dict[str, Any]]) -> TwinSpec:
    """The demo's machine."""
    return TwinSpec.model_validate(
        {
            "name": "drawn",
            "fabric": {"groups": 4},
            "users": {"load": 0.6, "most_nodes": 192},
            "instrumented": instrumented,
            "interference": [planted] if planted else [],
        }
    )


class Feed:
    """Advances a cluster and keeps what its producers would tell; `flush` writes it."""

    def __init__(
        self, conn: Any, cluster: Cluster, epoch_s: int, fabric_id: int, counted: bool = True, nics: bool = True
    ) -> None:
        self.conn, self.cluster, self.epoch_s, self.fabric_id = conn, cluster, epoch_s, fabric_id
        self.counted, self.nics = counted, nics
        self._accounting = Accounting(cluster, epoch_s)
        self._jobs: list[Job] = []
        self._runs: list[InstrumentedRun] = []
        self._steps: list[tuple[InstrumentedRun, RunStep]] = []
        self._ids: dict[InstrumentedRun, int] = {}
        self._routers: list[tuple[int, NDArray[np.float64]]] = []
        self._ports: list[tuple[int, NDArray[np.float64], NDArray[np.float64]]] = []
        self._endpoints: list[tuple[int, NDArray[np.float64]]] = []
        self._network = cluster.counters.network[:2].copy()
        self._sent = cluster.counters.nic[3].copy()
        self.finished: list[InstrumentedRun] = []
        self._tell(cluster.warm, False)

    def _tell(self, told: list[RunningJob], ended: bool) -> None:
        for job in told:
            record = self._accounting.record(job, self.cluster.time_s - 1 if ended else None)
            self._jobs.append(
                Job(
                    cluster="drawn",
                    job_id=record["job_id"],
                    state=record["state"],
                    user=record["user"],
                    account=record["account"],
                    name=record["name"],
                    submit_s=record["submit"],
                    start_s=record["start"],
                    end_s=record["end"],
                    nodes=record["nodes"],
                    node_list=record["node_list"],
                    simulated=True,
                )
            )
            if job.run is not None and not ended:
                self._runs.append(job.run)

    def march(self, seconds: int) -> None:
        """Advance so many seconds."""
        for _ in range(seconds):
            second = self.cluster.advance()
            self._tell(second.ended, True)
            self._tell(second.started, False)
            self._steps += [(run, RunStep(step.step, step.time_ns)) for run, step in second.steps]
            self.finished += second.finished
            if self.counted:
                self._count()

    def _count(self) -> None:
        held, now = self.cluster.counters, self.cluster.time_s
        if now % SAMPLED_S:
            return
        moved = held.network[:2] - self._network[:2]
        self._network = held.network[:2].copy()
        self._routers.append((self.epoch_s + now - 1, self._by_class(moved)))
        self._ports.append((self.epoch_s + now - SAMPLED_S, moved[0], moved[1]))
        if self.nics:
            self._endpoints.append((self.epoch_s + now - 1, held.nic[3] - self._sent))
            self._sent = held.nic[3].copy()

    def _by_class(self, moved: NDArray[np.float64]) -> NDArray[np.float64]:
        """Flits and stalls of each router, (columns, R): of all tiles, then of each link class."""
        links = self.cluster.fabric.counted_links()[:, :40]
        kinds = self.cluster.fabric.of_class
        each = [np.where((links >= 0) & kinds(name)[links], moved, 0.0).sum(axis=2) for name in LINK_CLASS_COLUMNS]
        return np.concatenate([moved.sum(axis=2), *each])

    def close(self) -> None:
        """The day is over, and what still ran with it."""
        self._tell(list(self.cluster.running.values()), True)
        self.flush()

    def flush(self) -> None:
        """Write what came since the last time."""
        conn = self.conn
        jobs.upsert(conn, self._jobs, self.fabric_id)
        for run in self._runs:
            job = self.cluster.job_id(run.allocation)
            header = run_header(run, job, self.epoch_s + int(run.start_s))
            self._ids[run] = runs.upsert_run(
                conn,
                Run(
                    run_key=f"{run.key}-{self.epoch_s}",
                    exe=header["exe"],
                    job_id=job,
                    start_s=header["start"],
                    ranks=tuple(run.ranks),
                    nodes=tuple(run.nodes),
                    simulated=True,
                ),
            )
        for run, step in self._steps:
            runs.upsert_steps(conn, self._ids[run], [step])
        self._flush_counters()
        self._jobs, self._runs, self._steps = [], [], []
        conn.commit()

    def _flush_counters(self) -> None:
        if self._routers:
            kept = ("rt_flits", "rt_stall_cycles", *(column for pair in LINK_CLASS_COLUMNS.values() for column in pair))
            columns = {name: np.concatenate([moved[at] for _, moved in self._routers]) for at, name in enumerate(kept)}
            counters.write_batch(
                self.conn, counters.Batch(routers=self._rows(self._routers, ROUTER_COLUMNS, columns, 48.0))
            )
            there = self.cluster.fabric.counted_links()[:, :40] >= 0
            by_port = [np.concatenate([np.where(there, one[at], np.nan) for one in self._ports]) for at in (1, 2)]
            held = self._rows([(ts, moved) for ts, moved, _ in self._ports], (), {}, 1.0)
            counters.write_batch(
                self.conn,
                counters.Batch(
                    ports=counters.PortRows(held.fabric_id, held.device, held.ts_s, 40 * held.seconds, *by_port)
                ),
            )
        if self._endpoints:
            sent = {"tx_bytes": np.concatenate([one[1] for one in self._endpoints])}
            counters.write_batch(
                self.conn, counters.Batch(endpoints=self._rows(self._endpoints, ENDPOINT_COLUMNS, sent, 1.0))
            )
        self._routers, self._ports, self._endpoints = [], [], []

    def _rows(
        self,
        taken: list[tuple[int, NDArray[np.float64]]],
        names: tuple[str, ...],
        columns: dict[str, NDArray[np.float64]],
        rate: float,
    ) -> counters.Rows:
        """Rows of every device at every sample; `rate`: counted seconds a second."""
        size = len(next(iter(columns.values()))) // len(taken) if columns else len(taken[0][1])
        n = size * len(taken)
        values = np.full((n, len(names)), np.nan)
        for name, column in columns.items():
            values[:, names.index(name)] = column
        return counters.Rows(
            np.full(n, self.fabric_id, np.int32),
            np.tile(np.arange(size, dtype=np.int32), len(taken)),
            np.repeat([ts for ts, _ in taken], size),
            np.ones(n, np.int32),
            np.full(n, rate * SAMPLED_S),
            values,
        )


#: A planted job is an incident where it makes so many steps so many times as long as they are without it.
FELT_STEPS, FELT = 3, 1.15


def is_felt(draw: Draw, seed: int) -> bool:
    """Whether the planted job matters to the run, by counterfactual: the same day with its user muted. For scoring alone."""
    return felt_s(draw, seed) is not None


def felt_s(draw: Draw, seed: int) -> float | None:
    """Second of the day from which on the planted job had made `FELT_STEPS` steps `FELT` times as long; None where it never did.

    Before that there is nothing that an answer could explain, so the question "while it lasts" is not asked earlier.
    """
    return None if draw.planted is None else _felt_s(draw.day, draw.application, tuple(draw.planted.items()), seed)


@cache
def _felt_s(day: int, application: str, planted: tuple[tuple[str, Any], ...], seed: int) -> float | None:
    draw = Draw(day, application, dict(planted))
    (with_it, ended_s), (without, _) = (_steps(draw, seed, muted) for muted in (False, True))
    size = min(len(with_it), len(without))
    felt = np.flatnonzero(with_it[:size] >= FELT * without[:size])
    return float(ended_s[felt[FELT_STEPS - 1]]) if len(felt) >= FELT_STEPS else None


def _steps(draw: Draw, seed: int, muted: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nanoseconds of each step, and the second of the day in which it ended."""
    cluster = draw.cluster(seed)
    if muted:
        cluster = draw.cluster(seed, frozenset(planted_users(cluster)))
    taken: list[float] = []
    ended_s: list[float] = []
    while cluster.time_s < 1500:
        second = cluster.advance()
        taken += [float(step.time_ns.max()) for _, step in second.steps]
        ended_s += [float(second.time_s)] * len(second.steps)
        if second.finished:
            break
    return np.array(taken), np.array(ended_s)


@dataclass(frozen=True)
class Minute:
    """A minute of a day, which ends at `at_s`: (flits, stall cycles) of each link class, how full the fullest link was, and for how many seconds the planted job ran."""

    at_s: float
    by_class: dict[str, tuple[float, float]]
    use: float
    planted_s: int


def by_minute(draw: Draw, seed: int, seconds: int = 1500) -> list[Minute]:
    """Whole minutes of a day, without a database."""
    cluster = draw.cluster(seed)
    names, links = planted_users(cluster), cluster.fabric.counted_links()[:, :40]
    there = {name: (links >= 0) & cluster.fabric.of_class(name)[links] for name in LINK_CLASS_COLUMNS}
    told, last = [], cluster.counters.network[:2].copy()
    while cluster.time_s < seconds:
        use, planted_s = np.zeros(len(cluster.fabric.links)), 0
        for _ in range(60):
            use += cluster.advance().state.link_utilisation / 60
            planted_s += any(job.user in names for job in cluster.running.values())
        moved, last = cluster.counters.network[:2] - last, cluster.counters.network[:2].copy()
        sums = {name: (float(moved[0][mask].sum()), float(moved[1][mask].sum())) for name, mask in there.items()}
        told.append(Minute(float(cluster.time_s), sums, float(use.max()), planted_s))
    return told


def planted_users(cluster: Cluster) -> set[str]:
    """Names of the planted users."""
    planted = {entry.mechanism for entry in cluster.spec.interference}
    return {name for name, role in zip(cluster.users.names, cluster.roles, strict=True) if str(role) in planted}


@dataclass(frozen=True)
class Told:
    """An answer, and what was true: the planted job's id (None: nothing was planted) and how long the run took against alone."""

    draw: Draw
    when: str
    answer: dict[str, Any]
    planted: str | None
    planted_start_s: float | None
    at_s: float

    @property
    def right(self) -> bool:
        return self.answer["named"] == self.planted


class World:
    """A machine in a database, with a history of runs without counters."""

    def __init__(self, url: str, seed: int, nics: bool = True) -> None:
        self.url, self.seed, self.nics = url, seed, nics
        entries = [
            {"application": name, "first_s": 20.0 * at, "every_s": 340.0 + 60 * at}
            for at, name in enumerate(APPLICATIONS)
        ]
        planted = {
            "mechanism": "bandwidth",
            "nodes": 224,
            "rate": 1.2,
            "first_s": 700.0,
            "lasts_s": 300.0,
            "every_s": 1000.0,
        }
        cluster = Cluster(spec(planted, entries), seed, first_job=1000, day=1000)
        with connect(url, role="writer") as conn:
            self.fabric_id = fabrics.save(conn, cluster.fabric)
            feed = Feed(conn, cluster, EPOCH_S - HISTORY_S, self.fabric_id, counted=False)
            feed.march(HISTORY_S)
            feed.close()

    def day(self, draw: Draw) -> list[Told]:
        """Live through one day; explain its run while the incident lasts, and when the run is over."""
        cluster = draw.cluster(self.seed)
        told = []
        with connect(self.url, role="writer") as conn:
            feed = Feed(conn, cluster, draw.epoch_s, self.fabric_id, nics=self.nics)
            felt = felt_s(draw, self.seed)
            feed.march(
                200 if draw.planted is None else int(max(draw.planted["first_s"] + 100, (felt or 0) + SAMPLED_S))
            )
            feed.flush()
            job = next(job for job in cluster.running.values() if job.run is not None)
            told.append(self._told(conn, feed, draw, job.run, "live"))
            while not feed.finished and cluster.time_s < 1500:
                feed.march(20)
            feed.march(5)
            feed.flush()
            told.append(self._told(conn, feed, draw, job.run, "after"))
            feed.close()
        return told

    def _told(self, conn: Any, feed: Feed, draw: Draw, run: Any, when: str) -> Told:
        at_s = float(draw.epoch_s + feed.cluster.time_s)
        answer = explain(conn, feed.cluster.job_id(run.allocation), "drawn", at_s)
        conn.rollback()
        planted, start = None, None
        if draw.planted is not None:
            names = planted_users(feed.cluster)
            found = conn.execute(
                "SELECT job_id, extract(epoch FROM start_ts)::float8 FROM job WHERE user_name = ANY(%s) AND start_ts >= to_timestamp(%s)"
                " AND start_ts < to_timestamp(%s)",
                [list(names), draw.epoch_s, draw.epoch_s + 1500],
            ).fetchall()
            conn.rollback()
            assert len(found) == 1, found
            planted, start = found[0]
        return Told(draw, when, answer, planted, start, at_s)


def score(told: list[Told]) -> dict[str, Any]:
    """Figures of many answers; each day gives two, while the incident lasts and afterwards."""
    incidents, quiet = [one for one in told if one.planted is not None], [one for one in told if one.planted is None]
    right = sum(one.right for one in incidents)
    return {
        "incidents": len(incidents),
        "named_right": right,
        "named_share": right / len(incidents) if incidents else None,
        "wrong": sum(one.answer["named"] not in (None, one.planted) for one in told),
        "quiet": len(quiet),
        "quiet_named": sum(one.answer["named"] is not None for one in quiet),
        "quiet_slow": sum(one.answer["slowdown"] is not None for one in quiet),
    }
