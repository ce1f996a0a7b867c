"""Dumps of forwarding tables, and fabrics with LIDs."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import networkx
import numpy as np

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric, Links
from flitwatch_routing import lft
from flitwatch_routing.forwarding import links_by_port
from flitwatch_routing.tree import as_tree


def numbered(fabric: Fabric, first: int = 9, lmc: int = 0) -> Fabric:
    """The fabric as its file would number the endpoints."""
    count = len(fabric.endpoints)
    lids = [first + 2**lmc * one for one in range(count)]
    return replace(fabric, attributes={**fabric.attributes, "lids": lids, "lmc": [lmc] * count})


def dumped(path: Path, fabric: Fabric, ports: np.ndarray, bare: bool = False) -> list[str]:
    """Lines of a dump, written to `path`; `bare`: without the comments that name destinations."""
    lines = [
        line.split("#")[0].rstrip() if bare and line.startswith("0x") else line
        for line in lft.format_dump(fabric, ports)
    ]
    path.write_text("\n".join(lines) + "\n")
    return lines


# Fabrics after cables failed.


def keeping(fabric: Fabric, keep: np.ndarray) -> Fabric:
    """The fabric with a mask's links alone."""
    links = fabric.links
    names = [one.name for one in fields(Links) if one.name != "classes"]
    return replace(fabric, links=Links(**{name: getattr(links, name)[keep] for name in names}, classes=links.classes))


def without(fabric: Fabric, cables: int, seed: int) -> Fabric:
    """The fabric with some cables between switches gone, both directions."""
    links = fabric.links
    between = np.flatnonzero(fabric.router_links() & (links.src < links.dst))
    gone = np.random.default_rng(seed).choice(between, cables, replace=False)
    ends = links.src.astype(np.int64) * fabric.vertices + links.dst
    back = links.dst.astype(np.int64) * fabric.vertices + links.src
    return keeping(fabric, ~np.isin(ends, ends[gone]) & ~np.isin(back, ends[gone]))


def is_tree(fabric: Fabric) -> bool:
    """Whether what is left is a tree at all: no part that nothing joins to the rest."""
    try:
        as_tree(fabric)
    except BadInput:
        return False
    return True


# Channel dependencies of forwarding tables, computed link by link.


def graph(fabric: Fabric, ports: np.ndarray) -> networkx.DiGraph:
    """Dependencies by following every way link by link."""
    link_of, dst, routers = links_by_port(fabric, int(ports.max())), fabric.links.dst, len(fabric.routers)
    found = networkx.DiGraph()
    for source in set(fabric.endpoints.router.tolist()):
        for end in range(ports.shape[1]):
            at, before = source, None
            for _ in range(2 * len(dst)):
                link = int(link_of[at, ports[at, end]]) if ports[at, end] >= 0 else -1
                if link < 0 or dst[link] >= routers:
                    break
                if before is not None:
                    found.add_edge(before, link)
                at, before = int(dst[link]), link
    return found
