"""Forecast: the time of the next k steps from the counters and times of the last m."""

from flitwatch_ml.forecast.backtest import Backtest, backtest, backtest_unseen
from flitwatch_ml.forecast.chronological import Chronological, chronological
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
    "backtest",
    "backtest_unseen",
    "chronological",
]
