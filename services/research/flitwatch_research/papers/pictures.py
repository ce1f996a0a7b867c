"""Pictures for comparison with published figures, drawn by `make papers` from our traffic, bases and hash: small PNG files, linked in the page's rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_core import sampling
from flitwatch_domain.diagnosis import CongestionMap
from flitwatch_research.papers import fraction_plot, master_problem, sinusoids, trends
from flitwatch_research.papers.dictionary import NOISE, split_matrix
from flitwatch_research.papers.fraction_plot import Plot
from flitwatch_research.papers.scaled_counters import reconstruct_scaled
from flitwatch_research.papers_routes.reconstructions import load_portion
from flitwatch_research.papers_routes.seen import load_seen, was_kept
from flitwatch_research.studies.taffet import Pf3d
from flitwatch_research.studies.taffet_minighost import Ghost, south_grid
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.minighost import STRATEGIES

Floats = NDArray[np.float64]
PAPER, SEED = "taffet2021", 1
#: Stored results of `make papers-routes` and `papers_routes.convergence`.
KEPT = Path("docs/papers-routes")
#: Number of leaf switches with miniGhost's nodes; pF3D's cases.
GHOST_LEAVES, BACKGROUNDS = 24, {"alone": False, "alongside incasts": True}
#: Figure 2.7: 8 of the text's 40 variables, and 88 KB for a rank's face of 210 x 210 numbers (353 KB). With smaller messages, the queues of SVAF stay short.
SOUTH_SIZES = {"variables": 8, "kbytes": 41_280}
#: Largest side of a matrix picture: larger matrices show the largest entry of each square.
SIDE = 512
#: Links of figure 2.10, in rows of 32, and the packet's number.
LINKS, ACROSS, PACKET = 1024, 32, int(np.random.default_rng(SEED).integers(2**32))


@dataclass(frozen=True)
class Panel:
    """One matrix, the size of the part shown, and its name;  fraction: values from 0 to 1 that are drawn unscaled, NaN white."""

    values: Floats
    title: str = ""
    first: tuple[int, int] = (0, 0)
    fraction: bool = False

    def shown(self) -> Floats:
        """Return (side, side) drawn values: 0 for nothing, else from 0.25 to 1 by the logarithm of the amount."""
        if self.fraction:
            return np.nan_to_num(self.values)
        size = np.abs(self.values)
        step = -(-max(size.shape) // SIDE)
        size = np.pad(size, [(0, -side % step) for side in size.shape])
        size = size.reshape(size.shape[0] // step, step, -1, step).max(axis=(1, 3))
        there = size > 1e-9 * size.max(initial=0.0)
        drawn = np.zeros(size.shape)
        if there.any():
            logarithm = np.log(size[there])
            width = float(logarithm.max() - logarithm.min())
            drawn[there] = 0.25 + 0.75 * (logarithm - logarithm.min()) / width if width > 0 else 1.0
        return drawn


def matrix_of(pattern: str, ranks: int) -> Floats:
    """Return (ranks, ranks) bytes of generated traffic; rows send."""
    return _fill_matrix(ranks, *load_traffic(pattern, ranks, SEED))


def in_basis(name: str, matrix: Floats) -> Floats:
    """Return (ranks, ranks) coefficients of a matrix in a basis, each at its place."""
    ranks = len(matrix)
    key = np.flatnonzero(~np.eye(ranks, dtype=bool).reshape(-1))
    coefficients = Basis(name, np.array([ranks]), key).double()(torch.from_numpy(matrix.reshape(-1)[key]))
    placed = np.zeros(ranks * ranks)
    placed[key] = coefficients.numpy()
    return placed.reshape(ranks, ranks)


def _fill_matrix(ranks: int, src: NDArray[Any], dst: NDArray[Any], size: NDArray[Any]) -> Floats:
    matrix = np.zeros((ranks, ranks))
    np.add.at(matrix, (src, dst), size)
    return matrix


def _make_matrix_panel(pattern: str, ranks: int) -> Callable[[], list[Panel]]:
    return lambda: [Panel(matrix_of(pattern, ranks))]


def _make_detail_panel(pattern: str, ranks: int, row: int, column: int, side: int) -> Callable[[], list[Panel]]:
    return lambda: [Panel(matrix_of(pattern, ranks)[row : row + side, column : column + side], first=(row, column))]


def _make_basis_panels(pattern: str, ranks: int, *names: str) -> Callable[[], list[Panel]]:
    """Return a function for panels of the matrix and its coefficients, with their number per node."""

    def panels() -> list[Panel]:
        matrix = matrix_of(pattern, ranks)
        every = [("standard", matrix), *((name, in_basis(name, matrix)) for name in names)]
        basis_panels = []
        for name, values in every:
            count = int((np.abs(values) > 1e-9 * matrix.max()).sum())
            basis_panels.append(Panel(values, f"{name}: {count / ranks:.2f} a node"))
        return basis_panels

    return panels


def _make_part_panels(pattern: str, ranks: int, side: int, first: str, second: str) -> Callable[[], list[Panel]]:
    """Return a function for panels of both bases' parts of the upper left corner, and of their coefficients, with their number per node."""

    def panels() -> list[Panel]:
        parts = split_matrix(matrix_of(pattern, ranks)[:side, :side], first, second)
        shown = [
            (
                f"part in {part.basis}",
                part.values,
                f"its coefficients: {part.nonzeros / side:.2f} a node",
                part.coefficients,
            )
            for part in parts
        ]
        return [
            Panel(np.where(np.abs(values) > NOISE, values, 0.0), title)
            for row in ([one[:2] for one in shown], [one[2:] for one in shown])
            for title, values in row
        ]

    return panels


