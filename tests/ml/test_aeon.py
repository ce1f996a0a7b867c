"""The learned forecasters on external regression sets: aeon's bundled ones, in comparison with its MultiRocket."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from flitwatch_ml.forecast.forecasters import AttentionForecaster, LightGBMForecaster, RidgeForecaster
from flitwatch_ml.forecast.series import Floats, Windows

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session")
def aeon_sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Floats]:
    """Arrays by name; aeon runs in an environment of its own, with its compiled functions kept in the project's cache."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(ROOT / ".cache" / "uv" / "bin"))
    if uv is None:
        pytest.skip("needs uv, to set aeon's own environment up")
    file = tmp_path_factory.mktemp("aeon") / "sets.npz"
    own = ["--isolated", "--no-project", "--with-requirements", str(HERE / "aeon.txt")]
    run = subprocess.run(
        [uv, "run", "-q", *own, "python", str(HERE / "aeon_sets.py"), str(file)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(ROOT / ".cache" / "numba")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if "Failed to fetch" in run.stderr or "error sending request" in run.stderr:
        pytest.skip("aeon's packages cannot be fetched here")
    assert run.returncode == 0, run.stderr[-2000:]
    with np.load(file) as found:
        return dict(found)


def windows(series: Floats, answers: Floats | None, standard: tuple[Floats, Floats]) -> Windows:
    """(cases, channels, length) as windows over m = length steps whose curve takes 1 s, so that an answer is a log ratio."""
    past = (series.transpose(0, 2, 1) - standard[0]) / standard[1]
    cases, (zero, one) = len(past), (np.zeros(len(past)), np.ones(len(past)))
    future = np.full(cases, np.nan) if answers is None else np.exp(answers)
    order = np.arange(cases)
    return Windows(past, np.zeros((cases, 0)), order, order, zero, zero, one, future, one, np.ones(cases, dtype=bool))


@pytest.mark.system("numeric")
@pytest.mark.parametrize("name", ["covid_3month", "cardano_sentiment"])
@pytest.mark.parametrize(
    "forecaster", [AttentionForecaster(), RidgeForecaster(), LightGBMForecaster()], ids=lambda f: type(f).__name__
)
def test_learners_stand_alongside_multirocket_on_sets_of_others(
    aeon_sets: dict[str, Floats], name: str, forecaster: AttentionForecaster | RidgeForecaster | LightGBMForecaster
) -> None:
    train, known, test, wanted, rocket = (
        aeon_sets[f"{name}_{part}"] for part in ("train", "known", "test", "wanted", "multirocket")
    )
    rows = train.transpose(0, 2, 1)
    standard = (rows.mean((0, 1)), rows.std((0, 1)))
    answers = np.log(forecaster.fit(windows(train, known, standard)).predict(windows(test, None, standard)))
    assert answers.shape == wanted.shape
    assert np.isfinite(answers).all()

    def error(found: Floats) -> float:
        return float(np.abs(found - wanted).mean())

    ours, theirs, nothing_learned = error(answers), error(rocket), error(np.full_like(wanted, np.median(known)))
    print(f"{name} {type(forecaster).__name__}: {ours:.4f}, MultiRocket {theirs:.4f}, median {nothing_learned:.4f}")
    assert ours < 1.25 * theirs
    if (name, type(forecaster)) == ("covid_3month", AttentionForecaster):
        # Here there is enough to learn from; 74 series of the other set are hardly more than their median to anybody.
        assert ours < nothing_learned
