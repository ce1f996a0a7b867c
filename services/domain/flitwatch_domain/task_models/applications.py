"""Application kinds (De Sensi 2019, figure 10): the dominant communication of each, and the computation in between."""

from __future__ import annotations

from typing import NamedTuple

#: Bandwidth of a rank's NIC link: computation is given as a multiple of the time that a step's bytes take on it.
NIC_BYTES_PER_NS = 10.0


class ApplicationKind(NamedTuple):
    """A step: a pattern, a computation that takes `compute` times as long as its bytes on the NIC's link, and all-reduces of 8 bytes."""

    pattern: str
    compute: float = 0.0
    reductions: int = 0

    def compute_ns(self, bytes_per_rank: float) -> float:
        """Return a rank's computing time in a step, in nanoseconds."""
        return self.compute * bytes_per_rank / NIC_BYTES_PER_NS


#: MILC's conjugate gradient exchanges faces, computes and reduces twice per step; halo3d (ember) only exchanges.
APPLICATIONS = {
    "fft": ApplicationKind("alltoall", 1.0),
    "milc": ApplicationKind("halo3d", 4.0, 2),
    "halo3d": ApplicationKind("halo3d"),
    "hpcg": ApplicationKind("halo3d", 4.0, 3),
    "sweep": ApplicationKind("sweep3d", 1.0, 1),
    "amg": ApplicationKind("amg", 2.0, 1),
}
