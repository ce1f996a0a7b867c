"""The operator R, from bytes of pairs to bytes of every (link, VL) of every epoch, without a matrix (Taffet 2021, section 4.2).

After the first switch a path depends only on (leaf switch, destination, SL), and before it on (source, output port, SL). So two groupings of the pairs
cover all rows, and one application costs two sums over the pairs. A hop's lane depends only on its turn (switch, input port, output port, SL):
every turn is counted once per epoch, regardless of the number of groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port
from flitwatch_routing.reconstruction.lanes import NO_LANE, Lanes
from flitwatch_routing.reconstruction.lanes_by_pair import PairLanes, Paths
from flitwatch_routing.reconstruction.numbering import number_keys, places_among
from flitwatch_routing.reconstruction.pairs import Pairs

Ints = NDArray[np.int64]
Index = NDArray[np.int32]
#: A longer path is a loop: trees have at most four levels.
MOST_HOPS = 12


@dataclass(frozen=True)
class Groups:
    """The turns of the two groupings.

    first_of, tail_of : (pairs,) group of each pair
    first_turns, tail_turns : (groups, hops) turns; filled with the number of turns if a path has fewer hops
    turn_rows : (epochs, turns) row of a turn, (epoch * links + link) * VLs + VL
    rows : number of rows before unused ones are dropped
    """

    first_of: Index
    tail_of: Index
    first_turns: Index
    tail_turns: Index
    turn_rows: Ints
    rows: int

    def kept(self, keep: NDArray[np.bool_]) -> Groups:
        """Return the groups of the kept pairs, renumbered."""
        first, first_of = number_keys(self.first_of[keep], len(self.first_turns))
        tail, tail_of = number_keys(self.tail_of[keep], len(self.tail_turns))
        parts = self.first_turns[first], self.tail_turns[tail]
        count = self.turn_rows.shape[1]
        used = np.zeros(count + 1, bool)
        for part in parts:
            used[part] = True
        turn_index = np.flatnonzero(used[:-1])
        place = places_among(turn_index, count + 1)
        return replace(
            self,
            first_of=first_of,
            tail_of=tail_of,
            first_turns=place[parts[0]],
            tail_turns=place[parts[1]],
            turn_rows=self.turn_rows[:, turn_index],
        )


def groups_of(fabric: Fabric, ports: Ints, lanes: Sequence[Lanes | PairLanes], pairs: Pairs) -> Groups:
    """Follow the tables for every pair. Raise BadInput if a table has a loop or a hole on a pair's path; the message names switch and endpoint. Raise
    BadRequest if lanes are of two kinds, or as in `GaloisLanes.of`."""
    by_level = [lane for lane in lanes if isinstance(lane, Lanes)]
    if len(by_level) == len(lanes):
        return _by_level(fabric, ports, by_level, pairs)
    by_pair = [lane for lane in lanes if not isinstance(lane, Lanes)]
    if by_level:
        raise BadRequest("some epochs have lanes by service level, others by pair")
    return _by_pair(fabric, ports, by_pair, pairs)


def _by_pair(fabric: Fabric, ports: Ints, lanes: Sequence[PairLanes], pairs: Pairs) -> Groups:
    """Return groups for lanes chosen by pair: no two pairs share a turn, so each pair is its own group, and the first grouping is empty."""
    src, dst = np.asarray(pairs.src, np.int64), np.asarray(pairs.dst, np.int64)
    paths = Paths(src, dst, _trace_paths(fabric, ports, src, dst), ports)
    vls, on = lanes[0].vls, paths.links >= 0
    of_epoch = [lane.of(fabric, paths) for lane in lanes]
    key = paths.links
    for lane in of_epoch:
        key = key * vls + lane
    distinct, of = number_keys(key[on], len(fabric.links.src) * vls ** len(lanes))
    turns = np.full(key.shape, len(distinct), np.int32)
    turns[on] = of
    count, later = len(fabric.links.src) * vls, vls ** np.arange(len(lanes))[::-1, None]
    rows = (distinct // vls ** len(lanes)) * vls + distinct // later % vls + count * np.arange(len(lanes))[:, None]
    none = np.zeros(len(pairs), np.int32), np.empty((min(1, len(pairs)), 0), np.int32)
    return Groups(none[0], np.arange(len(pairs), dtype=np.int32), none[1], turns, rows, len(lanes) * count)


def _by_level(fabric: Fabric, ports: Ints, lanes: Sequence[Lanes], pairs: Pairs) -> Groups:
    routers, endpoints, links = len(fabric.routers.name), len(fabric.endpoints.router), fabric.links
    sls = lanes[0].sls
    if pairs.sl.size and int(pairs.sl.max()) >= sls:
        raise BadInput(f"a pair has SL {int(pairs.sl.max())}; the SL-to-VL tables know 0 to {sls - 1}")
    link_of = links_by_port(fabric)
    injects = np.full(endpoints, -1)
    from_hosts = np.flatnonzero(links.src >= routers)
    injects[links.src[from_hosts] - routers] = from_hosts
    leaf = np.asarray(fabric.endpoints.router, np.int64)[pairs.src]
    width = link_of.shape[1]
    port = ports[leaf, pairs.dst]
    _outgoing_links(fabric, link_of, leaf, port, np.asarray(pairs.dst, np.int64))
    first_key = (pairs.src.astype(np.int64) * width + port) * sls + pairs.sl
    tail_key = (leaf * endpoints + pairs.dst) * sls + pairs.sl
    first, first_of = number_keys(first_key, endpoints * width * sls)
    tail, tail_of = number_keys(tail_key, routers * endpoints * sls)
    sl, (source, out) = first % sls, np.divmod(first // sls, width)
    at = np.asarray(fabric.endpoints.router, np.int64)[source]
    hosts = routers * width * width
    turns = _Turns(width, sls)
    first_turns = np.stack(
        [(hosts + source) * sls + sl, turns.key(at, links.dst_port[injects[source]], out, sl)], axis=1
    )
    tail_turns = _trace_tails(fabric, ports, link_of, turns, tail)
    has_turn = tail_turns >= 0
    distinct, of = number_keys(
        np.concatenate([first_turns.reshape(-1), tail_turns[has_turn]]), (hosts + endpoints) * sls
    )
    tail_places = np.full(tail_turns.shape, len(distinct), np.int32)
    tail_places[has_turn] = of[first_turns.size :]
    rows = np.stack([_counter_rows(fabric, lane, turns, distinct, injects, link_of) for lane in lanes])
    count = len(links.src) * lanes[0].vls
    rows += count * np.arange(len(lanes))[:, None]
    return Groups(first_of, tail_of, of[: first_turns.size].reshape(-1, 2), tail_places, rows, len(lanes) * count)


@dataclass(frozen=True)
class _Turns:
    """Keys of turns: those of switches, then (host, SL)."""

    width: int
    sls: int

    def key(self, at: Ints, into: NDArray[np.integer], out: NDArray[np.integer], sl: Ints) -> Ints:
        """Return the keys of turns of switches."""
        return np.asarray(((at * self.width + into) * self.width + out) * self.sls + sl, np.int64)


def _counter_rows(fabric: Fabric, lanes: Lanes, turns: _Turns, key: Ints, injects: Ints, link_of: Ints) -> Ints:
    """Return (turns,) link * VLs + VL of every turn in one epoch."""
    hosts = len(fabric.routers.name) * turns.width * turns.width * turns.sls
    begin = int(np.searchsorted(key, hosts))
    source, host_sl = np.divmod(key[begin:] - hosts, turns.sls)
    rest, sl = np.divmod(key[:begin], turns.sls)
    rest, out = np.divmod(rest, turns.width)
    at, into = np.divmod(rest, turns.width)
    link = np.concatenate([link_of[at, out], injects[source]])
    lane = np.concatenate([_switch_lane(fabric, lanes, at, into, out, sl), _host_lane(fabric, lanes, source, host_sl)])
    return np.asarray(link * lanes.vls + lane)


def _host_lane(fabric: Fabric, lanes: Lanes, source: Ints, sl: Ints) -> NDArray[np.uint8]:
    lane = lanes.host[source, sl]
    if (lane == NO_LANE).any():
        bad = int(np.argmax(lane == NO_LANE))
        raise BadInput(
            f"the SL-to-VL tables lack the row of {fabric.endpoints.node[source[bad]]}, which sends with SL {sl[bad]}",
            advice="Give the row `node,0,0,...`",
        )
    return lane


def _switch_lane(fabric: Fabric, lanes: Lanes, at: Ints, into: Ints, out: Ints, sl: Ints) -> NDArray[np.uint8]:
    """Return the outgoing VLs at switches `at`; raise BadInput if the table has no row."""
    lane = lanes.switch[at, into, out, sl]
    if (lane == NO_LANE).any():
        bad = int(np.argmax(lane == NO_LANE))
        raise BadInput(
            f"the SL-to-VL tables lack the row of {fabric.routers.name[at[bad]]} from port {into[bad]} to port {out[bad]}, which SL {sl[bad]} needs",
            advice="Give the tables of every switch on the path",
        )
    return lane


def _outgoing_links(fabric: Fabric, link_of: Ints, at: Ints, port: Ints, dest: Ints) -> Ints:
    """Return the links at output ports of switches; raise BadInput if there is none."""
    link = np.where((port >= 0) & (port < link_of.shape[1]), link_of[at, np.clip(port, 0, link_of.shape[1] - 1)], -1)
    if (link < 0).any():
        bad = int(np.argmax(link < 0))
        to = f" to endpoint {int(dest[bad])}" if dest[bad] >= 0 else ""
        raise BadInput(
            f"the tables have a hole: {fabric.routers.name[at[bad]]} has no path{to}",
            advice="Check them with `flitwatch routes check`",
        )
    return link


def _trace_paths(fabric: Fabric, ports: Ints, src: Ints, dst: Ints) -> Ints:
    """Return (pairs, hops) links of every path, from the source's own link on, -1 after the end."""
    routers, links, link_of = len(fabric.routers.name), fabric.links, links_by_port(fabric)
    injects = np.full(len(fabric.endpoints.router), -1)
    from_hosts = np.flatnonzero(links.src >= routers)
    injects[links.src[from_hosts] - routers] = from_hosts
    link = injects[src]
    hops = [link]
    for _ in range(MOST_HOPS):
        at = np.where(link >= 0, links.dst[link].astype(np.int64), routers + dst)
        going = at < routers
        if (~going & (at != routers + dst)).any():
            bad = int(np.argmax(~going & (at != routers + dst)))
            raise BadInput(f"the tables send traffic for endpoint {int(dst[bad])} to another endpoint")
        if not going.any():
            return np.stack(hops, axis=1)
        link = np.full(len(src), -1)
        here, to = at[going], dst[going]
        link[going] = _outgoing_links(fabric, link_of, here, ports[here, to], to)
        hops.append(link)
    bad = int(np.argmax(going))
    raise BadInput(
        f"the tables have a loop on the path to endpoint {int(dst[bad])}",
        advice="Check them with `flitwatch routes check`",
    )


