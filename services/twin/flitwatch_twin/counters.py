"""Cumulative hardware counters of every tile and NIC, computed from the traffic of the links.

Counter names are the vendor's (Aries); a link counts at its receiver's input queue. This module does not know the traffic's owners.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import TileCounters
from flitwatch_domain.fabric import Fabric, Technology
from flitwatch_twin.flows import FabricState

NETWORK_TILES = 40
PROCESSOR_TILES = 8
#: Traffic bytes = flits x 20 / 3 on Aries.
FLITS_PER_BYTE = 3 / 20
ROUTER_CLOCK_HZ = 800e6
#: Stall cycles of one flit per unit of the stall curve: waiting for one service time means one packet of four flits.
CYCLES_PER_WAIT = 4.0
#: A PUT of 64 bytes has one header flit and up to four payload flits (De Sensi 2019, section II).
FLITS_PER_PACKET = 4.0
#: Request to response on an idle network.
ALONE_LATENCY_US = 1.4
#: Division of flits over the eight virtual channels, requests 0-3 and responses 4-7 by hop; from Edison's counters.
VC_SHARES = np.array([0.13, 0.16, 0.11, 0.01, 0.18, 0.22, 0.17, 0.02])
#: Measurement noise of stall counters (log-normal sigma).
STALL_NOISE = 0.03

NETWORK_METRICS = (
    *(f"INQ_PRF_INCOMING_FLIT_VC{vc}" for vc in range(8)),
    "INQ_PRF_ROWBUS_STALL_CNT",
    "INQ_PRF_ROWBUS_2X_USAGE_CNT",
)
PROCESSOR_METRICS = (
    "INQ_PRF_INCOMING_FLIT_VC0",
    "INQ_PRF_INCOMING_FLIT_VC4",
    "INQ_PRF_REQ_ROWBUS_STALL_CNT",
    "INQ_PRF_RSP_ROWBUS_STALL_CNT",
    "INQ_PRF_ROWBUS_2X_USAGE_CNT",
    "COLBUF_PERF_STALL_RQ",
    "COLBUF_PERF_STALL_RS",
)
_RESPONSE_PATHS = {
    "PI": (0.5, "STALLED"),
    "AMO": (0.02, "BLOCKED"),
    "WC": (0.2, "BLOCKED"),
    "BTE_RD": (0.25, "BLOCKED"),
    "IOMMU": (0.03, "BLOCKED"),
}
NIC_METRICS = (
    *(f"AR_NIC_NETMON_ORB_EVENT_CNTR_REQ_{kind}" for kind in ("PKTS", "FLITS", "STALLED")),
    *(
        f"AR_NIC_RSPMON_PARB_EVENT_CNTR_{path}_{kind}"
        for path, (_, last) in _RESPONSE_PATHS.items()
        for kind in ("PKTS", "FLITS", last)
    ),
    "AR_NIC_ORB_PRF_REQ_BYTES_SENT",
    "AR_NIC_RAT_PRF_REQ_BYTES_RCVD",
    "AR_NIC_ORB_PRF_NET_RSP_TRACK_2",
    "AR_NIC_NETMON_ORB_EVENT_CNTR_RSP_NET_TRACK",
)


class Counters:
    """Counters of a whole fabric, cumulative since a random past.

    Attributes
    ----------
    network : float64[3, R, 40]; flits, stall cycles and 2X cycles of the network tiles.
    processor : float64[7, R, 8]; `PROCESSOR_METRICS` of the processor tiles.
    nic : float64[6, E]; request packets, flits and stalled cycles, bytes sent and received, microseconds of latency.
    """

    def __init__(self, fabric: Fabric, rng: np.random.Generator) -> None:
        routers, endpoints = len(fabric.routers), len(fabric.endpoints)
        self._rng = rng
        self._routers = routers
        self._tiles = _tile_counters(fabric)
        past = rng.lognormal(0, 0.3, routers)[:, None] * 2.4e13
        self.network = np.stack(
            [past * rng.lognormal(0, 0.5, (routers, NETWORK_TILES)) * scale for scale in (1, 2.5, 0.2)]
        )
        tiles = past * rng.lognormal(0, 0.5, (routers, PROCESSOR_TILES))
        self.processor = np.stack([tiles * scale for scale in (1, 0.4, 0.8, 0.2, 0.1, 0.5, 0.3)])
        self.nic = rng.lognormal(0, 0.4, endpoints) * np.array([[4e12], [1.6e13], [9e12], [1.1e14], [1.1e14], [8e12]])
        np.floor(self.network, out=self.network)
        np.floor(self.processor, out=self.processor)

    def update(self, state: FabricState) -> None:
        """Add the traffic and the waiting of one step."""
        noise = self._rng.lognormal(0, STALL_NOISE, self._routers)
        self._tiles.update(
            state.link_bytes,
            state.link_utilisation,
            state.link_wait,
            noise,
            state.dt_s,
            self.network,
            self.processor,
            self.nic,
        )

    def router_values(self) -> NDArray[np.int64]:
        """Return every tile's counters as read by the samplers: int64[R, 400 + 56], tiles in order, metrics of a tile together."""
        per_tile, of_network = len(NETWORK_METRICS), NETWORK_TILES * len(NETWORK_METRICS)
        values = np.empty((self._routers, of_network + PROCESSOR_TILES * len(PROCESSOR_METRICS)), np.int64)
        network = values[:, :of_network].reshape(self._routers, NETWORK_TILES, per_tile)
        network[:, :, :8] = self.network[0][:, :, None] * VC_SHARES  # truncate to whole flits
        network[:, :, 8], network[:, :, 9] = self.network[1], self.network[2]
        values[:, of_network:] = np.moveaxis(self.processor, 0, 2).reshape(self._routers, -1)
        return values

    def nic_values(self) -> NDArray[np.int64]:
        """Return `NIC_METRICS` of every endpoint: int64[E, 22]."""
        packets, flits, stalled, sent_bytes, received, latency_us = self.nic
        columns = [packets, flits, stalled]
        for part, _ in _RESPONSE_PATHS.values():
            columns += [packets * part, flits * part, stalled * part]
        columns += [sent_bytes, received, latency_us, packets]
        return np.stack(columns, axis=1).astype(np.int64)

    def table_two(self, routers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the domain's 13 `TABLE_II` counters, summed over each router's tiles: float64[len(routers), 13]."""
        network = self.network[:, routers].sum(axis=2)
        p = self.processor[:, routers].sum(axis=2)
        flits = p[0] + p[1]
        return np.stack(
            [
                network[0],
                network[0] / FLITS_PER_PACKET,
                network[2],
                network[1],
                p[5],
                p[6],
                p[0],
                p[1],
                flits,
                flits / FLITS_PER_PACKET,
                p[2],
                p[3],
                p[4],
            ],
            axis=1,
        )


def _tile_counters(fabric: Fabric) -> TileCounters:
    """Return the link that each tile counts on this fabric."""
    routers, links = len(fabric.routers), fabric.links
    wire = np.flatnonzero((links.dst < routers) & (links.src < routers) & (links.dst_port >= 0))
    tile = links.dst[wire].astype(np.int64) * NETWORK_TILES + links.dst_port[wire]
    in_order = np.argsort(tile, kind="stable")
    out = np.flatnonzero(links.src < routers)
    out = out[np.argsort(links.src[out], kind="stable")]
    inject, eject = np.flatnonzero(links.src >= routers), np.flatnonzero(links.dst >= routers)
    home = fabric.endpoints.router.astype(np.int64)
    return TileCounters(
        links=len(links),
        routers=routers,
        network_tiles=NETWORK_TILES,
        processor_tiles=PROCESSOR_TILES,
        wire=wire[in_order],
        tile=tile[in_order],
        out=out,
        out_first=np.searchsorted(links.src[out], np.arange(routers + 1)),
        inject=inject[np.argsort(links.src[inject])],
        eject=eject[np.argsort(links.dst[eject])],
        home=home,
        slot=home * PROCESSOR_TILES + _assign_nics(fabric) * 2,
        flits_per_byte=FLITS_PER_BYTE,
        cycles_per_wait=CYCLES_PER_WAIT,
        clock_hz=ROUTER_CLOCK_HZ,
        flits_per_packet=FLITS_PER_PACKET,
        alone_latency_us=ALONE_LATENCY_US,
    )


def _assign_nics(fabric: Fabric) -> NDArray[np.int64]:
    """Return the index of the processor tile pair that counts each endpoint: its NIC's on Cray XC; elsewhere endpoints alternate."""
    ends, pairs = fabric.endpoints, PROCESSOR_TILES // 2
    if fabric.technology is Technology.CRAY_XC:
        return np.asarray((ends.port - NETWORK_TILES) // 2, np.int64)
    return np.asarray(ends.port % pairs, np.int64)


def router_metric_names() -> list[str]:
    """Return the names of the columns of `Counters.router_values`."""
    network = [f"AR_RTR_{tile // 8}_{tile % 8}_{metric}" for tile in range(NETWORK_TILES) for metric in NETWORK_METRICS]
    return network + [f"AR_RTR_PT_5_{tile}_{metric}" for tile in range(PROCESSOR_TILES) for metric in PROCESSOR_METRICS]


def tile_columns(tile_cols: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the columns of `Counters.router_values` in the given tile columns (0-7), in order."""
    network = [tile * 10 + k for tile in range(NETWORK_TILES) if tile % 8 in tile_cols for k in range(10)]
    first = NETWORK_TILES * len(NETWORK_METRICS)
    width = len(PROCESSOR_METRICS)
    return np.array(
        network
        + [first + tile * width + k for tile in range(PROCESSOR_TILES) if tile in tile_cols for k in range(width)]
    )
