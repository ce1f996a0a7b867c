"""The estimators' tasks on a real database: runs, jobs beside them and router counters, seeded with a planted aggressor."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.estimates import inputs as estimates
from flitwatch_domain.errors import BadInput, NotEnoughData
from flitwatch_ml import tasks
from flitwatch_ml.forecast import AttentionForecaster
from flitwatch_ml.work import blame as work
from ml.conftest import RUNS, Context


def stored(url: str, number: int):
    with connect(url) as conn:
        return conn.execute(
            "SELECT kind, exe, nodes, data, score, result, simulated FROM estimate WHERE estimate_id = %s", [number]
        ).fetchone()


@pytest.mark.integration
def test_blame_finds_who_was_beside_the_slow_runs_and_says_the_data_is_simulated(seeded: str) -> None:
    answer = tasks.blame({"exe": "amg", "nodes": 256}, Context(seeded))
    kind, exe, nodes, data, _, result, simulated = stored(seeded, answer["estimate_id"])
    assert (kind, exe, nodes, data["runs"], simulated) == ("blame", "amg", 256, RUNS, True)
    with connect(seeded) as conn:
        name, first, exposure = conn.execute(
            "SELECT name, entry, exposure FROM estimate_entry WHERE estimate_id = %s AND by_what = 'user' AND place = 1",
            [answer["estimate_id"]],
        ).fetchone()
    assert name == "u0" and [value > 0 for value in exposure] == result["runs"]["slow"]
    assert first["q"] < 0.05 and first["verdict"] == "named" and first["effect_low_s"] < 30 < first["effect_high_s"]
    assert first["lost_node_hours"] == pytest.approx(first["effect_s"] * RUNS / 2 * 256 / 3600)
    assert first["exposed_runs"] == RUNS // 2
    assert "not proof" in result["caveat"]


@pytest.mark.integration
def test_exposure_is_overlap_times_shared_nodes(seeded: str) -> None:
    with connect(seeded) as conn:
        runs = estimates.runs_of(conn, "amg", 256)
        beside = work.co_running(estimates.co_running(conn, runs.run_id), 128)["user"]
    column = beside.names.index("u0")
    # u0's 4 nodes and all of the run's stand in group 0, and the job covers the whole run.
    assert set(np.round(beside.met.exposure[:, column], 6).tolist()) == {0.0, 4.0}
    assert beside.own == {"me"}


@pytest.mark.integration
def test_deviation_finds_the_stalls(seeded: str) -> None:
    answer = tasks.deviation({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, score, result, _ = stored(seeded, answer["estimate_id"])
    rank = dict(zip(result["counters"], result["rates"]["rank"], strict=True))
    assert set(rank) == {"RT_FLIT_TOT", "RT_RB_STL"}
    assert rank["RT_RB_STL"] < rank["RT_FLIT_TOT"]
    assert score["mape"] < score["baseline_mape"]


@pytest.mark.integration
def test_too_few_runs_for_importances_is_said(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttentionForecaster.__init__, "__defaults__", (8, 0.2, 1, 1, True, False, 0, "cpu", 20))
    answer = tasks.forecast({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, _, result, _ = stored(seeded, answer["estimate_id"])
    assert result["rests_on"] == [] and f"need 30 runs, has {RUNS}" in result["rests_on_lacks"]


@pytest.mark.integration
def test_what_cannot_be_estimated_is_said(seeded: str) -> None:
    with pytest.raises(NotEnoughData, match="no runs"):
        tasks.blame({"exe": "other", "nodes": 1}, Context(seeded))
    with pytest.raises(BadInput, match="exe"):
        tasks.blame({}, Context(seeded))
    with pytest.raises(BadInput, match="definition"):
        tasks.blame({"exe": "amg", "nodes": 256, "definition": "theirs"}, Context(seeded))
