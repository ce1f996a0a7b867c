"""The hours before a machine's first second: the same users, other jobs, no counters by the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flitwatch_twin.cluster import Cluster
from flitwatch_twin.minutes import CARD_SUMS, ROUTER_SUMS, TILES, MinuteSums
from flitwatch_twin.run import FINE_STEP_S, Past, TwinRun
from flitwatch_twin.spec import load_spec

EPOCH_S = 1_790_000_000 // 60 * 60


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
    return cluster, sink, TwinRun(cluster, [sink], 1_790_000_000, past=Past()).run(seconds, 0)


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


def counted(seconds: int, coarse: bool) -> tuple[Cluster, MinuteSums, Kept]:
    cluster, sink = Cluster(load_spec("small"), 1, day=3), Kept()
    sums = MinuteSums(cluster.fabric, cluster.counters, EPOCH_S)
    TwinRun(cluster, [sink], EPOCH_S, past=Past(coarse, sums)).run(seconds, 0)
    sums.take(cluster.counters, EPOCH_S + seconds, last=True)
    return cluster, sums, sink


def test_minutes_and_hours_add_up_to_what_the_counters_moved() -> None:
    cluster, sums, _ = counted(4000, False)
    before = Cluster(load_spec("small"), 1, day=3).counters
    assert [one.from_s for one in sums.routers] == list(range(EPOCH_S, EPOCH_S + 4000, 60))
    assert sum(one.seconds for one in sums.routers) == sum(one.seconds for one in sums.cards) == 4000
    assert all((one.from_s + one.seconds) % 3600 == 0 for one in sums.cards[:-1])
    flits = sum(one.values[:, ROUTER_SUMS.index("rt_flits")] for one in sums.routers)
    moved = (cluster.counters.network - before.network)[0].sum(axis=1)
    assert flits == pytest.approx(moved, rel=1e-6)
    sent = sum(one.values[:, CARD_SUMS.index("tx_bytes")] for one in sums.cards)
    assert sent == pytest.approx((cluster.counters.nic - before.nic)[3], rel=1e-6, abs=1)
    colours = [ROUTER_SUMS.index(f"{name}_stall_cycles") for name in ("green", "black", "blue")]
    for one in sums.routers:
        # Counters stand near 1e15, where a float64 tells eighths apart.
        stalls = one.values[:, ROUTER_SUMS.index("rt_stall_cycles")]
        assert one.values[:, colours].sum(axis=1) == pytest.approx(stalls, rel=1e-6, abs=100)
    assert TILES == 48


def test_a_coarse_past_counts_as_much_as_a_fine_one_and_has_jobs_but_no_runs() -> None:
    (_, coarse, told), (_, fine, also) = counted(1800, True), counted(1800, False)
    totals = [sum(one.values.sum(axis=0) for one in sums.routers) for sums in (coarse, fine)]
    place = ROUTER_SUMS.index("rt_flits")
    assert totals[0][place] == pytest.approx(totals[1][place], rel=0.1)
    kinds = [{what for what, _ in sink.given} for sink in (told, also)]
    assert "job" in kinds[0] & kinds[1] and "run" in kinds[1] and not kinds[0] & {"run", "step", "run_end"}
    cluster, sink = Cluster(load_spec("small"), 1, day=3), Kept()
    TwinRun(cluster, [sink], EPOCH_S, past=Past(True, None, 900.0)).run(1800, 0)
    ends = [values[0]["end"] for what, values in sink.given if what == "job"]
    assert ends and max(ends) <= EPOCH_S + 900, "the rest is another past's"
    names = [{values[0]["name"] for what, values in sink.given if what == "job"} for sink in (told, also)]
    assert names[0] >= names[1], "the application's jobs are there all the same"


def test_steps_of_a_fine_past_take_about_as_long_as_second_by_second() -> None:
    """A step of the machine holds the flows still: what an application's steps take must not depend on that."""
    times = {}
    for step_s in (1, FINE_STEP_S):
        cluster, taken = Cluster(load_spec("small"), 1, day=3), []
        while cluster.time_s < 600:
            taken += [float(step.time_ns.max()) / 1e9 for _, step in cluster.advance(step_s).steps]
        times[step_s] = np.array(taken)
    assert len(times[1]) == pytest.approx(len(times[FINE_STEP_S]), abs=2)
    size = min(map(len, times.values()))
    assert np.median(np.abs(times[FINE_STEP_S][:size] / times[1][:size] - 1)) < 0.03
