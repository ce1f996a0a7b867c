"""The blind half of the loop: counters to a matrix, the matrix to routes. It has no access to the traffic."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.optimise import Routes, optimise_routes
from flitwatch_routing.reconstruction.choice import Choice, choose_basis
from flitwatch_routing.reconstruction.consistency import management_bytes
from flitwatch_routing.reconstruction.pairs import unite_pairs
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, reconstruct_matrix
from flitwatch_routing.reconstruction.study import Measured

Ints = NDArray[np.int64]
Matrix = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
#: Pairs below this share of the largest are solver noise and are ignored for routes.
NOISE_FLOOR = 1e-4
#: Share of the reconstruction's time for the choice of a basis.
CHOICE_SHARE = 0.4
#: Seconds for a slot if earlier slots used all the time.
LEAST_S = 1.0
#: say(text) reports progress; cancelled() is polled often.
Say = Callable[[str], None]


def reconstruct_slots(
    fabric: Fabric,
    loaded: Ints,
    slots: Sequence[Measured],
    basis: str,
    limit_s: float,
    say: Say,
    cancelled: Callable[[], bool],
    floor: float = management_bytes(),
) -> tuple[list[Reconstruction], Choice]:
    """Return the matrix of each time slot in the dictionary, in a named basis, or (`auto`) in the basis that best predicts the fullest slot's held-out counters.

    `floor` is possible management traffic over a link in bytes; smaller amounts do not contradict the routes.
    """
    within = ""

    def watch(phase: str, iterations: int, residual: float, gap: float) -> bool:
        say(f"{within}{phase}: {iterations:,} iterations, residual {residual:.2g}, gap {gap:.2g}")
        return not cancelled()

    m = max(slots, key=lambda one: sum(float(part.sum()) for part in one.counters))  # a slot may have no traffic
    choice = Choice(basis, {})
    if basis == "auto":
        each_s = limit_s * CHOICE_SHARE / 4
        choice = choose_basis(fabric, loaded, m.lanes, m.pairs, m.counters, each_s, watch, floor=floor)
        limit_s *= 1 - CHOICE_SHARE
    matrices: list[Reconstruction] = []
    ends = time.monotonic() + limit_s
    for number, m in enumerate(slots):
        within = f"slot {number + 1} of {len(slots)}, " if len(slots) > 1 else ""
        left_s = max((ends - time.monotonic()) / (len(slots) - number), LEAST_S)
        options = Options(choice.basis, time_limit_s=left_s, floor=floor)
        matrices.append(reconstruct_matrix(fabric, loaded, m.lanes, m.pairs, m.counters, options, watch))
        if cancelled():
            raise Cancelled("the reconstruction was cancelled")
    return matrices, choice


def combined_slots(slots: Sequence[Reconstruction]) -> Reconstruction:
    """Combine the slots: sums of matrices, intervals and errors (routes and lanes are common); for other values, the worst one.

    A slot without traffic does not affect the error.
    """
    if len(slots) == 1:
        return slots[0]
    pairs = unite_pairs([slot.pairs for slot in slots])

    def added(name: str) -> NDArray[np.float64]:
        whole = np.zeros(len(pairs))
        for slot in slots:
            whole[np.searchsorted(pairs.key, slot.pairs.key)] += getattr(slot, name)
        return whole

    size = added("size")
    norm, traffic_slots = (
        float(np.linalg.norm(size)),
        [slot for slot in slots if slot.size.any() or slot.estimated_error is not None],
    )
    missed = [(slot.estimated_error, float(np.linalg.norm(slot.size))) for slot in traffic_slots]
    error = sum(e * part for e, part in missed if e is not None) / norm if norm > 0 else None
    return Reconstruction(
        pairs=pairs,
        size=size,
        low=added("low"),
        high=added("high"),
        estimated_error=None if any(e is None for e, _ in missed) else error,
        residual=max(slot.residual for slot in slots),
        gap=max(slot.gap for slot in slots),
        converged=all(slot.converged for slot in slots),
        iterations=sum(slot.iterations for slot in slots),
        noise=max(slot.noise for slot in slots),
        unknowns=sum(slot.unknowns for slot in slots),
        wall_s=sum(slot.wall_s for slot in slots),
        unknown={name: why for slot in slots for name, why in slot.unknown.items()},
    )


def routes_for(
    fabric: Fabric, slots: Sequence[Reconstruction], limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Return routes for the reconstructed matrices."""
    believed = []
    for slot in slots:
        keep = slot.size > NOISE_FLOOR * slot.size.max(initial=0)
        believed.append((slot.pairs.src[keep], slot.pairs.dst[keep], slot.size[keep]))
    return optimise_slots(fabric, believed, limit_s, seed, say, cancelled)


def optimise_slots(
    fabric: Fabric, slots: Sequence[Matrix], limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Return routes for the matrices of time slots; raise Cancelled on request."""

    def watch(seconds: float, largest: float, moves: int) -> bool:
        say(f"{seconds:.0f} of {limit_s:.0f} s: busiest link {largest:.6g} bytes after {moves:,} moves")
        return not cancelled()

    routes = optimise_routes(fabric, slots[0], limit_s, seed, watch, later=slots[1:])
    if cancelled():
        raise Cancelled("the optimisation was cancelled")
    return routes
