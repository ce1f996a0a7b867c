"""Draws the experiment's series as figure 2.15 has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flitwatch_simulation.namespaces.experiment import LabStudy


def draw_figure(answer: LabStudy, path: Path) -> None:
    """Cumulative traffic (solid) and congested packets (dashed) of the links that carried sampled traffic, by the paper's seconds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    series = answer["series"]
    traffic, congested = np.array(series["traffic"]), np.array(series["congested"])
    seconds = (np.arange(len(traffic)) + 1) * series["slice_s"] * answer["speedup"]
    for link, row in enumerate(answer["links"]):
        if not row["true"]:
            continue
        (line,) = axes.plot(seconds, traffic[:, link], label=row["link"])
        if row["congested"] > 5 * row["congested_deviation"]:
            axes.plot(seconds, congested[:, link], "--", color=line.get_color(), label=f"{row['link']} (C)")
    axes.set_xlabel(f"seconds of the paper's experiment (run {answer['speedup']:g} times as fast)")
    axes.set_ylabel("packets, estimated from samples")
    axes.set_title("Figure 2.15 on network namespaces: traffic, and congested (C)")
    axes.legend(fontsize=8)
    figure.savefig(path)