def _trace_tails(fabric: Fabric, ports: Ints, link_of: Ints, turns: _Turns, key: Ints) -> Ints:
    """Return keys of the turns (groups, hops) after the first switch of each (leaf, destination, SL); -1 after the last."""
    routers, endpoints, links = len(fabric.routers.name), len(fabric.endpoints.router), fabric.links
    sl, (at, dest) = key % turns.sls, np.divmod(key // turns.sls, endpoints)
    link = _outgoing_links(fabric, link_of, at, ports[at, dest], dest)
    hops: list[Ints] = []
    for _ in range(MOST_HOPS):
        at = links.dst[link].astype(np.int64)
        going = at < routers
        astray = ~going & (at != routers + dest)
        if astray.any():
            bad = int(np.argmax(astray))
            raise BadInput(f"the tables send traffic for endpoint {int(dest[bad])} to another endpoint")
        if not going.any():
            return np.stack(hops, axis=1) if hops else np.empty((len(key), 0), np.int64)
        here, to = at[going], dest[going]
        onward = link.copy()
        onward[going] = _outgoing_links(fabric, link_of, here, ports[here, to], to)
        hop = np.full(len(key), -1)
        hop[going] = turns.key(here, links.dst_port[link[going]], links.src_port[onward[going]], sl[going])
        hops.append(hop)
        link = onward
    bad = int(np.argmax(going))
    raise BadInput(
        f"the tables have a loop on the path to endpoint {int(dest[bad])}",
        advice="Check them with `flitwatch routes check`",
    )


class LinkCounters(nn.Module):
    """R as a module: `forward` sums pairs into rows, `adjoint` returns the sum of its rows for every pair.

    Only rows used by a pair are kept: `row` (rows,) contains their numbers.
    """

    first_of: Tensor
    tail_of: Tensor
    turn_rows: Tensor

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        self.row, place = number_keys(groups.turn_rows.reshape(-1), groups.rows)
        self.register_buffer("first_of", torch.from_numpy(groups.first_of))
        self.register_buffer("tail_of", torch.from_numpy(groups.tail_of))
        self.register_buffer("turn_rows", torch.from_numpy(place.reshape(groups.turn_rows.shape)))
        for name, turns in (("first", groups.first_turns), ("tail", groups.tail_turns)):
            self.register_buffer(f"{name}_turns", torch.from_numpy(np.ascontiguousarray(turns.T)))

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows,) from (pairs,)."""
        grouped = []
        for of, turns in self._list_groupings():
            grouped.append(x.new_zeros(turns.shape[1]).index_add_(0, of, x))
        return self.collected(*grouped)

    def collected(self, first: Tensor, tail: Tensor) -> Tensor:
        """Return (rows,) from the groups' traffic."""
        turned = first.new_zeros(self.turn_rows.shape[1] + 1)
        for grouped, (_, turns) in zip((first, tail), self._list_groupings(), strict=True):
            for hop in turns:
                turned.index_add_(0, hop, grouped)
        result = first.new_zeros(len(self.row))
        for rows in self.turn_rows:
            result.index_add_(0, rows, turned[:-1])
        return result

    def adjoint(self, y: Tensor) -> Tensor:
        """Return (pairs,) from (rows,)."""
        first, tail = self.spread(y)
        return first.index_select(0, self.first_of) + tail.index_select(0, self.tail_of)

    def spread(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sum of every group's rows."""
        turned = y.new_zeros(self.turn_rows.shape[1] + 1)
        for rows in self.turn_rows:
            turned[:-1] += y.index_select(0, rows)
        first, tail = (y.new_zeros(turns.shape[1]) for _, turns in self._list_groupings())
        for grouped, (_, turns) in zip((first, tail), self._list_groupings(), strict=True):
            for hop in turns:
                grouped += turned.index_select(0, hop)
        return first, tail

    def smallest(self, y: Tensor) -> Tensor:
        """Return (pairs,) the minimum of each pair's rows."""
        turned = y.new_full((self.turn_rows.shape[1] + 1,), torch.inf)
        for rows in self.turn_rows:
            turned[:-1] = torch.minimum(turned[:-1], y.index_select(0, rows))
        result = y.new_full((len(self.first_of),), torch.inf)
        for of, turns in self._list_groupings():
            grouped = y.new_full((turns.shape[1],), torch.inf)
            for hop in turns:
                grouped = torch.minimum(grouped, turned.index_select(0, hop))
            result = torch.minimum(result, grouped.index_select(0, of))
        return result

    @property
    def depth(self) -> int:
        """Largest number of rows of a pair."""
        return len(self.turn_rows) * sum(len(turns) for _, turns in self._list_groupings())

    def entries(self) -> Iterator[NDArray[np.int64]]:
        """Yield rows (pairs,), one array per epoch and hop; filled with the number of rows if a path has fewer hops."""
        rows = np.full((len(self.turn_rows), self.turn_rows.shape[1] + 1), len(self.row))
        rows[:, :-1] = self.turn_rows.cpu().numpy()
        for of, turns in self._list_groupings():
            for hop in turns.cpu().numpy():
                for epoch in rows:
                    yield epoch[hop][of.cpu().numpy()]

    def _list_groupings(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        buffers = dict(self.named_buffers())
        return (self.first_of, buffers["first_turns"]), (self.tail_of, buffers["tail_turns"])
