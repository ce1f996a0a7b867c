"""The counterfactual truth of the second-by-second twin, against runs of the twin without a user's traffic."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from flitwatch_twin.cluster import Cluster
from flitwatch_twin.spec import TwinSpec
from flitwatch_twin.truth import Truth

SPEC = TwinSpec.model_validate(
    {
        "name": "counterfactual",
        "fabric": {"groups": 2, "io_routers_per_group": 2},
        "users": {"count": 12, "typical_nodes": 24, "most_nodes": 96, "load": 0.4},
        "instrumented": [{"application": "amg-128", "nodes": 96, "every_s": 5000}],
        "interference": [
            {"mechanism": "bandwidth", "nodes": 256, "first_s": 20, "lasts_s": 120, "every_s": 5000, "rate": 1.6}
        ],
        "warm_start_s": 1800,
        "truth_every_s": 2,
    }
)


def simulate(
    seed: int, muted: frozenset[str] = frozenset(), seconds: int = 480
) -> tuple[Cluster, Truth, dict[str, float], np.ndarray, set[str]]:
    cluster = Cluster(SPEC, seed, muted)
    truth = Truth(cluster, SPEC.truth_every_s)
    times: dict[str, float] = {}
    seen: set[str] = set()
    for _ in range(seconds):
        second = cluster.advance()
        seen |= set(second.owners)
        truth.observe(second)
        times |= {run.key: run.progress.elapsed_s for run in second.finished}
    return cluster, truth, times, cluster.counters.router_values(), seen


def test_truth_is_what_happens_without_the_user() -> None:
    cluster, truth, times, *_ = simulate(4)
    assert times, "the instrumented run did not finish"
    (run_key, actual), *_ = times.items()
    planted = next(name for name, role in zip(cluster.users.names, cluster.roles, strict=True) if role == "bandwidth")
    effect = truth.users[planted].effect_s
    _, _, without, *_ = simulate(4, frozenset([planted]))
    assert effect > 10
    assert actual - without[run_key] == pytest.approx(effect, rel=0.15, abs=1.0)
    assert all(abs(s.effect_s) < effect / 4 for name, s in truth.users.items() if name != planted)


def test_a_user_without_traffic_changes_nothing() -> None:
    cluster, _, times, values, seen = simulate(4, seconds=100)
    idle = frozenset(set(cluster.users.names) - seen)
    _, _, same_times, same, _ = simulate(4, idle, seconds=100)
    assert idle
    assert same_times == times and np.array_equal(values, same)


def test_truth_file(tmp_path: Path) -> None:
    _, truth, times, *_ = simulate(4)
    truth.write(tmp_path / "truth.json")
    told = json.loads((tmp_path / "truth.json").read_text())
    assert told["simulated"] is True and set(told["planted"].values()) <= {"bandwidth", "innocent"}
    assert [run["run_key"] for run in told["runs"]] == list(times)
    for run in told["runs"]:
        for effect in run["effects"].values():
            without = run["time_s"] - effect["effect_s"]
            assert effect["effect_log"] == pytest.approx(math.log(run["time_s"] / without), abs=1e-4)
