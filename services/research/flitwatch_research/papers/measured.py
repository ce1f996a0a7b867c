"""Figures that `make papers` measures itself, in seconds to minutes each; `make papers-routes` measures the tables of routes and traffic matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from flitwatch_core import packet
from flitwatch_ml.blame import PresenceBlame
from flitwatch_ml.forecast import run_backtest
from flitwatch_ml.forecast.backtest import COUNTERS, paper_forecasters
from flitwatch_research import topologies
from flitwatch_research.campaign import SCENARIOS, generate_campaign, generate_truth
from flitwatch_research.collectives import MeanFigure, mean_with_ci95
from flitwatch_research.papers.master_problem import measure_master_problem
from flitwatch_research.papers.network_noise import SEED, build_benchmark_machine, measure_benchmark, notch
from flitwatch_research.papers.scaled_counters import reconstruct_scaled
from flitwatch_research.scorecard.forecast import GRID, make_series
from flitwatch_research.studies import published, registry
from flitwatch_research.studies.desensi import aries_of
from flitwatch_research.studies.desensi_applications import MAKERS, MODES, mode_number, run_once
from flitwatch_research.studies.hoefler import TORI_2D, TORI_3D
from flitwatch_research.studies.published import Figure
from flitwatch_research.studies.taffet_stencil import MESSAGES, ROUTINGS
from flitwatch_research.studies.wang import BACKGROUNDS, PLACEMENTS, SHORT, loaded_over_alone
from flitwatch_research.studies.wang import ROUTINGS as WANGS_ROUTINGS

#: (row, column) -> a figure, with its interval if it is a mean over draws.
Ours = Mapping[tuple[str, str], float | MeanFigure]


def _run_study(study: str, **parameters: Any) -> list[dict[str, Any]]:
    return list(registry.find_study(study).run(parameters, lambda *_: None, lambda: False)["points"])


def _measure_sizes() -> dict[tuple[str, str], float]:
    return {
        (p["layout"], column): float(p[column])
        for p in _run_study("hoefler-table1")
        for column in ("endpoints", "switches")
    }


def _measure_example() -> dict[tuple[str, str], float]:
    (cost,) = [p["cost"] for p in _run_study("hoefler-example") if p["semantics"] == "longest-path"]
    return {("perturbed", "longest path"): cost["perturbed"], ("unperturbed", "longest path"): cost["quiet"]}


def _measure_bisections() -> dict[tuple[str, str], float]:
    figures = {}
    for point in _run_study("hoefler-ebb", runs=200):
        for machine in ("Thunderbird", "Ranger", "Atlas", "CHiC", "Odin"):
            if machine in point["series"]:
                figures[machine, "effective bisection bandwidth"] = 100 * point["effective_bisection_bandwidth"]["mean"]
    return figures


#: The microbenchmark's splits of each allocation, its ratios (figures 3 and 4), sizes (figure 5) and torus (figure 6).
SPLITS, NOISE_RATIOS, NOISE_SIZES, NOISE_TORUS = (
    128,
    (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875),
    (16, 32, 64, 128, 256),
    "torus:8,8,8",
)


def _measure_noise_by_ratio() -> Ours:
    """Return both notches of the box plot, in microseconds, and the mean slowdown, for 32 nodes."""
    machine, nodes = build_benchmark_machine(), np.arange(32)
    figures: dict[tuple[str, str], float | MeanFigure] = {}
    for ratio in NOISE_RATIOS:
        times = measure_benchmark(machine, nodes, ratio, SPLITS)
        for name, values in (("quiet", times.quiet_us), ("perturbed", times.perturbed_us)):
            figures |= {
                (f"{ratio:g}", f"{name}, notch {end}"): at
                for end, at in zip(("low", "high"), notch(values), strict=True)
            }
        figures[f"{ratio:g}", "slowdown"] = times.slowdown
    return figures


def _measure_noise_by_size() -> Ours:
    """Return the mean slowdown at a perturbation ratio of a half, by number of nodes."""
    machine = build_benchmark_machine()
    return {
        (str(size), "slowdown"): mean_figure(list(times.perturbed_us / times.quiet_us))
        for size in NOISE_SIZES
        for times in (measure_benchmark(machine, np.arange(size), 0.5, SPLITS // 8),)
    }


def _measure_noise_on_torus() -> Ours:
    """Return quartiles of the times without and with perturbation, in microseconds."""
    machine = build_benchmark_machine(NOISE_TORUS)
    times = measure_benchmark(machine, np.arange(machine.endpoints), 0.5, SPLITS // 32)
    return {
        (name, column): float(value)
        for name, values in (("quiet", times.quiet_us), ("perturbed", times.perturbed_us))
        for column, value in zip(("least", "median", "largest"), np.percentile(values, [0, 50, 100]), strict=True)
    }


def _measure_torus() -> dict[tuple[str, str], float]:
    points = _run_study("hoefler-fig15", runs=100, ratios=[0.9], topologies={"100-ary 2-cube": "torus:100,100"})
    columns = {
        "longest-path": "slowdown, at most",
        "orcs": "slowdown, at most, as the published simulator chains messages",
    }
    return {(p["series"], columns[p["semantics"]]): p["slowdown"]["mean"] for p in points}


def _tori() -> dict[tuple[str, str], float]:
    """Return the generator's numbers of endpoints; for k = 9 and 17, n = 3, the paper prints one less than k x k x k."""
    return {
        (f"{k:.0f}-ary {n}-cube", "endpoints"): float(
            topologies.parse_topology("torus:" + ",".join([f"{k:.0f}"] * n)).core.endpoints
        )
        for n, sides in ((2, TORI_2D), (3, TORI_3D))
        for k in sides
    }


