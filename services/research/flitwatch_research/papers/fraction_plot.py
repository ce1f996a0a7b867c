"""The congested fraction plot of Taffet 2021 (section 2.3.3) as a file; the page draws the same from a site's samples.

The page draws in the browser and this package without one, so they share the rule and not the code: `web/tests/fixture/halves.json` holds both to the same halves.

A link's upper half is the direction down, its lower half the direction up. Darkness is the congested fraction, width the traffic, with a common scale in all
plots of a picture. Below each leaf switch is a column of nodes with two bars each: the link to the node above the link from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import CongestionMap

#: Sizes in points: a plot's height and minimum width, a leaf switch, the widest half of a link, a node's two bars.
HEIGHT, LEAST, LEAF, WIDEST, BAR = 150.0, 230.0, 9.0, 2.4, 1.0
#: Grey level of a fraction of 0, which is light, not white.
LIGHTEST = 0.88
#: Halves with less traffic than this share of the widest are not drawn.
SEEN = 1e-3


@dataclass(frozen=True)
class Plot:
    """One plot of a picture: the congestion map, its name, and the number of leaf switches shown, from the left (0: all)."""

    seen: CongestionMap
    title: str
    leaves: int = 0


@dataclass(frozen=True)
class Halves:
    """Directed links between two places, with the cables of a pair combined.

    Attributes
    ----------
    src, dst : vertices;  use : sum of utilisations;  fraction : mean congested fraction weighted by use, NaN if unknown
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    use: NDArray[np.float64]
    fraction: NDArray[np.float64]


def compute_halves(seen: CongestionMap) -> Halves:
    """Return the halves of all links with traffic."""
    links = seen.fabric.links
    vertices = len(seen.fabric.routers) + len(seen.fabric.endpoints)
    pair = np.asarray(links.src, np.int64) * vertices + np.asarray(links.dst)
    key, at = np.unique(pair, return_inverse=True)
    use = np.nan_to_num(seen.utilisation)
    has_fraction = np.isfinite(seen.congested_fraction)
    total: NDArray[np.float64] = np.bincount(at, use, key.size).astype(float)
    weight = np.bincount(at, use * has_fraction, key.size)
    dark = np.bincount(at, use * np.nan_to_num(seen.congested_fraction), key.size)
    fraction = np.divide(dark, weight, out=np.full(key.size, np.nan), where=weight > 0)
    carries = total > 0
    return Halves(key[carries] // vertices, key[carries] % vertices, total[carries], fraction[carries])


@dataclass(frozen=True)
class Scale:
    """The largest use of a pair of switches, and of a node's link, over all plots of a picture."""

    link: float
    node: float

    @classmethod
    def of(cls, plots: Sequence[Plot]) -> Scale:
        """Return the scale of these plots, which is always positive."""
        link = node = 1e-12
        for plot in plots:
            drawn_halves, routers = compute_halves(plot.seen), len(plot.seen.fabric.routers)
            between = (drawn_halves.src < routers) & (drawn_halves.dst < routers)
            link = max(link, float(drawn_halves.use[between].max(initial=0.0)))
            node = max(node, float(drawn_halves.use[~between].max(initial=0.0)))
        return cls(link, node)


def draw_plots(plots: Sequence[Plot], path: Path) -> None:
    """Draw plots of one fabric side by side, or one below the other if they are wide."""
    widths = [_plot_width_pt(plot) for plot in plots]
    side_by_side = sum(widths) <= 1000
    across = len(plots) if side_by_side else 1
    down = 1 if side_by_side else len(plots)
    size = ((sum(widths) if side_by_side else max(widths)) / 72, down * (HEIGHT + 14) / 72)
    scale = Scale.of(plots)
    with plt.rc_context({"font.size": 7}):
        figure, several = plt.subplots(down, across, figsize=size, squeeze=False)
        figure.subplots_adjust(0, 0, 1, HEIGHT / (HEIGHT + 14) if side_by_side else 0.93, 0.0, 0.14)
        for axes, plot in zip(several.ravel(), plots, strict=True):
            _draw_plot(axes, plot, scale)
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)