def _make_cyclic_panel() -> list[Panel]:
    ranks = 16 * 16 * 12
    return [Panel(_fill_matrix(ranks, *patterns.make_pattern("cyclic-stencil", ranks, 6, SEED).matrix()))]


def _make_barrier_panel() -> list[Panel]:
    width = patterns.grid_width(2048)
    ranks = 2048 // width * width
    return [Panel(_fill_matrix(ranks, *patterns.barriers_on_grid(ranks, 1).matrix())[:256, :256])]


def _make_hash_panels() -> list[Panel]:
    """Return the hash of one packet for links 1 to 1024, and the last bit of MD5 of both numbers."""
    ours = [sampling.hash(PACKET, link, sampling.DEFAULT_G) for link in range(1, LINKS + 1)]
    md5 = [
        hashlib.md5(PACKET.to_bytes(4, "big") + link.to_bytes(4, "big"), usedforsecurity=False).digest()[-1] & 1
        for link in range(1, LINKS + 1)
    ]
    return [
        Panel(np.array(values, float).reshape(-1, ACROSS), title)
        for values, title in ((ours, "Galois field"), (md5, "MD5 (mod 2)"))
    ]


def _make_portion_panels(*parts: tuple[str, str, str | None]) -> Callable[[], list[Panel]]:
    """Return a function for panels of stored portions of reconstructions: (file, title, pattern of the following truth or None)."""

    def panels() -> list[Panel]:
        portions = []
        for name, title, pattern in parts:
            values = load_portion(KEPT / f"{name}.npz")
            portions.append(Panel(values, title))
            if pattern is not None:
                ranks = int(pattern.rsplit("-", 1)[1])
                portions.append(Panel(matrix_of(pattern, ranks)[: len(values), : len(values)], "ground truth"))
        return portions

    return panels


def _barrier_found() -> list[Panel]:
    """Return panels of the reconstructed barrier without values below a hundredth of its largest, because a reconstruction has slight noise everywhere."""
    with np.load(KEPT / "barrier.npz") as archive:
        truth, reconstruction = archive["sent"].astype(float), archive["found"].astype(float)
    return [
        Panel(np.where(part > truth.max() / 100, part, 0.0), title)
        for part, title in ((reconstruction, "reconstructed"), (truth, "ground truth"))
    ]


