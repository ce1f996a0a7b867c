"""Choice of a cable for each entry of a forwarding table if several cables connect two switches.

A table contains ports. The next switch determines all further traffic, but the cable to it does not. So the optimiser chooses switches, with one link for
all parallel cables. The entries of each link are then distributed over its cables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_routing.tree import Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Traffic = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True)
class Cabling:
    """Settings for distributing entries over cables: the traffic of each time slot (source, destination, bytes; columns of the tables).

    held (routers, destinations) : ports that entries keep if no cable of the link then carries more than `limit`, in bytes, one number per slot
    """

    slots: Sequence[Traffic] = ()
    held: Ints | None = None
    limit: Sequence[float] = ()


def ports_of(tree: Tree, link: Ints, cabling: Cabling) -> Ints:
    """Return the port (switches, places) of each entry that uses `link` (leaves, spines and cores; places); -1 if the link is -1.

    Without traffic, the numbers of entries on a link's cables differ by at most one.
    """
    ports, cables = tree.link_ports(), tree.cables()
    result = np.where(link >= 0, ports[link, 0], -1)
    entry = np.flatnonzero((link >= 0) & (cables[link] > 1))
    if not len(entry):
        return result
    entry = entry[np.argsort(link.reshape(-1)[entry], kind="stable")]
    of = link.reshape(-1)[entry]
    links, first = np.unique(of, return_index=True)
    slots = cabling.slots or ((np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)),)
    bytes_ = np.stack([_entry_bytes(tree, link, entry, slot_traffic) for slot_traffic in slots], axis=1)
    cable = routes.share_cables(
        np.append(first, len(entry)).astype(np.int64),
        cables[links].astype(np.int32),
        bytes_.reshape(-1),
        _find_held_cables(tree, ports[of], entry, link.shape[1], cabling.held),
        np.asarray(cabling.limit or np.zeros(len(slots)), float),
    )
    result.reshape(-1)[entry] = ports[of, cable]
    return result


def _find_held_cables(tree: Tree, ports: Ints, entry: Ints, places: int, held: Ints | None) -> NDArray[np.int32]:
    """Return the cable among its link's `ports` (entries, cables) that each entry keeps; -1 for none."""
    if held is None:
        return np.full(len(entry), -1, np.int32)
    by_place = np.full((len(held), places), -1)
    placed = tree.slot_of_endpoint >= 0
    by_place[:, tree.slot_of_endpoint[placed]] = held[:, placed]
    now = by_place[tree.switches()[entry // places], entry % places]
    same = (ports == now[:, None]) & (now >= 0)[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), -1).astype(np.int32)


def _entry_bytes(tree: Tree, link: Ints, entry: Ints, traffic: Traffic) -> Floats:
    """Return the bytes (entries,) of each entry: traffic merges at every switch and follows `link` to the leaf of its destination."""
    places = link.shape[1]
    leaves, hosts = len(tree.leaf), tree.shape[2]
    src, dst = (tree.slot_of_endpoint[np.asarray(ends, np.int64)] for ends in traffic[:2])
    size = np.asarray(traffic[2], float)
    crosses = src // hosts != dst // hosts
    at, bytes_ = _sum_by_key((src // hosts * places + dst)[crosses], size[crosses])
    head, order = tree.heads(), np.argsort(entry)
    sorted_entry = entry[order]
    result = np.zeros(len(entry))
    while len(at):
        place = np.minimum(np.searchsorted(sorted_entry, at), len(sorted_entry) - 1)
        matches = sorted_entry[place] == at
        result[order[place[matches]]] += bytes_[matches]
        next_link = link.reshape(-1)[at]
        following = np.where(next_link >= 0, head[next_link], -1)
        going = following >= leaves  # at a leaf it has arrived
        at, bytes_ = _sum_by_key((following * places + at % places)[going], bytes_[going])
    return result


def _sum_by_key(key: Ints, bytes_: Floats) -> tuple[Ints, Floats]:
    keys, of = np.unique(key, return_inverse=True)
    total: Floats = np.bincount(of, bytes_, len(keys)).astype(float)
    return keys, total
