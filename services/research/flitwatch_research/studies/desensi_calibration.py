"""Lambda and sigma of algorithm 1 (De Sensi 2019, section 4.1), fitted in the packet engine.

The paper takes them from "a median case over several runs of different microbenchmarks in different allocations" and prints no values. Here, a pair is
the same job with the same seed under adaptive routing and under high bias. Lambda is the median over pairs of L with high bias over L with adaptive
routing, and sigma the same for the stall ratio. The fit's error is the deviation of a held-out pair from the median of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import message_time_s
from flitwatch_research.studies.desensi import aries_of
from flitwatch_research.studies.desensi_applications import ALLOCATIONS, MICROBENCHMARKS, mode_number, run_once
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_numbers,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.workloads.placement import place_ranks

#: Level of a factor's interval.
LEVEL = 0.95
#: Microbenchmarks with fitted pairs; a barrier's messages are too small for reading counters.
FITTED = ("allreduce", "alltoall", "broadcast", "halo3d", "sweep3d")


@dataclass(frozen=True)
class Pair:
    """L and s of a job under adaptive routing and under high bias, and its times."""

    latency: tuple[float, float]
    stalls: tuple[float, float]
    time_s: tuple[float, float]
    message_bytes: int


class PairFigures(TypedDict):
    """Medians over a case's pairs; the stall factor is None if adaptive routing never stalled."""

    latency_factor: float
    stall_factor: float | None
    pairs: int
    conserved: bool


class FitFigures(TypedDict):
    """A factor: the median over pairs with its 95 % bootstrap interval, and the error on a held-out pair.

    Attributes
    ----------
    error : median of |factor x adaptive - high bias| / high bias
    error_90 : its 90th percentile
    """

    median: float
    ci95: list[float]
    error: float
    error_90: float
    pairs: int


def fit_factor(adaptive: NDArray[np.float64], biased: NDArray[np.float64], seed: int) -> FitFigures | None:
    """Return the factor from `adaptive` to `biased`; None for fewer than three pairs with both."""
    have = (adaptive > 0) & (biased > 0)
    first, second = adaptive[have], biased[have]
    if first.size < 3:
        return None
    ratio = second / first
    drawn = np.random.default_rng(seed).integers(0, ratio.size, (2000, ratio.size))
    low, high = np.quantile(np.median(ratio[drawn], axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    others = np.array([np.median(np.delete(ratio, k)) for k in range(ratio.size)])
    error = np.abs(others * first - second) / second
    return {
        "median": float(np.median(ratio)),
        "ci95": [low, high],
        "error": float(np.median(error)),
        "error_90": float(np.percentile(error, 90)),
        "pairs": int(ratio.size),
    }


def right_choices(pairs: list[Pair], latency_factor: float, stall_factor: float) -> float | None:
    """Return the share of pairs in which equation 3 with these factors chooses the faster mode from counters under adaptive routing."""
    right = []
    for pair in pairs:
        if pair.time_s[0] == pair.time_s[1]:
            continue
        stays = message_time_s(pair.message_bytes, pair.latency[0], pair.stalls[0])
        goes = message_time_s(pair.message_bytes, latency_factor * pair.latency[0], stall_factor * pair.stalls[0])
        right.append((goes < stays) == (pair.time_s[1] < pair.time_s[0]))
    return float(np.mean(right)) if right else None


def run(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Fit lambda and sigma on pairs of runs, and return them with the fit's error.

    Parameters: seed, repeats (3: pairs of a case), ranks (32), sizes: bytes per rank ([4096, 32768]), load_gib_per_s (1), topology, patterns.
    """
    check_names(
        parameters,
        ("seed", "threads", "runs", "repeats", "ranks", "sizes", "load_gib_per_s", "topology", "patterns"),
    )
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = read_whole_number(parameters, "repeats", read_whole_number(parameters, "runs", 3, 1, 1000), 1, 1000)
    ranks = read_whole_number(parameters, "ranks", 32, 2, 100_000)
    sizes = [int(pair) for pair in read_numbers(parameters, "sizes", [4096, 32768], 64, 1e8)]
    load = read_number(parameters, "load_gib_per_s", 1.0, 0.0, 16.0)
    pattern_names = parameters.get("patterns", list(FITTED))
    if not isinstance(pattern_names, list) or not set(pattern_names) <= set(FITTED):
        raise BadRequest(f"patterns is {pattern_names!r}", advice=f"Choose from {', '.join(FITTED)}.")
    machine = aries_of(parameters)
    pairs_by_case: dict[tuple[str, str, int], list[Pair]] = {}

    def compute(case: Parameters, stop: Cancelled) -> list[PairFigures]:
        messages = MICROBENCHMARKS[case["pattern"]](ranks, case["size_bytes"], seed)
        pairs, conserved = [], True
        for k in range(repeats):
            endpoints = place_ranks(machine.fabric, ranks, case["allocation"], np.random.default_rng([seed, k]))
            both = [
                run_once(machine, messages, endpoints, mode_number(mode, False), seed + k, load, stop)
                for mode in ("default", "high-bias")
            ]
            active = both[0].latency_cycles > 0
            pairs.append(
                Pair(
                    (float(both[0].latency_cycles[active].mean()), float(both[1].latency_cycles[active].mean())),
                    (float(both[0].stalls_per_flit[active].mean()), float(both[1].stalls_per_flit[active].mean())),
                    (both[0].time_s, both[1].time_s),
                    int(np.median(messages.size_bytes)),
                )
            )
            conserved &= all(pair.conserved for pair in both)
        pairs_by_case[case["pattern"], case["allocation"], case["size_bytes"]] = pairs
        stalled = [pair.stalls[1] / pair.stalls[0] for pair in pairs if pair.stalls[0] > 0]
        return [
            {
                "latency_factor": float(np.median([pair.latency[1] / pair.latency[0] for pair in pairs])),
                "stall_factor": float(np.median(stalled)) if stalled else None,
                "pairs": len(pairs),
                "conserved": conserved,
            }
        ]

    cases = [
        {"pattern": p, "allocation": a, "size_bytes": s} for p in pattern_names for a in ALLOCATIONS for s in sizes
    ]
    answer = sweep_cases("desensi-calibration", cases, compute, report, cancelled, parameters, seed=seed, ranks=ranks)
    pairs = [pair for case in cases for pair in pairs_by_case[case["pattern"], case["allocation"], case["size_bytes"]]]
    latencies, stalled = (np.array([getattr(pair, what) for pair in pairs], float) for what in ("latency", "stalls"))
    latency = fit_factor(latencies[:, 0], latencies[:, 1], seed)
    stalls = fit_factor(stalled[:, 0], stalled[:, 1], seed)
    usual = packet.ChoiceOptions()
    answer["latency_factor"], answer["stall_factor"] = latency, stalls
    answer["right_choices"] = (
        None if latency is None or stalls is None else right_choices(pairs, latency["median"], stalls["median"])
    )
    answer["right_choices_by_the_library"] = right_choices(pairs, usual.latency_factor, usual.stall_factor)
    return answer
