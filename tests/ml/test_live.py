"""Automatic estimates: the schedule, forecasts of running jobs, drift."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_db import connect, tasks
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.estimates.store import State
from flitwatch_ml.forecast import StepSeries, forecasters
from flitwatch_ml.forecast.forecasters import AttentionForecaster
from flitwatch_ml.forecast.series import Standard
from flitwatch_ml.forecast.serving import Choice, Serving, dump_serving, fit_serving, load_serving
from flitwatch_ml.work import forecast as work
from flitwatch_ml.work.drift import inner_deciles, measure_drift, stability_index
from flitwatch_ml.work.live import Live
from flitwatch_ml.work.watch import is_due, start_due_tasks
from ml.conftest import RUNS, STEPS


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forecast exists; its values matter less here."""
    monkeypatch.setattr(
        forecasters.AttentionForecaster.__init__, "__defaults__", (8, 0.2, 1, 1, True, False, 0, "cpu", 20)
    )


def series(runs: int = 30, steps: int = 12) -> StepSeries:
    """Runs whose slowness lasts and shows in a counter."""
    rng = np.random.default_rng(0)
    slow = 1 + rng.exponential(0.3, runs)[:, None] * rng.uniform(0.8, 1.2, (runs, steps))
    times = (10 + np.sin(np.arange(steps))) * slow
    return StepSeries(times, np.stack([slow * 100, rng.uniform(90, 110, slow.shape)], axis=2))


@pytest.mark.system("numeric")
@pytest.mark.parametrize(
    "members",
    [
        ("ratio",),
        ("ridge",),
        ("lightgbm",),
        ("attention",),
        ("attention alone",),
        ("attention on counters",),
        ("ridge", "ratio", "attention alone"),
    ],
)
def test_a_forecaster_read_back_foretells_the_same(members: tuple[str, ...]) -> None:
    data = series()
    serving = fit_serving(data, 3, 4, (), Choice(members, 10.0, 0.1, shift=np.log(0.98)))
    so_far = StepSeries(data.times[:5, :6], data.counters[:5, :6])
    _, before = serving.forecast(so_far)
    _, after = load_serving(dump_serving(serving)).forecast(so_far)
    np.testing.assert_allclose(after, before, rtol=1e-5)
    each = [fit_serving(data, 3, 4, (), Choice((name,), 10.0, 0.1)).forecast(so_far)[1] for name in members]
    np.testing.assert_allclose(before, 0.98 * np.exp(np.mean(np.log(each), axis=0)), rtol=1e-5)
    observed = data.times[:5, 6:10].sum(1)
    assert np.abs(before - observed).mean() / observed.mean() < 0.35


#: Forecasts in a process of its own with what is stored, and says what it loaded.
SERVE = """
import sys
import numpy as np
from flitwatch_ml.forecast.serving import load_serving
from flitwatch_ml.forecast.series import StepSeries
with np.load(sys.argv[1]) as held:
    made = load_serving(held["stored"].tobytes()).forecast(StepSeries(held["times"], held["counters"]))[1]
assert "torch" not in sys.modules, "torch was loaded"
print(*map(repr, made.tolist()))
"""


