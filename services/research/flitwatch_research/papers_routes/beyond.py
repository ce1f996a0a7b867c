"""Measurements without a table in the dissertation: trees with failed cables, and jobs whose nodes are scattered over the machine."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from flitwatch_domain.fabric import Fabric, Links
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.papers_routes.rows import Measure, Row, Size
from flitwatch_routing.optimise import Routes, optimise_routes
from flitwatch_routing.patterns import Traffic, load_traffic

#: Share of failed cables between switches.
FAILED = 0.01
#: Jobs with patterns like those of the traces, in this order on a random permutation of the nodes.
JOBS = ("lulesh-512", "partisn-168", "amg-1728")
SMALL = "stencil3d"
#: Numbers of free nodes between other jobs, and the seed of their lengths.
LONGEST_FRAGMENT, SEED = 97, 1


def _fail_cables(fabric: Fabric, share: float, seed: int) -> Fabric:
    """Return the fabric after failures of a share of its cables between switches, in both directions."""
    links = fabric.links
    ends = np.minimum(links.src, links.dst).astype(np.int64) * fabric.vertices + np.maximum(links.src, links.dst)
    cables = np.unique(ends[fabric.router_links()])
    gone = np.random.default_rng(seed).choice(cables, max(1, round(share * len(cables))), replace=False)
    keep = ~np.isin(ends, gone)
    names = [field.name for field in fields(Links) if field.name != "classes"]
    return replace(fabric, links=Links(**{name: getattr(links, name)[keep] for name in names}, classes=links.classes))


def _compute_gaps(found: Routes) -> dict[str, float]:
    return {
        "over the bound": 100 * (found.z / found.fixed_bound - 1),
        "over z_AR": 100 * (found.z / found.z_ar - 1),
        "bound over z_AR": 100 * (found.fixed_bound / found.z_ar - 1),
        "seconds": found.wall_s,
    }


def _measure_failed(pattern: str, seed: int) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = _fail_cables(fabric_of(size.topology), FAILED, seed)
        return _compute_gaps(
            optimise_routes(fabric, load_traffic(pattern, len(fabric.endpoints), seed), size.optimise_s, seed)
        )

    return measure


def _measure_whole(pattern: str, seed: int) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        demand = load_traffic(SMALL if size.quick else pattern, len(fabric.endpoints), seed)
        return _compute_gaps(optimise_routes(fabric, demand, size.optimise_s, seed))

    return measure


def _measure_scattered(seed: int) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        return _compute_gaps(
            optimise_routes(fabric, _draw_jobs(len(fabric.endpoints), size.quick, seed), size.optimise_s, seed)
        )

    return measure


def _draw_jobs(endpoints: int, small: bool, seed: int) -> Traffic:
    """Return the jobs' traffic on scattered nodes; each job is scaled so that all busiest ranks send the same amount."""
    nodes = np.random.default_rng(seed).permutation(endpoints).astype(np.int32)
    parts, first = [], 0
    for name in (SMALL,) if small else JOBS:
        src, dst, size = load_traffic(name, endpoints, seed)
        ranks = int(max(src.max(), dst.max())) + 1
        here = nodes[first : first + ranks]
        parts.append((here[src], here[dst], size / np.bincount(src, size).max()))
        first += ranks
    src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return src, dst, size


def _measure_phases(*names: str) -> Measure:
    """Return a measurement of successive patterns, each on separately drawn nodes and scaled so that all busiest ranks send the same amount."""

    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        endpoints, slots = len(fabric.endpoints), []
        for seed, name in enumerate((SMALL, SMALL) if size.quick else names, start=SEED):
            nodes = np.random.default_rng(seed).permutation(endpoints).astype(np.int32)
            src, dst, amount = load_traffic(name, endpoints, seed)
            slots.append((nodes[src], nodes[dst], amount / np.bincount(src, amount).max()))
        return _compute_gaps(optimise_routes(fabric, slots[0], size.optimise_s, SEED, later=slots[1:]))

    return measure


def _measure_copies(name: str, coupled: bool) -> Measure:
    def measure(size: Size) -> dict[str, float]:
        fabric = fabric_of(size.topology)
        demand = instances(SMALL if size.quick else name, len(fabric.endpoints), 4 if size.quick else 1, coupled)
        return _compute_gaps(optimise_routes(fabric, demand, size.optimise_s, SEED))

    return measure


def instances(name: str, endpoints: int, parts: int, coupled: bool) -> Traffic:
    """Return as many instances of an application as fit, with ranks in order of the free nodes (Taffet 2021, section 3.5.1).

    parts: one in this many endpoints is used per instance if the pattern has no fixed size;  coupled: rank i of each instance sends to rank j of every instance (patterns named Trace*), else only of its own (Trace).
    """
    rng = np.random.default_rng(SEED)
    src, dst, size = load_traffic(name, endpoints // parts, SEED)
    ranks = int(max(src.max(), dst.max())) + 1
    ends = np.cumsum(rng.integers(1, LONGEST_FRAGMENT, endpoints))
    fragments = np.split(np.arange(endpoints), ends[ends < endpoints])
    free = np.concatenate([fragments[one] for one in rng.permutation(len(fragments))])
    nodes = [np.sort(free[first : first + ranks]) for first in range(0, endpoints - ranks + 1, ranks)]
    pairs = [(one, other) for one in nodes for other in (nodes if coupled else [one])]
    return (
        np.concatenate([one[src] for one, _ in pairs]),
        np.concatenate([other[dst] for _, other in pairs]),
        np.tile(size, len(pairs)),
    )


_BROKEN = "goal: at most 0.2 over the bound"
_NOISY = "goal: at most 0.15 over the bound"
_TRACES = "goal: at most 1 over the bound"
_COUPLED = "goal: at most 0.05 over the bound"
ROWS = [
    *(Row("A", f"random shuffle, 1 % of the cables failed, seed {seed}", {}, _measure_failed("bisection-shuffle", seed), _BROKEN) for seed in (1, 2, 3)),
    Row("A", "bisection, 1 % of the cables failed, seed 1", {}, _measure_failed("bisection", 1), _BROKEN),
    *(Row("A", f"random shuffle, noise of 5 %, seed {seed}", {}, _measure_whole("noisy-shuffle", seed), _NOISY) for seed in (1, 2, 3)),
    *(Row("A", f"{name}, seed 1", {}, _measure_whole(pattern, 1), _TRACES) for name, pattern in
      (("LULESH 512", "lulesh-512"), ("PARTISN 168", "partisn-168"), ("AMG 1728", "amg-1728"), ("irregular, 70 partners", "irregular-70"))),
    *(Row("A", f"{name}, as many instances as fit, on fragments, {how}", {}, _measure_copies(pattern, coupled), _COUPLED if coupled else _TRACES)
      for name, pattern in (("LULESH 512", "lulesh-512"), ("PARTISN 168", "partisn-168")) for how, coupled in (("apart", False), ("coupled", True))),
    *(Row("A", f"LULESH 512, PARTISN 168 and AMG 1728 on scattered nodes, seed {seed}", {}, _measure_scattered(seed), _TRACES) for seed in (1, 2)),
    Row("A", "four random shuffles, a time slot each", {}, _measure_phases(*["bisection-shuffle"] * 4), "the sum of the slots' busiest links"),
    Row("A", "LULESH 512, AMG 1728 and a noisy shuffle, a time slot each, scattered", {}, _measure_phases("lulesh-512", "amg-1728", "noisy-shuffle"), "the sum of the slots' busiest links"),
]  # fmt: skip
