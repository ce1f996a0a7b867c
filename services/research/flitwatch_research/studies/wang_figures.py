"""Figures of the Wang studies in the paper's form: matrices, boxes of ranks, shares of channels, lines over loads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from flitwatch_research.studies.wang_distributions import SHARES_PERCENT

Points = list[dict[str, Any]]
_PLACEMENTS = {
    "contiguous": "cont",
    "random-cabinet": "cab",
    "random-chassis": "chas",
    "random-router": "rotr",
    "random-node": "rand",
}
_ROUTINGS = {"minimal": "min", "adaptive": "adp"}
#: The extremes of localised communication and balanced traffic, shown in figures 4 to 7.
_EXTREMES = {"cont-min": ("C0", "-"), "cont-adp": ("C0", "--"), "rand-min": ("C1", "-"), "rand-adp": ("C1", "--")}
_CHANNELS = {
    "hops": "routers that a rank's packets pass",
    "local_traffic_mb": "traffic of local channels, MB",
    "local_saturation_ms": "saturation of local channels, ms",
    "global_traffic_mb": "traffic of global channels, MB",
    "global_saturation_ms": "saturation of global channels, ms",
}


def draw(answer: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the study's SVGs into `folder`: one for all applications, and for figures 3 and 8 to 10 another one for the channels."""
    with plt.rc_context({"svg.hashsalt": answer["study"], "font.size": 8, "axes.grid": True, "grid.alpha": 0.3}):
        figures = {
            "wang-fig2": lambda: [("", _draw_patterns(answer))],
            "wang-fig3": lambda: [("", _draw_boxes(answer, None)), ("-channels", _draw_channels(answer, ("none",)))],
            "wang-fig7": lambda: [("", _draw_loads(answer))],
            "wang-fig8-10": lambda: [
                *((f"-{kind}", _draw_boxes(answer, kind)) for kind in ("uniform", "bursty")),
                ("-channels", _draw_channels(answer, ("uniform", "bursty"))),
            ],
        }[answer["study"]]()
        paths = []
        for name, figure in figures:
            path = folder / f"{answer['study']}{name}.svg"
            figure.suptitle(f"{answer['study']}: simulated on {answer['topology']}, seed {answer['seed']}", fontsize=9)
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)
            paths.append(path)
    return paths


def _list_applications(points: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(point["application"] for point in points))


def _format_name(point: dict[str, Any]) -> str:
    return f"{_PLACEMENTS[point['placement']]}-{_ROUTINGS[point['routing']]}"


def _draw_patterns(answer: dict[str, Any]) -> Any:
    names = _list_applications(answer["points"])
    figure, axes = plt.subplots(2, len(names), figsize=(3.2 * len(names), 5.2), layout="constrained", squeeze=False)
    for (top, bottom), matrix in zip(axes.T, answer["matrices"], strict=True):
        sent_mb = np.array(matrix["sent_mb"])
        sent_mb[sent_mb == 0] = np.nan
        shown = top.imshow(sent_mb, extent=(0, matrix["ranks"], matrix["ranks"], 0), cmap="viridis", aspect="equal")
        figure.colorbar(shown, ax=top, label="MB", shrink=0.7)
        top.grid(visible=False)
        top.set(title=matrix["application"], xlabel="to rank", ylabel="from rank")
        load = [point for point in answer["points"] if point["application"] == matrix["application"]]
        bottom.step([point["time_ms"] for point in load], [point["mean_kb"] for point in load], where="post")
        bottom.set(xlabel="time, ms", ylabel="load of a rank, kB")
    return figure


def _draw_boxes(answer: dict[str, Any], background: str | None) -> Any:
    """Return a figure with boxes of all ranks of all draws; the cross is the slowest rank, mean over draws with its 95 % interval."""
    points = [point for point in answer["points"] if background is None or point["background"] == background]
    names = _list_applications(points)
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.4), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], names, strict=True):
        own = [point for point in points if point["application"] == name]
        panel.bxp([_make_box(point["time_ms"], _format_name(point)) for point in own], showfliers=False)
        for place, point in enumerate(own, 1):
            low, high = point["slowest_ms"]["ci95"] or (point["slowest_ms"]["mean"],) * 2
            mean = point["slowest_ms"]["mean"]
            panel.errorbar(place, mean, [[mean - low], [high - mean]], fmt="x", color="C3", capsize=2, linewidth=0.8)
        panel.tick_params(axis="x", rotation=60)
        panel.set_ylim(bottom=0)
        panel.set(
            title=name + ("" if background is None else f", {background} background"), ylabel="communication time, ms"
        )
    return figure


def _make_box(spread: dict[str, float], label: str) -> dict[str, Any]:
    return {
        "label": label,
        "whislo": spread["min"],
        "q1": spread["q1"],
        "med": spread["median"],
        "q3": spread["q3"],
        "whishi": spread["max"],
    }


def _draw_channels(answer: dict[str, Any], backgrounds: tuple[str, ...]) -> Any:
    """Return a figure with the share of channels that do not exceed a value, for the extremes of placement and routing."""
    rows = [
        (name, kind)
        for name in _list_applications(answer["points"])
        for kind in backgrounds
        if any(point["application"] == name and point.get("background", "none") == kind for point in answer["points"])
    ]
    kinds = [
        key
        for key in _CHANNELS
        if all(point[key] for point in answer["points"] if point.get("background", "none") in backgrounds)
    ]
    figure, axes = plt.subplots(
        len(rows), len(kinds), figsize=(2.6 * len(kinds), 2.3 * len(rows)), layout="constrained", squeeze=False
    )
    for line, (name, background) in zip(axes, rows, strict=True):
        for panel, key in zip(line, kinds, strict=True):
            for point in answer["points"]:
                if (point["application"], point.get("background", "none")) != (name, background) or _format_name(
                    point
                ) not in _EXTREMES:
                    continue
                colour, dash = _EXTREMES[_format_name(point)]
                panel.plot(
                    point[key]["quantiles"], SHARES_PERCENT, dash, color=colour, linewidth=1, label=_format_name(point)
                )
            panel.set(xlabel=_CHANNELS[key], title=name if background == "none" else f"{name}, {background}")
        line[0].set_ylabel("share, %")
        line[0].legend(fontsize=6)
    return figure


def _draw_loads(answer: dict[str, Any]) -> Any:
    names = _list_applications(answer["points"])
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.2), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], names, strict=True):
        for combination, (colour, dash) in _EXTREMES.items():
            own = [
                point
                for point in answer["points"]
                if point["application"] == name and _format_name(point) == combination
            ]
            share = [point["slowest_percent_of_random_adaptive"] for point in own]
            ends = np.array([point["ci95"] or [point["mean"]] * 2 for point in share])
            mean = np.array([point["mean"] for point in share])
            panel.errorbar(
                [point["scale"] for point in own],
                mean,
                np.abs(ends.T - mean),
                label=combination,
                color=colour,
                linestyle=dash,
                capsize=2,
                linewidth=1,
            )
        panel.set(title=name, xlabel="size of messages over the original")
        panel.legend(fontsize=6)
    axes[0][0].set_ylabel("slowest rank, % of rand-adp")
    return figure
