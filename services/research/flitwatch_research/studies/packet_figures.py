"""Figures of the packet-level studies: bars with one value per case, grouped by the first key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: study -> (value, its label); values with quartiles have whiskers.
VALUES = {
    "taffet-table4.3": ("error_percent", "error of the reconstruction, %"),
    "taffet-table5.1": ("time_ms", "completion, ms"),
    "taffet-table5.2": ("time_ms", "completion, ms"),
    "taffet-table2.1": ("one_bit_traffic_percent", "relative RMS error of traffic, one-bit, %"),
    "taffet-pf3d": ("time_ms", "time of the job, ms"),
    "taffet-minighost": ("time_ms", "completion, ms"),
    "desensi-fig3": ("time_us", "ping-pong, us"),
    "desensi-fig4": ("time_us", "all-to-all, us"),
    "desensi-fig5": ("qcd_time", "quartile coefficient of dispersion of time"),
    "desensi-fig7": ("time_us", "ping-pong, us"),
    "desensi-fig8": ("time_us", "ping-pong, us"),
    "desensi-fig8-collectives": ("time_us", "completion, us"),
    "desensi-fig10": ("time_us", "communication time, us"),
    "desensi-calibration": ("latency_factor", "latency with high bias over latency with adaptive routing"),
    "desensi-model": ("correlation", "correlation of model and simulation"),
}
_CASE_KEYS = (
    "application",
    "lanes",
    "allocation",
    "pattern",
    "place",
    "placement",
    "mapping",
    "messages",
    "congestion",
    "strategy",
    "routing",
    "mode",
    "size_bytes",
    "downsampling",
)


def draw(answer: dict[str, Any], folder: Path) -> list[Path]:
    """Draw one SVG into `folder`: one bar per case, with whiskers from the first to the third quartile."""
    value, label = VALUES[answer["study"]]
    points = answer["points"]
    names = [" ".join(str(p[key]) for key in _CASE_KEYS if key in p) for p in points]
    quartiles = isinstance(points[0][value], dict)
    heights = [p[value]["median"] if quartiles else p[value] for p in points]
    with plt.rc_context({"svg.hashsalt": answer["study"], "font.size": 8}):
        figure, axes = plt.subplots(figsize=(7.0, 1.2 + 0.22 * len(points)), layout="constrained")
        axes.barh(range(len(points)), heights, color="#4c78a8")
        if quartiles:
            low = [h - p[value]["q1"] for h, p in zip(heights, points, strict=True)]
            high = [p[value]["q3"] - h for h, p in zip(heights, points, strict=True)]
            axes.errorbar(
                heights, range(len(points)), xerr=[low, high], fmt="none", ecolor="black", capsize=2, linewidth=0.8
            )
        axes.set_yticks(range(len(points)), names)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.grid(axis="x", alpha=0.3)
        axes.set_title(f"{answer['study']}: simulated, seed {answer['seed']}", fontsize=9)
        path = folder / f"{answer['study']}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return [path]
