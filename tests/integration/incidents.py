"""Incidents drawn from the cluster twin, written into a real database as its producers' records would be, and explained.

One machine, many days: on each an instrumented run begins, and on some of them a planted job starts beside it. Only the scoring here knows which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_domain.counters import LINK_CLASS_COLUMNS
from flitwatch_research.incidents.site import Feed
from flitwatch_twin.cluster import Cluster
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
            self.fabric_id = fabrics.save_fabric(conn, cluster.fabric)
            feed = Feed(conn, cluster, EPOCH_S - HISTORY_S, self.fabric_id, counted=False)
            feed.march(HISTORY_S)
            feed.close()

    def day(self, draw: Draw) -> list[Told]:
        """Live through one day; explain its run while the incident lasts, and when the run is over."""
        cluster = draw.cluster(self.seed)
        told = []
        with connect(self.url, role="writer") as conn:
            feed = Feed(conn, cluster, draw.epoch_s, self.fabric_id, cards=1.0 if self.nics else 0.0)
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
        answer = explain_by_id(conn, feed.cluster.job_id(run.allocation), "drawn", at_s)
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
