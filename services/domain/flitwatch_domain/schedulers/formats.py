"""Switch tree in schedulers' file formats.

Sources: Slurm's topology.conf(5), topology.yaml(5) and Topology Guide; Flux RFC 40 (resource graph as JSON Graph Format); the placement sets of the
PBS Professional Administrator's Guide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import yaml

from flitwatch_domain.hostlist import compress_hosts
from flitwatch_domain.schedulers.switch_tree import Switch, SwitchTree


def format_tree(tree: SwitchTree, name: str) -> str:
    """Return the file in a format of `FORMATS`, with a final line feed."""
    return FORMATS[name](tree)


def _slurm_tree(tree: SwitchTree) -> str:
    """Format topology.conf for topology/tree."""
    setting = "TopologyPlugin=topology/tree" + (" and TopologyParam=Dragonfly" if tree.dragonfly else "")
    lines = [f"# {_describe_origin(tree)} slurm.conf needs {setting}."]
    switches = _slurm_switches(tree)
    for switch in switches:
        if len(switch.routers) > 1:
            lines.append(f"# {switch.name} stands for {len(switch.routers)} switches that reach the same nodes.")
        below = (
            f"Nodes={compress_hosts(switch.nodes)}"
            if switch.nodes
            else f"Switches={compress_hosts(switches[child].name for child in switch.children)}"
        )
        lines.append(f"SwitchName={switch.name} {below}")
    return "\n".join(lines) + "\n"


def _slurm_switches(tree: SwitchTree) -> Sequence[Switch]:
    """Return the switches for Slurm: for a dragonfly, the groups are the leaves.

    On a dragonfly Slurm spreads a job that exceeds a leaf over as many leaves as possible (Topology Guide). With routers as leaves, every job larger than a
    router would get one node of each.
    """
    if not tree.dragonfly:
        return tree.switches
    whole = {
        index: tuple(node for child in switch.children for node in tree.switches[child].nodes)
        for index, switch in enumerate(tree.switches)
        if switch.children and all(tree.switches[child].nodes for child in switch.children) and index not in tree.roots
    }
    folded = {child for index in whole for child in tree.switches[index].children}
    indices = [index for index in range(len(tree.switches)) if index not in folded]
    place = {index: number for number, index in enumerate(indices)}
    return [
        replace(switch, nodes=whole[index], children=())
        if index in whole
        else replace(switch, children=tuple(place[child] for child in switch.children))
        for index, switch in ((index, tree.switches[index]) for index in indices)
    ]


def _slurm_leaves(tree: SwitchTree) -> list[Switch]:
    return [switch for switch in _slurm_switches(tree) if switch.nodes]


def _slurm_block(tree: SwitchTree) -> str:
    """Format topology.conf for topology/block: a block is one of Slurm's leaves, and the smallest block is the planning size."""
    lines = [f"# {_describe_origin(tree)} slurm.conf needs TopologyPlugin=topology/block."]
    lines += [f"BlockName={switch.name} Nodes={compress_hosts(switch.nodes)}" for switch in _slurm_leaves(tree)]
    return "\n".join([*lines, f"BlockSizes={_block_size(tree)}"]) + "\n"


def _slurm_yaml(tree: SwitchTree) -> str:
    """Format topology.yaml for Slurm 25.05 with both: the tree for all partitions, and the blocks for partitions that name them."""
    slurm_switches = _slurm_switches(tree)
    switches = [
        {"switch": switch.name}
        | (
            {"nodes": compress_hosts(switch.nodes)}
            if switch.nodes
            else {"children": compress_hosts(slurm_switches[child].name for child in switch.children)}
        )
        for switch in slurm_switches
    ]
    blocks = [{"block": switch.name, "nodes": compress_hosts(switch.nodes)} for switch in _slurm_leaves(tree)]
    topologies = [
        {"topology": "tree", "cluster_default": True, "tree": {"switches": switches}},
        {
            "topology": "block",
            "cluster_default": False,
            "block": {"block_sizes": [_block_size(tree)], "blocks": blocks},
        },
    ]
    return f"# {_describe_origin(tree)}\n---\n" + yaml.safe_dump(topologies, sort_keys=False, width=1_000_000)


def _format_flux(tree: SwitchTree) -> str:
    """Format vertices cluster, switch and node, joined by containment; ranks of brokers are unknown (-1)."""
    vertices: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    counts: dict[str, int] = {}

    def add(kind: str, name: str, above: str, parent: int | None) -> tuple[int, str]:
        number, path = len(vertices), f"{above}/{name}"
        place = counts[kind] = counts.get(kind, -1) + 1
        about = {
            "type": kind,
            "basename": kind,
            "name": name,
            "id": place,
            "uniq_id": number,
            "rank": -1,
            "exclusive": False,
            "unit": "",
            "size": 1,
            "paths": {"containment": path},
        }
        vertices.append({"id": str(number), "metadata": about})
        if parent is not None:
            name_of = {"containment": "contains"}
            edges.append({"source": str(parent), "target": str(number), "metadata": {"name": name_of}})
        return number, path

    root, top = add("cluster", "cluster0", "", None)
    todo = [(switch, root, top) for switch in reversed(tree.roots)]
    while todo:
        index, parent, above = todo.pop()
        switch = tree.switches[index]
        number, path = add("switch", switch.name, above, parent)
        for node in switch.nodes:
            add("node", node, path, number)
        todo += [(child, number, path) for child in reversed(switch.children)]
    return json.dumps({"graph": {"nodes": vertices, "edges": edges}}) + "\n"


def _format_pbs(tree: SwitchTree) -> str:
    """Format commands for qmgr: a resource with the switches above each node, used by the server to group nodes."""
    lines = [
        f"# {_describe_origin(tree)} Feed it to qmgr.",
        "create resource switch type=string_array,flag=h",
        "set server node_group_key = switch",
        "set server node_group_enable = True",
    ]
    for node, above in _switches_of_nodes(tree):
        lines.append(f'set node {node} resources_available.switch = "{",".join(above)}"')
    return "\n".join(lines) + "\n"


def _switches_of_nodes(tree: SwitchTree) -> Iterator[tuple[str, list[str]]]:
    """Yield each node with the switches above it, leaf first."""
    parent = {child: index for index, switch in enumerate(tree.switches) for child in switch.children}
    for index, switch in enumerate(tree.switches):
        above, at = [switch.name], index
        while at in parent:
            at = parent[at]
            above.append(tree.switches[at].name)
        for node in switch.nodes:
            yield node, above


def _block_size(tree: SwitchTree) -> int:
    return min(len(switch.nodes) for switch in _slurm_leaves(tree))


def _describe_origin(tree: SwitchTree) -> str:
    return f"Made by flitwatch topology export from the {'simulated ' if tree.simulated else ''}fabric {tree.fabric}."


#: Functions that format a tree, by format name.
FORMATS: dict[str, Callable[[SwitchTree], str]] = {
    "slurm-tree": _slurm_tree,
    "slurm-block": _slurm_block,
    "slurm-yaml": _slurm_yaml,
    "flux": _format_flux,
    "pbs": _format_pbs,
}
