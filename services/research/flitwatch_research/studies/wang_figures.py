"""Figures of the Wang studies, as the paper draws them: matrices, boxes of ranks, shares of channels, lines over loads."""

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
#: The extremes of localised communication and balanced traffic, which figures 4 to 7 show.
_EXTREMES = {"cont-min": ("C0", "-"), "cont-adp": ("C0", "--"), "rand-min": ("C1", "-"), "rand-adp": ("C1", "--")}
_CHANNELS = {
    "hops": "routers that a rank's packets pass",
    "local_traffic_mb": "traffic of local channels, MB",
    "local_saturation_ms": "saturation of local channels, ms",
    "global_traffic_mb": "traffic of global channels, MB",
    "global_saturation_ms": "saturation of global channels, ms",
}


def draw(answer: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the study's SVGs into `folder`: one for all applications, of figures 3 and 8 to 10 one more for the channels."""
    with plt.rc_context({"svg.hashsalt": answer["study"], "font.size": 8, "axes.grid": True, "grid.alpha": 0.3}):
        figures = {
            "wang-fig2": lambda: [("", _patterns(answer))],
            "wang-fig3": lambda: [("", _boxes(answer, None)), ("-channels", _channels(answer, ("none",)))],
            "wang-fig7": lambda: [("", _loads(answer))],
            "wang-fig8-10": lambda: [
                *((f"-{kind}", _boxes(answer, kind)) for kind in ("uniform", "bursty")),
                ("-channels", _channels(answer, ("uniform", "bursty"))),
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


def _applications(points: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(one["application"] for one in points))


def _name(point: dict[str, Any]) -> str:
    return f"{_PLACEMENTS[point['placement']]}-{_ROUTINGS[point['routing']]}"


def _patterns(answer: dict[str, Any]) -> Any:
    names = _applications(answer["points"])
    figure, axes = plt.subplots(2, len(names), figsize=(3.2 * len(names), 5.2), layout="constrained", squeeze=False)
    for (top, bottom), matrix in zip(axes.T, answer["matrices"], strict=True):
        sent = np.array(matrix["sent_mb"])
        sent[sent == 0] = np.nan
        shown = top.imshow(sent, extent=(0, matrix["ranks"], matrix["ranks"], 0), cmap="viridis", aspect="equal")
        figure.colorbar(shown, ax=top, label="MB", shrink=0.7)
        top.grid(visible=False)
        top.set(title=matrix["application"], xlabel="to rank", ylabel="from rank")
        load = [one for one in answer["points"] if one["application"] == matrix["application"]]
        bottom.step([one["time_ms"] for one in load], [one["mean_kb"] for one in load], where="post")
        bottom.set(xlabel="time, ms", ylabel="load of a rank, kB")
    return figure


def _boxes(answer: dict[str, Any], background: str | None) -> Any:
    """Boxes of all ranks of all draws; the cross is the slowest rank, mean over draws with its 95 % interval."""
    points = [one for one in answer["points"] if background is None or one["background"] == background]
    names = _applications(points)
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.4), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], names, strict=True):
        own = [one for one in points if one["application"] == name]
        panel.bxp([_box(one["time_ms"], _name(one)) for one in own], showfliers=False)
        for place, one in enumerate(own, 1):
            low, high = one["slowest_ms"]["ci95"] or (one["slowest_ms"]["mean"],) * 2
            mean = one["slowest_ms"]["mean"]
            panel.errorbar(place, mean, [[mean - low], [high - mean]], fmt="x", color="C3", capsize=2, linewidth=0.8)
        panel.tick_params(axis="x", rotation=60)
        panel.set_ylim(bottom=0)
        panel.set(
            title=name + ("" if background is None else f", {background} background"), ylabel="communication time, ms"
        )
    return figure


def _box(spread: dict[str, float], label: str) -> dict[str, Any]:
    return {
        "label": label,
        "whislo": spread["min"],
        "q1": spread["q1"],
        "med": spread["median"],
        "q3": spread["q3"],
        "whishi": spread["max"],
    }


def _channels(answer: dict[str, Any], backgrounds: tuple[str, ...]) -> Any:
    """Share of ranks or channels that do not exceed a value, for the extremes of placement and routing."""
    rows = [
        (name, kind)
        for name in _applications(answer["points"])
        for kind in backgrounds
        if any(one["application"] == name and one.get("background", "none") == kind for one in answer["points"])
    ]
    kinds = [
        key
        for key in _CHANNELS
        if all(one[key] for one in answer["points"] if one.get("background", "none") in backgrounds)
    ]
    figure, axes = plt.subplots(
        len(rows), len(kinds), figsize=(2.6 * len(kinds), 2.3 * len(rows)), layout="constrained", squeeze=False
    )
    for line, (name, background) in zip(axes, rows, strict=True):
        for panel, key in zip(line, kinds, strict=True):
            for one in answer["points"]:
                if (one["application"], one.get("background", "none")) != (name, background) or _name(
                    one
                ) not in _EXTREMES:
                    continue
                colour, dash = _EXTREMES[_name(one)]
                panel.plot(one[key]["quantiles"], SHARES_PERCENT, dash, color=colour, linewidth=1, label=_name(one))
            panel.set(xlabel=_CHANNELS[key], title=name if background == "none" else f"{name}, {background}")
        line[0].set_ylabel("share, %")
        line[0].legend(fontsize=6)
    return figure


def _loads(answer: dict[str, Any]) -> Any:
    names = _applications(answer["points"])
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.2), layout="constrained", squeeze=False)
    for panel, name in zip(axes[0], names, strict=True):
        for combination, (colour, dash) in _EXTREMES.items():
            own = [one for one in answer["points"] if one["application"] == name and _name(one) == combination]
            share = [one["slowest_percent_of_random_adaptive"] for one in own]
            ends = np.array([one["ci95"] or [one["mean"]] * 2 for one in share])
            mean = np.array([one["mean"] for one in share])
            panel.errorbar(
                [one["scale"] for one in own],
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
