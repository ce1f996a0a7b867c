"""Figures of the Hoefler studies: slowdown with confidence intervals, one line per series and semantics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

_STYLE = {"orcs": ("-", "o"), "longest-path": (":", "s")}


def draw(answer: dict[str, Any], folder: Path) -> list[Path]:
    """Draw one SVG into `folder`: solid lines for orcs (the published semantics), dotted for longest path."""
    series = list(dict.fromkeys(point["series"] for point in answer["points"]))
    colours = dict(zip(series, plt.get_cmap("tab10").colors, strict=False))  # type: ignore[attr-defined]
    with plt.rc_context({"svg.hashsalt": answer["study"], "font.size": 9}):
        figure, axes = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
        for name in series:
            for rule, (line, mark) in _STYLE.items():
                _draw_line(
                    axes,
                    [p for p in answer["points"] if (p["series"], p["semantics"]) == (name, rule)],
                    colours[name],
                    line,
                    mark,
                )
        axes.set_xlabel(answer["x_label"])
        axes.set_ylabel("slowdown (perturbed / unperturbed)")
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(left=0.0)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=2, fontsize=7)
        runs = min(point["runs"] for point in answer["points"])
        axes.set_title(f"{answer['study']}: simulated, {runs} random mappings per point, 95 % intervals", fontsize=9)
        path = folder / f"{answer['study']}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return [path]


def _draw_line(axes: Any, points: list[dict[str, Any]], colour: Any, line: str, mark: str) -> None:
    if not points:
        return
    points = sorted(points, key=lambda point: point["x"])
    means = [point["slowdown"]["mean"] for point in points]
    half = [(point["slowdown"]["ci95"][1] - point["slowdown"]["ci95"][0]) / 2 for point in points]
    label = f"{points[0]['series']}, {points[0]['semantics']}"
    style = {"color": colour, "linestyle": line, "marker": mark, "markersize": 3, "linewidth": 1, "capsize": 2}
    axes.errorbar([point["x"] for point in points], means, yerr=half, label=label, **style)
