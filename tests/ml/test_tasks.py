"""The estimators' tasks on a real database: runs, concurrent jobs and router counters with a planted aggressor."""

from __future__ import annotations

import time

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.counters import store as counters
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import step_counters
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput, MissingDependency, NotEnoughData
from flitwatch_domain.neighbourhood import CIRCUMSTANCES
from flitwatch_ml import tasks
from flitwatch_ml.deviation import DeviationModel
from flitwatch_ml.forecast import AttentionForecaster
from flitwatch_ml.work import blame as work
from ml.conftest import EPOCH_S, EVERY_S, RUNS, STEPS, Context


def stored(url: str, number: int):
    with connect(url) as conn:
        return conn.execute(
            "SELECT kind, exe, nodes, data, score, result, simulated FROM estimate WHERE estimate_id = %s", [number]
        ).fetchone()


@pytest.mark.integration
def test_blame_finds_who_ran_alongside_the_slow_runs_and_says_the_data_is_simulated(seeded: str) -> None:
    answer = tasks.run_blame({"exe": "amg", "nodes": 256}, Context(seeded))
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
        companions = work.co_running(estimates.co_running(conn, runs.run_id), 128)["user"]
    column = companions.names.index("u0")
    # u0's 4 nodes and all of the run's stand in group 0, and the job covers the whole run.
    assert set(np.round(companions.met.exposure[:, column], 6).tolist()) == {0.0, 4.0}
    assert companions.own == {"me"}


@pytest.mark.integration
def test_a_job_whose_end_nobody_knows_was_alongside_no_run(seeded: str) -> None:
    """It may have ended a second after it began: nothing can be laid on it. A run's own job stays its own."""
    with connect(seeded, role="writer") as conn:
        conn.execute("UPDATE job SET end_ts = NULL, state = 'UNKNOWN' WHERE user_name IN ('u0', 'me')")
        runs = estimates.runs_of(conn, "amg", 256)
        companions = work.co_running(estimates.co_running(conn, runs.run_id), 128)["user"]
    assert "u0" not in companions.names and len(companions.names) > 1
    assert companions.own == {"me"}


