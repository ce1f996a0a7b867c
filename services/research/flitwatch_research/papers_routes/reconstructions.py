"""Tables 4.2 and 4.3 by cell: an application's matrix from counters with one lane scheme, in one basis."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import BY_LEVEL, build_study, relative_error

SEED = 1
#: Entries below this share of the largest are not stored in a picture's portion.
SHOWN = 1e-4


@dataclass(frozen=True)
class Scheme:
    """A column of tables 4.2 and 4.3: our and the published name, and the lane scheme of pairs."""

    ours: str
    published: str
    sls: int
    vls: int
    lanes: str = BY_LEVEL


LANE_SCHEMES = (
    Scheme("1 VL", "1 VL 1 SL", 1, 1),
    Scheme("2 VL", "2 VL 2 SL", 2, 2),
    Scheme("4 SL 2 VL", "2 VL 4 SL", 4, 2),
    Scheme("2 VL random", "2 VL Rand", 1, 2, "random"),
    Scheme("2 SL 4 VL", "4 VL 2 SL", 2, 4),
    Scheme("5 VL", "5 VL 5 SL", 5, 5),
    Scheme("5 VL random", "5 VL Rand", 1, 5, "random"),
    Scheme("5 VL Galois", "5 VL Galois", 1, 5, "galois"),
)
#: (pattern, basis, column) -> the portion in a figure of the dissertation: its name, first row and column, and side.
PORTIONS = {
    ("amg-1728", "od", "1 VL"): ("amg-1-VL", 0, 288),
    ("amg-1728", "od", "5 VL"): ("amg-5-VL", 0, 288),
    ("boxlib-cns-1024", "od", "5 VL"): ("boxlib-cns-5-VL", 0, 1024),
}


@dataclass(frozen=True)
class Outcome:
    """error : |x - x_true| / |x_true|;  matrix : (ranks, ranks) bytes;  seconds : time of the reconstruction, on the given clock."""

    error: float
    seconds: float
    iterations: int
    converged: bool
    matrix: NDArray[np.float32]


def of_two_cores() -> float:
    """Return CPU seconds as time on two cores, so that limits are comparable on a busy host."""
    return time.process_time() / 2


def reconstruct_cell(
    topology: str,
    pattern: str,
    scheme: Scheme,
    basis: str,
    limit_s: float,
    device: str = "cpu",
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Return one cell, or the best result so far if stopped. On a CPU the limit is in seconds of two cores, on a GPU in seconds."""
    fabric = fabric_of(topology)
    ports = ftree_tables(fabric)
    truth = build_study(fabric, ports, pattern, scheme.sls, scheme.vls, 1, SEED, scheme=scheme.lanes)
    m = truth.measured
    options = Options(basis, device, time_limit_s=limit_s, estimate=False)
    clock: Callable[[], float] = of_two_cores if device == "cpu" else time.monotonic
    estimate = reconstruct_matrix(
        fabric, ports, m.lanes, m.pairs, m.counters, options, lambda *_: not stop(), clock=clock
    )
    first = int(m.pairs.src.min())
    ranks = int(m.pairs.src.max()) - first + 1
    matrix = np.zeros((ranks, ranks), np.float32)
    matrix[estimate.pairs.src - first, estimate.pairs.dst - first] = estimate.size
    return Outcome(relative_error(truth, estimate), estimate.wall_s, estimate.iterations, estimate.converged, matrix)


def keep_portion(folder: Path, pattern: str, basis: str, column: str, matrix: NDArray[np.float32]) -> None:
    """Store a figure's portion of this cell as `folder/NAME.npz`, with entries (row, column, bytes); do nothing if no figure shows it."""
    if (pattern, basis, column) not in PORTIONS:
        return
    name, first, side = PORTIONS[pattern, basis, column]
    shown = matrix[first : first + side, first : first + side]
    row, at = np.nonzero(shown > SHOWN * matrix.max(initial=0.0))
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / f"{name}.npz", row=row.astype(np.int16), column=at.astype(np.int16), size=shown[row, at], side=side
    )


def load_portion(path: Path) -> NDArray[np.float64]:
    """Return (side, side) bytes of a portion stored by `keep_portion`."""
    with np.load(path) as archive:
        matrix = np.zeros((int(archive["side"]),) * 2)
        matrix[archive["row"], archive["column"]] = archive["size"]
    return matrix
