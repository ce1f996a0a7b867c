"""Causes of an application's slowdown in a campaign, and the noise of its counters: the plain variant's law, or the packet engine's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.background import draw_autoregressive
from flitwatch_research.campaign.variants import Variant
from flitwatch_research.campaign.window import DT_S
from flitwatch_twin import stall
from flitwatch_twin.applications import Application

#: Log-normal noise of a counter in a step, in the plain and in the packet engine's variant; in the latter, noise of a counter's scale from run to run.
NOISE, NOISE_OF_PACKETS, GAIN_OF_PACKETS = 0.03, 0.12, 0.08
#: In the packet engine's variant: sensitivities to router, processor, global links and I/O that are causes, and sensitivity to those that are not.
STRONG, FAINT = np.array([4.0, 12.0, 1.6, 0.1]), 0.08
#: Sensitivities there to waiting for answers and for column buffers.
STRONG_OWN = 1.3
#: A run's own waiting, not caused by traffic: median, spreads from run to run and in time, memory.
OWN_MEDIAN, OWN_BETWEEN, OWN_WITHIN, OWN_MEMORY_S = 0.7, 0.5, 0.6, 300.0

Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cause:
    """Sensitivity of one set's application to the fabric.

    Attributes
    ----------
    waiting : from utilisation to waiting over service time.
    sensitivity : float64[6]; slowdown per unit of waiting at each of `dataset.COMPONENTS`.
    noise, spread : log-normal noise of a counter in a step, and of its scale in a run.
    """

    waiting: Callable[[NDArray[Any]], NDArray[Any]]
    sensitivity: Float
    noise: float = NOISE
    spread: float = 0.0

    @classmethod
    def of(cls, app: Application, variant: Variant, rng: np.random.Generator) -> Cause:
        """Return the plain law, or in the packet engine's variant two to four random causes among network, processor, answers and column buffers."""
        if not variant.packet_law:
            return cls(stall.waiting, np.append(app.sensitivity.vector(), [0.0, 0.0]))
        chosen = rng.permutation(4)[: rng.integers(2, 5)]
        network, processor, responses, buffers = np.where(
            np.isin(np.arange(4), chosen), rng.lognormal(0, 0.25, 4), FAINT
        )
        own = np.where(np.array([responses, buffers]) > FAINT, STRONG_OWN * np.array([responses, buffers]), 0.0)
        vector = STRONG * np.array([network, processor, network, 1.0])
        return cls(stall.load_curve().waiting, np.append(vector, own), NOISE_OF_PACKETS, GAIN_OF_PACKETS)

    def own(self, rng: np.random.Generator, points: int) -> Float:
        """Return waiting for answers and column buffers on a run's own routers, not caused by other jobs: float64[points, 2]; 0 if neither is a cause."""
        if not self.sensitivity[4:].any():
            return np.zeros((points, 2))
        level = OWN_MEDIAN * np.exp(OWN_BETWEEN * rng.standard_normal(2))
        mood = draw_autoregressive(rng, points, 2, float(np.exp(-DT_S / OWN_MEMORY_S))).astype(np.float64)
        return level * np.exp(OWN_WITHIN * mood)

    def gain(self, rng: np.random.Generator, counters: int) -> Float:
        """Draw the factor on each counter of one run: float64[counters]."""
        return np.exp(self.spread * rng.standard_normal(counters))
