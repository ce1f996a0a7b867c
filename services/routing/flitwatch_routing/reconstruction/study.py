"""A reconstruction with known truth: traffic to counters, counters to a matrix without the truth, and a separate score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric, endpoint_finder
from flitwatch_routing.bounds import weighted_bytes
from flitwatch_routing.patterns import by_rank, load_counted_traffic
from flitwatch_routing.reconstruction.count import counters_of
from flitwatch_routing.reconstruction.lanes import Lanes, random_lanes
from flitwatch_routing.reconstruction.lanes_by_pair import GALOIS_VLS, GaloisLanes, PairLanes, RandomLanes
from flitwatch_routing.reconstruction.pairs import Pairs, pairs_of
from flitwatch_routing.reconstruction.recover import Reconstruction

Floats = NDArray[np.float64]
#: (src, dst, bytes) between endpoints.
Traffic = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
#: First node of a job that is smaller than the machine: earlier nodes are not used (Taffet 2021, section 4.7).
SKIPPED = 10
#: Schemes for lanes of pairs: by service level with random SL-to-VL tables; random for every switch, source and destination; with Galois fields.
BY_LEVEL = "levels"
SCHEMES = (BY_LEVEL, "random", "galois")


@dataclass(frozen=True)
class Measured:
    """Records that a site would have: pairs with SLs, SL-to-VL tables and counters of each epoch, in bytes, and in packets if known."""

    pairs: Pairs
    lanes: Sequence[Lanes | PairLanes]
    counters: list[Floats]
    packets: list[Floats] | None = None


@dataclass(frozen=True)
class Study:
    """measured: input of the reconstruction;  size, packets (pairs,): truth in the order of `measured.pairs`, used only for the score"""

    measured: Measured
    size: Floats
    packets: Floats | None = None

    def weighted(self, mtu: float) -> Study:
        """Return the same with counters and sizes weighted by `weighting.weighted_bytes`; raise BadRequest if packets are unknown."""
        if self.packets is None or self.measured.packets is None:
            raise BadRequest(
                "mixed weighting requires packets, and the traffic contains only bytes",
                advice="Give a CSV file src,dst,bytes,packets, or leave out --mtu",
            )
        both = zip(self.measured.counters, self.measured.packets, strict=True)
        counters = [weighted_bytes(size, packets, mtu) for size, packets in both]
        return Study(
            replace(self.measured, counters=counters, packets=None), weighted_bytes(self.size, self.packets, mtu)
        )


def build_study(
    fabric: Fabric,
    ports: NDArray[np.int64],
    name: str,
    sls: int,
    vls: int,
    epochs: int,
    seed: int,
    noise: float = 0.0,
    jobs: list[NDArray[np.int64]] | None = None,
    scheme: str = BY_LEVEL,
) -> Study:
    """Measure traffic inside given jobs. Without jobs, a pattern is one job after the first nodes, and a CSV file one job of its endpoints.

    scheme: one of `SCHEMES`; switches can implement only the first.

    Raises
    ------
    BadRequest
        There is traffic between jobs, or epochs are not from 1 to 64.
    """
    if not 1 <= epochs <= 64:
        raise BadRequest(f"{epochs} epochs; expected 1 to 64")
    endpoints = len(fabric.endpoints.router)
    rng = np.random.default_rng([seed, 4])
    (src, dst, size), packets = load_counted_traffic(name, endpoints, seed, endpoint_finder(fabric))
    if jobs is None and not by_rank(name):
        jobs = [np.union1d(src, dst).astype(np.int64)]
    if jobs is None:
        ranks = int(max(src.max(), dst.max())) + 1
        offset = SKIPPED if ranks + SKIPPED <= endpoints else 0
        src, dst, jobs = src + offset, dst + offset, [np.arange(offset, offset + ranks)]
    measured, inside = measure_traffic(fabric, ports, (src, dst, size), jobs, sls, vls, epochs, rng, noise, scheme)
    if packets is None:
        return Study(measured, inside)
    of_pairs = inside_jobs((src, dst, packets), endpoints, measured.pairs)
    counters = counters_of(fabric, ports, measured.lanes, measured.pairs, of_pairs, noise, rng)
    return Study(replace(measured, packets=counters), inside, of_pairs)


def measure_traffic(
    fabric: Fabric,
    ports: NDArray[np.int64],
    demand: Traffic,
    jobs: list[NDArray[np.int64]],
    sls: int,
    vls: int,
    epochs: int,
    rng: np.random.Generator,
    noise: float = 0.0,
    scheme: str = BY_LEVEL,
) -> tuple[Measured, Floats]:
    """Return counters of traffic (src, dst, bytes) inside jobs, with separate lanes per epoch, and the bytes (pairs,) for the score. Raise BadRequest
    if there is traffic between jobs, the scheme is unknown, or the number of Galois-field lanes is not five."""
    endpoints = len(fabric.endpoints.router)
    pairs = pairs_of(jobs, rng.integers(0, sls, (endpoints, endpoints), dtype=np.int8))
    inside = inside_jobs(demand, endpoints, pairs)
    src, dst, size = demand
    if not np.isclose(inside.sum(), size[src != dst].sum()):
        raise BadRequest("the traffic leaves the jobs", advice="Give jobs with all endpoints that communicate")
    lanes = _draw_lanes(scheme, fabric, sls, vls, epochs, rng)
    return Measured(pairs, lanes, counters_of(fabric, ports, lanes, pairs, inside, noise, rng)), inside


def _draw_lanes(
    scheme: str, fabric: Fabric, sls: int, vls: int, epochs: int, rng: np.random.Generator
) -> list[Lanes | PairLanes]:
    if scheme == BY_LEVEL:
        return [random_lanes(fabric, sls, vls, rng) for _ in range(epochs)]
    if scheme == "random":
        return [RandomLanes(vls, int(rng.integers(2**31))) for _ in range(epochs)]
    if scheme != "galois" or vls != GALOIS_VLS:
        raise BadRequest(
            f"lanes {scheme!r} with {vls} VLs", advice=f"Schemes: {', '.join(SCHEMES)}, galois with five VLs"
        )
    return [GaloisLanes(int(rng.integers(2**31))) for _ in range(epochs)]


def inside_jobs(demand: Traffic, endpoints: int, pairs: Pairs) -> Floats:
    """Return bytes (pairs,) of traffic, without traffic between other pairs."""
    src, dst, size = demand
    matrix = np.zeros((endpoints, endpoints))
    np.add.at(matrix, (src, dst), size)
    return matrix[pairs.src, pairs.dst]


def relative_error(truth: Study, found: Reconstruction) -> float:
    """Return |x - x_true| / |x_true| over all pairs (Taffet 2021, section 4.6.3)."""
    guess = np.zeros(len(truth.size))
    guess[np.searchsorted(truth.measured.pairs.key, found.pairs.key)] = found.size
    norm = float(np.linalg.norm(truth.size))
    return float(np.linalg.norm(guess - truth.size)) / norm if norm > 0 else 0.0
