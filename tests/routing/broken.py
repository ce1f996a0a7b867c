"""Fabrics after cables failed."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric, Links
from flitwatch_routing.tree import as_tree


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
