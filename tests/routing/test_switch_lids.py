"""Tables are complete for the LIDs of switches too: what a dump leaves out, a subnet manager gives no path."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.broken import keeping, without

from flitwatch.main import main
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_quartz1, build_torus, build_xgft
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import links_by_port
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.switch_lids import find_unreached, repair_tables, towards_switches


def walk(fabric: Fabric, ports: np.ndarray, at: int, to: int) -> list[int]:
    """Switches passed from one to another, by following the tables one entry at a time; ends at a hole or after too many steps."""
    out, passed = links_by_port(fabric), [at]
    while at != to and ports[at, to] >= 0 and len(passed) <= len(fabric.routers):
        at = int(fabric.links.dst[out[at, ports[at, to]]])
        passed.append(at)
    return passed


def connected(fabric: Fabric, at: int) -> set[int]:
    seen, todo = {at}, [at]
    routers = len(fabric.routers)
    while todo:
        one = todo.pop()
        for other in fabric.links.dst[fabric.links.src == one].tolist():
            if other < routers and other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(
        [
            build_xgft(2, [3, 4], [1, 3]),
            build_xgft(3, [2, 3, 3], [1, 2, 2]),
            build_xgft(2, [2, 4], [1, 2], [1, 2]),
            build_torus((3, 4)),
        ]
    ),
    st.integers(0, 8),
    st.integers(0, 10_000),
)
def test_every_switch_reaches_every_switch_that_cables_join(whole: Fabric, broken: int, seed: int) -> None:
    fabric = without(whole, broken, seed)
    ports = towards_switches(fabric)
    for at in range(len(fabric.routers)):
        reach = connected(fabric, at)
        for to in range(len(fabric.routers)):
            assert (walk(fabric, ports, at, to)[-1] == to) == (to in reach)
    assert len(find_unreached(fabric, ports)) == 0


def test_ways_between_switches_of_a_tree_go_up_and_then_down() -> None:
    fabric = build_quartz1()
    ports, leaves = towards_switches(fabric), np.unique(fabric.endpoints.router)
    height = np.ones(len(fabric.routers))
    height[leaves] = 0
    touched = np.unique(fabric.links.dst[np.isin(fabric.links.src, leaves)])
    height[np.setdiff1d(np.arange(len(fabric.routers)), np.concatenate([leaves, touched]))] = 2
    rng = np.random.default_rng(1)
    for at, to in zip(rng.choice(leaves, 200), rng.integers(0, len(fabric.routers), 200), strict=True):
        steps = np.diff(height[walk(fabric, ports, int(at), int(to))])
        assert (np.diff(steps) <= 0).all(), "down, then up again"


def test_a_leaf_without_hosts_is_a_leaf() -> None:
    """Its table has no hole, and the tree keeps its levels."""
    whole = build_xgft(2, [4, 4], [1, 3])
    bare = int(whole.endpoints.router[0])
    fabric = unplugged(whole, bare)
    found = optimise_routes(fabric, load_traffic("bisection-shuffle", 12, 1), time_limit_s=0.3)
    assert (found.ports[bare] >= 0).all()
    assert len(find_unreached(fabric, towards_switches(fabric))) == 0


def unplugged(fabric: Fabric, leaf: int) -> Fabric:
    """The fabric without the endpoints of a leaf."""
    routers, ends, links = len(fabric.routers), fabric.endpoints, fabric.links
    stays = ends.router != leaf
    number = np.concatenate([np.arange(routers), np.where(stays, routers + np.cumsum(stays) - 1, -1)])
    whole = keeping(fabric, (number[links.src] >= 0) & (number[links.dst] >= 0)).links
    names = [one.name for one in fields(ends)]
    return replace(
        fabric,
        endpoints=replace(ends, **{name: np.asarray(getattr(ends, name))[stays] for name in names}),
        links=replace(whole, src=number[whole.src], dst=number[whole.dst]),
    )


def test_a_spine_that_lost_a_leaf_still_has_an_entry_for_its_hosts() -> None:
    fabric = build_xgft(3, [2, 2, 2], [1, 2, 2])
    links, leaf = fabric.links, 0
    spine = int(links.dst[np.flatnonzero((links.src == leaf) & (links.dst < len(fabric.routers)))[0]])
    broken = keeping(fabric, ~(np.isin(links.src, [leaf, spine]) & np.isin(links.dst, [leaf, spine])))
    assert (ftree_tables(broken)[spine, broken.endpoints.router == leaf] == -1).all()
    found = optimise_routes(broken, load_traffic("bisection-shuffle", 8, 1), time_limit_s=0.3)
    cabled = np.unique(broken.links.src[broken.links.src < len(broken.routers)])
    assert (found.ports[cabled] >= 0).all()


def test_dumps_without_switches_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, full, stripped = "xgft:2;4,4;1,4", tmp_path / "full", tmp_path / "stripped"
    lft.write_dump(full, build_xgft(2, [4, 4], [1, 4]), ftree_tables(build_xgft(2, [4, 4], [1, 4])))
    stripped.write_text("".join(line for line in full.open() if "Switch portguid" not in line))
    main(["routes", "check", str(full), "--topology", tree, "--json"])
    assert json.loads(capsys.readouterr().out)["switch_holes"] == 0
    with pytest.raises(SystemExit) as ended:
        main(["routes", "check", str(stripped), "--topology", tree, "--json"])
    assert ended.value.code == 1
    said = json.loads(capsys.readouterr().out)
    assert said["valid"] is False and said["switch_holes"] == 8 * 7 and "LID" in said["where"][0]
    main(["routes", "diff", str(full), str(stripped), "--topology", tree, "--json"])
    assert json.loads(capsys.readouterr().out)["removed"] == 8 * 8


def test_loaded_entries_for_switches_stay_unless_they_lead_astray() -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    towards = towards_switches(fabric)
    loaded = towards.copy()
    spare = np.setdiff1d(ftree_tables(fabric)[0, fabric.endpoints.router != 0], towards[0, 1])[0]
    loaded[0, 1] = spare  # another way to the same switch
    loaded[2, 3] = -1
    kept = repair_tables(fabric, loaded, towards)
    assert kept[0, 1] == spare and kept[2, 3] == towards[2, 3] and len(find_unreached(fabric, kept)) == 0