def _make_scaled_panels() -> list[Panel]:
    """Return panels of the barrier by the largest counter, without values below a hundredth of its largest."""
    scaled = reconstruct_scaled()
    truth = next(iter(scaled.values())).sent
    shown = [(f"largest counter {largest:g}", one.found) for largest, one in scaled.items()]
    return [
        Panel(np.where(part > truth.max() / 100, part, 0.0), title) for title, part in (*shown, ("ground truth", truth))
    ]


def _make_south_panels() -> list[Panel]:
    """Return panels of the congested fraction, darkest at 1. Links with too few packets are white, including the one without traffic in this phase."""
    ghost = Ghost.of(SOUTH_SIZES)
    grids = {
        strategy: south_grid(ghost.run("tiled", strategy, SEED)[1]["south"], ghost.mappings["tiled"])
        for strategy in STRATEGIES
    }
    return [Panel(np.array(grid, float), strategy.upper(), fraction=True) for strategy, grid in grids.items()]


@cache
def _build_ghost() -> Ghost:
    return Ghost.of({})


@cache
def _ghost_seen(mapping: str, strategy: str) -> dict[str, CongestionMap]:
    return _build_ghost().run(mapping, strategy, SEED)[1]


def _make_direction_plots(mapping: str) -> Callable[[], list[Plot]]:
    """Return a function for plots of the phases in figures 2.5 and 2.6, with all leaf switches that have ranks."""
    return lambda: [
        Plot(_ghost_seen(mapping, "bspma")[direction], direction, GHOST_LEAVES)
        for direction in ("south", "west", "front")
    ]


def _make_strategy_plots(*names: str, mapping: str = "tiled") -> Callable[[], list[Plot]]:
    return lambda: [Plot(_ghost_seen(mapping, strategy)["all"], strategy.upper(), GHOST_LEAVES) for strategy in names]


def _make_pf3d_plots() -> list[Plot]:
    """Return plots with the job's six leaf switches and others."""
    study = Pf3d.of({}, SEED)
    return [Plot(study.run("linear", background, SEED)[1], title, 12) for title, background in BACKGROUNDS.items()]


def _make_loop_plots(name: str, title: str, leaves: int) -> Callable[[], list[Plot]]:
    return lambda: [Plot(load_seen(name), title, leaves)]


@dataclass(frozen=True)
class Curve:
    """Error over seconds: a line, and a marker at the solver's end."""

    label: str
    seconds: list[float]
    error: list[float]


def load_error_curves(case: str) -> list[Curve]:
    """Return the curves of figures 4.11 and 4.12, measured by `papers_routes.convergence`, and the ends of fits of the largest coefficients."""
    curves = []
    for entry in json.loads((KEPT / "convergence.json").read_text()):
        if entry["case"] == case:
            curves.append(Curve(f"first-order, {entry['device']}", entry["seconds"], entry["error"]))
            end = entry["settled"]
            curves.append(Curve(f"with fits, {entry['device']}", [end["seconds"]], [end["error"]]))
    return curves


def load_gap_curves() -> list[Curve]:
    """Return the curves of figure 3.4: the gap of the best routes so far, until the end of the search."""
    curves = []
    for entry in json.loads((KEPT / "formulations.json").read_text()):
        seconds, gaps = [*entry["seconds"], entry["ended_s"]], [*entry["gap"], entry["gap"][-1]]
        curves.append(Curve(entry["formulation"], seconds, gaps))
    return curves