def _measure_minighost() -> dict[tuple[str, str], float]:
    """Return milliseconds of one step with few variables; they are compared as ratios to the first row."""
    return {(f"{p['mapping']}, {p['strategy'].upper()}", "time"): p["time_ms"] for p in _run_study("taffet-minighost")}


def _pf3d() -> dict[tuple[str, str], float]:
    """Return milliseconds of a round, compared as ratios."""
    rows = {
        ("linear", False): "alone",
        ("linear", True): "alongside incasts",
        ("inside-leaves", True): "alongside incasts, shifted mapping",
    }
    return {(rows[p["mapping"], p["background"]], "time"): p["time_ms"] for p in _run_study("taffet-pf3d")}


#: A small machine for runs that would take an hour on Theta; message sizes of bursts as in table II.
_SMALL: dict[str, Any] = {"topology": "dragonfly:4,4,8,16", "ranks": 125, "load_gib_per_s": 1.0}
#: Messages of 16 KiB from each node at the shortest interval of the paper's range, 0.002 ms, in GiB/s per node (docs/benchmarks/paper-studies.md).
SHORTEST_GIB_PER_S = 7.6
#: Figures 8 to 10: settings of each application with each traffic; exchanges: repetitions of its messages.
LOADED_SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("amg", "uniform"): {"load_gib_per_s": SHORTEST_GIB_PER_S},
    ("amg", "bursty"): {"exchanges": 16, **_SMALL},
    ("crystal-router", "uniform"): _SMALL,
    ("crystal-router", "bursty"): {"exchanges": 3, **_SMALL},
    ("fill-boundary", "uniform"): _SMALL,
    ("fill-boundary", "bursty"): _SMALL,
}
#: Measured subset of the ten combinations: with uniform traffic on Theta, each combination with adaptive routing takes minutes.
ONLY = {("amg", "uniform"): (("contiguous", "minimal"), ("random-node", "adaptive"))}
#: Wang's studies for the page: parameters that differ from the defaults (the paper's Theta and sizes), with one draw.
WANG: dict[tuple[str, str], dict[str, Any]] = {
    ("wang-fig2", "all"): {},
    ("wang-fig3", "all"): {"runs": 1},
    ("wang-fig7", "crystal-router"): {"runs": 1, "applications": ["crystal-router"]},
    ("wang-table2", "all"): {},
}


@cache
def run_wang_study(study: str, of: str = "all") -> dict[str, Any]:
    """Return the study's result with the parameters of `WANG`; computed once."""
    return registry.find_study(study).run(dict(WANG[study, of]), lambda *_: None, lambda: False)


#: De Sensi's figure 10: application, nodes and bytes per rank and step. Both FFTs have 16 MiB.
ROUTED = (("fft", 256, 65_536), ("fft", 64, 262_144), ("halo3d", 64, 65_536), ("milc", 64, 8_192))
#: Algorithm 1's sigma, as `desensi-calibration` fits it to microbenchmarks on the simulated machine.
FITTED_STALL_FACTOR = 24.0


