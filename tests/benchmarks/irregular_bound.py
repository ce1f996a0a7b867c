"""Lower bound of the error of reconstructing an irregular pattern from several sensing epochs, for any method.

`.venv/bin/python tests/benchmarks/irregular_bound.py [EPOCHS] [LANES] [SEED]` follows the pattern irregular-70 on quartz1, as
`flitwatch traffic reconstruct --topology quartz1 --traffic irregular-70 --sl LANES --vl LANES --epochs EPOCHS --seed SEED` measures it. It prints the
number of pairs with traffic, the number of possibly independent rows on links, and the error of the minimal matrix that explains all counters if these
pairs are known. A reconstruction does not know them.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.sensing import Groups, LinkCounters, groups_of
from flitwatch_routing.reconstruction.settle import counter_matrix
from flitwatch_routing.reconstruction.study import build_study

STEPS = 1000


def independent_rows(fabric: Fabric, groups: Groups, vls: int) -> int:
    """The sum over links of the rank of each link's rows: turns that have the same lanes in every epoch are one column."""
    links = len(fabric.links.src)
    link, lanes = groups.turn_rows[0] // vls % links, groups.turn_rows % vls
    rank = 0
    for one in np.unique(link):
        patterns = np.unique(lanes[:, link == one], axis=1)
        epochs, count = patterns.shape
        rows = np.zeros((epochs, vls, count))
        rows[np.arange(epochs)[:, None], patterns, np.arange(count)] = 1
        rank += int(np.linalg.matrix_rank(rows.reshape(-1, count)))
    return rank


def oracle_error(counters: LinkCounters, size: NDArray[np.float64]) -> float:
    """Relative error of the least squares on the pairs that carry traffic, from zero."""
    rows = counter_matrix(counters, len(size))
    scaled = sparse.diags(1 / np.sqrt(np.asarray(rows.sum(axis=1)).ravel())) @ rows
    found = lsmr(scaled, scaled @ size, atol=0, btol=0, conlim=0, maxiter=STEPS)[0]
    return float(np.linalg.norm(found - size) / np.linalg.norm(size))


def main(epochs: int = 8, lanes: int = 5, seed: int = 1) -> None:
    """Print the figures."""
    fabric = fabric_of("quartz1")
    ports = ftree_tables(fabric)
    known = build_study(fabric, ports, "irregular-70", lanes, lanes, epochs, seed)
    measured = known.measured
    leaf = np.asarray(fabric.endpoints.router)
    far = measured.pairs.kept(leaf[measured.pairs.src] != leaf[measured.pairs.dst])
    rank = independent_rows(fabric, groups_of(fabric, ports, measured.lanes, far), lanes)
    sent = known.size > 0
    pairs = measured.pairs.kept(sent)
    between = int((leaf[pairs.src] != leaf[pairs.dst]).sum())
    print(
        f"{len(pairs):,} pairs carry traffic, {between:,} of them between leaves; rows of pairs between leaves: rank at most {rank:,}"
    )
    error = oracle_error(LinkCounters(groups_of(fabric, ports, measured.lanes, pairs)), known.size[sent])
    print(f"error of the least matrix on exactly those pairs: {error:.1%}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
