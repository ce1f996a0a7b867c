"""The operator R: bytes of pairs to bytes of every (link, VL) of every epoch, without a matrix (Taffet 2021, section 4.2).

After the first switch a path depends on (leaf switch, destination, SL) only, and before it on (source, output port, SL): two groupings of the pairs
carry all rows, so that one application costs two sums over the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port
from flitwatch_routing.reconstruction.lanes import NO_LANE, Lanes
from flitwatch_routing.reconstruction.pairs import Pairs

Ints = NDArray[np.int64]
#: A path of more links than this is a loop: deeper trees than four levels are not built.
MOST_HOPS = 12


@dataclass(frozen=True)
class Groups:
    """Rows of the two groupings.

    first_of, tail_of : (pairs,) group of each pair
    first_rows : (epochs, groups, 2), tail_rows : (epochs, groups, hops); a row is (epoch * links + link) * VLs + VL, -1 for none
    rows : number of rows before the unused are left out
    """

    first_of: Ints
    tail_of: Ints
    first_rows: Ints
    tail_rows: Ints
    rows: int


def groups_of(fabric: Fabric, ports: Ints, lanes: Sequence[Lanes], pairs: Pairs) -> Groups:
    """Follow the tables for every pair.

    Raises
    ------
    BadInput
        For a table with a loop or a hole on a pair's path, naming switch and endpoint.
    """
    routers, endpoints, links = len(fabric.routers.name), len(fabric.endpoints.router), fabric.links
    vls, sls = lanes[0].vls, lanes[0].sls
    if pairs.sl.size and int(pairs.sl.max()) >= sls:
        raise BadInput(f"a pair has SL {int(pairs.sl.max())}; the SL-to-VL tables know 0 to {sls - 1}")
    link_of = links_by_port(fabric)
    injects = np.full(endpoints, -1)
    from_hosts = np.flatnonzero(links.src >= routers)
    injects[links.src[from_hosts] - routers] = from_hosts
    leaf = np.asarray(fabric.endpoints.router, np.int64)[pairs.src]
    width = link_of.shape[1]
    port = ports[leaf, pairs.dst]
    _through(fabric, link_of, leaf, port, np.asarray(pairs.dst, np.int64))
    first_key = (pairs.src.astype(np.int64) * (width + 1) + port + 1) * sls + pairs.sl
    tail_key = (leaf * endpoints + pairs.dst) * sls + pairs.sl
    first, first_of = np.unique(first_key, return_inverse=True)
    tail, tail_of = np.unique(tail_key, return_inverse=True)
    sl, (source, out) = first % sls, np.divmod(first // sls, width + 1)
    at = np.asarray(fabric.endpoints.router, np.int64)[source]
    link = _through(fabric, link_of, at, out - 1, np.full(len(at), -1))
    into = links.dst_port[injects[source]]
    first_rows = np.stack([
        np.stack([
            _row(e, injects[source], _host_lane(fabric, lane, source, sl), len(links.src), vls),
            _row(e, link, _lane(fabric, lane, at, into, out - 1, sl), len(links.src), vls),
        ], axis=1)
        for e, lane in enumerate(lanes)
    ])  # fmt: skip
    tail_rows = _tails(fabric, ports, link_of, lanes, tail)
    return Groups(first_of, tail_of, first_rows, tail_rows, len(lanes) * len(links.src) * vls)


def _row(epoch: int, link: Ints, lane: NDArray[np.uint8], links: int, vls: int) -> Ints:
    return (epoch * links + link) * vls + lane


def _host_lane(fabric: Fabric, lanes: Lanes, source: Ints, sl: Ints) -> NDArray[np.uint8]:
    lane = lanes.host[source, sl]
    if (lane == NO_LANE).any():
        bad = int(np.argmax(lane == NO_LANE))
        raise BadInput(
            f"the SL-to-VL tables lack the row of {fabric.endpoints.node[source[bad]]}, which sends with SL {sl[bad]}",
            advice="Give the row `node,0,0,...`",
        )
    return lane


def _lane(
    fabric: Fabric, lanes: Lanes, at: Ints, into: Ints, out: Ints, sl: Ints, going: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """VLs by which switches `at` send on; BadInput where a table that traffic needs (`going`) has no row."""
    lane = lanes.switch[at, into, out, sl]
    missing = lane == NO_LANE if going is None else (lane == NO_LANE) & going
    if missing.any():
        bad = int(np.argmax(missing))
        raise BadInput(
            f"the SL-to-VL tables lack the row of {fabric.routers.name[at[bad]]} from port {into[bad]} to port {out[bad]}, which SL {sl[bad]} needs",
            advice="Give the tables of every switch that was on the way",
        )
    return lane


def _through(fabric: Fabric, link_of: Ints, at: Ints, port: Ints, dest: Ints) -> Ints:
    """Links that leave switches by ports; BadInput where there is none."""
    link = np.where((port >= 0) & (port < link_of.shape[1]), link_of[at, np.clip(port, 0, link_of.shape[1] - 1)], -1)
    if (link < 0).any():
        bad = int(np.argmax(link < 0))
        to = f" to endpoint {int(dest[bad])}" if dest[bad] >= 0 else ""
        raise BadInput(
            f"the tables have a hole: {fabric.routers.name[at[bad]]} has no way{to}",
            advice="Check them with `flitwatch routes check`",
        )
    return link


def _tails(fabric: Fabric, ports: Ints, link_of: Ints, lanes: Sequence[Lanes], key: Ints) -> Ints:
    """Rows (epochs, groups, hops) behind the first switch of each (leaf, destination, SL)."""
    routers, endpoints, links = len(fabric.routers.name), len(fabric.endpoints.router), fabric.links
    sls, vls, count = lanes[0].sls, lanes[0].vls, len(links.src)
    sl, (at, dest) = key % sls, np.divmod(key // sls, endpoints)
    link = _through(fabric, link_of, at, ports[at, dest], dest)
    hops: list[Ints] = []
    for _ in range(MOST_HOPS):
        at = links.dst[link].astype(np.int64)
        going = at < routers
        astray = ~going & (at != routers + dest)
        if astray.any():
            bad = int(np.argmax(astray))
            raise BadInput(f"the tables send traffic for endpoint {int(dest[bad])} to another endpoint")
        if not going.any():
            return np.stack(hops, axis=2) if hops else np.empty((len(lanes), len(key), 0), np.int64)
        here = np.where(going, at, 0)
        onward = link.copy()
        onward[going] = _through(fabric, link_of, at[going], ports[at[going], dest[going]], dest[going])
        into, out = np.maximum(links.dst_port[link], 0), np.maximum(links.src_port[onward], 0)
        hops.append(
            np.stack([
                np.where(going, _row(e, onward, _lane(fabric, lane, here, into, out, sl, going), count, vls), -1)
                for e, lane in enumerate(lanes)
            ])
        )  # fmt: skip
        link = onward
    bad = int(np.argmax(going))
    raise BadInput(
        f"the tables have a loop on the way to endpoint {int(dest[bad])}",
        advice="Check them with `flitwatch routes check`",
    )


class LinkCounters(nn.Module):
    """R as a module: `forward` sums pairs into rows, `adjoint` gives every pair the sum of its rows.

    Only rows that some pair can reach are kept: `row` (rows,) holds their numbers.
    """

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        stacked = [
            np.concatenate([part[e] for e in range(len(part))], axis=1).T
            for part in (groups.first_rows, groups.tail_rows)
        ]
        used = np.unique(np.concatenate([part.reshape(-1) for part in stacked]))
        self.row: Ints = used[used >= 0]
        self._missing = len(self.row)
        for name, of, rows in (("first", groups.first_of, stacked[0]), ("tail", groups.tail_of, stacked[1])):
            place = np.where(rows < 0, self._missing, np.searchsorted(self.row, np.maximum(rows, 0)))
            self.register_buffer(f"{name}_of", torch.from_numpy(of.astype(np.int32)))
            self.register_buffer(f"{name}_rows", torch.from_numpy(place.astype(np.int32)))

    def forward(self, x: Tensor) -> Tensor:
        """(rows,) from (pairs,)."""
        result = x.new_zeros(self._missing + 1)
        for of, rows in self._parts():
            grouped = x.new_zeros(rows.shape[1]).index_add_(0, of, x)
            for row in rows:
                result.index_add_(0, row, grouped)
        return result[:-1]

    def adjoint(self, y: Tensor) -> Tensor:
        """(pairs,) from (rows,)."""
        padded = torch.cat([y, y.new_zeros(1)])
        result = y.new_zeros(len(self._parts()[0][0]))
        for of, rows in self._parts():
            grouped = y.new_zeros(rows.shape[1])
            for row in rows:
                grouped += padded.index_select(0, row)
            result += grouped.index_select(0, of)
        return result

    def _parts(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        buffers = dict(self.named_buffers())
        return (buffers["first_of"], buffers["first_rows"]), (buffers["tail_of"], buffers["tail_rows"])
