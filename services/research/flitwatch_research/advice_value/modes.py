"""Effects of routing modes on jobs, measured in the packet engine by `mode_fit` and applied in addition to the twin's law for a job's load.

The adviser never reads this table. It gets only counters of network cards from jobs that alternated between the modes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_simulation.application_aware import DEFAULT_MODE

#: The table from the packet engine, with its machine and seeds; written by `mode_fit`.
TABLE_FILE = Path(__file__).parent / "routing_modes.json"
#: High bias towards minimal paths: the mode that De Sensi 2019 (section 4) alternates with the default.
HIGH_BIAS = "ADAPTIVE_3"
MODES = (DEFAULT_MODE, HIGH_BIAS)
#: A job's nodes in a group: neighbours, or random.
PLACINGS = ("packed", "scattered")
#: If the adviser has no data, a job alternates between the modes, step by step.
ALTERNATE = "alternate"


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of a mode on jobs of one exchange over a number of groups, packed or scattered, at rising utilisation of the shared links.

    Attributes
    ----------
    utilisation : float64[loads], ascending; time, latency_cycles, stalls_per_flit : float64[loads], under the mode
    detours : non-minimal share of bytes under the mode relative to the default mode
    routers_per_node : scatter of the measured jobs
    """

    utilisation: NDArray[np.float64]
    time: NDArray[np.float64]
    latency_cycles: NDArray[np.float64]
    stalls_per_flit: NDArray[np.float64]
    detours: float
    routers_per_node: float = 0.0

    def time_at(self, utilisation: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return communication time relative to the default mode; outside of the measured loads, the nearest one is used."""
        return np.asarray(np.interp(utilisation, self.utilisation, self.time))

    def counters_at(self, utilisation: NDArray[np.float64] | float) -> tuple[float, float]:
        """Return (latency in cycles, stalls per flit) as counted by the job's network cards."""
        return (
            float(np.interp(utilisation, self.utilisation, self.latency_cycles)),
            float(np.interp(utilisation, self.utilisation, self.stalls_per_flit)),
        )


@lru_cache(maxsize=1)
def load_effects() -> dict[tuple[int, int, str, str], Effect]:
    """Return the table by (exchange, number of groups, one of PLACINGS, mode). Jobs with other exchanges keep the default mode."""
    stored = json.loads(TABLE_FILE.read_text())
    table = {}
    for case in stored["cases"]:
        usual = case["modes"][DEFAULT_MODE]
        for mode, shown in case["modes"].items():
            table[case["exchange"], case["groups"], case["placing"], mode] = Effect(
                np.array(case["utilisation"]),
                np.array(shown["time"]),
                np.array(shown["latency_cycles"]),
                np.array(shown["stalls_per_flit"]),
                shown["non_minimal"] / usual["non_minimal"] if usual["non_minimal"] > 0 else 1.0,
                case["routers_per_node"],
            )
    return table


def effect_of(exchange: int, groups: int, routers_per_node: float, mode: str) -> Effect | None:
    """Return the effect for the most similar placing; None if this exchange was not measured."""
    table = load_effects()
    candidates = [
        effect for placing in PLACINGS if (effect := table.get((exchange, groups, placing, mode))) is not None
    ]
    return min(candidates, key=lambda effect: abs(effect.routers_per_node - routers_per_node), default=None)
