"""Cost of each published study: sizes times repetitions times messages, from its parameters and defaults."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from flitwatch_domain.task_models.applications import (
    APPLICATIONS,
    ApplicationKind,
    background_packets,
    exchange_s,
    messages_of,
)
from flitwatch_domain.task_models.base import nodes_of

Needs = dict[str, float]
Parameters = dict[str, Any]


class Exchange(NamedTuple):
    """A packet-level run: its ranks, messages, bytes per message, and minimum duration in simulated seconds."""

    ranks: float
    messages_per_rank: float
    bytes_per_rank: float
    lasts_s: float

    def times(self, iterations: float) -> Exchange:
        """Return the run repeated one after the other."""
        return Exchange(self.ranks, *(iterations * value for value in self[1:]))


#: Numbers of nodes in Hoefler's figures 11 and 13, and sides of the tori of figure 16 (`flitwatch_simulation.studies`).
_FIG11 = (132, 576, 1_152, 3_456, 4_608)
_FIG13 = (144, 288, 1_152, 2_304, 3_456, 10_368, 20_736)
_FIG16_2D = (10, 14, 17, 20, 22, 24, 26, 28, 30, 31, 44, 54, 70, 77, 83, 89)
_FIG16_3D = (4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 17, 18, 19, 20)
_RATIOS = 9
#: Wang's applications: ranks, bytes per rank, and the sum of the loads of figure 7.
_WANG = {"crystal-router": (1_000, 190e3, 3.61), "fill-boundary": (1_000, 760e3, 3.61), "amg": (1_728, 75e3, 36.5)}
_DESENSI_TOPOLOGY, _DESENSI_PACKET = "dragonfly:4,6,16,24", 64
_COLLECTIVES = ("allreduce", "alltoall", "barrier", "broadcast", "halo3d", "sweep3d")
_FITTED = ("allreduce", "alltoall", "broadcast", "halo3d", "sweep3d")


def needs_of_study(study: str, parameters: Parameters) -> Needs:
    """Return the fields of `costs.Limits` that a study needs."""
    name = study.removeprefix("hoefler-")
    threads = {"threads": float(parameters.get("threads") or 1)}
    if name in ("fig11", "fig13", "fig15", "fig16"):
        return threads | _sweep_needs(name, parameters)
    if name == "ebb":
        return threads | _bisection_needs(parameters)
    if study.startswith("wang-"):
        return threads | _wang_needs(study, parameters)
    if study in ("desensi-fig8-collectives", "desensi-fig10", "desensi-calibration"):
        return threads | _exchange_needs(study, parameters)
    if study.startswith("desensi-"):
        return threads | _ping_pongs(study, parameters)
    if study.startswith("taffet-"):
        return threads | _taffet_needs(study, parameters)
    return threads


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _sweep_needs(name: str, parameters: Parameters) -> Needs:
    """Return the needs of collectives at flow level: a machine and a ratio per point."""
    ratios = len(parameters["ratios"]) if parameters.get("ratios") else _RATIOS
    sizes: list[float]
    match name:
        case "fig11":
            own = [float(nodes) for nodes in _FIG11] if parameters.get("stand_ins", True) else []
            sizes = [*own, *(nodes_of(machine["spec"]) for machine in parameters.get("fabrics", []))]
        case "fig13":
            choices = parameters.get("topologies")
            sizes, ratios = (
                [float(n) for n in _FIG13] if choices is None else [nodes_of(machine) for machine in _as_list(choices)],
                1,
            )
        case "fig15":
            choices = parameters.get("topologies")
            sizes = [10_000.0, 8_000.0] if choices is None else [nodes_of(machine) for machine in choices.values()]
        case _:
            sides = (parameters.get("k_2d") or _FIG16_2D, parameters.get("k_3d") or _FIG16_3D)
            sizes, ratios = [float(side) ** (2 + n) for n, choices in enumerate(sides) for side in choices], 1
    runs = float(parameters.get("runs", 1_000))
    rules = len(_as_list(parameters["semantics"])) if parameters.get("semantics") else 2
    pattern = parameters.get("pattern", "binomial-bcast")
    work = sum(messages_of(pattern, nodes) for nodes in sizes) * ratios * rules * runs
    return {"nodes": max(sizes, default=0.0), "runs": runs, "work": work}


def _bisection_needs(parameters: Parameters) -> Needs:
    """Return the needs of random bisections: half of the nodes send to the other half."""
    topology, runs = parameters.get("topology"), float(parameters.get("runs", 1_000))
    sizes = [float(nodes) for nodes in _FIG11] if topology is None else [nodes_of(topology)]
    return {"nodes": max(sizes), "runs": runs, "work": runs * sum(sizes) / 2}


def _wang_needs(study: str, parameters: Parameters) -> Needs:
    nodes, size = nodes_of(parameters.get("topology", "theta")), float(parameters.get("packet_bytes", 2_048))
    factor, load = float(parameters.get("load", 1.0)), float(parameters.get("load_gib_per_s", 1.0))
    applications, draws = parameters.get("applications"), int(parameters.get("runs", 5))
    exchanges = int(parameters.get("exchanges", 1))
    needs = {"nodes": nodes, "simulations": 0.0, "messages": 0.0, "packets": 0.0}
    for application in _WANG if applications is None else applications:
        usual, volume, loads = _WANG[application]
        ranks = float(parameters.get("ranks") or usual)
        # Figures 3 and 8 to 10: five placements and two routings, without and with two kinds of traffic; figure 7: two of each over the loads.
        runs, amounts, loaded = {
            "wang-fig2": (1, 1.0, 0),
            "wang-table2": (0, 0.0, 0),
            "wang-fig3": (10 * draws, 10.0 * draws, 0),
            "wang-fig7": (20 * draws, 4 * loads * draws, 0),
        }.get(study, (30 * draws, 30.0 * draws, 20 * draws))
        needs["simulations"] += runs
        needs["messages"] = max(needs["messages"], exchanges * messages_of(application, ranks, volume * factor))
        needs["packets"] += exchanges * ranks * volume * factor * amounts / size
        lasts_s = exchanges * exchange_s(volume * factor)
        needs["packets"] += loaded * background_packets(max(nodes - ranks, 0), load, lasts_s, size)
    return needs


def _count_repeats(parameters: Parameters, usual: int) -> float:
    return float(parameters.get("repeats") or parameters.get("runs") or usual)


def _ping_pongs(study: str, parameters: Parameters) -> Needs:
    """Return the needs of ping-pongs alongside background traffic on a quarter of the machine."""
    largest = float(parameters.get("largest_bytes", 1 << 20))
    repeats = _count_repeats(parameters, 8)
    sizes: Iterable[float]
    match study:
        case "desensi-fig3":
            sizes = (16_384.0,) * 4
        case "desensi-fig5":
            sizes = (128, 1_024, 16_384, 262_144, largest)
        case "desensi-fig7":
            sizes = (float(parameters.get("size_bytes", 1 << 20)),) * 4
        case "desensi-fig8":
            sizes = (128, 4_096, 65_536, largest) * 6
        case _:
            sizes = parameters.get("sizes") or (128, 1_024, 16_384, 262_144, 1 << 20)
            repeats = float(parameters.get("allocations") or parameters.get("runs") or 40)
    # A ping-pong takes two exchanges.
    return _background_needs(parameters, [Exchange(2, 1.0, size, 2 * exchange_s(size)) for size in sizes], repeats)


def _exchange_needs(study: str, parameters: Parameters) -> Needs:
    """Return the needs of a job's exchanges on two allocations, each size with each routing, alongside background traffic on a quarter of the machine."""
    # Figures 8 and 10 repeat an exchange several times with three routings; a pair of the calibration has two routings, once.
    modes, iterations = 3, float(parameters.get("iterations", 4))
    usual_sizes: tuple[int, ...]
    match study:
        case "desensi-fig10":
            choices, usual_sizes, usual_repeats = parameters.get("applications"), (8_192, 32_768), 4
            kinds = [APPLICATIONS[name] for name in (APPLICATIONS if choices is None else choices)]
        case "desensi-calibration":
            choices, usual_sizes, usual_repeats = parameters.get("patterns"), (4_096, 32_768), 3
            kinds = [ApplicationKind(name) for name in (_FITTED if choices is None else choices)]
            modes, iterations = 2, 1.0
        case _:
            choices, usual_sizes, usual_repeats = parameters.get("patterns"), (1_024, 16_384, 131_072), 4
            kinds = [ApplicationKind(name) for name in (_COLLECTIVES if choices is None else choices)]
    ranks, sizes = float(parameters.get("ranks") or (32 if modes == 2 else 64)), parameters.get("sizes") or usual_sizes
    rounds = math.ceil(math.log2(max(ranks, 2)))
    cases = []
    for kind in kinds:
        # A barrier has no size: it is run once, and has one signal per round.
        barrier = kind.pattern == "barrier"
        for size in (8 * rounds,) if barrier else sizes:
            messages = rounds if barrier else messages_of(kind.pattern, ranks, size) / ranks + kind.reductions * rounds
            lasts_s = exchange_s(size) + kind.compute_ns(size) * 1e-9
            cases.append(Exchange(ranks, messages, float(size), lasts_s).times(iterations))
    return _background_needs(parameters, cases * 2 * modes, _count_repeats(parameters, usual_repeats))


