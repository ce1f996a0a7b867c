"""The hours before a machine's first second: the same users, other jobs, no counters by the second."""

from __future__ import annotations

from typing import Any

from flitwatch_twin.cluster import Cluster
from flitwatch_twin.run import TwinRun
from flitwatch_twin.spec import load_spec


class Kept:
    """A sink that remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Any]] = []

    def __getattr__(self, what: str) -> Any:
        def take(*values: Any) -> int:
            self.given.append((what, values))
            return 0

        return take


def told(day: int, seconds: int = 90) -> tuple[Cluster, Kept, dict[str, Any]]:
    cluster, sink = Cluster(load_spec("small"), 1, day=day), Kept()
    return cluster, sink, TwinRun(cluster, [sink], 1_790_000_000, sampled=False).run(seconds, 0)


def test_another_day_has_the_same_users_and_other_jobs() -> None:
    (first, one, _), (_, again, _), (second, other, _) = told(0), told(0), told(7)
    assert first.users.names == second.users.names and first.roles == second.roles
    jobs = [[values[0] for what, values in sink.given if what == "job"] for sink in (one, again, other)]
    assert jobs[0] == jobs[1] != jobs[2]


def test_history_tells_jobs_and_runs_but_no_counters_by_the_second() -> None:
    _, sink, totals = told(3, seconds=120)
    kinds = {what for what, _ in sink.given}
    assert {"job", "run", "step", "close"} <= kinds and "sets" not in kinds
    assert totals["records"] == 0 and totals["steps"] > 0
    step = next(values[1] for what, values in sink.given if what == "step")
    assert (step.values >= 0).all() and step.values.shape[1] == 13


def test_history_tells_of_a_job_when_it_has_ended() -> None:
    """Beside the present, whose jobs have the same nodes, a job of the past that still ran would make them serve two."""
    _, sink, totals = told(3, seconds=600)
    jobs = [values[0] for what, values in sink.given if what == "job"]
    assert len(jobs) == totals["jobs_ended"] > 0 and all(job["end"] is not None for job in jobs)
    assert len({job["job_id"] for job in jobs}) == len(jobs)
