"""Sparsity-promoting bases as operators Psi^-1 (Taffet 2021, section 4.3), on any set of places of the jobs' matrices, implemented with gathers."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flitwatch_domain.errors import BadRequest
from flitwatch_routing.reconstruction.numbering import places_among
from flitwatch_routing.reconstruction.pairs import Places, locate_keys

Ints = NDArray[np.int64]
#: name on the command line -> (difference, symmetric)
BASES = {
    "i": (None, False),
    "s": (None, True),
    "cd": ("cd", False),
    "scd": ("cd", True),
    "cs": ("cs", False),
    "scs": ("cs", True),
}


def _diagonal_step(kind: str, at: Places) -> Ints:
    """Return the distance along the diagonal to the previous place: one rank (Psi_CD), or the smallest aligned block with row and column (Psi_CS)."""
    if kind == "cd":
        return np.ones_like(at.row)
    _, exponent = np.frexp((at.row ^ at.column).astype(float))
    return np.left_shift(1, exponent.astype(np.int64))


class Basis(nn.Module):
    """Psi^-1 of one basis: `forward` maps values at `key` to coefficients, `adjoint` maps back.

    Psi_CD: X_ij - X_(i-1)(j-1). Psi_CS: difference to the previous block of the level. Psi_S: X_ij + X_ji for i > j, the difference for i < j.
    Coefficients exist at all places reachable from the given places.
    """

    own: Tensor | None
    home: Tensor | None
    earlier: Tensor | None
    later: Tensor | None
    mirror: Tensor | None
    sign: Tensor

    def __init__(self, name: str, sizes: Ints, key: Ints) -> None:
        super().__init__()
        if name not in BASES:
            raise BadRequest(f"{name!r} is not a basis", advice=f"Bases: {', '.join(BASES)}, od")
        kind, symmetric = BASES[name]
        if kind == "cs" and any(n & (n - 1) for n in sizes.tolist()):
            raise BadRequest(
                "the copy-shift basis requires jobs whose number of ranks is a power of two", advice="Use od, scd or s"
            )
        bound = int((sizes**2).sum())
        at = locate_keys(sizes, key)
        reached = np.zeros(bound + 1, bool)  # the last place is outside of all matrices
        reached[key] = True
        following = None
        if kind is not None:
            step = _diagonal_step(kind, at)
            following = at.key(at.row + step, at.column + step)
            reached[following] = True
        reached[-1] = False
        if symmetric:
            reached[_transpose_keys(sizes, np.flatnonzero(reached))] = True
        all_reached = np.flatnonzero(reached)
        self.coefficients = len(all_reached)
        there = locate_keys(sizes, all_reached)
        of_key, of_reached = places_among(key, bound + 1), places_among(all_reached, bound + 1)
        whole = len(all_reached) == len(key)
        self._register_index("own", None if whole else of_key[all_reached])
        self._register_index("home", None if whole else of_reached[key])
        self._register_index("earlier", None)
        self._register_index("later", None)
        if kind is not None and following is not None:
            step = _diagonal_step(kind, there)
            self._register_index("earlier", of_key[there.key(there.row - step, there.column - step)])
            self._register_index("later", of_reached[following])
        self._register_index("mirror", of_reached[_transpose_keys(sizes, all_reached)] if symmetric else None)
        sign = np.where(there.row > there.column, 1.0, -1.0).astype(np.float32)
        self.register_buffer("sign", torch.from_numpy(sign) if symmetric else None)

    def _register_index(self, name: str, index: NDArray[np.int32] | None) -> None:
        self.register_buffer(name, None if index is None else torch.from_numpy(index))

    def forward(self, x: Tensor) -> Tensor:
        """Return (coefficients,) from (places,)."""
        padded = torch.cat([x, x.new_zeros(1)]) if self.own is not None or self.earlier is not None else x
        y = x if self.own is None else padded.index_select(0, self.own)
        if self.earlier is not None:
            y = y - padded.index_select(0, self.earlier)
        return y if self.mirror is None else torch.addcmul(y, self.sign, y.index_select(0, self.mirror))

    def adjoint(self, w: Tensor) -> Tensor:
        """Return (places,) from (coefficients,)."""
        v = w if self.mirror is None else w + (self.sign * w).index_select(0, self.mirror)
        padded = torch.cat([v, v.new_zeros(1)]) if self.later is not None else v
        x = v if self.home is None else v.index_select(0, self.home)
        return x if self.later is None else x - padded.index_select(0, self.later)


def _transpose_keys(sizes: Ints, key: Ints) -> Ints:
    at = locate_keys(sizes, key)
    return at.key(at.column, at.row)


def choose_dictionary(sizes: Ints) -> tuple[str, str]:
    """Return Psi_OD, equation 4.3.5: (S CD; S CS) for powers of two, (S CD; S) otherwise."""
    return ("scd", "s") if any(n & (n - 1) for n in sizes.tolist()) else ("scd", "scs")