@pytest.mark.system("numeric")
def test_an_attention_net_is_served_without_pytorch(tmp_path: Path) -> None:
    data = series()
    standard = Standard.learn(data, ())
    net = AttentionForecaster(on_ridge=False, with_boosting=False, epochs=1, least_steps=20)
    model = net.fit(standard.training(data, 3, 4))
    serving = Serving("attention alone", standard, model, 3, 4, 0.1, 10.0)
    so_far = StepSeries(data.times[:5, :6], data.counters[:5, :6])
    stored = np.frombuffer(dump_serving(serving), np.uint8)
    np.savez(tmp_path / "held.npz", stored=stored, times=so_far.times, counters=so_far.counters)
    argv = [sys.executable, "-c", SERVE, str(tmp_path / "held.npz")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose([float(word) for word in done.stdout.split()], serving.forecast(so_far)[1], rtol=1e-5)


def test_what_was_not_counted_is_taken_at_its_mean() -> None:
    data = series()
    serving = fit_serving(data, 3, 4, (), Choice(("ridge",), 10.0, 0.1))
    counters = data.counters[:1, :5].copy()
    counters[0, 3] = np.nan
    _, expected = serving.forecast(StepSeries(data.times[:1, :5], counters))
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("steps", [5, 20, 80, 620])
def test_m_and_k_are_the_papers(steps: int) -> None:
    want = {20: ((3, 8), (5, 10)), 80: ((10, 20), (20, 40)), 620: ((10, 30), (20, 40))}
    (short, long), (_, k) = got = work.choose_grid(steps)
    assert got == want.get(steps, got) and 1 <= short <= long and long + k <= steps


def test_an_estimate_is_due_when_runs_have_grown() -> None:
    assert not is_due("blame", 19, 19, None) and is_due("blame", 20, 20, None)
    done = State(runs=100, newest_run=100, estimate_id=1, lacks=None, drifting=False)
    assert (
        not is_due("blame", 100, 100, done) and not is_due("blame", 109, 109, done) and is_due("blame", 110, 110, done)
    )
    drifting = State(100, 100, 1, None, True)
    assert is_due("forecast", 101, 101, drifting) and not is_due("forecast", 100, 100, drifting)
    lacking = State(20, 20, None, "no counters were stored", False)
    assert not is_due("forecast", 20, 20, lacking) and is_due("forecast", 21, 21, lacking)


@given(st.integers(0, 10_000), st.floats(0, 3))
def test_stability_is_zero_for_the_same_and_grows_with_the_shift(seed: int, shift: float) -> None:
    values = np.random.default_rng(seed).normal(size=2000)
    reference = inner_deciles(values)
    assert 0 <= stability_index(reference, values) < 0.01
    assert stability_index(reference, values + shift + 1) > stability_index(reference, values)


@pytest.mark.integration
def test_the_schedule_starts_what_is_due_once_and_says_what_is_lacking(seeded: str) -> None:
    assert len(start_due_tasks(seeded)) == 3 and start_due_tasks(seeded) == []
    with connect(seeded) as conn:
        assert {t.name for t in tasks.list_tasks(conn)} == {"ml.blame", "ml.deviation", "ml.forecast"}
        conn.execute("DELETE FROM run WHERE run_id > 5")
        conn.execute("DELETE FROM task")
    assert start_due_tasks(seeded) == []
    with connect(seeded) as conn:
        (lacks,) = conn.execute("SELECT lacks FROM estimate_state WHERE kind = 'blame'").fetchone()
    assert lacks == "not enough data: needs 20 runs, has 5"


@pytest.mark.system("numeric")
@pytest.mark.integration
def test_a_running_job_is_forecast_after_every_step_and_reported(seeded: str) -> None:
    from flitwatch_ml import tasks as handlers
    from ml.conftest import Context

    answer = handlers.run_forecast({"exe": "amg", "nodes": 256}, Context(seeded))
    live, now = Live(), time.time()
    with connect(seeded) as conn:
        models = estimate_store.models_of(conn, answer["estimate_id"])
        run_id = conn.execute(
            "INSERT INTO job (cluster, job_id, state, start_ts, nodes, simulated) VALUES ('c', 'now', 'RUNNING', to_timestamp(%s), 256, true) RETURNING job_pk",
            [now - 100],
        ).fetchone()[0]
        run_id = conn.execute(
            "INSERT INTO run (run_key, job_pk, exe, start_ts, ranks, simulated) VALUES ('now', %s, 'amg', to_timestamp(%s), 16, true) RETURNING run_id",
            [run_id, now - 100],
        ).fetchone()[0]
        for step in range(STEPS):
            conn.execute(
                "INSERT INTO run_step (run_id, step, time_s, rank_time_ns) VALUES (%s, %s, 15.0, '{1}')", [run_id, step]
            )
            assert live.step(conn) == (1 if min(models) <= step + 1 < STEPS else 0)
            assert live.step(conn) == 0
        made = conn.execute(
            "SELECT after_steps, ahead, expected_s, low_s, high_s, usual_s FROM forecast ORDER BY after_steps"
        ).fetchall()
        forecasts = conn.execute("SELECT payload FROM event WHERE kind = 'forecast' ORDER BY event_id").fetchall()
        drift = measure_drift(conn, "amg", 256, answer["estimate_id"])
    assert [row[0] for row in made] == list(range(min(models), STEPS)) and len(forecasts) == len(made)
    assert all(low < expected < high and expected > usual for _, _, expected, low, high, usual in made)
    assert forecasts[-1][0]["run_id"] == run_id and forecasts[-1][0]["backtest_mape"] == pytest.approx(
        answer["score"]["served_mape"]
    )
    assert drift["forecasts"] == len(made) and 0 <= drift["coverage90"] <= 1 and drift["mape"] < 15
    assert RUNS >= 20
