"""One step of the solver on a program: with torch on any device, or with the core on CPUs in a few passes over memory.

Both return the same vectors except for rounding. Steps write into their own vectors, so that no memory is allocated in each step.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor

from flitwatch_core import reconstruction as core
from flitwatch_routing.reconstruction.program import Program, Vectors


class Steps(Protocol):
    """The solver's operations on a program's vectors."""

    def step(self, x: Vectors, y: Vectors, tau: float, sigma: float) -> tuple[Vectors, Vectors]:
        """Return primal descent, then dual ascent from twice the new point minus the old. The step after the next may overwrite the result."""

    def reflect(self, at: Vectors, moved: Vectors, anchor: Vectors, part: float) -> None:
        """Set at = part (2 moved - at) + (1 - part) anchor."""

    def squared_distance(self, a: Vectors, b: Vectors) -> float:
        """Return the sum of squared differences."""


def steps_for(program: Program) -> Steps:
    """Return the fastest implementation for the device."""
    return CoreSteps(program) if program.target.device.type == "cpu" else TorchSteps(program)


class TorchSteps:
    def __init__(self, program: Program) -> None:
        self._program = program

    def step(self, x: Vectors, y: Vectors, tau: float, sigma: float) -> tuple[Vectors, Vectors]:
        program = self._program
        g = program.adjoint(y)
        moved = [torch.sub(a, b, alpha=tau) for a, b in zip(x, g, strict=True)]
        torch.maximum(moved[0], program.least, out=moved[0])
        k = program([torch.sub(2 * a, b) for a, b in zip(moved, x, strict=True)])
        return moved, program.dual_step(y, k, sigma)

    def reflect(self, at: Vectors, moved: Vectors, anchor: Vectors, part: float) -> None:
        for a, m, c in zip(at, moved, anchor, strict=True):
            torch.lerp(c, torch.sub(2 * m, a), part, out=a)

    def squared_distance(self, a: Vectors, b: Vectors) -> float:
        return float(sum(((p - q) ** 2).sum(dtype=torch.float64) for p, q in zip(a, b, strict=True)))


class CoreSteps:
    """Steps with the core: gathers, the box and the sums over groups, in one pass per memory order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._moved, self._duals = program.start()
        like = program.target
        self._folded = [like.new_empty(basis.coefficients) for basis in program.bases]
        self._pull, self._left = like.new_empty(program.places), like.new_empty(program.places)
        self._ahead = like.new_empty(program.places if len(program.bases) == 2 else 0)
        self._place = None if program.place_of is None else program.place_of.to(torch.int32)

    def step(self, x: Vectors, y: Vectors, tau: float, sigma: float) -> tuple[Vectors, Vectors]:
        program, threads = self._program, torch.get_num_threads()
        counters = program.counters
        first, tail = counters.spread(program.row_scale * y[0])
        pulls = [
            w if basis.mirror is None else _unfold_into(w, basis.mirror, out, threads)
            for basis, w, out in zip(program.bases, y[1:], self._folded, strict=True)
        ]
        first_basis = program.bases[0]
        if len(pulls) == 2:
            two = program.bases[1]
            core.descend_free(
                _array_view(x[1]),
                _array_view(pulls[0]),
                _optional_view(first_basis.home),
                _optional_view(first_basis.later),
                _array_view(pulls[1]),
                _optional_view(two.home),
                _optional_view(two.later),
                tau,
                _array_view(self._pull),
                _array_view(self._moved[1]),
                _array_view(self._ahead),
                _array_view(self._left),
                threads,
            )
        else:
            core.take(
                _array_view(pulls[0]),
                _optional_view(first_basis.home),
                _optional_view(first_basis.later),
                _array_view(self._pull),
                threads,
            )
            self._left.zero_()
        first_sum, tail_sum = torch.empty_like(first), torch.empty_like(tail)
        core.descend_pairs(
            _array_view(x[0]),
            _array_view(program.least),
            _array_view(self._pull),
            _optional_view(self._place),
            _array_view(first),
            _array_view(counters.first_of),
            _array_view(tail),
            _array_view(counters.tail_of),
            tau,
            _array_view(self._moved[0]),
            _array_view(self._left),
            _array_view(first_sum),
            _array_view(tail_sum),
            threads,
        )
        rows = program.row_scale * counters.collected(first_sum, tail_sum)
        self._duals[0] = program.row_step(y[0], rows, sigma)
        for number, ahead in enumerate((self._left, self._ahead)[: len(pulls)]):
            self._ascend_dual(number, ahead, y[1 + number], sigma, threads)
        return self._moved, self._duals

    def _ascend_dual(self, number: int, ahead: Tensor, y: Tensor, sigma: float, threads: int) -> None:
        basis, u = self._program.bases[number], ahead
        if basis.own is not None or basis.earlier is not None:
            u = self._folded[number]
            core.take(
                _array_view(ahead), _optional_view(basis.own), _optional_view(basis.earlier), _array_view(u), threads
            )
        shift = None if self._program.shift is None else self._program.shift[number]
        core.ascend(
            _array_view(y),
            _array_view(u),
            _optional_view(basis.mirror),
            _optional_view(shift),
            sigma,
            _array_view(self._duals[1 + number]),
            threads,
        )

    def reflect(self, at: Vectors, moved: Vectors, anchor: Vectors, part: float) -> None:
        for a, m, c in zip(at, moved, anchor, strict=True):
            core.reflect(_array_view(a), _array_view(m), _array_view(c), part, torch.get_num_threads())

    def squared_distance(self, a: Vectors, b: Vectors) -> float:
        return sum(
            core.apart(_array_view(p), _array_view(q), torch.get_num_threads()) for p, q in zip(a, b, strict=True)
        )


def _unfold_into(w: Tensor, mirror: Tensor, out: Tensor, threads: int) -> Tensor:
    core.fold(_array_view(w), _array_view(mirror), _array_view(out), True, threads)
    return out


def _array_view(tensor: Tensor) -> NDArray[Any]:
    """Return a view of the same memory."""
    return tensor.numpy()


def _optional_view(tensor: Tensor | None) -> NDArray[Any] | None:
    return None if tensor is None else tensor.numpy()
