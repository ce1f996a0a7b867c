"""Forecast: the time of the next k steps from the counters and times of the last m.

Training data:

- `series` contains the steps of runs and the windows for training.

Forecasters:

- `baselines` need no learning beyond the mean curve;
- `forecasters` learn from windows: ridge, LightGBM and attention, with the net in `attention` (PyTorch).

Choice and deployment:

- `backtest` runs every forecaster on the same held-out runs, `chronological` in order of time;
- `intervals` computes prediction intervals from held-out residuals, `importance` the importance of a forecast's inputs;
- `serving` stores the winner as bytes without code; `served_net` evaluates its net without PyTorch.

Start at `backtest`.
"""

from flitwatch_ml.forecast.backtest import Backtest, backtest_unseen, has_pytorch, run_backtest
from flitwatch_ml.forecast.chronological import Chronological, backtest_in_order
from flitwatch_ml.forecast.forecasters import AttentionForecaster, LightGBMForecaster, RidgeForecaster
from flitwatch_ml.forecast.series import FEATURE_SETS, StepSeries, Windows

__all__ = [
    "FEATURE_SETS",
    "AttentionForecaster",
    "Backtest",
    "Chronological",
    "LightGBMForecaster",
    "RidgeForecaster",
    "StepSeries",
    "Windows",
    "backtest_in_order",
    "backtest_unseen",
    "has_pytorch",
    "run_backtest",
]
