"""The convex program  min sum |Psi^-1 x|  subject to  |R x - t| <= delta,  x >= 0  (Taffet 2021, equation 4.3.3), scaled for a first-order solver.

With a dictionary of two bases, x = (x - z) + z, where z is a second, free variable over the same places or more.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from flitwatch_routing.reconstruction.bases import Basis
from flitwatch_routing.reconstruction.sensing import LinkCounters

Vectors = list[Tensor]
#: Relative change of the squared norm below which the power iteration has converged.
STILL = 1e-6


class Program(nn.Module):
    """The linear operator K = (D R; Psi_1^-1 (x - z); Psi_2^-1 z) and the bounds of its duals.

    Parameters
    ----------
    bases : one basis, or the two of a dictionary
    place_of : (pairs,) index of each pair among the places of the bases; None if they are the same
    target, slack : (rows,) counters and their tolerances, scaled to values about 1

    Attributes
    ----------
    least : (pairs,) lower bound of x: zero
    shift : for each basis, the offset of the coefficients in the objective; None: no offset
    """

    row_scale: Tensor
    target: Tensor
    slack: Tensor
    least: Tensor
    place_of: Tensor | None

    def __init__(
        self,
        counters: LinkCounters,
        bases: Sequence[Basis],
        place_of: Tensor | None,
        places: int,
        target: Tensor,
        slack: Tensor,
    ) -> None:
        super().__init__()
        self.counters = counters
        self.bases = list(bases)
        for number, basis in enumerate(bases):
            self.add_module(f"basis{number}", basis)
        self.pairs = len(place_of) if place_of is not None else places
        self.places = places
        self.register_buffer("place_of", place_of)
        degree = counters(torch.ones(self.pairs, dtype=target.dtype, device=target.device))
        self.register_buffer("row_scale", degree.clamp(min=1).rsqrt())
        self.register_buffer("target", target * self.row_scale)
        self.register_buffer("slack", slack * self.row_scale)
        self.register_buffer("least", target.new_zeros(self.pairs))
        self.shift: Vectors | None = None

    def start(self) -> tuple[Vectors, Vectors]:
        """Return zero primal and dual variables."""
        x = [self.target.new_zeros(self.pairs)] + ([self.target.new_zeros(self.places)] if len(self.bases) == 2 else [])
        return x, [torch.zeros_like(part) for part in self(x)]

    def spread(self, x: Tensor) -> Tensor:
        """Return the pairs' values at all places."""
        return x if self.place_of is None else x.new_zeros(self.places).index_copy_(0, self.place_of, x)

    def forward(self, x: Vectors) -> Vectors:
        """Return K x."""
        return [self.row_scale * self.counters(x[0]), *self.coefficients(x)]

    def coefficients(self, x: Vectors) -> Vectors:
        """Return Psi^-1 of each basis's part of x, (coefficients,) each."""
        first = self.spread(x[0])
        if len(x) == 1:
            return [self.bases[0](first)]
        return [self.bases[0](first - x[1]), self.bases[1](x[1])]

    def adjoint(self, y: Vectors) -> Vectors:
        """Return K' y."""
        rows = self.counters.adjoint(self.row_scale * y[0])
        first = self.bases[0].adjoint(y[1])
        gathered = first if self.place_of is None else first.index_select(0, self.place_of)
        return [rows + gathered] + ([self.bases[1].adjoint(y[2]) - first] if len(self.bases) == 2 else [])

    def dual_step(self, y: Vectors, k: Vectors, sigma: float) -> Vectors:
        """Return the dual's proximal step: soft threshold on counters, the box [-1, 1] on coefficients."""
        stepped = [torch.add(a, b, alpha=sigma) for a, b in zip(y[1:], self._add_shift(k[1:]), strict=True)]
        return [self.row_step(y[0], k[0], sigma), *(part.clamp_(-1, 1) for part in stepped)]

    def row_step(self, y: Tensor, k: Tensor, sigma: float) -> Tensor:
        """Return the proximal step of the counters' duals."""
        rows = torch.add(y, k - self.target, alpha=sigma)
        width = sigma * self.slack
        return rows - rows.clamp(min=-width, max=width)

    def _add_shift(self, k: Vectors) -> Vectors:
        return k if self.shift is None else [part + offset for part, offset in zip(k, self.shift, strict=True)]

    def norm(self, steps: int = 40) -> float:
        """Return the operator norm of K by power iteration, which stops early on convergence."""
        generator = torch.Generator().manual_seed(1)
        x = [torch.rand(part.shape, generator=generator).to(part) for part in self.start()[0]]
        size = 1.0
        for _ in range(steps):
            x = self.adjoint(self(x))
            before, size = size, float(torch.sqrt(sum((part * part).sum() for part in x)))  # type: ignore[arg-type]
            if size == 0:
                return 1.0
            if abs(size - before) <= STILL * size:
                break
            x = [part / size for part in x]
        return size**0.5

    def optimality(self, x: Vectors, y: Vectors) -> tuple[float, float, float]:
        """Return the relative residual of the counters, relative duality gap and relative dual infeasibility."""
        k, g = self(x), self.adjoint(y)
        beyond = ((k[0] - self.target).abs() - self.slack).clamp(min=0)
        primal = float(sum(part.abs().sum(dtype=torch.float64) for part in self._add_shift(k[1:])))
        against = y[0] * self.target + y[0].abs() * self.slack
        dual = float((g[0].clamp(min=0) * self.least).sum(dtype=torch.float64)) - float(
            against.sum(dtype=torch.float64)
        )
        if self.shift is not None:
            dual += sum(float((a * b).sum(dtype=torch.float64)) for a, b in zip(y[1:], self.shift, strict=True))
        wrong = float((g[0].clamp(max=0) ** 2).sum()) + sum(float((part**2).sum()) for part in g[1:])
        size = sum(float((part**2).sum()) for part in self.adjoint([torch.zeros_like(y[0]), *y[1:]])) ** 0.5
        return (
            float(torch.linalg.vector_norm(beyond) / torch.linalg.vector_norm(self.target).clamp(min=1e-30)),
            abs(primal - dual) / (1e-9 + abs(primal) + abs(dual)),
            wrong**0.5 / (1e-9 + size),
        )
