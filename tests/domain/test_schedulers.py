"""Topologies for schedulers: parsed by independent code, every node occurs once at its place in the fabric."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain import generators
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import ROLES, Endpoints, Fabric, Links, NodeRole, Routers
from flitwatch_domain.hostlist import expand_hosts
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.schedulers import FORMATS, SwitchTree, format_tree, switch_tree

FABRICS = {
    "a tree of two levels": lambda: generators.build_xgft(2, [4, 6], [1, 3], None),
    "a tree of three levels": lambda: generators.build_xgft(3, [2, 3, 4], [1, 2, 3], None),
    "a dragonfly": lambda: generators.build_dragonfly(4, 2, 3, blue_routers=6),
}


def conf(made: str) -> dict[str, tuple[str, list[str]]]:
    """topology.conf of the tree: what each switch holds, by kind, as Slurm's manual describes the lines."""
    found = {}
    for line in made.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)", line)
            assert match is not None, line
            assert match[1] not in found
            found[match[1]] = (match[2], expand_hosts(match[3]))
    return found


def above(switches: dict[str, tuple[str, list[str]]]) -> dict[str, list[str]]:
    """Nodes with the switches above them, the leaf first; fails where anything has two parents."""
    parent: dict[str, str] = {}
    for name, (kind, below) in switches.items():
        for child in below:
            assert (kind, child) not in parent, f"{child} is in two places"
            parent[kind, child] = name  # type: ignore[index]
    found = {}
    for (kind, child), name in parent.items():  # type: ignore[misc]
        if kind == "Nodes":
            chain = [name]
            while ("Switches", chain[-1]) in parent:
                chain.append(parent["Switches", chain[-1]])  # type: ignore[index]
            found[child] = chain
    return found


def conf_lists(made: str) -> dict[str, str]:
    """The host list of each leaf as it is written."""
    return dict(re.findall(r"^SwitchName=(\S+) Nodes=(\S+)$", made, re.MULTILINE))


def nodes_of(tree: SwitchTree) -> list[str]:
    return [node for leaf in tree.leaves() for node in leaf.nodes]


def graph(nodes: list[list[int]], cables: list[tuple[int, int]], routers: int, **more: Any) -> Fabric:
    """A fabric of any shape: the routers of each node (one endpoint each), and cables between routers."""
    ends = [(node, router) for node, there in enumerate(nodes) for router in there]
    src = [a for a, _ in cables] + [b for _, b in cables]
    dst = [b for _, b in cables] + [a for a, _ in cables]
    return Fabric(
        "odd",
        more.pop("kind", "graph"),
        "generic",
        Routers(more.pop("names", [f"s{n}" for n in range(routers)]), level=more.pop("level", None)),
        Endpoints([router for _, router in ends], node=more.pop("node", [f"n{node}" for node, _ in ends]), **more),
        Links(np.array(src, int), np.array(dst, int)),
    )


@pytest.mark.parametrize("name", FABRICS)
def test_every_node_is_once_below_its_own_switch(name: str) -> None:
    fabric = FABRICS[name]()
    pbs = re.findall(r'switch = "(.*)"$', format_tree(switch_tree(fabric), "pbs"), re.MULTILINE)
    chains = {node: switches.split(",") for node, switches in zip(nodes_of(switch_tree(fabric)), pbs, strict=True)}
    assert set(chains) == set(fabric.endpoints.node)
    for node, router in zip(fabric.endpoints.node, fabric.endpoints.router, strict=True):
        assert chains[node][0] == fabric.routers.name[router]
    assert len({chain[-1] for chain in chains.values()}) == 1, "the fabric is one"
    # Nodes meet below the root exactly where the fabric says that they are near: a pod, or a group.
    group = {
        node: int(fabric.routers.group[router])
        for node, router in zip(fabric.endpoints.node, fabric.endpoints.router, strict=True)
    }
    if name != "a tree of two levels":
        for a in list(chains)[::5]:
            for b in list(chains)[::7]:
                assert (group[a] == group[b]) == (chains[a][1] == chains[b][1])


