"""The blind half of the loop: counters to a matrix, the matrix to routes. Nothing here can reach the traffic."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.optimise import Routes, optimise
from flitwatch_routing.reconstruction.choice import Choice, choose_basis
from flitwatch_routing.reconstruction.consistency import management_bytes
from flitwatch_routing.reconstruction.pairs import union
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, reconstruct
from flitwatch_routing.reconstruction.study import Measured

Ints = NDArray[np.int64]
Matrix = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
#: Pairs with less of the largest are noise of the solver and get no say in the routes.
NOISE_FLOOR = 1e-4
#: Part of the reconstruction's time that the choice of a basis may take.
CHOICE_SHARE = 0.4
#: Seconds that a slot is given where earlier ones took all.
LEAST_S = 1.0
#: say(what) is told how far the work is; cancelled() is asked often.
Say = Callable[[str], None]


def reconstructed(
    fabric: Fabric,
    loaded: Ints,
    slots: Sequence[Measured],
    basis: str,
    limit_s: float,
    say: Say,
    cancelled: Callable[[], bool],
    floor: float = management_bytes(),
) -> tuple[list[Reconstruction], Choice]:
    """The matrix of each time slot in the dictionary, in a named basis, or (`auto`) in the one that predicts the fullest slot's held-out counters best.

    `floor` is what managers may have sent over a link, in bytes: less contradicts no routes.
    """
    within = ""

    def watch(phase: str, iterations: int, residual: float, gap: float) -> bool:
        say(f"{within}{phase}: {iterations:,} iterations, residual {residual:.2g}, gap {gap:.2g}")
        return not cancelled()

    m = max(
        slots, key=lambda one: sum(float(part.sum()) for part in one.counters)
    )  # one of the slots may have no traffic
    choice = Choice(basis, {})
    if basis == "auto":
        each_s = limit_s * CHOICE_SHARE / 4
        choice = choose_basis(fabric, loaded, m.lanes, m.pairs, m.counters, each_s, watch, floor=floor)
        limit_s *= 1 - CHOICE_SHARE
    found: list[Reconstruction] = []
    ends = time.monotonic() + limit_s
    for number, m in enumerate(slots):
        within = f"slot {number + 1} of {len(slots)}, " if len(slots) > 1 else ""
        left_s = max((ends - time.monotonic()) / (len(slots) - number), LEAST_S)
        options = Options(choice.basis, time_limit_s=left_s, floor=floor)
        found.append(reconstruct(fabric, loaded, m.lanes, m.pairs, m.counters, options, watch))
        if cancelled():
            raise Cancelled("the reconstruction was cancelled")
    return found, choice


def combined_slots(slots: Sequence[Reconstruction]) -> Reconstruction:
    """What all slots sent: sums of their matrices and intervals, and of their errors, which share routes and lanes; the worst of the rest.

    A slot without traffic says nothing of the error.
    """
    if len(slots) == 1:
        return slots[0]
    pairs = union([one.pairs for one in slots])

    def added(name: str) -> NDArray[np.float64]:
        whole = np.zeros(len(pairs))
        for one in slots:
            whole[np.searchsorted(pairs.key, one.pairs.key)] += getattr(one, name)
        return whole

    size = added("size")
    norm, sent = (
        float(np.linalg.norm(size)),
        [one for one in slots if one.size.any() or one.estimated_error is not None],
    )
    missed = [(one.estimated_error, float(np.linalg.norm(one.size))) for one in sent]
    error = sum(e * part for e, part in missed if e is not None) / norm if norm > 0 else None
    return Reconstruction(
        pairs=pairs,
        size=size,
        low=added("low"),
        high=added("high"),
        estimated_error=None if any(e is None for e, _ in missed) else error,
        residual=max(one.residual for one in slots),
        gap=max(one.gap for one in slots),
        converged=all(one.converged for one in slots),
        iterations=sum(one.iterations for one in slots),
        noise=max(one.noise for one in slots),
        unknowns=sum(one.unknowns for one in slots),
        wall_s=sum(one.wall_s for one in slots),
        unknown={name: why for one in slots for name, why in one.unknown.items()},
    )


def routes_for(
    fabric: Fabric, slots: Sequence[Reconstruction], limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Routes for the matrices that are believed."""
    believed = []
    for found in slots:
        keep = found.size > NOISE_FLOOR * found.size.max(initial=0)
        believed.append((found.pairs.src[keep], found.pairs.dst[keep], found.size[keep]))
    return optimised(fabric, believed, limit_s, seed, say, cancelled)


def optimised(
    fabric: Fabric, slots: Sequence[Matrix], limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Routes for the matrices of time slots; Cancelled where it is asked for."""

    def watch(seconds: float, largest: float, moves: int) -> bool:
        say(f"{seconds:.0f} of {limit_s:.0f} s: busiest link {largest:.6g} bytes after {moves:,} moves")
        return not cancelled()

    found = optimise(fabric, slots[0], limit_s, seed, watch, later=slots[1:])
    if cancelled():
        raise Cancelled("the optimisation was cancelled")
    return found
