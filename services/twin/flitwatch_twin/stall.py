"""Stall curve: converts utilisation to waiting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", bound=np.floating)

#: Curve fitted to the packet engine, with its seed and its error; written by `stall_fit`.
CURVE_FILE = Path(__file__).parent / "stall_curve.json"


@dataclass(frozen=True)
class StallCurve:
    """Curve scale x v^2 / (2 (1 - v)) with v = min(u, knee): the M/D/1 queue times a factor, continued above the knee as a straight line.

    Attributes
    ----------
    scale : waiting relative to one M/D/1 server, above 0 (a crossbar's arrivals are bursty and credits are late).
    knee : utilisation above which finite buffers shed load as back-pressure, so that the queueing curve no longer holds.
    slope_above_knee : waiting over service time, per unit of utilisation above the knee.
    """

    scale: float = 1.0
    knee: float = 0.9
    slope_above_knee: float = 22.5

    def waiting(self, utilisation: NDArray[Real]) -> NDArray[Real]:
        """Return the mean waiting over service time: dimensionless, non-negative, with the input's shape and floating type."""
        below_knee = np.minimum(utilisation, self.knee)
        above = np.maximum(utilisation - self.knee, 0)
        result: NDArray[Real] = (
            self.scale * below_knee * below_knee / (2 * (1 - below_knee)) + self.slope_above_knee * above
        )
        return result


#: The plain queue, for the campaign: its capacities combine all of a router's tiles, unlike the fitted cases.
waiting = StallCurve().waiting


@lru_cache(maxsize=1)
def load_curve() -> StallCurve:
    """Load the curve that was fitted to the packet engine."""
    stored = json.loads(CURVE_FILE.read_text())
    return StallCurve(stored["scale"], stored["knee"], stored["slope_above_knee"])
