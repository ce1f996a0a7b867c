"""Forecasts that need no learning beyond the mean curve, for comparison with every learned one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.forecast.series import Windows

Floats = NDArray[np.float64]


def last_steps(windows: Windows, k: int) -> Floats:
    """Return k x the mean time of the last m steps."""
    return k * windows.last_s


def curve_forecast(windows: Windows, k: int) -> Floats:
    """Return the mean curve's time of the next k steps."""
    return windows.curve_s


def ratio_forecast(windows: Windows, k: int) -> Floats:
    """Return the mean curve's time of the next k steps x the ratio of the last m steps to the curve."""
    return windows.curve_s * np.exp(windows.ratio)


#: Forecasters averaged in log for comparison: an average of a net with trees must beat averages without a net.
AVERAGED = (("ridge", "lightgbm"), ("ratio", "ridge", "lightgbm"))


def with_averages(forecasts: dict[str, Floats]) -> dict[str, Floats]:
    """Return forecasts by name, including averages of `AVERAGED` with all members present; their names are joined by " + "."""
    return forecasts | {
        " + ".join(names): np.exp(np.mean([np.log(forecasts[name]) for name in names], axis=0))
        for names in AVERAGED
        if set(names) <= set(forecasts)
    }


NAIVE = {"last steps": last_steps, "curve": curve_forecast, "ratio": ratio_forecast}