@pytest.mark.parametrize("name", FABRICS)
def test_all_formats_say_the_same(name: str) -> None:
    tree = switch_tree(FABRICS[name]())
    chains = above(conf(format_tree(tree, "slurm-tree")))
    pbs = re.findall(r'^set node (\S+) resources_available.switch = "(.*)"$', format_tree(tree, "pbs"), re.MULTILINE)
    full = {node: switches.split(",") for node, switches in pbs}
    # Of a dragonfly Slurm sees groups as leaves: the routers are left out.
    assert {node: chain[1:] if tree.dragonfly else chain for node, chain in full.items()} == chains

    both = {one["topology"]: one for one in yaml.safe_load(format_tree(tree, "slurm-yaml"))}
    switches = {
        one["switch"]: ("Nodes", expand_hosts(one["nodes"]))
        if "nodes" in one
        else ("Switches", expand_hosts(one["children"]))
        for one in both["tree"]["tree"]["switches"]
    }
    assert above(switches) == chains
    blocks = both["block"]["block"]
    held = {one["block"]: set(expand_hosts(one["nodes"])) for one in blocks["blocks"]}
    assert {node: leaf for leaf, nodes in held.items() for node in nodes} == {n: c[0] for n, c in chains.items()}
    assert blocks["block_sizes"] == [min(map(len, held.values()))]
    block_lines = re.findall(r"^BlockName=(\S+) Nodes=(\S+)$", format_tree(tree, "slurm-block"), re.MULTILINE)
    assert {leaf: set(expand_hosts(nodes)) for leaf, nodes in block_lines} == held

    made = json.loads(format_tree(tree, "flux"))["graph"]
    name_of = {one["id"]: one["metadata"] for one in made["nodes"]}
    parent = {one["target"]: one["source"] for one in made["edges"]}
    assert len(parent) == len(made["edges"]) == len(made["nodes"]) - 1, "a tree"
    for number, about in name_of.items():
        if about["type"] == "node":
            path, at = [], number
            while at in parent:
                at = parent[at]
                path.append(name_of[at]["name"])
            assert path == [*full[about["name"]], "cluster0"]
            assert about["paths"]["containment"] == "/" + "/".join([*reversed(path), about["name"]])


@settings(max_examples=60)
@given(st.data())
def test_whatever_the_cables_nodes_meet_where_they_are_joined(data: st.DataObject) -> None:
    routers = data.draw(st.integers(1, 8))
    number = st.integers(0, routers - 1)
    nodes = data.draw(st.lists(st.lists(number, min_size=1, max_size=3), min_size=1, max_size=10))
    cables = [pair for pair in data.draw(st.lists(st.tuples(number, number), max_size=12)) if pair[0] != pair[1]]
    tree = switch_tree(graph(nodes, cables, routers))
    chains = above(conf(format_tree(tree, "slurm-tree")))
    assert set(chains) == {f"n{node}" for node in range(len(nodes))}
    # What can be reached, by walking: over cables, and through nodes of several rails.
    reach = [{router} for router in range(routers)]
    for _ in range(routers):
        for joined in [*cables, *nodes]:
            whole = set().union(*(reach[router] for router in joined))
            for router in whole:
                reach[router] = whole
    for a, there in enumerate(nodes):
        for b, others in enumerate(nodes):
            assert (chains[f"n{a}"][-1] == chains[f"n{b}"][-1]) == (others[0] in reach[there[0]])
    assert len(tree.roots) == len({chain[-1] for chain in chains.values()})


def test_rails_of_one_unit_are_one_leaf() -> None:
    chains = above(
        conf(
            format_tree(switch_tree(graph([[0, 1], [0, 1], [2, 3]], [(0, 4), (1, 5), (2, 4), (3, 5)], 6)), "slurm-tree")
        )
    )
    assert chains["n0"][0] == chains["n1"][0] == "s0"
    assert chains["n2"][0] == "s2"
    assert chains["n0"][1] == chains["n2"][1] == "odd"


