"""Choice of a basis without knowledge of the truth, by the prediction of held-out counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction import recover
from flitwatch_routing.reconstruction.consistency import management_bytes
from flitwatch_routing.reconstruction.lanes import Lanes
from flitwatch_routing.reconstruction.lanes_by_pair import PairLanes
from flitwatch_routing.reconstruction.limit import Limit, Watch
from flitwatch_routing.reconstruction.pairs import Pairs

Floats = NDArray[np.float64]
CANDIDATES = ("od", "s", "scd", "cd")
#: The dictionary is kept unless another basis has an error on held-out counters below this share of the dictionary's.
CLEARLY = 0.8
#: Share of (link, VL) whose counters are held out.
HELD_OUT = 0.1


@dataclass(frozen=True)
class Choice:
    """basis: the chosen one;  missed: {basis: |R x - t| / |t| over held-out counters}, None if it does not fit the jobs"""

    basis: str
    missed: dict[str, float | None]


def choose_basis(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Sequence[Lanes | PairLanes],
    pairs: Pairs,
    counters: Sequence[Floats],
    each_s: float,
    watch: Watch | None = None,
    floor: float = management_bytes(),
) -> Choice:
    """Reconstruct in each basis from nine tenths of the counters, in at most `each_s` seconds, and predict the rest; for `floor` see `Options`."""
    missed: dict[str, float | None] = {}
    for basis in CANDIDATES:
        try:
            missed[basis] = _held_out_error(fabric, ports, lanes, pairs, counters, basis, each_s, watch, floor)
        except (BadRequest, BadInput):
            if basis == CANDIDATES[0]:
                raise
            missed[basis] = None
    first = missed[CANDIDATES[0]]
    best = min((m, name) for name, m in missed.items() if m is not None)
    chosen = best[1] if first is None or best[0] < CLEARLY * first else CANDIDATES[0]
    return Choice(chosen, missed)


def _held_out_error(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Sequence[Lanes | PairLanes],
    pairs: Pairs,
    counters: Sequence[Floats],
    basis: str,
    each_s: float,
    watch: Watch | None,
    floor: float,
) -> float:
    options = recover.Options(basis, time_limit_s=each_s, estimate=False, floor=floor)
    problem = recover.build_program(fabric, ports, lanes, pairs, counters, options)
    if problem is None:
        return 0.0
    generator = torch.Generator().manual_seed(11)
    held_out = torch.rand(len(problem.target), generator=generator) < HELD_OUT
    program, hidden = problem.program, held_out.to(problem.target.device)
    for buffer in (program.row_scale, program.target, program.slack):
        buffer.mul_(~hidden)
    solution, _ = recover.solve_with_threads(
        program, options.tolerance, Limit.after(each_s), watch, f"trying basis {basis}"
    )
    gap = (problem.sensing(solution.x[0]) - problem.target)[hidden]
    size = torch.linalg.vector_norm(problem.target[hidden]).clamp(min=1e-30)
    return float(torch.linalg.vector_norm(gap) / size)
