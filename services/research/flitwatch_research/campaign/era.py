"""Changes during a campaign: an upgrade of the machine, and new firmware with differently scaled counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.variants import Variant

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Era:
    """Dates and sizes of the changes.

    Attributes
    ----------
    upgrade_s, pace : from this simulated second on, all needs of a run are multiplied by `pace`.
    firmware_s, gain : from this second on, counters are multiplied by `gain`: float64[counters].
    """

    upgrade_s: float
    pace: float
    firmware_s: float
    gain: Float

    @classmethod
    def draw(cls, variant: Variant, rng: np.random.Generator, span_s: float, counters: int) -> Era:
        """Draw changes in the middle half of the campaign; the upgrade can speed up or slow down runs."""
        upgrade_s, firmware_s = rng.uniform(0.25, 0.75, 2) * span_s
        pace = float(np.exp(variant.level_shift * rng.choice([-1, 1])))
        return cls(float(upgrade_s), pace, float(firmware_s), np.exp(variant.firmware * rng.standard_normal(counters)))

    def pace_at(self, time_s: float) -> float:
        """Return the needs of a run that starts at `time_s`, as a multiple of those before the upgrade."""
        return self.pace if time_s >= self.upgrade_s else 1.0

    def gain_at(self, time_s: float) -> Float | float:
        """Return the factor on counters of a run that starts at `time_s`."""
        return self.gain if time_s >= self.firmware_s else 1.0


def draw_variation(rng: np.random.Generator, variation: float) -> float:
    """Draw one run's needs as a multiple of the usual ones, independent of the network: log-normal with median 1."""
    return float(np.exp(variation * rng.standard_normal()))
