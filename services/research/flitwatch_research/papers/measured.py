"""What `make papers` measures itself, in seconds to minutes each; the tables of routes and traffic matrices come from `make papers-routes`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from flitwatch_research.studies import published, registry
from flitwatch_research.studies.published import Figure
from flitwatch_research.studies.taffet_stencil import MESSAGES, ROUTINGS
from flitwatch_research.studies.wang import SHORT, beside_over_alone


def _run(study: str, **parameters: Any) -> list[dict[str, Any]]:
    return list(registry.find(study).run(parameters, lambda *_: None, lambda: False)["points"])


def _sizes() -> dict[tuple[str, str], float]:
    return {
        (p["layout"], column): float(p[column]) for p in _run("hoefler-table1") for column in ("endpoints", "switches")
    }


def _example() -> dict[tuple[str, str], float]:
    (cost,) = [p["cost"] for p in _run("hoefler-example") if p["semantics"] == "longest-path"]
    return {("perturbed", "longest path"): cost["perturbed"], ("unperturbed", "longest path"): cost["quiet"]}


def _bisections() -> dict[tuple[str, str], float]:
    found = {}
    for point in _run("hoefler-ebb", runs=200):
        for machine in ("Thunderbird", "Ranger", "Atlas", "CHiC", "Odin"):
            if machine in point["series"]:
                found[machine, "effective bisection bandwidth"] = 100 * point["effective_bisection_bandwidth"]["mean"]
    return found


def _torus() -> dict[tuple[str, str], float]:
    points = _run(
        "hoefler-fig15", runs=100, ratios=[0.9], semantics="orcs", topologies={"100-ary 2-cube": "torus:100,100"}
    )
    return {(p["series"], "slowdown, at most"): p["slowdown"]["mean"] for p in points}


@cache
def ghost() -> list[dict[str, Any]]:
    """miniGhost's cases by the study's defaults; computed once."""
    return _run("taffet-minighost")


def _minighost() -> dict[tuple[str, str], float]:
    """Ours are milliseconds of one step of a few variables: shown over the first row's."""
    return {(f"{p['mapping']}, {p['strategy'].upper()}", "time"): p["time_ms"] for p in ghost()}


#: A machine for what takes an hour on Theta: both larger applications beside bursts; half of each message's size.
_SMALL: dict[str, Any] = {"topology": "dragonfly:4,4,8,16", "ranks": 125, "load": 0.5}
#: Messages of 16 KiB from each node at the shortest interval of the paper's range, 0.002 ms, in GiB/s a node (docs/adr/1251).
SHORTEST_GIB_PER_S = 7.6
#: Wang's studies as the page shows them: what is asked of each beside its own defaults, which are the paper's Theta and sizes.
WANG: dict[tuple[str, str], dict[str, Any]] = {
    ("wang-fig2", "all"): {},
    ("wang-fig3", "all"): {},
    ("wang-fig7", "crystal-router"): {"applications": ["crystal-router"]},
    ("wang-fig8-10", "others"): {**_SMALL, "applications": ["crystal-router", "fill-boundary"]},
    ("wang-table2", "all"): {},
}


@cache
def wang(study: str, of: str = "all") -> dict[str, Any]:
    """The study's answer with the parameters of `WANG`; computed once."""
    return registry.find(study).run(dict(WANG[study, of]), lambda *_: None, lambda: False)


def _wang_gains() -> dict[tuple[str, str], float]:
    return {
        (SHORT[gain["application"]], column): gain["saved_percent"]["mean"]
        for gain in wang("wang-fig3")["gains"]
        for column in published.rows("wang2018", "figure 3")[SHORT[gain["application"]]]
    }


def _wang_loads() -> dict[tuple[str, str], float]:
    """Crystal router under adaptive routing: contiguous against random nodes, by load."""
    slowest = {
        p["scale"]: p["slowest_percent_of_random_adaptive"]["mean"]
        for p in wang("wang-fig7", "crystal-router")["points"]
        if (p["application"], p["placement"], p["routing"]) == ("crystal-router", "contiguous", "adaptive")
    }
    gains = {scale: 100 - 1e4 / percent for scale, percent in slowest.items()}
    better = [scale for scale, gain in gains.items() if gain > 0]
    found = {
        "contiguous over random node at a tenth of the load, at most": max(100 - slowest[0.1], 0.0),
        "random node over contiguous, at most": max(gains.values()),
    }
    if better:
        found["random node outperforms from load"] = 100 * min(better)
    return {("CR", column): value for column, value in found.items()}


