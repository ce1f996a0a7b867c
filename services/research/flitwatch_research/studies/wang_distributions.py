"""Distributions over ranks and channels, which Wang 2018 shows instead of means, and statistics of repeated draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_research.collectives import MeanFigure, mean_with_ci95
from flitwatch_simulation.packet.machine import Machine

#: Shares of the channels, in percent, for their distribution: the vertical axis of figures 4 to 6.
SHARES_PERCENT = tuple(range(0, 101, 5))


class Spread(TypedDict):
    """The five points of a box: extremes and quartiles."""

    min: float
    q1: float
    median: float
    q3: float
    max: float


class Distribution(Spread):
    """The same with the quantiles at `SHARES_PERCENT`."""

    quantiles: list[float]


class Draw(TypedDict):
    """One run, by rank (ranks,) and by channel of its kind (channels,).

    Attributes
    ----------
    time_ms : a rank's time until its last message is complete
    hops : mean number of routers on the path of a rank's packets; NaN without samples
    local_mb, global_mb : traffic of each channel of the job's routers
    local_saturated_ms, global_saturated_ms : time that each such channel was idle because buffers were full
    """

    time_ms: NDArray[np.float64]
    hops: NDArray[np.float64]
    local_mb: NDArray[np.float64]
    global_mb: NDArray[np.float64]
    local_saturated_ms: NDArray[np.float64]
    global_saturated_ms: NDArray[np.float64]
    mean_hops: float
    mean_latency_us: float
    conserved: bool


class PlacementFigures(TypedDict):
    """An application under a placement and a routing, over all draws.

    Attributes
    ----------
    time_ms, hops and channels' figures : over the ranks or channels of all draws
    median_ms, slowest_ms : median and maximum over a draw's ranks, as means over draws with 95 % intervals
    slowest_ms_of_draws : by draw, in order
    """

    draws: int
    time_ms: Spread
    median_ms: MeanFigure
    slowest_ms: MeanFigure
    median_ms_of_draws: list[float]
    slowest_ms_of_draws: list[float]
    hops: Distribution | None
    local_traffic_mb: Distribution
    global_traffic_mb: Distribution
    local_saturation_ms: Distribution
    global_saturation_ms: Distribution
    mean_hops: float
    mean_latency_us: float
    conserved: bool


def summarize_spread(values: NDArray[np.float64]) -> Spread:
    """Return extremes and quartiles of values (n,), at least one."""
    low, first, median, third, high = np.percentile(values, [0, 25, 50, 75, 100]).tolist()
    return {"min": low, "q1": first, "median": median, "q3": third, "max": high}


def summarize_distribution(values: NDArray[np.float64]) -> Distribution:
    """Return extremes, quartiles and quantiles at `SHARES_PERCENT`; all are zero for a machine without such channels."""
    if not values.size:
        values = np.zeros(1)
    return {**summarize_spread(values), "quantiles": np.percentile(values, SHARES_PERCENT).tolist()}


def draw_of(machine: Machine, result: packet.Result, endpoints: NDArray[np.int64], sampled: bool) -> Draw:
    """Return one run's figures; job 0 has one rank on each of `endpoints`. sampled: whether all packets were sampled."""
    links = machine.fabric.links
    serves = np.zeros(machine.fabric.vertices, bool)
    serves[np.asarray(machine.fabric.endpoints.router)[endpoints]] = True
    blue = machine.fabric.of_class("blue") & serves[links.src]
    local = machine.fabric.of_class("green", "black") & serves[links.src]
    sent_mb, waited_ms = result.raw["link_bytes"] * 1e-6, result.raw["link_wait_ps"] * 1e-9
    job = result.jobs[0]
    hops = np.full(len(endpoints), np.nan)
    if sampled:
        source = result.raw["sample_src"]
        packets = np.bincount(source, minlength=machine.endpoints)[endpoints]
        # Number of routers: a path's links begin with the NIC's own.
        passed = np.bincount(source, result.raw["sample_links"], machine.endpoints)[endpoints] - packets
        hops = np.divide(passed, packets, out=hops, where=packets > 0)
    return {
        "time_ms": result.raw["rank_end_ps"] * 1e-9,
        "hops": hops,
        "local_mb": sent_mb[local],
        "global_mb": sent_mb[blue],
        "local_saturated_ms": waited_ms[local],
        "global_saturated_ms": waited_ms[blue],
        "mean_hops": job["hops"] / max(job["packets"], 1),
        "mean_latency_us": job["latency_ps"] / max(job["packets"], 1) / 1e6,
        "conserved": result.conserved,
    }


def combine_draws(draws: Sequence[Draw]) -> PlacementFigures:
    """Return the figures of all draws of one case."""

    def pooled(name: str) -> NDArray[np.float64]:
        return np.concatenate([draw[name] for draw in draws])  # type: ignore[literal-required]

    medians = np.array([np.median(draw["time_ms"]) for draw in draws])
    slowest = np.array([draw["time_ms"].max() for draw in draws])
    hops = pooled("hops")
    hops = hops[np.isfinite(hops)]
    return {
        "draws": len(draws),
        "time_ms": summarize_spread(pooled("time_ms")),
        "median_ms": mean_with_ci95(medians).as_json(),
        "slowest_ms": mean_with_ci95(slowest).as_json(),
        "median_ms_of_draws": medians.tolist(),
        "slowest_ms_of_draws": slowest.tolist(),
        "hops": summarize_distribution(hops) if hops.size else None,
        "local_traffic_mb": summarize_distribution(pooled("local_mb")),
        "global_traffic_mb": summarize_distribution(pooled("global_mb")),
        "local_saturation_ms": summarize_distribution(pooled("local_saturated_ms")),
        "global_saturation_ms": summarize_distribution(pooled("global_saturated_ms")),
        "mean_hops": float(np.mean([draw["mean_hops"] for draw in draws])),
        "mean_latency_us": float(np.mean([draw["mean_latency_us"] for draw in draws])),
        "conserved": all(draw["conserved"] for draw in draws),
    }


def percent_of(these: list[float], those: list[float]) -> MeanFigure:
    """Return `these` over `those` by draw, in percent: mean over the draws and its 95 % interval."""
    return mean_with_ci95(100 * np.array(these) / np.array(those)).as_json()


def by_case(points: Sequence[dict[str, Any]], *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return points by their distinguishing fields."""
    return {tuple(point[key] for key in keys): point for point in points}
