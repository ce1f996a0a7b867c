"""Deadlocks: up*/down* tables have none; tables without a loop may; networkx finds the same."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.lft_dumps import graph, without
from scipy import sparse

from flitwatch.main import main
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.deadlock import find_dependencies
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.lft import list_guids
from flitwatch_routing.reconstruction.count import counters_of
from flitwatch_routing.reconstruction.lanes import random_lanes
from flitwatch_routing.reconstruction.lanes_by_pair import GaloisLanes, RandomLanes, element_powers
from flitwatch_routing.reconstruction.pairs import Pairs, pairs_of
from flitwatch_routing.reconstruction.sensing import LinkCounters, groups_of
from flitwatch_routing.service_levels import Levels, format_policy, levels_of, loaded_lanes

TREE = "xgft:2;1,4;1,2"


def valleys() -> tuple[Fabric, np.ndarray]:
    """Leaves 0 to 3 with an endpoint each, spines 4 and 5; to endpoint 2 over leaf 1, to endpoint 3 over leaf 0: no loop, but links wait in a circle."""
    fabric = build_xgft(2, [1, 4], [1, 2])
    ports = ftree_tables(fabric)
    port = {
        (int(a), int(b)): int(p)
        for a, b, p in zip(fabric.links.src, fabric.links.dst, fabric.links.src_port, strict=True)
    }
    for at, to, end in (
        (0, 4, 2),
        (4, 1, 2),
        (1, 5, 2),
        (5, 2, 2),
        (3, 5, 2),
        (1, 5, 3),
        (5, 0, 3),
        (0, 4, 3),
        (4, 3, 3),
        (2, 4, 3),
    ):
        ports[at, end] = port[at, to]
    return fabric, ports


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(2, [1, 3], [1, 2]), (2, [2, 2], [1, 3]), (3, [1, 2, 2], [1, 2, 1])]),
    st.floats(0, 1),
    st.integers(0, 10_000),
)
def test_networkx_finds_a_cycle_where_we_do(tree: tuple, share: float, seed: int) -> None:
    """Tables with any ports in some entries: valleys, loops and holes."""
    fabric, rng = build_xgft(*tree), np.random.default_rng(seed)
    ports = ftree_tables(fabric)
    strange = rng.random(ports.shape) < share
    ports[strange] = rng.integers(-1, fabric.links.src_port.max() + 2, strange.sum())
    found, expected = find_dependencies(fabric, ports), graph(fabric, ports)
    assert found.pairs == expected.number_of_edges()
    assert bool(found.cycle) == (not networkx.is_directed_acyclic_graph(expected))
    assert all(expected.has_edge(*one) for one in pairwise((*found.cycle, *found.cycle[:1])))


def test_ways_up_and_down_never_deadlock() -> None:
    whole, broken = build_quartz1(), without(build_xgft(3, [4, 3, 3], [1, 3, 2]), 6, seed=1)
    for fabric, ports in (
        (whole, random_tables(whole, 1)),
        (broken, ftree_tables(broken)),
        (broken, random_tables(broken, 2)),
    ):
        found = find_dependencies(fabric, ports)
        assert not found.cycle and found.pairs > 0


def test_tables_without_a_loop_may_deadlock() -> None:
    fabric, ports = valleys()
    assert check_routes(fabric, ports).valid
    found = find_dependencies(fabric, ports)
    names = found.named(fabric).split(" -> ")
    assert len(found.cycle) == 4 and names[0] == names[-1] and set(names) == {"leaf0", "spine0", "leaf1", "spine1"}


def test_what_no_way_uses_does_not_count() -> None:
    """Without ways over leaf 1 to endpoint 2, the rest of those entries harms nobody; nor do ways to endpoints that the dump does not tell."""
    fabric, ports = valleys()
    assert not find_dependencies(fabric, ports, np.array([False, False, True, False])).cycle
    straight = ports.copy()
    straight[[0, 3], 2] = ports[1, 2]  # to spine 5, as leaf 1 does
    straight[5, 2] = ports[5, 2]
    assert not find_dependencies(fabric, straight).cycle


def test_the_command_names_the_cycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, ports = valleys()
    file = tmp_path / "r.lfts"
    lft.write_dump(file, fabric, ports)
    with pytest.raises(SystemExit) as left:
        main(["routes", "check", str(file), "--topology", TREE, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert left.value.code == 1 and found["valid"] is True and found["deadlock_free"] is False
    assert found["cycle"].count(" -> ") == 4
    with pytest.raises(SystemExit):
        main(["routes", "check", str(file), "--topology", TREE])
    text = capsys.readouterr().out
    assert re.search(r"^deadlock_free +false$", text, re.MULTILINE) and found["cycle"] in text
    lft.write_dump(file, fabric, ftree_tables(fabric))
    main(["routes", "check", str(file), "--topology", TREE, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["deadlock_free"] is True and found["cycle"] is None


def test_unknown_endpoints_leave_it_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry without a port GUID, of a LID that no topology tells, may be for the endpoint that has no other."""
    fabric, file = build_xgft(2, [1, 4], [1, 2]), tmp_path / "r.lfts"
    lines = [
        line.split("#")[0].rstrip() if line.startswith("0x000a") else line
        for line in lft.format_dump(fabric, ftree_tables(fabric))
    ]
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit) as left:
        main(["routes", "check", str(file), "--topology", TREE, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert left.value.code == 1 and found["unknown_endpoints"] == 1 and found["deadlock_free"] is None


# Lanes that a pair decides: finite fields, the promise of the Galois-field scheme, aliases that lanes by service level leave, counters and operator.


@pytest.mark.parametrize(
    ("prime", "degree"), [(2, 3), (3, 2), (5, 3), pytest.param(5, 5, marks=pytest.mark.system("numeric"))]
)
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
    """Figure 4.9: C -> A and D -> B alongside C -> B and D -> A, where C and D have a leaf and a service level in common."""
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


# Service levels by pair: spread evenly, none that the policy file does not say, and OpenSM's dump of lanes read back.


TREE_FABRIC = build_xgft(2, [4, 4], [1, 2])


def followed(text: list[str]) -> np.ndarray:
    """The level of each pair (source, destination) as OpenSM finds it: the first rule whose groups have both ports."""
    where = {guid: at for at, guid in enumerate(list_guids(TREE_FABRIC)[1])}
    groups: dict[str, set[int]] = {}
    levels: dict[str, int] = {}
    rules: list[list[str]] = []
    name = ""
    for line in text:
        key, _, value = line.strip().partition(": ")
        if key == "name":
            name = value
        elif key == "port-guid":
            groups.setdefault(name, set()).update(where[int(one, 16)] for one in value.split(","))
        elif key == "sl":
            levels[name] = int(value)
        elif key == "source":
            rules.append([value])
        elif key in ("destination", "qos-level-name"):
            rules[-1].append(value)
    found = np.full((len(TREE_FABRIC.endpoints), len(TREE_FABRIC.endpoints)), levels["DEFAULT"])
    for src, dst, level in reversed(rules):
        found[np.ix_(sorted(groups[src]), sorted(groups[dst]))] = levels[level]
    return found


def test_the_policy_gives_each_pair_its_level() -> None:
    levels = levels_of(TREE_FABRIC, 5, 3, seed=2)
    ends = np.arange(len(TREE_FABRIC.endpoints))
    wanted = levels.of(ends[:, None], ends[None, :])
    assert (followed(list(format_policy(TREE_FABRIC, levels))) == wanted).all()
    for pairs in (wanted, wanted.T):
        of_one = [np.bincount(row, minlength=5) for row in pairs]
        assert np.ptp(of_one, axis=1).max() <= 1, "a sender's pairs are spread over all levels, and a receiver's"
    assert levels.lanes() == [0, 1, 2] * 5 + [0]
    assert (levels_of(TREE_FABRIC, 5, 3, seed=2).classes == levels.classes).all()
    assert (levels_of(TREE_FABRIC, 5, 3, seed=3).classes != levels.classes).any()


@pytest.mark.parametrize(("levels", "vls"), [(1, 1), (17, 4), (4, 0), (4, 5), (16, 16)])
def test_levels_that_infiniband_does_not_have(levels: int, vls: int) -> None:
    with pytest.raises(BadRequest, match="service levels"):
        levels_of(TREE_FABRIC, levels, vls, seed=1)


def test_a_dump_of_lanes() -> None:
    row = " ".join("01" * 8)
    head = "#in out : 0  1\n#-----\n"
    text = f'Switch 0x0002c90000100000, base LID 2, "leaf 0"\n{head}1   2   : {row} \n\nChannel Adapter 0x0002c90000200001, base LID 1, "n0"\n{head}0   0   : {row} \n'
    lanes = (0, 1) * 8
    assert loaded_lanes(text, "x") == {(0x2C90000100000, 1, 2): lanes, (0x2C90000200001, 0, 0): lanes}
    with pytest.raises(BadInput, match="x:1"):
        loaded_lanes(f"1   2   : {row}\n", "x")
    with pytest.raises(BadInput, match="x:2"):
        loaded_lanes('Switch 0x0002c90000100000, base LID 2, "l"\nnonsense\n', "x")


def test_levels_are_sums_of_classes() -> None:
    levels = Levels(np.array([0, 1, 2]), 3, 1)
    assert levels.of(np.array([0, 1, 2]), np.array([0, 1, 2])).tolist() == [0, 2, 1]
    assert set(levels.lanes()) == {0}