def _plot_width_pt(one: Plot) -> float:
    level = np.asarray(one.seen.fabric.routers.level)
    leaves = int((level == level.min()).sum())
    return max(LEAST, LEAF * (min(one.leaves, leaves) if one.leaves else leaves))


def _draw_plot(axes: Axes, one: Plot, scale: Scale) -> None:
    fabric, drawn_halves, width = one.seen.fabric, compute_halves(one.seen), _plot_width_pt(one)
    routers, level = len(fabric.routers), np.asarray(fabric.routers.level)
    leaf_of = np.asarray(fabric.endpoints.router, np.int64)
    leaves = np.flatnonzero(level == level.min())
    shown_leaves = leaves[: one.leaves] if one.leaves else leaves
    column = np.zeros(len(leaf_of), np.int64)
    for leaf in shown_leaves:
        nodes = np.flatnonzero(leaf_of == leaf)
        column[nodes] = np.arange(nodes.size)
    bottom = 2 * BAR * (column.max(initial=0) + 1) + 8
    shown = np.isin(np.arange(routers), shown_leaves) | (level > level.min())
    x, y = np.zeros(routers), np.zeros(routers)
    for step in np.unique(level):
        row = np.flatnonzero((level == step) & shown)
        x[row] = (np.arange(row.size) + 0.5) * width / row.size
        y[row] = bottom + (step - level.min()) * (HEIGHT - bottom - 6) / max(1, level.max() - level.min())
    thick = WIDEST * drawn_halves.use / scale.link
    grey = LIGHTEST * (1 - np.nan_to_num(drawn_halves.fraction))
    between = (drawn_halves.src < routers) & (drawn_halves.dst < routers) & (drawn_halves.use > SEEN * scale.link)
    between[between] = shown[drawn_halves.src[between]] & shown[drawn_halves.dst[between]]
    src, dst = drawn_halves.src[between], drawn_halves.dst[between]
    up = level[dst] > level[src]
    low, high = np.where(up, src, dst), np.where(up, dst, src)
    ends = np.stack([np.stack([x[low], y[low]], 1), np.stack([x[high], y[high]], 1)], 1)
    along = ends[:, 1] - ends[:, 0]
    normal = np.stack([-along[:, 1], along[:, 0]], 1) / np.linalg.norm(along, axis=1, keepdims=True)
    # Upwards on the page; on a vertical link the direction down is on the left.
    above = (normal[:, 1] > 1e-9) | ((np.abs(normal[:, 1]) <= 1e-9) & (normal[:, 0] < 0))
    normal[~above] *= -1
    ends = ends + ((np.where(up, -0.5, 0.5) * thick[between])[:, None] * normal)[:, None]
    order = np.argsort(-grey[between])
    axes.add_collection(
        LineCollection(
            ends[order],
            linewidths=np.maximum(thick[between][order], 0.25),
            colors=[str(shade) for shade in grey[between][order]],
            capstyle="butt",
        )
    )
    pitch = width / max(1, shown_leaves.size)
    bars, colours = [], []
    for vertex, into in ((drawn_halves.dst, 1), (drawn_halves.src, 0)):
        for at in np.flatnonzero((vertex >= routers) & (drawn_halves.use > SEEN * scale.node)):
            node = int(vertex[at]) - routers
            if shown[leaf_of[node]]:
                long = 0.8 * pitch * drawn_halves.use[at] / scale.node
                top = bottom - 6 - 2 * BAR * column[node]
                bars.append(Rectangle((x[leaf_of[node]] - 0.4 * pitch, top - BAR * (2 - into)), long, BAR))
                colours.append(str(grey[at]))
    axes.add_collection(PatchCollection(bars, facecolors=colours, linewidths=0))
    axes.scatter(x[shown], y[shown], s=6, c="#9ecae1", linewidths=0, zorder=3)
    axes.set(xlim=(0, width), ylim=(0, HEIGHT))
    axes.set_title(one.title, fontsize=7, pad=2)
    axes.axis("off")
