"""Jobs, their neighbours and their links, in the form of an explanation's input."""

from __future__ import annotations

import numpy as np

from flitwatch_domain.explanation import answer, slowdown
from flitwatch_domain.explanation.candidates import Blamed, NeighbourJob, Scene, rank_jobs
from flitwatch_domain.explanation.carriers import Count, LinkCount
from flitwatch_domain.explanation.onset_context import OnsetContext

T0 = 1_790_000_000.0
CURVE = 5 + np.sin(np.arange(60) / 5)
#: Two groups of ten routers.
GROUP = np.repeat([0, 1], 10)
OWN = np.arange(8)


def earlier(runs: int = 10, seed: int = 0) -> np.ndarray:
    return CURVE * np.exp(np.random.default_rng(seed).normal(0, 0.01, (runs, 60)))


def steps(
    factor: float = 1.0, first: int = 60, last: int = 60, runs: int = 10, seed: int = 1, start_s: float = T0
) -> slowdown.Steps:
    taken = CURVE * np.exp(np.random.default_rng(seed).normal(0, 0.01, 60))
    taken[first:last] *= factor
    return slowdown.Steps(np.arange(60), taken, start_s, earlier(runs))


def neighbour(
    number: int,
    start_s: float,
    *,
    routers: np.ndarray | None = None,
    sent: tuple[float, float] | None = (0.0, 1e12),
    most: float | None = 0.0,
    end_s: float | None = None,
    blamed: Blamed | None = None,
) -> NeighbourJob:
    placed = np.arange(20) if routers is None else routers
    before, after = sent if sent is not None else (None, None)
    return NeighbourJob(
        number,
        str(number),
        f"user{number}",
        "app",
        len(placed),
        True,
        start_s,
        end_s,
        placed,
        before,
        after,
        None if sent is None else most,
        blamed,
    )


def scene() -> Scene:
    return Scene(OWN, GROUP, T0 + 95, T0 + 110, T0 + 300)


def scores(*jobs: NeighbourJob) -> dict[str, float]:
    return {one.job.job_id: one.score for one in rank_jobs(jobs, scene())}


def link(number: int, before: float, after: float) -> LinkCount:
    return LinkCount(number, "blue", 0, "r0", 0, 10, "r10", 1, Count(1e6, before * 1e6, 1e6, after * 1e6))


JOB = {
    "job_pk": 9,
    "job_id": "9",
    "cluster": "c",
    "user": "ann",
    "account": None,
    "name": "app",
    "state": "RUNNING",
    "nodes": 8,
    "start_s": T0,
    "end_s": None,
    "simulated": True,
}


def scenery(
    *jobs: NeighbourJob, own: Count | None = None, onset_s: float = T0 + 102, nics: bool = True
) -> OnsetContext:
    return OnsetContext(
        1,
        "f",
        OWN,
        GROUP,
        onset_s - 7,
        onset_s + 8,
        T0 + 300,
        True,
        own or Count(1e6, 1e5, 1e6, 2e6),
        [link(1, 0.1, 2.0)],
        list(jobs),
        nics,
    )


def made(
    watched: slowdown.Steps | None, scenic: OnsetContext | None, past: answer.PastRunTimes | None = None, **job: object
) -> dict:
    found = None if watched is None else slowdown.of_steps(watched)
    return answer.build_explanation({**JOB, **job}, answer.JobProgress(watched, "app", past), found, scenic, T0 + 300)
