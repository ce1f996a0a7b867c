"""Virtual lanes by service level: the lane of each hop of a pair's path (Taffet 2021, section 4.4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric

#: Value instead of a VL if the table has no such row.
NO_LANE = 255


@dataclass(frozen=True)
class Lanes:
    """SL-to-VL tables of one sensing epoch.

    Attributes
    ----------
    switch : uint8 (routers, in ports, out ports, SLs), NO_LANE if unknown
    host : uint8 (endpoints, SLs), NO_LANE if unknown
    vls : number of data lanes in use
    """

    switch: NDArray[np.uint8]
    host: NDArray[np.uint8]
    vls: int

    @property
    def sls(self) -> int:
        """Number of service levels."""
        return int(self.host.shape[1])


def random_lanes(fabric: Fabric, sls: int, vls: int, rng: np.random.Generator) -> Lanes:
    """Return a random lane for every (switch, in, out, SL) and (host, SL), section 4.4.1, functions 2 and 3."""
    if not (1 <= vls <= 15 and 1 <= sls <= 16):
        raise BadRequest(f"{sls} SLs and {vls} VLs", advice="InfiniBand has 1 to 16 SLs and 1 to 15 data VLs")
    routers, width = len(fabric.routers.name), port_width(fabric)
    switch = rng.integers(0, vls, (routers, width, width, sls), dtype=np.uint8)
    host = rng.integers(0, vls, (len(fabric.endpoints.router), sls), dtype=np.uint8)
    return Lanes(switch, host, vls)


def port_width(fabric: Fabric) -> int:
    """Return the largest port number of the fabric plus one."""
    return int(max(fabric.links.src_port.max(), fabric.links.dst_port.max())) + 1