def _measure_routing_modes() -> dict[tuple[str, str], float]:
    """Return each mode's time over that of default routing, on contiguous nodes in one run, and the largest saving of the faster static mode over the other."""
    machine = aries_of({"topology": "dragonfly:4,4,8,16"})
    choice = packet.ChoiceOptions(stall_factor=FITTED_STALL_FACTOR)
    figures: dict[tuple[str, str], float] = {}
    saved: list[float] = []
    for name, ranks, size in ROUTED:
        messages = MAKERS[name](ranks, size, SEED)
        time_s = {
            mode: run_once(
                machine,
                messages,
                np.arange(ranks),
                mode_number(mode, name == "fft"),
                SEED,
                1.0,
                lambda: False,
                choice,
            ).time_s
            for mode in MODES
        }
        figures |= {(f"{name}, {ranks} nodes", mode): value / time_s["default"] for mode, value in time_s.items()}
        static = [time_s["default"], time_s["high-bias"]]
        saved.append(100 * (1 - min(static) / max(static)))
    return {("applications", "time saved, at most"): max(saved), **figures}


def _wang_gains() -> dict[tuple[str, str], float]:
    return {
        (SHORT[gain["application"]], column): gain["saved_percent"]["mean"]
        for gain in run_wang_study("wang-fig3")["gains"]
        for column in published.published_rows("wang2018", "figure 3")[SHORT[gain["application"]]]
    }


def _wang_loads() -> dict[tuple[str, str], float]:
    """Return times of Crystal router under adaptive routing, contiguous relative to random nodes, by load."""
    slowest = {
        p["scale"]: p["slowest_percent_of_random_adaptive"]["mean"]
        for p in run_wang_study("wang-fig7", "crystal-router")["points"]
        if (p["application"], p["placement"], p["routing"]) == ("crystal-router", "contiguous", "adaptive")
    }
    gains = {scale: 100 - 1e4 / percent for scale, percent in slowest.items()}
    better = [scale for scale, gain in gains.items() if gain > 0]
    figures = {
        "contiguous over random node at a tenth of the load, at most": max(100 - slowest[0.1], 0.0),
        "random node over contiguous, at most": max(gains.values()),
    }
    if better:
        figures["random node outperforms from load"] = 100 * min(better)
    return {("CR", column): value for column, value in figures.items()}


@cache
def compute_combinations(application: str, kind: str) -> Mapping[tuple[str, str], MeanFigure]:
    """Return (placement, routing) -> the slowest rank's time with background traffic, % of its time alone; computed once."""
    how = {"topology": "theta", **LOADED_SETTINGS[application, kind]}
    return {
        (placement, routing): loaded_over_alone(application, placement, routing, kind, **how)
        for placement, routing in ONLY.get((application, kind), product(PLACEMENTS, WANGS_ROUTINGS))
    }


def _wang_loaded(application: str) -> Ours:
    """Return the measured combinations with both kinds of background traffic."""
    return {
        (SHORT[application], combination_of(placement, routing, kind)): figure
        for kind in BACKGROUNDS[1:]
        for (placement, routing), figure in compute_combinations(application, kind).items()
    }


def combination_of(placement: str, routing: str, kind: str) -> str:
    """Return the column of a combination with a kind of traffic."""
    return " ".join((f"{placement}-{routing}", "beside", kind))


def _wang_bursts(application: str) -> Callable[[], Ours]:
    """Return a function for the largest loss of the ten combinations, and for all of them."""

    def measure() -> Ours:
        most = max(compute_combinations(application, "bursty").values(), key=lambda one: one["mean"])
        column = "bursty background, longer by, at most"
        return {(SHORT[application], column): _scale_figure(most, 1.0, -100.0), **_wang_loaded(application)}

    return measure


def _wang_amg() -> Ours:
    """Return slowdowns relative to running alone: the traffic is an approximation, so milliseconds are not comparable."""
    at = compute_combinations("amg", "uniform")
    return {
        ("AMG", "contiguous-minimal, slower by"): _scale_figure(at["contiguous", "minimal"], 1.0, -100.0),
        ("AMG", "random-adaptive, times as long"): _scale_figure(at["random-node", "adaptive"], 0.01, 0.0),
        **_wang_loaded("amg"),
    }


