"""Applications in kind (De Sensi 2019, figure 10): what dominates their communication, and what they do between."""

from __future__ import annotations

from typing import NamedTuple

#: Of a rank's NIC link: computation is measured in the time that it takes for the bytes of a step.
NIC_BYTES_PER_NS = 10.0


class ApplicationKind(NamedTuple):
    """A step: a pattern, a computation of `compute` times its bytes on the NIC's link, and all-reduces of 8 bytes."""

    pattern: str
    compute: float = 0.0
    reductions: int = 0

    def compute_ns(self, bytes_per_rank: float) -> float:
        """Return how long a rank computes in a step, in nanoseconds."""
        return self.compute * bytes_per_rank / NIC_BYTES_PER_NS


#: MILC's conjugate gradient exchanges faces, computes and reduces twice a step; halo3d (ember) is the exchange alone.
APPLICATIONS = {
    "fft": ApplicationKind("alltoall", 1.0),
    "milc": ApplicationKind("halo3d", 4.0, 2),
    "halo3d": ApplicationKind("halo3d"),
    "hpcg": ApplicationKind("halo3d", 4.0, 3),
    "sweep": ApplicationKind("sweep3d", 1.0, 1),
    "amg": ApplicationKind("amg", 2.0, 1),
}
