"""Lambda and sigma of algorithm 1 (De Sensi 2019, section 4.1), fitted in the packet engine.

The text takes them from "a median case over several runs of different microbenchmarks in different allocations" and prints no values. Here a pair is
the same job with the same seed under adaptive routing and under high bias: lambda is the median over pairs of L with high bias over L with adaptive, sigma
the same of the stall ratio. The fit's error is what a pair that was left out shows against the median of the others.
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
from flitwatch_research.studies.packet_common import known, number, numbers, sweep, whole
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.workloads.placement import place

#: Microbenchmarks whose pairs are fitted; a barrier's messages are too small to read counters for.
#: Of the interval of a factor.
LEVEL = 0.95
FITTED = ("allreduce", "alltoall", "broadcast", "halo3d", "sweep3d")


@dataclass(frozen=True)
class Pair:
    """L and s of a job under adaptive routing and under high bias, and its times."""

    latency: tuple[float, float]
    stalls: tuple[float, float]
    time_s: tuple[float, float]
    message_bytes: int


class PairFigures(TypedDict):
    """Medians over a case's pairs; the stall factor is None where adaptive routing never stalled."""

    latency_factor: float
    stall_factor: float | None
    pairs: int
    conserved: bool


class FitFigures(TypedDict):
    """A factor: the median over pairs with its 95 % bootstrap interval, and the error of a pair that was left out.

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


def fit(adaptive: NDArray[np.float64], biased: NDArray[np.float64], seed: int) -> FitFigures | None:
    """The factor that makes `biased` of `adaptive`; None for fewer than three pairs that have both."""
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
    """Share of pairs in which equation 3 with these factors, from what adaptive routing showed, takes the mode that was the faster one."""
    right = []
    for one in pairs:
        if one.time_s[0] == one.time_s[1]:
            continue
        stays = message_time_s(one.message_bytes, one.latency[0], one.stalls[0])
        goes = message_time_s(one.message_bytes, latency_factor * one.latency[0], stall_factor * one.stalls[0])
        right.append((goes < stays) == (one.time_s[1] < one.time_s[0]))
    return float(np.mean(right)) if right else None


def run(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Lambda and sigma fitted on pairs of runs, with the fit's error.

    Parameters: seed, repeats (3: pairs of a case), ranks (32), sizes: bytes a rank ([4096, 32768]), load_gib_per_s (1), topology, patterns.
    """
    known(
        parameters,
        ("seed", "threads", "runs", "repeats", "ranks", "sizes", "load_gib_per_s", "topology", "patterns"),
    )
    seed = whole(parameters, "seed", 1, 0, 2**63 - 1)
    repeats = whole(parameters, "repeats", whole(parameters, "runs", 3, 1, 1000), 1, 1000)
    ranks = whole(parameters, "ranks", 32, 2, 100_000)
    sizes = [int(one) for one in numbers(parameters, "sizes", [4096, 32768], 64, 1e8)]
    load = number(parameters, "load_gib_per_s", 1.0, 0.0, 16.0)
    wanted = parameters.get("patterns", list(FITTED))
    if not isinstance(wanted, list) or not set(wanted) <= set(FITTED):
        raise BadRequest(f"patterns is {wanted!r}", advice=f"Choose from {', '.join(FITTED)}.")
    machine = aries_of(parameters)
    found: dict[tuple[str, str, int], list[Pair]] = {}

    def compute(case: Parameters, stop: Cancelled) -> list[PairFigures]:
        messages = MICROBENCHMARKS[case["pattern"]](ranks, case["size_bytes"], seed)
        pairs, conserved = [], True
        for k in range(repeats):
            endpoints = place(machine.fabric, ranks, case["allocation"], np.random.default_rng([seed, k]))
            both = [
                run_once(machine, messages, endpoints, mode_number(mode, False), seed + k, load, stop)
                for mode in ("default", "high-bias")
            ]
            sent = both[0].latency_cycles > 0
            pairs.append(
                Pair(
                    (float(both[0].latency_cycles[sent].mean()), float(both[1].latency_cycles[sent].mean())),
                    (float(both[0].stalls_per_flit[sent].mean()), float(both[1].stalls_per_flit[sent].mean())),
                    (both[0].time_s, both[1].time_s),
                    int(np.median(messages.size_bytes)),
                )
            )
            conserved &= all(one.conserved for one in both)
        found[case["pattern"], case["allocation"], case["size_bytes"]] = pairs
        stalled = [one.stalls[1] / one.stalls[0] for one in pairs if one.stalls[0] > 0]
        return [
            {
                "latency_factor": float(np.median([one.latency[1] / one.latency[0] for one in pairs])),
                "stall_factor": float(np.median(stalled)) if stalled else None,
                "pairs": len(pairs),
                "conserved": conserved,
            }
        ]

    cases = [{"pattern": p, "allocation": a, "size_bytes": s} for p in wanted for a in ALLOCATIONS for s in sizes]
    answer = sweep("desensi-calibration", cases, compute, report, cancelled, parameters, seed=seed, ranks=ranks)
    pairs = [one for case in cases for one in found[case["pattern"], case["allocation"], case["size_bytes"]]]
    latencies, stalled = (np.array([getattr(one, what) for one in pairs], float) for what in ("latency", "stalls"))
    latency = fit(latencies[:, 0], latencies[:, 1], seed)
    stalls = fit(stalled[:, 0], stalled[:, 1], seed)
    usual = packet.ChoiceOptions()
    answer["latency_factor"], answer["stall_factor"] = latency, stalls
    answer["right_choices"] = (
        None if latency is None or stalls is None else right_choices(pairs, latency["median"], stalls["median"])
    )
    answer["right_choices_by_the_library"] = right_choices(pairs, usual.latency_factor, usual.stall_factor)
    return answer