def _scale_figure(figure: MeanFigure, factor: float, more: float) -> MeanFigure:
    ends = figure["ci95"]
    ci95 = None if ends is None else [factor * end + more for end in ends]
    return {"mean": factor * figure["mean"] + more, "ci95": ci95}


def _wang_peaks() -> Ours:
    return {
        (SHORT[p["application"]], column): {
            "mean": round(p[key], 2),
            "ci95": [round(end, 2) for end in p[f"{key}_ci95"]],
        }
        for p in run_wang_study("wang-table2")["points"]
        for key, column in (("uniform_mib", "uniform random, peak load"), ("bursty_gib", "bursty, peak load"))
    }


def _measure_sampling() -> dict[tuple[str, str], float]:
    """Return sampling errors for simulated congestion."""
    columns = {
        "standard traffic": "standard_traffic_percent",
        "standard congested": "standard_congested_percent",
        "one-bit traffic": "one_bit_traffic_percent",
        "one-bit congested": "one_bit_congested_percent",
    }
    return {
        (str(p["downsampling"]), column): p[key]
        for p in _run_study("taffet-table2.1", mpackets=0.05)
        if p["congestion"] == "simulated"
        for column, key in columns.items()
        if p[key] is not None
    }


#: Seeds of table 5.2's reconstructions and random routes.
STENCIL_SEEDS = (1, 2, 3)


def _measure_stencil() -> Ours:
    """Return times with an eighth of the bytes, compared as ratios: means over reconstructions and random routes."""
    times_ms: dict[tuple[str, str], list[float]] = {}
    for seed in STENCIL_SEEDS:
        for p in _run_study("taffet-table5.2", seed=seed, optimise_s=10, reconstruct_s=100):
            times_ms.setdefault((ROUTINGS[p["routing"]], MESSAGES[p["messages"]]), []).append(p["time_ms"])
    # Ftree's times have no draws.
    return {cell: drawn[0] if len({*drawn}) == 1 else mean_figure(drawn) for cell, drawn in times_ms.items()}


#: The campaigns of figure 1 and table III of Bhatele 2020: their seeds and users.
CAMPAIGN_SEEDS, CAMPAIGN_USERS = (1, 2, 3), 300
#: Our names of the applications with published ratios of the slowest to the best run.
VARIED = {"minivite-128": "miniVite", "umt-128": "UMT"}
#: Largest q-value of a user in a list of table III.
LISTED = 0.05


def _measure_variability() -> Ours:
    """Return the slowest run's time over the best run's, mean over campaigns."""
    ratios = {
        (name, "slowest over best"): [
            float(times.max() / times.min())
            for seed in CAMPAIGN_SEEDS
            for times in (generate_campaign(scenario, seed, CAMPAIGN_USERS).run_time_s,)
        ]
        for scenario, name in VARIED.items()
    }
    return {place: mean_figure(values) for place, values in ratios.items()}


def mean_figure(values: list[float]) -> MeanFigure:
    """Return the mean and its 95 % interval."""
    found = mean_with_ci95(np.array(values))
    return {"mean": found.mean, "ci95": [found.low, found.high]}


def _measure_blamed() -> Ours:
    """Return numbers of users that the paper's method lists for two of the six sets or more, and of those with slower runs and with a planted effect."""
    scenarios = [name for name in SCENARIOS if name != "long-milc"]
    lists, truths = [], []
    for scenario in scenarios:
        campaign = generate_campaign(scenario, CAMPAIGN_SEEDS[0], CAMPAIGN_USERS)
        found = PresenceBlame(rule="throughout").fit(campaign.overlap, campaign.run_time_s)
        lists.append({int(user): int(found.sign_[user]) for user in np.flatnonzero(found.q_value_ < LISTED)})
        truths.append(generate_truth(scenario, CAMPAIGN_SEEDS[0], CAMPAIGN_USERS).label)
    often = [user for user, count in Counter(user for one in lists for user in one).items() if count > 1]
    slow = [user for user in often if all(one.get(user, 1) > 0 for one in lists)]
    planted = [user for user in often if all(labels[user] == "aggressor" for labels in truths)]
    return {
        ("users in two lists or more", "all"): float(len(often)),
        ("users in two lists or more", "with slower runs"): float(len(slow)),
        ("users in two lists or more", "with a planted effect"): float(len(planted)),
        ("sets", "with a list"): float(sum(bool(one) for one in lists)),
        ("sets", "runs, at least"): float(
            min(len(generate_campaign(one, CAMPAIGN_SEEDS[0], CAMPAIGN_USERS).run_time_s) for one in scenarios)
        ),
    }


