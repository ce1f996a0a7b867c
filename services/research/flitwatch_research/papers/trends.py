"""Figure 7 of Bhatele 2020 from a simulated campaign: mean time and mean counters of each step."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from flitwatch_ml.deviation.curve import MeanCurve
from flitwatch_research.campaign import COUNTER_NAMES, Campaign, generate_campaign

#: The campaign, with few users, so that it takes half a minute.
SCENARIO, SEED, USERS = "milc-128", 1, 40
#: Counters drawn in addition to time: flits and stalls on router tiles.
SHOWN = ("RT_FLIT_TOT", "RT_RB_STL")


def load_campaign() -> Campaign:
    """Return only the observations; they are cached on disk."""
    return generate_campaign(SCENARIO, SEED, USERS)


def compute_trends(seen: Campaign) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return the mean time (steps,) in seconds, and the mean count (steps,) by counter, over all runs."""
    curve = MeanCurve().fit(seen.rates * seen.times_s[:, :, None], seen.times_s)
    return curve.time_s_, {name: curve.counters_[:, place] for place, name in enumerate(COUNTER_NAMES)}


def draw_trends(seen: Campaign, path: Path) -> None:
    """Draw the mean time per step and the mean counts of `SHOWN` per step, side by side."""
    time_s, counters = compute_trends(seen)
    parts = [("mean time of a step, s", time_s), *((f"mean {name} of a step", counters[name]) for name in SHOWN)]
    with plt.rc_context({"font.size": 7}):
        figure, several = plt.subplots(1, len(parts), figsize=(3.2 * len(parts), 2.4), layout="constrained")
        for axes, (label, values) in zip(several, parts, strict=True):
            axes.plot(np.arange(1, len(values) + 1), values, linewidth=1)
            axes.set(xlabel="step", ylabel=label)
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
