"""Roots from port counters only, with hand-written counters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flitwatch_domain.diagnosis import PortWindow, Turns, find_roots
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of


@pytest.fixture(scope="module")
def tree() -> Fabric:
    """Four leaves of two nodes, two spines."""
    return fabric_of("xgft:2;2,4;1,2")


def link(fabric: Fabric, src: str, dst: str) -> int:
    names = [fabric.vertex_name(vertex) for vertex in range(fabric.vertices)]
    return int(np.flatnonzero((fabric.links.src == names.index(src)) & (fabric.links.dst == names.index(dst)))[0])


def window(fabric: Fabric, figures: dict[tuple[str, str], tuple[float, float]]) -> PortWindow:
    """Use and stalls per flit of some links; the others are used a little."""
    use, stalls = np.full(len(fabric.links), 0.1), np.zeros(len(fabric.links))
    for (src, dst), (used, stalled) in figures.items():
        use[link(fabric, src, dst)], stalls[link(fabric, src, dst)] = used, stalled
    return PortWindow(fabric, use, stalls)


CHAIN = {
    ("leaf0", "spine0"): (0.3, 2.5),
    ("leaf1", "spine0"): (0.3, 2.4),
    ("spine0", "leaf2"): (0.6, 0.6),
    ("leaf2", "n4"): (0.98, 0.0),
}


def test_a_full_endpoint_is_the_root_and_what_waits_is_its_tree(tree: Fabric) -> None:
    found = find_roots(window(tree, CHAIN))
    [root] = found.roots
    assert (root.link, root.cause) == (link(tree, "leaf2", "n4"), "full-endpoint") and root.confidence > 0.9
    victims = {one.link: (one.behind, one.distance) for one in root.victims}
    down = link(tree, "spine0", "leaf2")
    assert victims == {
        down: (root.link, 1),
        link(tree, "leaf0", "spine0"): (down, 2),
        link(tree, "leaf1", "spine0"): (down, 2),
    }
    assert found.cannot_tell is None and (found.stalled, found.explained) == (3, 3)


def test_two_roots_have_their_own_victims(tree: Fabric) -> None:
    other = {("leaf3", "spine1"): (0.4, 1.5), ("spine1", "leaf0"): (0.97, 0.01)}
    found = find_roots(window(tree, CHAIN | other))
    assert {one.link for one in found.roots} == {link(tree, "leaf2", "n4"), link(tree, "spine1", "leaf0")}
    by_link = {one.link: one for one in found.roots}
    assert [one.link for one in by_link[link(tree, "spine1", "leaf0")].victims] == [link(tree, "leaf3", "spine1")]


def test_an_endpoint_that_takes_its_traffic_slowly_is_a_root_though_nothing_is_full(tree: Fabric) -> None:
    found = find_roots(window(tree, {("leaf2", "n4"): (0.2, 4.0), ("spine0", "leaf2"): (0.2, 3.0)}))
    assert [(one.link, one.cause) for one in found.roots] == [(link(tree, "leaf2", "n4"), "slow-endpoint")]


def test_light_use_and_full_links_without_stalls_have_no_root(tree: Fabric) -> None:
    quiet = find_roots(window(tree, {}))
    assert quiet.roots == () and quiet.cannot_tell is None and quiet.stalled == 0
    full = find_roots(window(tree, {("leaf0", "spine0"): (1.0, 0.0), ("spine0", "leaf2"): (1.0, 0.0)}))
    assert full.roots == () and full.cannot_tell is None


def test_stalls_that_lead_to_no_full_link_are_not_explained(tree: Fabric) -> None:
    found = find_roots(window(tree, {("leaf0", "spine0"): (0.3, 2.5)}))
    assert found.roots == () and "Bursts" in str(found.cannot_tell)


def test_stalls_that_lead_to_uncounted_links_say_where(tree: Fabric) -> None:
    made = window(tree, CHAIN)
    lost = link(tree, "leaf2", "n4")
    use, stalls = made.utilisation.copy(), made.stalls_per_flit.copy()
    use[lost] = stalls[lost] = np.nan
    found = find_roots(PortWindow(tree, use, stalls))
    assert found.roots == () and "leaf2" in str(found.cannot_tell) and "no counters" in str(found.cannot_tell)
    nothing = np.full(len(tree.links), np.nan)
    assert "No link has both traffic and stalls counted" in str(
        find_roots(PortWindow(tree, nothing, nothing)).cannot_tell
    )


def test_routes_narrow_the_walk(tree: Fabric) -> None:
    """Two full links lie beyond the stall; by the static routes its traffic reaches one of them alone."""
    figures = {
        ("leaf0", "spine0"): (0.3, 2.5), ("spine0", "leaf2"): (0.98, 0.0), ("spine0", "leaf3"): (0.98, 0.0),
    }  # fmt: skip
    made = window(tree, figures)
    both = {link(tree, "spine0", "leaf2"), link(tree, "spine0", "leaf3")}
    assert {one.link for one in find_roots(made).roots} == both
    table = np.full((len(tree.endpoints), len(tree.routers)), -1, np.int64)
    names = list(tree.routers.name)
    table[4, names.index("leaf0")] = link(tree, "leaf0", "spine0")
    table[4, names.index("spine0")] = link(tree, "spine0", "leaf2")
    assert [one.link for one in find_roots(made, Turns(tree, table)).roots] == [link(tree, "spine0", "leaf2")]


def test_on_a_tree_no_traffic_turns_up_again(tree: Fabric) -> None:
    """The up link is full, but what came down to its leaf cannot want it."""
    made = window(tree, {("spine0", "leaf2"): (0.3, 2.0), ("leaf2", "spine1"): (0.98, 0.0)})
    assert find_roots(made).roots == ()


def test_arrays_of_another_fabric_are_refused(tree: Fabric) -> None:
    with pytest.raises(BadRequest):
        find_roots(replace(window(tree, {}), utilisation=np.zeros(3)))