def _background_needs(parameters: Parameters, cases: list[Exchange], repeats: float) -> Needs:
    """Return the needs of exchanges on De Sensi's machine, each repeated alongside background traffic."""
    nodes = nodes_of(parameters.get("topology", _DESENSI_TOPOLOGY))
    load = float(parameters.get("load_gib_per_s", 1.0))
    packets = 0.0
    for case in cases:
        packets += case.ranks * max(case.bytes_per_rank / _DESENSI_PACKET, case.messages_per_rank)
        packets += background_packets(nodes / 4, load, case.lasts_s, _DESENSI_PACKET)
    most = max((case.ranks * case.messages_per_rank for case in cases), default=0.0)
    return {"nodes": nodes, "simulations": len(cases) * repeats, "messages": most, "packets": packets * repeats}


def _taffet_needs(study: str, parameters: Parameters) -> Needs:
    if study == "taffet-table2.1":
        nodes = float(parameters.get("leaves", 16)) * float(parameters.get("nodes", 32))
        # Each rank has six neighbours, and a path through every spine; with 27 points some ranks have more.
        paths = nodes * 26 * float(parameters.get("spines", 16))
        return {
            "nodes": nodes,
            "simulations": 4.0,
            "messages": paths,
            "packets": 4 * float(parameters.get("mpackets", 4)) * 1e6,
        }
    usual = "quartz1" if study == "taffet-table5.1" else "xgft:2;32,72;1,16"
    nodes = nodes_of(parameters.get("topology") or usual)
    if study == "taffet-table5.1":
        volume = float(parameters.get("mbytes", 10)) * 1e6
        packets = 4 * nodes * volume / float(parameters.get("packet_bytes", 4_096))
        return {"nodes": nodes, "simulations": 4.0, "messages": 5 * nodes, "packets": packets}
    if study == "taffet-pf3d":
        volume = float(parameters.get("mbytes", 4)) * 1e6
        # 52 nodes three times; twice alongside 24 that send twelve times as much.
        return {"nodes": nodes, "simulations": 3.0, "packets": (3 * 52 + 2 * 24 * 12) * volume / 4_096}
    volume = float(parameters.get("kbytes", 2_000)) * 1e3
    return {"nodes": nodes, "simulations": 9.0, "messages": 768 * 26 * 5.0, "packets": 9 * 768 * volume / 4_096}
