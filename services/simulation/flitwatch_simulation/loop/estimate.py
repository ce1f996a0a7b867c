"""The blind half of the loop: counters to a matrix, the matrix to routes. Nothing here can reach the traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.optimise import Routes, optimise
from flitwatch_routing.reconstruction.choice import Choice, choose_basis
from flitwatch_routing.reconstruction.recover import Options, Reconstruction, reconstruct
from flitwatch_routing.reconstruction.study import Measured

Ints = NDArray[np.int64]
#: Pairs with less of the largest are noise of the solver and get no say in the routes.
NOISE_FLOOR = 1e-4
#: Part of the reconstruction's time that the choice of a basis may take.
CHOICE_SHARE = 0.4
#: say(what) is told how far the work is; cancelled() is asked often.
Say = Callable[[str], None]


def reconstructed(
    fabric: Fabric, loaded: Ints, measured: Measured, basis: str, limit_s: float, say: Say, cancelled: Callable[[], bool]
) -> tuple[Reconstruction, Choice]:  # fmt: skip
    """The matrix in the dictionary, in a named basis, or (`auto`) in the one that predicts held-out counters best."""

    def watch(phase: str, iterations: int, residual: float, gap: float) -> bool:
        say(f"{phase}: {iterations:,} iterations, residual {residual:.2g}, gap {gap:.2g}")
        return not cancelled()

    m, choice = measured, Choice(basis, {})
    if basis == "auto":
        each_s = limit_s * CHOICE_SHARE / 4
        choice = choose_basis(fabric, loaded, m.lanes, m.pairs, m.counters, each_s, watch)
        limit_s *= 1 - CHOICE_SHARE
    options = Options(choice.basis, time_limit_s=limit_s)
    return reconstruct(fabric, loaded, m.lanes, m.pairs, m.counters, options, watch), choice


def routes_for(
    fabric: Fabric, found: Reconstruction, limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Routes for the matrix that is believed."""
    keep = found.size > NOISE_FLOOR * found.size.max(initial=0)
    believed = found.pairs.src[keep], found.pairs.dst[keep], found.size[keep]
    return optimised(fabric, believed, limit_s, seed, say, cancelled)


def optimised(
    fabric: Fabric, demand: tuple[Any, Any, Any], limit_s: float, seed: int, say: Say, cancelled: Callable[[], bool]
) -> Routes:
    """Routes for a matrix; Cancelled where it is asked for."""

    def watch(seconds: float, largest: float, moves: int) -> bool:
        say(f"{seconds:.0f} of {limit_s:.0f} s: busiest link {largest:.6g} bytes after {moves:,} moves")
        return not cancelled()

    found = optimise(fabric, demand, limit_s, seed, watch)
    if cancelled():
        raise Cancelled("the optimisation was cancelled")
    return found
