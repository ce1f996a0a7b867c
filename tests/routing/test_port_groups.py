"""Port groups: links carry what the optimiser's ways carry, splits add up, and where one port is not enough two are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flitwatch_domain.generators import build_xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.port_groups import PortGroups, format_port_groups, groups_of, port_group_loads

TREE = build_xgft(2, [4, 4], [1, 2])
DEEP = build_xgft(3, [3, 3, 3], [1, 2, 2])


def random_traffic(fabric, seed: int):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    ends = len(fabric.endpoints)
    src, dst = rng.integers(0, ends, 60), rng.integers(0, ends, 60)
    return src, dst, rng.uniform(1, 100, 60)


@pytest.mark.parametrize("fabric", [TREE, DEEP], ids=["two levels", "three levels"])
@pytest.mark.parametrize("lmc", [0, 1, 3])
def test_links_carry_what_the_ways_carry(fabric, lmc: int) -> None:  # type: ignore[no-untyped-def]
    """An oracle of its own: splits followed from switch to switch, against the tables followed LID by LID."""
    traffic = random_traffic(fabric, lmc)
    found = optimise_routes(fabric, traffic, 0.3, lmc=lmc)
    groups = groups_of(fabric, found.ports, traffic, lmc)
    load, lost = port_group_loads(fabric, groups, traffic)
    assert lost == pytest.approx(0, abs=1e-6)
    assert load == pytest.approx(check_routes(fabric, found.ports, traffic, lmc=lmc).load, abs=1e-6)
    entry = groups.switch * len(fabric.endpoints) + groups.endpoint
    assert np.bincount(entry, groups.share)[np.unique(entry)] == pytest.approx(1)
    assert groups.sizes().max() <= 2**lmc


def test_one_large_flow_needs_two_ports() -> None:
    """One pair between two leaves of two spines: any table sends all of it over one link, a group half over each."""
    flow = np.array([0]), np.array([15]), np.array([8.0])
    between = TREE.router_links()
    assert optimise_routes(TREE, flow, 0.3).z == 8
    found = optimise_routes(TREE, flow, 0.3, lmc=1)
    load, _ = port_group_loads(TREE, groups_of(TREE, found.ports, flow, 1), flow)
    assert load[between].max() == pytest.approx(4)


def test_splits_that_lead_nowhere_lose_their_bytes() -> None:
    flow = np.array([0]), np.array([15]), np.array([8.0])
    ports = ftree_tables(TREE)
    groups = groups_of(TREE, ports, flow, 0)
    leaf = int(TREE.endpoints.router[0])
    gone = ~((groups.switch == leaf) & (groups.endpoint == 15))
    less = PortGroups(groups.switch[gone], groups.endpoint[gone], groups.port[gone], groups.share[gone])
    assert port_group_loads(TREE, less, flow)[1] == 8
    astray = PortGroups(groups.switch, groups.endpoint, np.where(gone, groups.port, ports[leaf, 1]), groups.share)
    assert port_group_loads(TREE, astray, flow)[1] == 8


def test_the_file_says_who_cannot_load_it_and_names_every_destination() -> None:
    traffic = random_traffic(TREE, 5)
    found = optimise_routes(TREE, traffic, 0.3, lmc=1)
    groups = groups_of(TREE, found.ports, traffic, 1)
    static = ftree_tables(TREE)
    text = list(format_port_groups(TREE, groups, static, ["busiest link 5 bytes"]))
    assert "No program loads this file" in text[0] and text[1] == "# busiest link 5 bytes"
    assert sum(line.startswith("switch ") for line in text) == len(TREE.routers)
    assert sum(line.startswith("lid ") for line in text) == int((found.ports[:, ::2] >= 0).sum())
    for line in text:
        if line.startswith("group "):
            assert sum(map(float, re.findall(r":(\S+)", line))) == pytest.approx(1, abs=1e-3)
    here: dict[str, list[int]] = {}
    for line in text[2:]:
        words = line.split()
        if words[0] == "switch":
            here = {}
        elif words[0] == "group":
            here[words[1]] = [int(one.split(":")[0]) for one in words[2:]]
        else:
            assert int(words[2]) in here[words[4]]
