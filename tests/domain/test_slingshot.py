"""Slingshot's list of links: the vendor's public example, planted dragonflies with their groups, and contradictions refused with their line."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import CountedAt, FabricKind, Technology
from flitwatch_domain.importers.read import read_fabric
from flitwatch_domain.importers.slingshot import MOST_PORT, find_groups, jack_name, location_of, parse_fabric


def planted(groups: int, switches: int, nics: int = 1) -> tuple[list[str], dict[str, int]]:
    """Links of a dragonfly whose switches of a group are joined all to all, one cable between any two groups; and the group of each switch."""
    names = [[f"x{1000 + group}c{s // 8}r{s % 8}" for s in range(switches)] for group in range(groups)]
    free = {
        name: iter([f"j{jack}p{port}" for jack in range(1, 33) for port in (0, 1)]) for row in names for name in row
    }

    def cable(a: str, b: str) -> str:
        return f"{a}{next(free[a])}-{b}{next(free[b])}"

    links = [cable(a, b) for row in names for n, a in enumerate(row) for b in row[n + 1 :]]
    links += [
        cable(names[a][b % switches], names[b][a % switches]) for a in range(groups) for b in range(a + 1, groups)
    ]
    for row in names:
        for number, name in enumerate(row):
            cabinet = name.partition("c")[0]
            links += [f"{name}{next(free[name])}-{cabinet}c0s{number}b0n{nic // 2}h{nic % 2}" for nic in range(nics)]
    return links, {name: group for group, row in enumerate(names) for name in row}


@pytest.mark.shared
def test_the_vendors_example(shared: Path) -> None:
    """Four switches in two cabinets, each joined to its neighbour and to one of the other cabinet: the cabinets are groups, and it says why."""
    fabric = read_fabric(shared / "samples" / "doors" / "slingshot" / "links.txt")
    kinds = (fabric.kind, fabric.technology, fabric.counted_at)
    assert kinds == (FabricKind.DRAGONFLY, Technology.SLINGSHOT, CountedAt.SENDER)
    assert list(fabric.routers.name) == ["x3000c0r41", "x3000c0r42", "x3001c0r41", "x3001c0r42"]
    assert fabric.routers.group.tolist() == [0, 0, 1, 1] and len(fabric.endpoints) == 0
    assert len(fabric.warnings) == 1 and "each cabinet" in fabric.warnings[0]
    classes = fabric.summary()["links_by_class"]
    assert sum(classes.values()) == 48 and set(classes) == {"green", "blue"}
    first = int(np.flatnonzero((fabric.links.src == 0) & (fabric.links.dst == 1))[0])
    assert "x3000c0r41" + jack_name(int(fabric.links.src_port[first])) in {f"x3000c0r41j{jack}p{port}" for jack in (11, 12, 31, 32) for port in (0, 1)}  # fmt: skip


@pytest.mark.parametrize(("size", "switches"), [(1, 5), (2, 4), (5, 8), (9, 16)])
def test_planted_groups_come_back(size: int, switches: int) -> None:
    links, group_of = planted(size, switches, nics=2)
    random.Random(1).shuffle(links)
    fabric = parse_fabric("\n".join(links), "links.txt", "frontier")
    assert fabric.kind is FabricKind.DRAGONFLY and fabric.groups == list(range(size))
    assert dict(zip(fabric.routers.name, fabric.routers.group.tolist(), strict=True)) == group_of
    classes = fabric.summary()["links_by_class"]
    assert classes["green"] == size * switches * (switches - 1) and classes.get("blue", 0) == size * (size - 1)
    assert classes["terminal"] == 2 * 2 * size * switches
    assert len(fabric.endpoints) == 2 * size * switches and fabric.endpoints.node[0] == "x1000c0s0b0n0"
    assert len(set(map(tuple, np.column_stack([fabric.links.src, fabric.links.src_port]).tolist()))) == len(
        fabric.links
    )


def test_documents_of_the_rest_interface_are_the_same_links() -> None:
    links, _ = planted(2, 4)
    document = {"documentLinks": [f"/fabric/links/{link}" for link in links], "documentCount": len(links), "totalCount": len(links)}  # fmt: skip
    one, other = parse_fabric(json.dumps(document), "links.json", "a"), parse_fabric("\n".join(links), "links.txt", "a")
    assert list(one.routers.name) == list(other.routers.name) and one.summary() == other.summary()
    with pytest.raises(BadInput, match=f"has 3 of {len(links)} links"):
        parse_fabric(json.dumps(document | {"documentLinks": document["documentLinks"][:3]}), "links.json", "a")


def test_switches_without_groups_are_a_graph() -> None:
    """A ring is no dragonfly, and nobody guesses."""
    ring = [f"x1c0r{n}j1p0-x1c0r{(n + 1) % 6}j2p0" for n in range(6)]
    fabric = parse_fabric("\n".join(ring), "links.txt", "ring")
    assert fabric.kind is FabricKind.GRAPH and "do not form fully connected groups" in fabric.warnings[0]
    assert find_groups(6, np.arange(6), (np.arange(6) + 1) % 6) is None


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("x1c0r0j1p0-x1c0r1j1p0\nx1c0r0j1p0-x1c0r2j1p0", "x1c0r0j1p0 is an end of another cable in f:1"),
        ("x1c0r0j1p0-x1c0r0j2p0", "joins a switch to itself"),
        ("x1c0s0b0n0h0-x1c0s1b0n0h0", "joins two NICs"),
        ("x1c0r0j33p0-x1c0r1j1p0", "beyond the jacks"),
        ("x1c0r0j1p2-x1c0r1j1p0", "beyond the jacks"),
        ("x1c0r0j1p0-x1c0r1j1p0\nx1c0r0j2", "f:2: cannot read"),
        ("x1c0r0j1p0-xfoo", "names neither a port"),
        ("", "lists no links"),
    ],
)
def test_what_contradicts_itself_is_refused(lines: str, reason: str) -> None:
    with pytest.raises(BadInput) as bad:
        parse_fabric(lines, "f", "x")
    assert reason in str(bad.value)


def test_a_link_that_is_listed_from_both_ends_is_one() -> None:
    fabric = parse_fabric("x1c0r0j1p0-x1c0r1j1p0\nx1c0r1j1p0-x1c0r0j1p0", "f", "x")
    assert fabric.summary()["links_by_class"] == {"green": 2}


def test_a_blades_jacks_to_the_nodes_have_numbers_of_their_own() -> None:
    """Frontier's notes name x2011c6r1j100p0: such a switch has jacks alongside the 32 of one in a rack."""
    names = ["x2011c6r1" + jack_name(port) for port in range(MOST_PORT + 1)]
    assert len(set(names)) == 128 and names[63:66] == ["x2011c6r1j32p1", "x2011c6r1j100p0", "x2011c6r1j100p1"]
    assert [place.port for name in names if (place := location_of(name))] == list(range(MOST_PORT + 1))
    fabric = parse_fabric("x2011c6r1j1p0-x2011c6r3j1p0\nx2011c6r1j100p0-x2011c6s0b0n0h3\n", "f", "frontier")
    assert fabric.endpoints.port.tolist() == [64] and fabric.counted_links()[0, 64] >= 0