def test_nodes_that_run_no_jobs_are_left_out() -> None:
    io = ROLES.index(NodeRole.IO)
    tree = switch_tree(graph([[0], [0], [0]], [], 1, role=[0, io, 0]))
    assert tree.left_out == 1
    assert set(above(conf(format_tree(tree, "slurm-tree")))) == {"n0", "n2"}
    with pytest.raises(BadInput, match="no compute node"):
        switch_tree(graph([[0]], [], 1, role=[io]))


def test_names_of_switches_become_what_every_format_takes() -> None:
    names = ["MF0;leaf:MQM8700/U1", "MF0;leaf MQM8700/U1", "[1-9]", ";;"]
    made = {
        form: format_tree(switch_tree(graph([[0], [1], [2], [3]], [(0, 1)], 4, names=names)), form) for form in FORMATS
    }
    assert set(conf(made["slurm-tree"])) == {"MF0-leaf-MQM8700-U1", "MF0-leaf-MQM8700-U1-2", "1-9", "switch", "odd"}
    assert all(odd not in text for text in made.values() for odd in ("MF0;", "[1-9]"))


@pytest.mark.parametrize("node", ["n 1", "n1,n2", "n[1-3]", 'n"1', "", "-n", "n1\u00e9", "ALL", "H-0002c9030005f34e"])
def test_a_node_with_a_name_that_no_scheduler_reads_is_left_out_and_a_fabric_of_such_alone_is_refused(
    node: str,
) -> None:
    tree = switch_tree(graph([[0], [0]], [], 1, node=["fine", node]))
    assert (tree.left_out, tree.nameless) == (1, (node,))
    for form in FORMATS:
        assert "fine" in format_tree(tree, form)
    assert set(above(conf(format_tree(tree, "slurm-tree")))) == {"fine"}
    with pytest.raises(BadInput, match="not a host name"):
        switch_tree(graph([[0]], [], 1, node=[node]))


@pytest.mark.shared
@pytest.mark.parametrize("form", FORMATS)
def test_the_case_of_one_unnamed_adapter(shared: Path, form: str) -> None:
    tree = switch_tree(read_fabric(shared / "cases/export-one-unnamed-adapter/fabric.txt"))
    assert (tree.left_out, tree.nameless) == (1, ("H-0000000000b00102",))
    assert [leaf.nodes for leaf in tree.leaves()] == [("c01",), ("c03",)]
    assert "c01" in format_tree(tree, form) and "b00102" not in format_tree(tree, form)


def test_a_torus_is_refused() -> None:
    with pytest.raises(BadRequest, match="torus"):
        switch_tree(graph([[0]], [], 1, kind="torus"))


def test_switches_have_names_that_slurm_takes() -> None:
    made = conf(
        format_tree(switch_tree(graph([[0], [1]], [], 2, names=["x" * 250 + "1", "x" * 250 + "2"])), "slurm-tree")
    )
    assert len(made) == 2
    assert all(len(name) <= 64 for name in made)


def test_a_simulated_fabric_says_so() -> None:
    assert "simulated fabric" in format_tree(switch_tree(FABRICS["a dragonfly"]()), "slurm-tree").splitlines()[0]


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="needs Slurm's client: apt-get install slurm-client")
@pytest.mark.parametrize("node", ["n{}", "n{}-ib", "r{0}c{0}", "nid{:05d}"])
def test_slurm_reads_the_host_lists(tmp_path: Path, node: str) -> None:
    nodes = [node.format(number) for number in (1, 2, 3, 9, 10, 11)]
    site = tmp_path / "slurm.conf"
    site.write_text("ClusterName=x\nSlurmctldHost=localhost\nAuthType=auth/none\n")
    made = conf_lists(format_tree(switch_tree(graph([[0]] * len(nodes), [], 1, node=nodes)), "slurm-tree"))
    done = subprocess.run(
        ["scontrol", "show", "hostnames", made["s0"]], capture_output=True, text=True, env={"SLURM_CONF": str(site)}
    )
    assert sorted(done.stdout.split()) == sorted(nodes), done.stderr
