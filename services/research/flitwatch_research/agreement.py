"""Agreement between the twin's two modes: the same jobs on the same nodes with footprints (campaign) and with routed flows (per second).

    python -m flitwatch_research.agreement [--seed 1] [--mixes 24]

prints one JSON object. Both modes use only exchanges, because a campaign does not resolve the file system and its incasts to links.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import cori_like
from flitwatch_research.campaign.footprint import Footprints, compute_footprints
from flitwatch_research.campaign.window import GLOBAL, PROCESSOR, ROUTER, Linear, Rates, View
from flitwatch_twin.applications import Application, combine_stalls, find_application, saturate_slowdown
from flitwatch_twin.feel import Places, RunView
from flitwatch_twin.flows import Flows, Pattern, exchange_pattern
from flitwatch_twin.machine import IntArray, Machine
from flitwatch_twin.spec import TwinSpec
from flitwatch_twin.stall import waiting
from flitwatch_twin.static_model import StaticPathModel

WATCHED = ("amg-128", "milc-128", "minivite-128", "umt-128", "amg-512", "milc-512")
#: Contiguous nodes in an allocation: gaps in the schedule divide jobs into such pieces.
PIECE = 32


@dataclass(frozen=True, eq=False)
class Mix:
    """Jobs at one moment: node positions, kind of exchange and rate (share of injection bandwidth) of each; the first are the watched runs."""

    nodes: list[IntArray]
    exchange: NDArray[np.int64]
    rate: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MixEffects:
    """Effects of a mix in one mode: the load of each router (float64[R]) and the slowdown F of the watched runs (float64[W])."""

    router_load: NDArray[np.float64]
    slowdown: NDArray[np.float64]


def draw_mix(rng: np.random.Generator, machine: Machine, watched: list[Application]) -> Mix:
    """Draw jobs on 90 % of a machine, with rates of the twin's users; a tenth of the jobs send like aggressors."""
    pieces = rng.permutation(machine.nodes // PIECE)
    order = (pieces[:, None] * PIECE + np.arange(PIECE)).ravel().astype(np.int32)
    sizes = [app.nodes for app in watched]
    while sum(sizes) < 0.9 * len(order):
        sizes.append(int(np.clip(rng.lognormal(np.log(64), 1.2), 4, 2048)))
    others = len(sizes) - len(watched)
    rate = rng.lognormal(np.log(0.12), 0.5, others) * rng.uniform(0.5, 2.0)
    aggressors = rng.random(others) < 0.1
    rate[aggressors] = rng.uniform(1.1, 1.6, int(aggressors.sum()))
    return Mix(
        [np.sort(nodes) for nodes in np.split(order, np.cumsum(sizes))[:-1]],
        np.append([int(app.exchange) for app in watched], rng.integers(0, 3, others)),
        np.append([app.demand for app in watched], rate),
    )


def by_campaign(machine: Machine, watched: list[Application], mix: Mix) -> MixEffects:
    """Compute loads and slowdowns using a campaign's footprints and plain queue."""
    jobs = len(mix.nodes)
    prints = compute_footprints(machine, mix.nodes, mix.exchange, [(k,) for k in range(jobs)], np.zeros(jobs, bool))
    nothing = np.zeros((1, jobs), np.float32)
    rates = Rates(mix.rate.astype(np.float32)[None, :], nothing, nothing)
    slowdowns = [_felt_in_campaign(machine, app, k, mix, prints, rates) for k, app in enumerate(watched)]
    return MixEffects(np.asarray(mix.rate @ prints.router, np.float64), np.array(slowdowns))


def _felt_in_campaign(
    machine: Machine, app: Application, run: int, mix: Mix, prints: Footprints, rates: Rates
) -> float:
    view = View.of(machine, mix.nodes[run])
    linear = Linear(machine, view, prints)
    others = np.delete(
        np.arange(len(mix.nodes)), run
    )  # the run's own load is not spread over its group, as in `window.observe_window`
    demand = np.float32(app.demand)
    router = linear.router(rates, others, view.own) + demand * prints.router[run, view.own] / np.float32(ROUTER)
    processor = linear.processor(rates, others, view.own) + demand * prints.processor[run, view.own] / np.float32(
        PROCESSOR
    )
    global_ = linear.global_(rates, others) + demand * prints.global_[run] / np.float32(GLOBAL)
    raw = sum(
        factor * float(combine_stalls(waiting(use), view.weight)[0])
        for factor, use in zip(app.sensitivity.vector(), (router, processor, global_[:, view.groups]), strict=False)
    )
    return float(saturate_slowdown(raw, app.most_slowdown))


def by_second(
    fabric: Fabric, machine: Machine, watched: list[Application], mix: Mix, rng: np.random.Generator
) -> MixEffects:
    """Compute loads and slowdowns using routed flows and the fitted stall curve."""
    model, places = StaticPathModel(fabric, machine), Places(fabric, machine)
    patterns: list[Pattern] = []
    for nodes, kind in zip(mix.nodes, mix.exchange.tolist(), strict=True):
        pattern = exchange_pattern(machine.node_endpoint[nodes], kind, rng)
        assert pattern is not None  # jobs have at least four nodes
        patterns.append(pattern)
    state = model.step(Flows(tuple(patterns), mix.rate * TwinSpec.model_validate({}).node_rate_bytes_per_s), 1.0)
    load = np.bincount(fabric.links.dst, state.link_bytes, fabric.vertices)[: len(fabric.routers)]
    slowdowns = [RunView(app, places, model, patterns[k]).slowdown(state) for k, app in enumerate(watched)]
    return MixEffects(load.astype(np.float64), np.array(slowdowns))


class MixCorrelation(TypedDict):
    """Median and minimum of a correlation over mixes."""

    median: float
    least: float


class ApplicationCorrelation(TypedDict):
    """An application's slowdown in both modes: Spearman's rank correlation over mixes, and the medians."""

    slowdown_rank_correlation: float
    slowdown_median_campaign: float
    slowdown_median_per_second: float


class LoadCorrelation(TypedDict):
    """Agreement of the modes on loads of routers and groups, and on slowdowns."""

    seed: int
    mixes: int
    routers: int
    router_load_correlation: MixCorrelation
    group_load_correlation: MixCorrelation
    applications: dict[str, ApplicationCorrelation]


def measure_agreement(seed: int, mixes: int, fabric: Fabric, names: tuple[str, ...] = WATCHED) -> LoadCorrelation:
    """Draw mixes with all watched applications, and compare the modes.

    Return correlations of router and group loads over mixes, and for each application Spearman's rank correlation of F between the modes over
    mixes and the median of F in each mode.
    """
    from scipy.stats import spearmanr

    machine, rng = Machine.of(fabric), np.random.default_rng(seed)
    watched = [find_application(name) for name in names]
    pairs: list[tuple[MixEffects, MixEffects]] = []
    for _ in range(mixes):
        mix = draw_mix(rng, machine, watched)
        pairs.append((by_campaign(machine, watched, mix), by_second(fabric, machine, watched, mix, rng)))

    def grouped(load: NDArray[np.float64]) -> NDArray[np.float64]:
        return load.reshape(machine.groups, -1).sum(axis=1)

    routers = [np.corrcoef(a.router_load, b.router_load)[0, 1] for a, b in pairs]
    groups = [np.corrcoef(grouped(a.router_load), grouped(b.router_load))[0, 1] for a, b in pairs]
    closed, routed = (np.array([effects.slowdown for effects in side]) for side in zip(*pairs, strict=True))
    return {
        "seed": seed,
        "mixes": mixes,
        "routers": machine.routers,
        "router_load_correlation": {"median": float(np.median(routers)), "least": float(np.min(routers))},
        "group_load_correlation": {"median": float(np.median(groups)), "least": float(np.min(groups))},
        "applications": {
            name: {
                "slowdown_rank_correlation": float(spearmanr(closed[:, k], routed[:, k]).statistic),
                "slowdown_median_campaign": float(np.median(closed[:, k])),
                "slowdown_median_per_second": float(np.median(routed[:, k])),
            }
            for k, name in enumerate(names)
        },
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mixes", type=int, default=24)
    options = parser.parse_args()
    print(json.dumps(measure_agreement(options.seed, options.mixes, cori_like(io_routers_per_group=4))))


if __name__ == "__main__":
    main()