@pytest.mark.integration
def test_deviation_finds_the_stalls(seeded: str) -> None:
    answer = tasks.run_deviation({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, score, result, _ = stored(seeded, answer["estimate_id"])
    rank = dict(zip(result["counters"], result["rates"]["rank"], strict=True))
    assert set(rank) == {"RT_FLIT_TOT", "RT_RB_STL", *CIRCUMSTANCES}
    assert rank["RT_RB_STL"] < rank["RT_FLIT_TOT"]
    assert score["mape"] < score["baseline_mape"] and result["technology"] == "cray_xc"
    (carries,) = [one for one in result["rates"]["groups"] if one["verdict"] == "carries"]
    assert carries["name"] == "stalls on the row bus" and carries["features"] == ["RT_RB_STL"] and carries["low"] > 0.5


def on_infiniband(url: str, rng: np.random.Generator) -> None:
    """The same runs on a fabric whose routers count nothing by themselves: their network cards wait where u0 is alongside them."""
    with connect(url) as conn:
        conn.execute("DELETE FROM run_step_around")
        conn.execute("DELETE FROM run_step_nic")
        conn.execute("DELETE FROM router_1s")
        conn.execute("UPDATE fabric SET technology = 'infiniband'")
        for run in range(RUNS):
            seconds = np.arange(EPOCH_S + EVERY_S * run, EPOCH_S + EVERY_S * run + 100)
            card, ts = (part.reshape(-1) for part in np.meshgrid(np.arange(0, 16, 4), seconds))
            values = np.full((len(ts), len(ENDPOINT_COLUMNS)), np.nan)
            values[:, ENDPOINT_COLUMNS.index("tx_bytes")] = rng.uniform(90, 110, len(ts))
            values[:, ENDPOINT_COLUMNS.index("tx_wait_cycles")] = (500 if run % 2 == 0 else 100) * rng.uniform(
                0.9, 1.1, len(ts)
            )
            ones = np.ones(len(ts))
            rows = counters.Rows(ones.astype(np.int32), card.astype(np.int32), ts, ones.astype(np.int32), ones, values)
            counters.write_batch(conn, counters.Batch(routers=None, ports=None, endpoints=rows))


@pytest.mark.system("numeric")
@pytest.mark.integration
def test_runs_on_any_fabric_have_drivers(seeded: str) -> None:
    """Their steps are kept although nobody forecasts them: without an estimate there was no counter, and without a counter no estimate."""
    on_infiniband(seeded, np.random.default_rng(0))
    with connect(seeded) as conn:
        runs = estimates.runs_of(conn, "amg", 256)
        assert np.isnan(estimates.step_features(conn, runs)[1]).all()
        for run in runs.run_id.tolist():
            step_counters.keep_steps(conn, run, step_counters.complete_through_s(conn, run))
    answer = tasks.run_deviation({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, score, result, _ = stored(seeded, answer["estimate_id"])
    assert result["technology"] == "infiniband"
    assert set(result["counters"]) == {"nic.tx_bytes", "nic.tx_wait_cycles", *CIRCUMSTANCES}
    (carries,) = [one for one in result["rates"]["groups"] if one["verdict"] == "carries"]
    assert carries["name"] == "stalls at the network cards" and score["mape"] < 0.5 * score["baseline_mape"]


@pytest.mark.integration
def test_steps_of_recent_runs_are_kept_before_there_is_any_forecast(seeded: str) -> None:
    with connect(seeded) as conn:
        conn.execute("DELETE FROM run_step_around")
        assert step_counters.keep_recent(conn) == 0, "runs of long ago have no seconds any more"
        last = conn.execute("SELECT max(run_id) FROM run").fetchone()[0]
        begun = conn.execute(
            "SELECT extract(epoch FROM start_ts)::bigint FROM run WHERE run_id = %s", [last]
        ).fetchone()
        shift = int(time.time()) - 3600 - int(begun[0])
        conn.execute("UPDATE run SET start_ts = start_ts + make_interval(secs => %s) WHERE run_id = %s", [shift, last])
        rows = conn.execute(
            "SELECT router, extract(epoch FROM ts)::bigint FROM router_1s WHERE ts >= to_timestamp(%s)", begun
        ).fetchall()
        values = np.full((len(rows), len(ROUTER_COLUMNS)), 7.0)
        ones = np.ones(len(rows))
        moved = counters.Rows(
            ones.astype(np.int32),
            np.array([row[0] for row in rows], np.int32),
            np.array([row[1] + shift for row in rows], np.int64),
            ones.astype(np.int32),
            ones,
            values,
        )
        counters.write_batch(conn, counters.Batch(routers=moved, ports=None, endpoints=None))
        assert step_counters.keep_recent(conn) == STEPS and step_counters.keep_recent(conn) == 0
        kept = conn.execute("SELECT own FROM run_step_around WHERE run_id = %s ORDER BY step", [last]).fetchall()
        assert [row[0][0] for row in kept] == [4 * 7.0] * STEPS


@pytest.mark.system("numeric")
@pytest.mark.integration
def test_the_papers_learner_and_forecaster_are_options_by_name(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"exe": "amg", "nodes": 256, "definition": "paper"}
    number = tasks.run_deviation(asked, Context(seeded))["estimate_id"]
    with connect(seeded) as conn:
        (parameters,) = conn.execute("SELECT parameters FROM estimate WHERE estimate_id = %s", [number]).fetchone()
        _, counts = estimates.step_features(conn, runs := estimates.runs_of(conn, "amg", 256))
    assert (parameters["definition"], parameters["learner"]) == ("paper", "gbr")
    result = stored(seeded, number)[5]
    assert result["counters"] == ["RT_FLIT_TOT", "RT_RB_STL"], "the paper has counters alone"
    at = [0, 3]
    alone = DeviationModel(learner="gbr").fit(counts[:, :, at], runs.step_time_s)
    assert result["rates"]["mape"] == alone.mape_ and result["rates"]["rank"] == alone.rank_.tolist()
    monkeypatch.setattr(AttentionForecaster.__init__, "__defaults__", (8, 0.2, 1, 1, True, False, 0, "cpu", 20))
    result = stored(seeded, tasks.run_forecast(asked, Context(seeded))["estimate_id"])[5]
    assert result["serves"]["forecaster"] == "attention on counters" and "paper" in result["serves"]["why"]


@pytest.mark.system("numeric")
@pytest.mark.integration
def test_too_few_runs_for_importances_is_said(seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttentionForecaster.__init__, "__defaults__", (8, 0.2, 1, 1, True, False, 0, "cpu", 20))
    answer = tasks.run_forecast({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, _, result, _ = stored(seeded, answer["estimate_id"])
    assert result["rests_on"] == [] and f"need 30 runs, has {RUNS}" in result["rests_on_lacks"]


@pytest.mark.integration
def test_a_forecast_without_pytorch_is_made_and_names_what_was_not_tried(
    seeded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = tasks.run_forecast({"exe": "amg", "nodes": 256}, Context(seeded))
    _, _, _, _, score, result, _ = stored(seeded, answer["estimate_id"])
    assert "ridge" in score["mape"] and not [name for name in score["mape"] if "attention" in name]
    assert any("PyTorch is not installed" in note for note in result["notes"])
    with pytest.raises(MissingDependency, match="PyTorch"):
        tasks.run_forecast({"exe": "amg", "nodes": 256, "definition": "paper"}, Context(seeded))


@pytest.mark.integration
def test_what_cannot_be_estimated_is_said(seeded: str) -> None:
    with pytest.raises(NotEnoughData, match="no runs"):
        tasks.run_blame({"exe": "other", "nodes": 1}, Context(seeded))
    with pytest.raises(BadInput, match="exe"):
        tasks.run_blame({}, Context(seeded))
    with pytest.raises(BadInput, match="definition"):
        tasks.run_blame({"exe": "amg", "nodes": 256, "definition": "theirs"}, Context(seeded))