def _wang_background(application: str, column: str) -> Callable[[], dict[tuple[str, str], float]]:
    def measure() -> dict[tuple[str, str], float]:
        longer = [
            p["slowest_percent_of_alone"]["mean"] - 100
            for p in wang("wang-fig8-10", "others")["points"]
            if (p["application"], p["background"]) == (application, "bursty")
        ]
        return {(SHORT[application], column): max(longer)}

    return measure


def _wang_amg() -> dict[tuple[str, str], float]:
    """Times as long as alone: the traffic is in kind, so that milliseconds are not compared."""
    at = {
        case: beside_over_alone("amg", *case, "uniform", SHORTEST_GIB_PER_S)
        for case in (("contiguous", "minimal"), ("random-node", "adaptive"))
    }
    return {
        ("AMG", "contiguous-minimal, slower by"): 100 * at["contiguous", "minimal"] - 100,
        ("AMG", "random-adaptive, times as long"): at["random-node", "adaptive"],
    }


def _wang_peaks() -> dict[tuple[str, str], float]:
    return {
        (SHORT[p["application"]], column): round(p[key], 2)
        for p in wang("wang-table2")["points"]
        for key, column in (("uniform_mib", "uniform random, peak load"), ("bursty_gib", "bursty, peak load"))
    }


def _sampling() -> dict[tuple[str, str], float]:
    """Of the simulated congestion."""
    columns = {
        "standard traffic": "standard_traffic_percent",
        "standard congested": "standard_congested_percent",
        "one-bit traffic": "one_bit_traffic_percent",
        "one-bit congested": "one_bit_congested_percent",
    }
    return {
        (str(p["downsampling"]), column): p[key]
        for p in _run("taffet-table2.1", mpackets=0.05)
        if p["congestion"] == "simulated"
        for column, key in columns.items()
        if p[key] is not None
    }


def _stencil() -> dict[tuple[str, str], float]:
    """An eighth of the bytes: ratios count."""
    return {
        (ROUTINGS[p["routing"]], MESSAGES[p["messages"]]): p["time_ms"] for p in _run("taffet-table5.2", optimise_s=10)
    }


#: (paper, place) -> how it is measured.
MEASURED: dict[tuple[str, str], Callable[[], dict[tuple[str, str], float]]] = {
    ("hoefler2009", "table 1"): _sizes,
    ("hoefler2009", "figure 10"): _example,
    ("hoefler2009", "section 3.1"): _bisections,
    ("hoefler2009", "figure 15"): _torus,
    ("taffet2021", "table 2.1"): _sampling,
    ("taffet2021", "table 5.2"): _stencil,
    ("taffet2021", "section 2.4.2"): _minighost,
    ("wang2018", "figure 3"): _wang_gains,
    ("wang2018", "figure 7"): _wang_loads,
    ("wang2018", "figure 8"): _wang_amg,
    ("wang2018", "figure 9"): _wang_background("crystal-router", "bursty background, longer by, at most"),
    ("wang2018", "figure 10"): _wang_background("fill-boundary", "bursty background, longer by, at most"),
    ("wang2018", "table II"): _wang_peaks,
}
#: Places whose figures are compared as ratios to their first: times of another scale.
RATIOS = {("taffet2021", "section 2.4.2"), ("taffet2021", "table 5.2")}


def as_ratios(figures: list[Figure], ours: dict[tuple[str, str], float]) -> tuple[list[float], list[float | None]]:
    """Published and ours over their first; None where ours was not measured."""
    first = figures[0]
    mine = [ours.get((one.row, one.column)) for one in figures]
    base = mine[0]
    return [one.value / first.value for one in figures], [None if x is None or base is None else x / base for x in mine]
