"""From utilisation to waiting: the one curve that turns load into stalls."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", bound=np.floating)

#: Above this utilisation the queueing curve is continued by a straight line.
KNEE = 0.9
#: Slope above the knee: a little under half the curve's own slope there, because finite buffers shed the rest as back-pressure.
SLOPE_ABOVE_KNEE = 22.5


def waiting(utilisation: NDArray[Real]) -> NDArray[Real]:
    """Mean waiting time over service time at a server of the given utilisation.

    The M/D/1 queue's v^2 / (2 (1 - v)) for v = min(u, 0.9), linear above. Any shape, dimensionless, non-negative; the result
    has the input's shape and floating type.
    """
    held = np.minimum(utilisation, KNEE)
    above = np.maximum(utilisation - KNEE, 0)
    result: NDArray[Real] = held * held / (2 * (1 - held)) + SLOPE_ABOVE_KNEE * above
    return result