#: Figures 8 and 10 of Bhatele 2020: the feature sets of each application.
FORECAST_SETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "amg": ((), ("placement",)),
    "milc": (("placement",), ("placement", "io"), ("placement", "io", "sys")),
}


def _forecast_errors(application: str) -> Callable[[], Ours]:
    """Return a function for the error of the paper's forecaster on a fifth of the runs, by nodes, m, k and features."""

    def measure() -> Ours:
        figures: dict[tuple[str, str], float | MeanFigure] = {}
        for nodes in (128, 512):
            series = make_series(generate_campaign(f"{application}-{nodes}", CAMPAIGN_SEEDS[0], CAMPAIGN_USERS))[
                "series"
            ]
            for (m, k), sets in product(GRID[application], FORECAST_SETS[application]):
                learned = {COUNTERS: paper_forecasters()[COUNTERS]}
                result = run_backtest(series, m, k, sets, folds=5, seed=CAMPAIGN_SEEDS[0], learned=learned, rounds=1)
                figures[f"{nodes}, m {m}, k {k}", "+".join(("app", *sets))] = result.mape[COUNTERS]
        return figures

    return measure


def _measure_scaled_counters() -> Ours:
    """Return errors of both jobs in percent, by the largest counter."""
    return {
        (f"{largest:g}", job): 100 * error
        for largest, scaled in reconstruct_scaled().items()
        for job, error in (("barrier", scaled.barrier_error), ("bully", scaled.bully_error))
    }


#: (paper, place) -> the measuring function.
MEASURED: dict[tuple[str, str], Callable[[], Ours]] = {
    ("bhatele2020", "figure 1"): _measure_variability,
    ("bhatele2020", "table III"): _measure_blamed,
    ("bhatele2020", "figure 8"): _forecast_errors("amg"),
    ("bhatele2020", "figure 10"): _forecast_errors("milc"),
    ("desensi2019", "figure 10"): _measure_routing_modes,
    ("hoefler2009", "figure 3"): _measure_noise_by_ratio,
    ("hoefler2009", "figure 5"): _measure_noise_by_size,
    ("hoefler2009", "figure 6"): _measure_noise_on_torus,
    ("hoefler2009", "table 1"): _measure_sizes,
    ("hoefler2009", "figure 10"): _measure_example,
    ("hoefler2009", "section 3.1"): _measure_bisections,
    ("hoefler2009", "figure 15"): _measure_torus,
    ("hoefler2009", "table 2"): _tori,
    ("taffet2021", "table 2.1"): _measure_sampling,
    ("taffet2021", "table 5.2"): _measure_stencil,
    ("taffet2021", "figure 5.10"): measure_master_problem,
    ("taffet2021", "figure 5.14"): _measure_scaled_counters,
    ("taffet2021", "section 2.4.1"): _pf3d,
    ("taffet2021", "section 2.4.2"): _measure_minighost,
    ("wang2018", "figure 3"): _wang_gains,
    ("wang2018", "figure 7"): _wang_loads,
    ("wang2018", "figure 8"): _wang_amg,
    ("wang2018", "figure 9"): _wang_bursts("crystal-router"),
    ("wang2018", "figure 10"): _wang_bursts("fill-boundary"),
    ("wang2018", "table II"): _wang_peaks,
}
#: Places whose figures are compared as ratios to the first one, because times have another scale.
RATIOS = {("taffet2021", "section 2.4.1"), ("taffet2021", "section 2.4.2"), ("taffet2021", "table 5.2")}


def as_ratios(figures: list[Figure], ours: dict[tuple[str, str], float]) -> tuple[list[float], list[float | None]]:
    """Return published and our figures divided by the first one; None if ours was not measured."""
    first = figures[0]
    mine = [ours.get((figure.row, figure.column)) for figure in figures]
    base = mine[0]
    return [figure.value / first.value for figure in figures], [
        None if x is None or base is None else x / base for x in mine
    ]