#: Items of the dissertation that compare formulations, and signals from few samples.
COURSES, SIGNALS = "figure 3.4", "figure 4.1"
#: Paper and item of the mean trends of a campaign.
TRENDS = ("bhatele2020", "figure 7")
#: Item of the dissertation -> the case of its curves.
CURVES = {"figure 4.11": "bisection", "figure 4.12": "lulesh"}
#: Item of the dissertation -> its panels.
PICTURES: dict[str, Callable[[], list[Panel]]] = {
    "figure 2.7": _make_south_panels,
    "figure 2.10": _make_hash_panels,
    "figure 4.2": _make_basis_panels("boxlib-cns-1024", 1024, "s"),
    "figure 4.3": _make_basis_panels("partisn-168", 168, "cd"),
    "figure 4.5": _make_basis_panels("boxlib-mg-1024", 1024, "cs"),
    "figure 4.6": _make_basis_panels("nekbone-1024", 1024),
    "figure 4.7": _make_part_panels("nekbone-1024", 1024, 256, "cs", "cd"),
    "figure 4.8": _make_part_panels("multigrid-1000", 1000, 250, "cd", "s"),
    "figure 4.13": _make_portion_panels(("amg-1-VL", "1 VL", None), ("amg-5-VL", "5 VL", "amg-1728")),
    "figure 5.4": _make_cyclic_panel,
    "figure 5.6": _make_barrier_panel,
    "figure 5.14": _make_scaled_panels,
    "figure 5.15": _barrier_found,
    "figure 5.17": _make_portion_panels(("boxlib-cns-5-VL", "reconstructed", "boxlib-cns-1024")),
    "figure A.1": _make_matrix_panel("boxlib-mg-1024", 1024),
    "figure A.2": _make_detail_panel("boxlib-mg-1024", 1024, 0, 0, 256),
    "figure A.3": _make_matrix_panel("amg-1728", 1728),
    "figure A.4": _make_detail_panel("amg-1728", 1728, 0, 0, 288),
    "figure A.5": _make_matrix_panel("boxlib-cns-1024", 1024),
    "figure A.6": _make_detail_panel("boxlib-cns-1024", 1024, 0, 0, 256),
    "figure A.7": _make_detail_panel("boxlib-cns-1024", 1024, 768, 768, 256),
    "figure A.8": _make_matrix_panel("partisn-168", 168),
    "figure A.9": _make_matrix_panel("multigrid-1000", 1000),
    "figure A.10": _make_detail_panel("multigrid-1000", 1000, 0, 0, 250),
    "figure A.11": _make_detail_panel("multigrid-1000", 1000, 0, 750, 250),
    "figure A.12": _make_matrix_panel("nekbone-1024", 1024),
    "figure A.13": _make_detail_panel("nekbone-1024", 1024, 0, 0, 256),
    "figure A.14": _make_matrix_panel("lulesh-512", 512),
    "figure A.15": _make_detail_panel("lulesh-512", 512, 0, 0, 128),
}


#: Item of the dissertation -> its run of chapter 5 stored by `make papers-routes`, its title, and number of leaf switches from the left (0: all).
LOOPS = {
    "figure 5.2": ("bisection-shuffle-ftree", "ftree", 48),
    "figure 5.3": ("bisection-shuffle-loop", "the loop's routes", 0),
    "figure 5.5": ("cyclic-stencil-minus-y", "the -y phase on the loop's routes", 48),
    "figure 5.7": ("random-ftree", "ftree", 0),
    "figure 5.8": ("random-adaptive", "adaptive", 0),
    "figure 5.9": ("random-optimised", "optimised", 0),
    "figure 5.10": (master_problem.KEPT, "master problem alone", 0),
    "figure 5.11": ("random-fewest-worst-links", "fewest worst links", 0),
    "figure 5.12": ("even-ftree", "ftree", 0),
    "figure 5.13": ("even-adaptive", "adaptive", 0),
    "figure 5.16": ("even-optimised-mixed", "optimised, mixed weighting", 0),
}
#: Item of the dissertation -> its congested fraction plots; for chapter 5, those with stored runs.
PLOTS: dict[str, Callable[[], list[Plot]]] = {
    "figure 2.2": _make_pf3d_plots,
    "figure 2.4": _make_strategy_plots("bspma", mapping="cyclic"),
    "figure 2.5": _make_direction_plots("linear"),
    "figure 2.6": _make_direction_plots("tiled"),
    "figure 2.9": _make_strategy_plots("bspma", "svaf", "svafp"),
}
PLOTS |= {item: _make_loop_plots(*run) for item, run in LOOPS.items() if was_kept(run[0])}


