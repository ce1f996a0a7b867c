"""Week of the simulated machine: second 0 is a Monday at 00:00."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

HOUR_S = 3600
DAY_S = 86400
WEEK_S = 7 * DAY_S


def hour_of_day(time_s: ArrayLike) -> NDArray[np.float64]:
    """Return the hour in [0, 24) of simulated seconds."""
    return (np.asarray(time_s, np.float64) / HOUR_S) % 24


def is_weekday(time_s: ArrayLike) -> NDArray[np.bool_]:
    """Return whether simulated seconds are in Monday to Friday."""
    return np.asarray((np.asarray(time_s, np.float64) // DAY_S) % 7 < 5)


def day_load(time_s: ArrayLike) -> NDArray[np.float64]:
    """Return the relative intensity of the many small users: 1 at 14:00 on a weekday, 0.6 at weekends, 0.7 in weekday nights."""
    hour = hour_of_day(time_s)
    return np.where(is_weekday(time_s), 0.7 + 0.3 * np.exp(-(((hour - 14) / 4.5) ** 2)), 0.6)
