"""Baseline tables for comparison: destination modulo choices (as OpenSM's ftree on an intact tree), and random choices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import Solution, tables_of
from flitwatch_routing.tree import Tree, as_tree

Ints = NDArray[np.int64]


def ftree_tables(fabric: Fabric) -> Ints:
    """Return output ports (routers, endpoints): spine = d mod spines, core = d / spines mod cores; a failed link is replaced by the next one."""
    tree = as_tree(fabric)
    _, slots, switches = _tree_sizes(tree)
    spines, cores = tree.shape[3], tree.shape[5]
    dest = np.arange(slots)
    spine = dest % spines
    core = dest // spines % max(cores, 1)
    down = spine % (spines // tree.shape[4]) if tree.shape[4] else spine
    leaves = tree.shape[0] * tree.shape[1]
    return tables_of(
        tree,
        _build_solution(
            tree,
            *(
                np.broadcast_to(choice, (n, slots))
                for choice, n in ((spine, leaves), (core, switches[0]), (down, switches[1]))
            ),
        ),
        fabric,
    )


def random_tables(fabric: Fabric, seed: int) -> Ints:
    """Return output ports (routers, endpoints) with uniformly random choices."""
    tree = as_tree(fabric)
    rng = np.random.default_rng(seed)
    leaves, slots, switches = _tree_sizes(tree)
    _, _, _, spines, groups, cores = tree.shape
    choices = (spines, max(cores, 1), spines // groups if groups else 1)
    return tables_of(
        tree,
        _build_solution(
            tree, *(rng.integers(0, c, (n, slots)) for c, n in zip(choices, (leaves, *switches), strict=True))
        ),
        fabric,
    )


def _tree_sizes(tree: Tree) -> tuple[int, int, tuple[int, int]]:
    pods, leaves, hosts, spines, groups, cores = tree.shape
    return pods * leaves, pods * leaves * hosts, (pods * spines, groups * cores)


def _build_solution(tree: Tree, spine_of: Ints, core_of: Ints, down_of: Ints) -> Solution:
    """Return all choices in the optimiser's form."""
    leaves, slots, _ = _tree_sizes(tree)
    leaf, dest = np.divmod(np.arange(leaves * slots), slots)
    return {
        "leaf": leaf,
        "dest": dest,
        "spine_of": spine_of.reshape(-1),
        "core_of": core_of.reshape(-1),
        "down_of": down_of.reshape(-1),
        "core_used": np.ones(core_of.size, np.uint8),
        "down_used": np.ones(down_of.size, np.uint8),
    }