def place_of(paper: str, item: str) -> str | None:
    """Return the path of an item's picture, relative to the page; None if there is none."""
    if (paper, item) == TRENDS:
        return f"papers/{paper}-{item.replace(' ', '-')}.png"
    return (
        f"papers/{item.replace(' ', '-')}.png"
        if paper == PAPER and item in {*PICTURES, *PLOTS, *CURVES, COURSES, SIGNALS}
        else None
    )


def draw_pictures(folder: Path) -> None:
    """Draw all pictures below the page's folder."""
    for item, panels in PICTURES.items():
        path = folder / str(place_of(PAPER, item))
        path.parent.mkdir(parents=True, exist_ok=True)
        _draw_panels(panels(), path)
    for item, plots in PLOTS.items():
        fraction_plot.draw_plots(plots(), folder / str(place_of(PAPER, item)))
    trends.draw_trends(trends.load_campaign(), folder / str(place_of(*TRENDS)))
    for item, case in CURVES.items():
        _draw_curves(load_error_curves(case), folder / str(place_of(PAPER, item)))
    _draw_courses(load_gap_curves(), folder / str(place_of(PAPER, COURSES)))
    _draw_signals(sinusoids.recover_figure(), folder / str(place_of(PAPER, SIGNALS)))


def _draw_signals(recovered: sinusoids.Recovered, path: Path) -> None:
    with plt.rc_context({"font.size": 7}):
        figure, ((time, frequency), (classical, sparse)) = plt.subplots(2, 2, figsize=(5.0, 3.4), layout="constrained")
        for axes, title, values in (
            (time, "signal and samples", recovered.signal),
            (classical, "least energy", recovered.classical),
            (sparse, "fewest frequencies", recovered.sparse),
        ):
            axes.plot(recovered.x, values, linewidth=0.7)
            axes.set_title(title)
        time.plot(recovered.x[recovered.at], recovered.signal[recovered.at], "r.", markersize=3)
        frequency.plot(np.abs(np.fft.rfft(recovered.signal))[:60], linewidth=0.7)
        frequency.set_title("in frequency")
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)


def _draw_courses(several: list[Curve], path: Path) -> None:
    with plt.rc_context({"font.size": 7}):
        figure, axes = plt.subplots(figsize=(4.2, 3.0), layout="constrained")
        for curve, line in zip(several, ("--", "-"), strict=True):
            axes.step(curve.seconds, [100 * gap for gap in curve.error], line, where="post", label=curve.label)
        axes.set(xlabel="s", ylabel="gap to adaptive routing, %", xlim=(0, None), ylim=(0, None))
        axes.legend()
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)


def _draw_curves(several: list[Curve], path: Path) -> None:
    with plt.rc_context({"font.size": 7}):
        figure, axes = plt.subplots(figsize=(4.2, 3.0), layout="constrained")
        for curve in several:
            (line,) = axes.loglog(curve.seconds, curve.error, label=curve.label)
            axes.loglog(curve.seconds[-1:], curve.error[-1:], "o", color=line.get_color())
        axes.set(xlabel="s", ylabel="relative error")
        axes.legend()
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)


def _draw_panels(panels: list[Panel], path: Path) -> None:
    with plt.rc_context({"font.size": 7}):
        figure, several = plt.subplots(
            1, len(panels), figsize=(3.2 * len(panels), 3.2), layout="constrained", squeeze=False
        )
        for axes, panel in zip(several[0], panels, strict=True):
            (row, column), (high, wide) = panel.first, panel.values.shape
            extent = (column, column + wide, row + high, row)
            axes.imshow(panel.shown(), cmap="Greys", vmin=0, vmax=1, extent=extent, interpolation="nearest")
            axes.set_title(panel.title, fontsize=7)
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
