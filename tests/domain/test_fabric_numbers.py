"""Numbers of a replaced topology: parts that still exist keep theirs, and the topology itself stays the same."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.fabric.numbers import keep_numbers
from flitwatch_domain.importers import ibnetdiscover, neighbours

#: Hosts by leaf.
Leaves = dict[str, list[str]]


def tree(leaves: Leaves, renamed: str = "") -> Fabric:
    """Leaves with their hosts below a spine; each device has the GUID of its name. A renamed leaf keeps its GUID."""
    lines = []
    for number, (leaf, hosts) in enumerate(leaves.items(), 1):
        shown = f"{leaf}-new" if leaf == renamed else leaf
        lines.append(f'Switch 40 "S-{guid(leaf)}" # "{shown}" enhanced port 0 lid {number} lmc 0')
        for port, host in enumerate(hosts, 1):
            lines.append(
                f'[{port}] "H-{guid(host)}"[1]({guid(host)}) # "{host} mlx5_0" lid {int(guid(host), 16) % 40_000} 4xHDR'
            )
        lines.append(f'[40] "S-{guid("spine")}"[{number}] # "spine" lid 99 4xHDR')
    return ibnetdiscover.parse_fabric("\n".join(lines) + "\n", "f", "f")


def guid(name: str) -> str:
    return f"{int.from_bytes(name.encode(), 'big') % 2**60:016x}"


def cables(fabric: Fabric) -> Counter[tuple[object, ...]]:
    """Links by the names of their ends; the same for any numbers."""
    links = fabric.links
    return Counter(
        (fabric.vertex_name(src), fabric.vertex_name(dst), int(a), int(b), str(kind))
        for src, dst, a, b, kind in zip(
            links.src, links.dst, links.src_port, links.dst_port, links.class_names, strict=True
        )
    )


def described(fabric: Fabric) -> tuple[dict[str, object], dict[str, object]]:
    """What is known of each switch and host, by name."""
    known, ends = fabric.attributes, fabric.endpoints
    switches = zip(known["switch_lids"], known["descriptions"], fabric.routers.guid, fabric.routers.level, strict=True)
    hosts = zip(known["lids"], known["adapters"], ends.guid, fabric.routers.name[ends.router], ends.port, strict=True)
    return dict(zip(fabric.routers.name, switches, strict=True)), dict(zip(ends.node, hosts, strict=True))


leaf_sets = st.dictionaries(st.sampled_from([f"leaf{n}" for n in range(8)]), st.integers(0, 3), min_size=1).map(
    lambda leaves: {leaf: [f"{leaf}h{n}" for n in range(count + 1)] for leaf, count in sorted(leaves.items())}
)


@settings(max_examples=40)
@given(leaf_sets, leaf_sets)
def test_what_still_exists_keeps_its_number(before: Leaves, after: Leaves) -> None:
    stored, found = tree(before), tree(after)
    kept, warnings = keep_numbers(found, stored)
    assert cables(kept) == cables(found) and described(kept) == described(found)
    passed = 0
    for old, new in ((stored.routers.name, kept.routers.name), (stored.endpoints.node, kept.endpoints.node)):
        numbers = {name: at for at, name in enumerate(old)}
        for at, name in enumerate(new):
            assert numbers.get(name, len(new)) in (at, *range(len(new), len(old) + len(new)))
        passed += any(old[at] != name for at, name in enumerate(new[: len(old)]))
    assert len(warnings) == passed, "a number that passes to another part is reported"
    again, warnings = keep_numbers(found, kept)
    assert not warnings and again.attributes == kept.attributes and np.array_equal(again.links.src, kept.links.src)
    assert again.routers.name.tolist() == kept.routers.name.tolist()


@settings(max_examples=40)
@given(leaf_sets, st.data())
def test_what_comes_back_has_its_number_again(leaves: Leaves, data: st.DataObject) -> None:
    """Hosts that restart are not in the topology meanwhile."""
    stored = kept = tree(leaves)
    for _ in range(data.draw(st.integers(1, 3))):
        up = {
            leaf: [host for number, host in enumerate(hosts) if not number or data.draw(st.booleans())]
            for leaf, hosts in leaves.items()
            if data.draw(st.booleans())
        }
        kept, _ = keep_numbers(tree(up), kept) if up else (kept, ())
    kept, _ = keep_numbers(tree(leaves), kept)
    assert kept.routers.name.tolist() == stored.routers.name.tolist()
    assert kept.endpoints.node.tolist() == stored.endpoints.node.tolist()
    assert cables(kept) == cables(stored) and "numbers" not in kept.attributes


def test_a_new_part_keeps_the_number_of_one_that_comes_back_later() -> None:
    kept, warnings = keep_numbers(tree({"leaf1": ["a", "c"]}), tree({"leaf1": ["a", "b"]}))
    assert kept.endpoints.node.tolist() == ["a", "c"] and len(warnings) == 1
    kept, warnings = keep_numbers(tree({"leaf1": ["a", "b", "c"]}), kept)
    assert kept.endpoints.node.tolist() == ["a", "c", "b"] and warnings == ()


def test_a_new_switch_comes_last_and_a_renamed_one_keeps_its_number() -> None:
    stored = tree({"leaf1": ["a", "b"], "leaf3": ["e"]})
    kept, warnings = keep_numbers(tree({"leaf1": ["a", "b"], "leaf2": ["c"], "leaf3": ["e"]}, renamed="leaf1"), stored)
    assert stored.routers.name.tolist() == ["leaf1", "leaf3", "spine"]
    assert kept.routers.name.tolist() == ["leaf1-new", "leaf3", "spine", "leaf2"]
    assert kept.endpoints.node.tolist() == ["a", "b", "e", "c"] and warnings == ()
    links = stored.links
    same = [kept.links.src_port[: len(links)], kept.links.dst_port[: len(links)]]
    assert np.array_equal(same, [links.src_port, links.dst_port]), "so do links"


def test_the_number_of_a_removed_switch_passes_to_another_which_is_said() -> None:
    stored = tree({"leaf1": ["a"], "leaf2": ["b"], "leaf3": ["c"]})
    kept, warnings = keep_numbers(tree({"leaf1": ["a"], "leaf3": ["c"]}), stored)
    assert kept.routers.name.tolist() == ["leaf1", "spine", "leaf3"]
    assert warnings == (
        "numbers of switches pass to others: earlier counters of leaf2 (spine) are shown under the names in brackets",
        "numbers of hosts pass to others: earlier counters of b (c) are shown under the names in brackets",
    )


def lldpctl(hosts: dict[str, str]) -> str:
    """A switch's neighbours by port, as lldpctl -f json prints them."""
    entries = [
        {
            port: {
                "chassis": {host: {"id": {"type": "local", "value": host}}},
                "port": {"id": {"type": "ifname", "value": "eth0"}},
            }
        }
        for port, host in hosts.items()
    ]
    return json.dumps({"lldp": {"interface": entries}})


def test_named_ports_keep_their_numbers() -> None:
    """lldpctl lists only ports with a neighbour, so a new neighbour gave the ports behind it other numbers."""
    stored = neighbours.parse_fabric(lldpctl({"swp1": "a", "swp3": "c"}), "f", "f")
    found = neighbours.parse_fabric(lldpctl({"swp1": "a", "swp2": "b", "swp3": "c"}), "f", "f")
    kept, _ = keep_numbers(found, stored)
    assert kept.attributes["port_names"] == [["", "swp1", "swp3", "swp2"]]
    assert dict(zip(kept.endpoints.node, kept.endpoints.port.tolist(), strict=True)) == {"a": 1, "c": 2, "b": 3}
    assert cables(replace(kept, links=found.links, endpoints=found.endpoints, routers=found.routers)) == cables(found)
    at_switch = kept.links.src < len(kept.routers)
    assert sorted(kept.links.src_port[at_switch].tolist()) == [1, 2, 3]
