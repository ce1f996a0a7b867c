"""Days drawn by `flitwatch_research.incidents`, simulated into a real database, and the product's answers during and after the incident."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from flitwatch_db import connect
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_db.jobs.incident import find_incident
from flitwatch_domain.counters import LINK_CLASS_COLUMNS
from flitwatch_domain.explanation.result import Explanation, Incident
from flitwatch_research.incidents.draws import Draw, draw_days
from flitwatch_research.incidents.site import CLUSTER, Feed, Site
from flitwatch_research.incidents.truth import Truth, planted_users

#: Seconds of a day that are lived through.
DAY_S = 1500
#: No more days than this have a planted user.
QUIET_DAY = 500


def draws(seed: int, count: int, quiet: bool) -> Iterator[Draw]:
    """Days on which a user fills cables or an incast starts alongside a run, by turns; or quiet ones, which come later."""
    if quiet:
        return (replace(draw, day=QUIET_DAY + draw.day) for draw in draw_days(seed, count, ("quiet",)))
    return draw_days(seed, count, ("victim-before", "incast"))


@cache
def felt_s(draw: Draw, seed: int) -> float | None:
    """Second of the day from which on the planted job slowed the run; None if it never did. For scoring alone."""
    return Truth(draw, seed).felt_s


def is_felt(draw: Draw, seed: int) -> bool:
    """Whether the planted job matters to the run."""
    return felt_s(draw, seed) is not None


@dataclass(frozen=True)
class Minute:
    """A minute of a day, which ends at `at_s`: (flits, stall cycles) of each link class, how full the fullest link was, and for how many seconds the planted job ran."""

    at_s: float
    by_class: dict[str, tuple[float, float]]
    use: float
    planted_s: int


def by_minute(draw: Draw, seed: int) -> list[Minute]:
    """Whole minutes of a day, without a database."""
    cluster = draw.cluster(seed)
    names, links = planted_users(cluster), cluster.fabric.counted_links()[:, :40]
    there = {name: (links >= 0) & cluster.fabric.of_class(name)[links] for name in LINK_CLASS_COLUMNS}
    minutes, last = [], cluster.counters.network[:2].copy()
    while cluster.time_s < DAY_S:
        use, planted_s = np.zeros(len(cluster.fabric.links)), 0
        for _ in range(60):
            use += cluster.advance().state.link_utilisation / 60
            planted_s += any(job.user in names for job in cluster.running.values())
        moved, last = cluster.counters.network[:2] - last, cluster.counters.network[:2].copy()
        sums = {name: (float(moved[0][mask].sum()), float(moved[1][mask].sum())) for name, mask in there.items()}
        minutes.append(Minute(float(cluster.time_s), sums, float(use.max()), planted_s))
    return minutes


@dataclass(frozen=True)
class Observation:
    """An answer, what home said at the same moment, and what was true: the planted job's id and start (None: nothing was planted); `epoch_s`: the day's second 0."""

    draw: Draw
    when: str
    answer: Explanation
    home: Incident
    planted: str | None
    planted_start_s: float | None
    epoch_s: int
    at_s: float

    @property
    def right(self) -> bool:
        return self.answer["named"] == self.planted


class IncidentSite(Site):
    """A machine in a database, asked about on some days."""

    def day(self, draw: Draw) -> list[Observation]:
        """Live through one day; explain its run while the incident lasts, and when the run is over."""
        with connect(self.url, role="writer") as conn:
            feed = self.feed(conn, draw)
            felt = felt_s(draw, self.seed)
            feed.march(int(max(draw.planted[0].first_s + 100, (felt or 0) + 10)) if draw.planted else 200)
            feed.flush()
            run = next(job.run for job in feed.cluster.running.values() if job.run is not None)
            observations = [self._observe(conn, feed, draw, run, "live")]
            while not feed.finished and feed.cluster.time_s < DAY_S:
                feed.march(20)
            feed.march(5)
            feed.flush()
            observations.append(self._observe(conn, feed, draw, run, "after"))
            feed.close()
        return observations

    def _observe(self, conn: Any, feed: Feed, draw: Draw, run: Any, when: str) -> Observation:
        at_s = float(feed.epoch_s + feed.cluster.time_s)
        answer = explain_by_id(conn, feed.cluster.job_id(run.allocation), CLUSTER, at_s)
        home = find_incident(conn, self.fabric_id, at_s)
        query = "SELECT job_id, extract(epoch FROM start_ts)::float8 FROM job WHERE user_name = ANY(%s) AND start_ts BETWEEN to_timestamp(%s) AND to_timestamp(%s)"
        found = conn.execute(query, [planted_users(feed.cluster), feed.epoch_s, at_s]).fetchall()
        conn.rollback()
        assert len(found) == len(draw.planted), found
        planted, start = found[0] if found else (None, None)
        return Observation(draw, when, answer, home, planted, start, feed.epoch_s, at_s)


def score(observations: list[Observation]) -> dict[str, Any]:
    """Figures of many answers; each day gives two, while the incident lasts and afterwards."""
    incidents, quiet = (
        [one for one in observations if one.planted is not None],
        [one for one in observations if one.planted is None],
    )
    right = sum(one.right for one in incidents)
    return {
        "incidents": len(incidents),
        "named_right": right,
        "named_share": right / len(incidents) if incidents else None,
        "wrong": sum(one.answer["named"] not in (None, one.planted) for one in observations),
        "quiet": len(quiet),
        "quiet_named": sum(one.answer["named"] is not None for one in quiet),
    }
