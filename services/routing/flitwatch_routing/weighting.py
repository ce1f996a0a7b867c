"""Weightings of a link's load: bytes, or packets and bytes mixed, so that many small messages count as well as few large ones (Taffet 2021, section 5.4)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Amount = TypeVar("Amount", float, NDArray[np.float64])


def weighting_name(mtu: float | None) -> str:
    """Return the name of the weighting: bytes without an MTU, mixed with one."""
    return "bytes" if mtu is None else "mixed"


def weighted_bytes(size: Amount, packets: Amount, mtu: float) -> Amount:
    """Return weighted bytes, MTU/2 x packets + bytes/2: the plain bytes if all packets have `mtu` bytes. It is linear, so it applies to pairs and counters."""
    return mtu / 2 * packets + size / 2
