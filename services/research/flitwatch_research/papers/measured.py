"""What `make papers` measures itself, in seconds each; the tables of routes and traffic matrices come from `make papers-routes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flitwatch_research.studies import registry
from flitwatch_research.studies.published import Figure
from flitwatch_research.studies.taffet_stencil import MESSAGES, ROUTINGS


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


def _minighost() -> dict[tuple[str, str], float]:
    """Ours are milliseconds of one step of a few variables: shown over the first row's."""
    return {(f"{p['mapping']}, {p['strategy'].upper()}", "time"): p["time_ms"] for p in _run("taffet-minighost")}


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
}
#: Places whose figures are compared as ratios to their first: times of another scale.
RATIOS = {("taffet2021", "section 2.4.2"), ("taffet2021", "table 5.2")}


def as_ratios(figures: list[Figure], ours: dict[tuple[str, str], float]) -> tuple[list[float], list[float | None]]:
    """Published and ours over their first; None where ours was not measured."""
    first = figures[0]
    mine = [ours.get((one.row, one.column)) for one in figures]
    base = mine[0]
    return [one.value / first.value for one in figures], [None if x is None or base is None else x / base for x in mine]
