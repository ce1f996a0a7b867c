"""A planted machine in a real database: four jobs, the second the culprit, with their counters and steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.planted_flows import BETWEEN, FABRIC, ROUTER, SECONDS, by_class, four_jobs, moment

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.jobs import store as stored
from flitwatch_db.runs import store as runs
from flitwatch_domain import jobs as domain
from flitwatch_domain.counters import ENDPOINT_COLUMNS, LINK_CLASS_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.runs import Run, RunStep

#: A full hour. Starts of the slow job, the culprit, a job that always runs and a small job; the slow job starts in its first minute.
BEGIN_S = 1_790_000_000 // 3600 * 3600
STARTS_S = (60, 360, -3600, 420)
MINUTES = 12


KINDS = len(LINK_CLASS_COLUMNS)
KEYS = np.unique(
    FABRIC.links.dst[BETWEEN].astype(np.int64) * KINDS
    + sum(number * FABRIC.of_class(name)[BETWEEN] for number, name in enumerate(LINK_CLASS_COLUMNS))
)


def planted(
    url: str,
    starts_s: tuple[int, ...] = STARTS_S,
    every_s: int = 60,
    count: int = MINUTES,
    ends_s: Sequence[int | None] = (None, None, None, None),
    pauses_s: Sequence[tuple[int, int]] = (),
) -> None:
    """Store a machine with jobs 1 to 4, the second the culprit, and rows of each counter every `every_s` seconds. `ends_s`: ends of the jobs, None: running;
    `pauses_s`: times at which the culprit sends a tenth."""
    jobs = four_jobs()
    with connect(url, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, FABRIC)
        names = [str(name) for name in FABRIC.endpoints.node]
        rows = [
            domain.Job("c", str(n + 1), "RUNNING" if end is None else "COMPLETED", user=f"u{n}", start_s=BEGIN_S + start, end_s=None if end is None else BEGIN_S + end,
                       nodes=len(job.ends), node_list=",".join(names[end] for end in job.ends), simulated=True)
            for n, (job, start, end) in enumerate(zip(jobs, starts_s, ends_s, strict=True))
        ]  # fmt: skip
        stored.upsert_jobs(conn, rows, fabric_id)
        for at in range(0, every_s * count, every_s):
            rates = [float(start <= at < (at + 1 if end is None else end)) for start, end in zip(starts_s, ends_s, strict=True)]  # fmt: skip
            if any(low <= at < high for low, high in pauses_s):
                rates[1] *= 0.1
            seen = moment(jobs, rates, by_class())
            values = np.full((len(FABRIC.routers), len(ROUTER_COLUMNS)), np.nan)
            for number, (flits, stalls) in enumerate(LINK_CLASS_COLUMNS.values()):
                of = number == KEYS % KINDS
                for name, sums in ((flits, seen.flits), (stalls, seen.stalls)):
                    values[KEYS[of] // KINDS, ROUTER_COLUMNS.index(name)] = sums[of] * every_s / SECONDS
            cards = np.full((len(ROUTER), len(ENDPOINT_COLUMNS)), np.nan)
            for job, traffic in zip(jobs, seen.traffic, strict=True):
                cards[job.ends, :2] = 0.0
                if traffic is not None:
                    cards[job.ends, :2] = np.stack([traffic.sent, traffic.received], axis=1) * every_s / SECONDS
            batch = counters.Batch(
                routers=_rows(fabric_id, at, every_s, values), endpoints=_rows(fabric_id, at, every_s, cards)
            )
            counters.write_batch(conn, batch)
        conn.commit()


def _rows(fabric_id: int, at: int, every_s: int, values: np.ndarray) -> counters.Rows:
    known = np.flatnonzero(np.isfinite(values).any(axis=1))
    n = len(known)
    return counters.Rows(
        np.full(n, fabric_id, np.int32),
        known.astype(np.int32),
        np.full(n, BEGIN_S + at + every_s // 2),
        np.ones(n, np.int32),
        np.full(n, float(every_s)),
        values[known],
    )


#: Seconds of an undisturbed step and of a slow one.
USUAL_S, SLOW_S = 10.0, 16.0
EARLIER_RUNS, STEPS = 4, 80


def run_of(url: str, job_id: str, slow_s: Sequence[tuple[float, float]], until_s: float, start_s: float = 60.0) -> None:
    """Store steps of a job and earlier runs of its application. Steps that begin in [low, high) of `slow_s` are slow; seconds since the beginning."""
    rng = np.random.default_rng(int(job_id))
    with connect(url, role="writer") as conn:
        for number in range(EARLIER_RUNS):
            earlier = _run(conn, job_id, f"earlier-{job_id}-{number}", None, BEGIN_S - 90_000 + 4000 * number)
            steps = [RunStep(n, _ns(rng.normal(USUAL_S, 0.1))) for n in range(STEPS)]
            runs.upsert_steps(conn, earlier, steps)
        own = _run(conn, job_id, f"own-{job_id}", job_id, int(BEGIN_S + start_s))
        at, steps = start_s, []
        while True:
            taken = rng.normal(SLOW_S if any(low <= at < high for low, high in slow_s) else USUAL_S, 0.1)
            if (at := at + taken) > until_s:
                break
            steps.append(RunStep(len(steps), _ns(taken)))
        runs.upsert_steps(conn, own, steps)
        conn.commit()


def _ns(seconds: float) -> NDArray[np.int64]:
    return np.array([round(seconds * 1e9)], np.int64)


def _run(conn: Any, application: str, key: str, job_id: str | None, start_s: int) -> int:
    return runs.upsert_run(
        conn, Run(run_key=key, exe=f"app-{application}", job_id=job_id, start_s=start_s, ranks=(0,), simulated=True)
    )
