"""Lanes that a pair decides: finite fields, the promise of the Galois-field scheme, aliases that lanes by service level leave, counters and operator."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.reconstruction.count import counters_of
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.lanes_by_pair import GaloisLanes, RandomLanes, element_powers
from flitwatch_routing.reconstruction.pairs import Pairs, pairs_of
from flitwatch_routing.reconstruction.sensing import LinkCounters, groups_of


@pytest.mark.parametrize(("prime", "degree"), [(2, 3), (3, 2), (5, 3), (5, 5)])
def test_powers_of_a_primitive_element_are_every_element_but_zero(prime: int, degree: int) -> None:
    found = element_powers(prime, degree)
    assert len(np.unique(found, axis=0)) == len(found) == prime**degree - 1
    assert found.any(axis=1).all() and found.max() == prime - 1
    # Multiplying by x is linear: x^(a+1) + x^(b+1) = x (x^a + x^b).
    at = {tuple(one): number for number, one in enumerate(found.tolist())}
    for a, b in [(0, 1), (1, 4), (2, 5)]:
        both = tuple(((found[a].astype(int) + found[b]) % prime).tolist())
        later = tuple(((found[a + 1].astype(int) + found[b + 1]) % prime).tolist())
        assert (at[both] + 1) % len(found) == at[later]


def operator(fabric: Fabric, ports: np.ndarray, lanes: list, pairs: Pairs) -> sparse.csr_matrix:
    """R as a matrix (pairs, rows): one where a path uses the lane of the link."""
    groups = groups_of(fabric, ports, lanes, pairs)
    sensing = LinkCounters(groups)
    entries = np.stack(list(sensing.entries()), axis=1)
    on = entries < len(sensing.row)
    pair = np.repeat(np.arange(len(pairs)), on.sum(axis=1))
    return sparse.csr_matrix((np.ones(on.sum()), (pair, entries[on])), (len(pairs), len(sensing.row)))


def of_nodes(nodes: list[int], endpoints: int) -> Pairs:
    return pairs_of([np.array(nodes)], np.zeros((endpoints, endpoints), np.int8))


def test_two_paths_share_lanes_on_at_most_two_thirds_of_their_links() -> None:
    """The promise of section 4.4.3, on the dissertation's machine: 4 of 6, 2 of 4, 1 of 2 links; lanes drawn for each pair do not keep it."""
    quartz1 = fabric_of("quartz1")
    ports, leaf = ftree_tables(quartz1), np.asarray(quartz1.endpoints.router)
    two_of_a_pod = np.flatnonzero(np.isin(leaf, leaf[[0, 40]])).tolist()
    nodes = two_of_a_pod + np.flatnonzero(leaf == leaf[1000]).tolist()
    pairs = of_nodes(nodes, len(leaf))
    most = {}
    for name, lanes in (("galois", GaloisLanes(3)), ("random", RandomLanes(5, 3))):
        uses = operator(quartz1, ports, [lanes], pairs)
        length = np.asarray(uses.sum(axis=1)).ravel().astype(int)
        both = sparse.triu(uses @ uses.T, 1).tocoo()
        most[name] = {n: int(both.data[length[both.row] == n].max()) for n in (2, 4, 6)}
        across = length[both.row] != length[both.col]
        if name == "galois":
            assert both.data[across].max() <= 2
    assert all(most["galois"][n] <= 2 * n // 3 for n in (4, 6)) and most["galois"][2] <= 1
    assert most["random"][6] == 5


def test_routes_that_alias_by_one_lane_part_by_another() -> None:
    """Figure 4.9: C -> A and D -> B beside C -> B and D -> A, where C and D have a leaf and a service level in common."""
    fabric = build_xgft(3, [4, 4, 4], [1, 2, 2])
    ports = ftree_tables(fabric)
    c, d = 0, 1
    rng = np.random.default_rng(5)
    apart = dict.fromkeys(("levels", "random", "galois"), 0)
    every = [(a, b) for a in range(16, 64) for b in range(a + 1, 64)][:200]
    for a, b in every:
        pairs = of_nodes([a, b, c, d], 64)
        red = np.isin(pairs.src * 64 + pairs.dst, [c * 64 + a, d * 64 + b]).astype(float)
        green = np.isin(pairs.src * 64 + pairs.dst, [c * 64 + b, d * 64 + a]).astype(float)
        schemes = {"levels": random_lanes(fabric, 1, 5, rng), "random": RandomLanes(5, a), "galois": GaloisLanes(a)}
        for name, lanes in schemes.items():
            one, other = (counters_of(fabric, ports, [lanes], pairs, sent)[0] for sent in (red, green))
            assert np.array_equal(one.sum(axis=1), other.sum(axis=1))
            switches = np.asarray(fabric.links.src) < len(fabric.routers.name)
            apart[name] += not np.array_equal(one[switches], other[switches])
    assert apart["random"] == apart["galois"] == len(every) > apart["levels"]


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("scheme", [RandomLanes, GaloisLanes])
def test_the_operator_is_adjoint_and_counts_every_link_of_every_path(scheme: type, epochs: int) -> None:
    fabric = build_xgft(3, [4, 4, 2], [1, 2, 2])
    rng = np.random.default_rng(7)
    ports = random_tables(fabric, 7)
    pairs = pairs_of([rng.permutation(32)[:20]], np.zeros((32, 32), np.int8))
    lanes = [scheme(vls=5, seed=seed) for seed in range(epochs)]
    groups = groups_of(fabric, ports, lanes, pairs)
    plain = groups_of(fabric, ports, [random_lanes(fabric, 1, 1, rng)], pairs)
    x = torch.from_numpy(rng.random(len(pairs)))
    counted = np.stack(counters_of(fabric, ports, lanes, pairs, x.numpy()))
    by_link = counters_of(fabric, ports, [random_lanes(fabric, 1, 1, rng)], pairs, x.numpy())[0]
    assert np.allclose(counted.sum(axis=2), by_link[:, 0])
    sensing, once = LinkCounters(groups), LinkCounters(plain)
    assert np.allclose(sensing(x).numpy(), counted.reshape(-1)[sensing.row])
    y = torch.from_numpy(rng.random(len(sensing.row)))
    assert float(sensing(x) @ y) == pytest.approx(float(x @ sensing.adjoint(y)), rel=1e-12)
    hops = once.adjoint(torch.ones(len(once.row), dtype=torch.float64))
    assert torch.equal(sensing.adjoint(torch.ones_like(y)), epochs * hops)
    keep = rng.random(len(pairs)) < 0.5
    kept = LinkCounters(groups.kept(keep))
    some = torch.zeros_like(x)
    some[torch.from_numpy(keep)] = x[torch.from_numpy(keep)]
    assert float(kept(x[torch.from_numpy(keep)]).sum()) == pytest.approx(float(sensing(some).sum()))


def test_jobs_inside_a_pod_and_inside_a_leaf_have_lanes() -> None:
    fabric = build_xgft(3, [4, 4, 4], [1, 2, 2])
    for count, hops in ((16, 4), (4, 2)):
        uses = operator(fabric, ftree_tables(fabric), [GaloisLanes(1)], of_nodes(list(range(count)), 64))
        assert uses.sum(axis=1).max() == hops


def test_random_lanes_are_even_and_of_their_seed() -> None:
    fabric = build_xgft(2, [8, 8], [1, 4])
    pairs = of_nodes(list(range(64)), 64)
    ports, size = ftree_tables(fabric), np.ones(64 * 63)
    counted = [counters_of(fabric, ports, [RandomLanes(5, seed)], pairs, size)[0] for seed in (1, 1, 2)]
    assert np.array_equal(counted[0], counted[1]) and not np.array_equal(counted[0], counted[2])
    share = counted[0].sum(axis=0) / counted[0].sum()
    assert np.allclose(share, 0.2, atol=0.02)


def test_trees_that_the_fields_do_not_know_are_refused() -> None:
    large = build_xgft(2, [64, 64], [1, 2])
    with pytest.raises(BadRequest, match="three levels"):
        groups_of(large, ftree_tables(large), [GaloisLanes(1)], of_nodes([0, 1], 4096))
