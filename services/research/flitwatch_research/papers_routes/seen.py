"""Congestion seen by packets in chapter 5's simulations, stored for the congested fraction plots (figures 5.2 to 5.13): one byte per link and value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import CongestionMap
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.loop.machine import Carried

FOLDER = Path("docs/papers-routes")
#: Values in steps of the largest; the last one means an unknown fraction.
STEPS, UNKNOWN = 254, 255


def keep_seen(name: str, topology: str, carried: Carried, folder: Path = FOLDER) -> None:
    """Store a run's congested fractions and uses as `seen-NAME.npz`."""
    use = use_of(fabric_of(topology), carried)
    most = float(use.max(initial=0.0))
    fraction = np.where(np.isfinite(carried.congested), np.rint(np.nan_to_num(carried.congested) * STEPS), UNKNOWN)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / f"seen-{name}.npz",
        topology=topology,
        most=most,
        fraction=fraction.astype(np.uint8),
        use=np.rint(use * (STEPS / most if most > 0 else 0.0)).astype(np.uint8),
    )


def load_seen(name: str, folder: Path = FOLDER) -> CongestionMap:
    """Load a congestion map stored by `keep_seen`."""
    with np.load(folder / f"seen-{name}.npz") as archive:
        fraction = np.where(archive["fraction"] == UNKNOWN, np.nan, archive["fraction"] / STEPS)
        return CongestionMap(
            fabric_of(str(archive["topology"])), fraction, archive["use"] * (float(archive["most"]) / STEPS)
        )


def was_kept(name: str, folder: Path = FOLDER) -> bool:
    """Return whether stored data exist."""
    return (folder / f"seen-{name}.npz").exists()


def use_of(fabric: Fabric, carried: Carried) -> NDArray[np.float64]:
    """Return (links,) bytes of all jobs relative to each link's capacity until the end of the timed jobs."""
    capacity = np.asarray(fabric.links.bandwidth_bps, float) / 8 * carried.time_s
    return carried.link_bytes / capacity
