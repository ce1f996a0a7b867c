"""Deadlocks: up*/down* tables have none; tables without a loop may; networkx finds the same."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.broken import without
from routing.channel_graph import graph

from flitwatch.main import main
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.deadlock import find_dependencies
from flitwatch_routing.forwarding import check_routes

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
