"""Several LIDs an endpoint: what the second one gains, that each is followed, and that dumps keep all of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from routing.broken import without
from routing.exact_bounds import TREES, demands, exact
from routing.lft_dumps import dumped, numbered

from flitwatch.main import main
from flitwatch_domain.errors import BadInput, BadRequest, TooCostly
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft, tree
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.tree import as_tree

TREE = "xgft:2;4,4;1,4"


@pytest.mark.parametrize(("lmc", "z"), [(0, 8), (1, 4), (2, 2), (3, 2)])
@pytest.mark.parametrize("levels", [(2, [4, 4], [1, 4]), (3, [3, 4, 2], [1, 4, 4])])
def test_one_big_flow_is_halved_by_every_bit_until_all_ways_are_in_use(levels: tuple, lmc: int, z: float) -> None:
    fabric = build_xgft(*levels)
    last = len(fabric.endpoints) - 1
    found = optimise_routes(fabric, (np.array([0]), np.array([last]), np.array([8.0])), time_limit_s=0.5, lmc=lmc)
    assert found.ports.shape == (len(fabric.routers), len(fabric.endpoints) * 2**lmc)
    assert (found.z, found.fixed_bound, found.proven) == (pytest.approx(z), pytest.approx(z), True)
    assert found.z_ar == pytest.approx(2)


@pytest.mark.parametrize("levels", TREES)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_with_two_lids_holds_and_the_optimum_is_never_worse(levels: tuple, seed: int) -> None:
    """The oracle sees a tree with twice the endpoints, each the half of one of ours."""
    rng = np.random.default_rng(seed)
    fabric = build_xgft(*levels)
    heights, arity, parents = levels
    doubled = build_xgft(heights, [2 * arity[0], *arity[1:]], parents)
    n = len(fabric.endpoints)
    src, dst, size = rng.integers(0, n, 6), rng.integers(0, n, 6), rng.choice([1.0, 2.0, 3.5], 6)
    halves = np.repeat(2 * src, 2), (2 * dst[:, None] + [0, 1]).reshape(-1), np.repeat(size / 2, 2)
    assert (doubled.endpoints.router[halves[1]] == np.repeat(fabric.endpoints.router[dst], 2)).all()
    items = demands(fabric, src, dst, size)
    if not items:
        return
    one, two = (
        exact(fabric, items, one_port=True),
        exact(doubled, demands(doubled, *halves), one_port=True),
    )
    assert one is not None and two is not None and two <= one * (1 + 1e-6)
    found = optimise_routes(fabric, (src, dst, size), time_limit_s=0.3, seed=seed, lmc=1)
    assert found.fixed_bound <= two * (1 + 1e-6) and found.z >= two * (1 - 1e-6)
    assert found.z <= one * (1 + 1e-6)
    assert found.z_ar == pytest.approx(compute_bounds(fabric, (src, dst, size)).z_ar, rel=1e-6)


@pytest.mark.parametrize("cables", [0, 3])
def test_loads_are_those_of_the_tables_and_bytes_arrive(cables: int) -> None:
    fabric = without(build_xgft(3, [4, 3, 3], [1, 3, 2]), cables, seed=2)
    src, dst, size = load_traffic("noisy-shuffle", len(fabric.endpoints), seed=2)
    found = optimise_routes(fabric, (src, dst, size), time_limit_s=0.5, lmc=2)
    checked = check_routes(fabric, found.ports, (src, dst, size), lmc=found.lmc)
    assert checked.valid and found.z == checked.load[fabric.router_links()].max()
    assert found.z_ar * (1 - 1e-6) <= found.fixed_bound <= found.z
    into = np.bincount(fabric.links.dst, checked.load)[len(fabric.routers) :]
    assert np.allclose(into, np.bincount(dst, size, minlength=len(into)))


def test_holes_and_loops_at_the_second_lid_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, file = build_xgft(2, [4, 4], [1, 4]), tmp_path / "r.lfts"
    ports = optimise_routes(fabric, load_traffic("bisection", 16, 1), time_limit_s=0.2, lmc=1).ports
    holed, looped = ports.copy(), ports.copy()
    holed[0, 2 * 15 + 1] = -1
    looped[4:, 2 * 15 + 1] = looped[4:, 0]  # every spine sends them to the first leaf
    for tables, kind, words in (
        (holed, "holes", "leaf0 has no entry for endpoint 15 (n15) at its LID + 1"),
        (looped, "loops", "on the path to endpoint 15 (n15) at its LID + 1"),
    ):
        lft.write_dump(file, fabric, tables, lmc=1)
        with pytest.raises(SystemExit) as left:
            main(["routes", "check", str(file), "--topology", TREE, "--lmc", "1", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert left.value.code == 1 and found["valid"] is False and found[kind] > 0
        assert words in found["where"][0]
        assert check_routes(fabric, lft.read_ports(file, fabric)).valid  # the lowest LIDs alone


def test_a_dump_keeps_every_lid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, fabric = tmp_path / "r.lfts", build_xgft(2, [4, 4], [1, 4])
    flow = tmp_path / "t.csv"
    flow.write_text("src,dst,bytes\n0,15,8\n")
    common = ["--topology", TREE, "--traffic", str(flow), "--lmc", "2", "--json"]
    main(["routes", "optimise", *common, "--time-limit", "1", "--out", str(file)])
    assert json.loads(capsys.readouterr().out)["z"] == 2
    main(["routes", "check", str(file), *common])
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] and found["max_load"] == 2 and found["ar_gap"] == pytest.approx(0)
    ports = lft.read_ports(file, fabric, lmc=2)
    assert len(set(ports[0, 60:])) == 4  # a way each
    lids = [int(line[:6], 16) for line in file.read_text().splitlines() if "Channel Adapter" in line]
    assert min(lids) == 12 and len(set(lids)) == 64  # 8 switches; the next multiple of 4
    bare = tmp_path / "bare.lfts"
    bare.write_text(
        "\n".join(
            line.split("#")[0].rstrip() if line.startswith("0x") else line for line in lft.format_dump(fabric, ports, 2)
        )
    )
    assert (lft.read_ports(bare, numbered(fabric, 12, lmc=2), lmc=2) == ports).all()


@pytest.mark.parametrize(("made", "asked"), [(0, 1), (2, 1), (1, 2)])
def test_a_dump_of_another_lmc_is_refused(tmp_path: Path, made: int, asked: int) -> None:
    fabric, file = build_xgft(2, [4, 4], [1, 4]), tmp_path / "r.lfts"
    dumped(file, fabric, ftree_tables(fabric))
    if made:
        lft.write_dump(file, fabric, np.repeat(ftree_tables(fabric), 2**made, axis=1), made)
    with pytest.raises(BadInput, match=rf"r\.lfts: with LMC {asked}, an endpoint has {2**asked} LIDs"):
        lft.read_ports(file, fabric, asked)


def test_more_lids_or_entries_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fabric, flow = build_xgft(2, [4, 4], [1, 4]), load_traffic("bisection", 16, 1)
    for lmc in (-1, 8):
        with pytest.raises(BadRequest, match="InfiniBand has 0 to 7"):
            optimise_routes(fabric, flow, time_limit_s=0.1, lmc=lmc)
    with pytest.raises(BadInput, match=r"208 switches and 3,072 endpoints of 16 LIDs need more than the 49,151 LIDs"):
        as_tree(build_quartz1(), lmc=4)
    with pytest.raises(BadInput, match="tables for 8 switches and 16 LIDs; the fabric has 8 and 16 of 2 LIDs"):
        check_routes(fabric, ftree_tables(fabric), lmc=1)
    monkeypatch.setattr(tree, "MOST_ENTRIES", 200)
    as_tree(fabric)
    with pytest.raises(TooCostly, match="for 16 endpoints of 2 LIDs have more than 200 entries"):
        optimise_routes(fabric, flow, time_limit_s=0.1, lmc=1)
