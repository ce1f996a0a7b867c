"""The topology of figure 2.14, from the P4 tutorial on ECN with s4 between s1 and s2."""

from __future__ import annotations

import numpy as np

from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, LinkClass, Routers, Technology
from flitwatch_domain.fabric.arrays import both_directions

#: The paper's rates; the links to s4 have half the rate of the others.
FULL_BPS, HALF_BPS = 1e6, 512e3


def figure_214(speedup: float = 1.0) -> Fabric:
    """Return switches s1 to s4 in a ring s1, s4, s2, s3; hosts h1 and h11 on s1, h2 and h22 on s2, h3 on s3. Rates are the paper's times `speedup`."""
    switches = ["s1", "s2", "s3", "s4"]
    hosts = {"h1": 0, "h11": 0, "h2": 1, "h22": 1, "h3": 2}
    cables = [(0, 3, HALF_BPS), (3, 1, HALF_BPS), (0, 2, FULL_BPS), (2, 1, FULL_BPS)]
    cables += [(len(switches) + host, router, FULL_BPS) for host, router in enumerate(hosts.values())]
    a, b, rates = (np.array(column) for column in zip(*cables, strict=True))
    to_host = a >= len(switches)
    port = np.arange(len(cables))
    return Fabric(
        name="figure-2.14",
        kind=FabricKind.GRAPH,
        technology=Technology.GENERIC,
        routers=Routers(switches),
        endpoints=Endpoints(list(hosts.values()), port=port[to_host], node=list(hosts)),
        links=both_directions(
            a,
            b,
            np.where(to_host, 0, port),
            port,
            to_host.astype(int),
            to_host.astype(int),
            rates * speedup,
            [LinkClass.LINK, LinkClass.HOST],
        ),
        simulated=True,
        source=f"figure 2.14 of Taffet 2021 on network namespaces, rates x {speedup:g}",
    )
