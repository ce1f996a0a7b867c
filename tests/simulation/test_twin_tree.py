"""The twin on a fat tree: static d-mod-k paths, and port counters that wait for downstream links."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import ROLES, NodeRole
from flitwatch_domain.generators import build_dragonfly, build_xgft
from flitwatch_research.incidents.draws import FABRICS, draw_days
from flitwatch_research.incidents.sampled import PortSampler
from flitwatch_research.incidents.truth import Truth
from flitwatch_research.port_counters import WORD_BYTES, PortCounters
from flitwatch_twin.flows import Flows, Pattern
from flitwatch_twin.machine import Nodes
from flitwatch_twin.static_model import StaticPathModel
from flitwatch_twin.tree_paths import TreePaths, build_tables

FABRIC = build_xgft(3, [4, 3, 2], [1, 2, 2], bandwidth_bps=8e9)
LINKS, ROUTERS, ENDS = FABRIC.links, len(FABRIC.routers), len(FABRIC.endpoints)


def pattern(src: list[int], dst: list[int]) -> Pattern:
    return Pattern(np.array(src, np.int32), np.array(dst, np.int32), np.ones(len(src)))


def test_every_switch_passes_on_what_it_gets_and_every_target_has_one_way() -> None:
    rng = np.random.default_rng(1)
    src, dst = rng.permutation(ENDS).astype(np.int32), rng.permutation(ENDS).astype(np.int32)
    links, moved = TreePaths(FABRIC).loads(src, dst, np.ones(ENDS), FABRIC.endpoints.router)
    load = np.bincount(links, moved, len(LINKS))
    into, out = (np.bincount(end, load, FABRIC.vertices) for end in (LINKS.dst, LINKS.src))
    np.testing.assert_allclose(into[:ROUTERS], out[:ROUTERS])
    np.testing.assert_allclose(into[ROUTERS:], 1)
    table = build_tables(FABRIC)
    assert (table >= 0).all() and (LINKS.src[table] == np.arange(ROUTERS)[:, None]).all()
    # From a leaf the targets of other leaves take the cables up in turn.
    up = table[0, 4:]
    assert np.bincount(up)[np.unique(up)].tolist() == [10, 10] and (np.diff(up) != 0).all()
    with pytest.raises(BadRequest, match="not a fat tree"):
        TreePaths(build_dragonfly(3, blue_routers=12))


def test_a_full_link_makes_those_wait_that_lead_to_it_and_never_itself() -> None:
    """Two nodes of other leaves send to one, over its last cable, which takes half of it; a third pair shares nothing with them."""
    model, held = StaticPathModel(FABRIC, Nodes.of(FABRIC)), PortCounters(FABRIC, np.random.default_rng(2))
    flows = Flows((pattern([4, 8], [0, 0]), pattern([13], [17])), np.array([0.9e9, 0.1e9]))
    state = model.step(flows, 1.0)
    held.update(flows, state)
    np.testing.assert_allclose(held.words, state.link_bytes / WORD_BYTES)
    last = int(np.flatnonzero(LINKS.dst == ROUTERS)[0])
    assert state.link_utilisation[last] > 1.5 and held.waits[last] == 0
    before = np.flatnonzero((LINKS.dst == 0) & (held.words > 0))
    assert len(before) and (held.waits[before] > 0.5 * held.words[before]).all()
    calm = np.flatnonzero(LINKS.src == ROUTERS + 13)
    assert held.words[calm] > 0 and held.waits[calm] < 0.02 * held.words[calm]
    # What has ended is forgotten and counts no more.
    words = held.words.copy()
    held.update(Flows((), np.empty(0)), model.step(Flows((), np.empty(0)), 1.0))
    np.testing.assert_array_equal(held.words, words)


def test_a_sampler_reads_ports_where_they_send_and_cards_of_nodes() -> None:
    draw = next(draw_days(1, 1, fabric="tree"))
    cluster = draw.cluster(3)
    sampler = PortSampler(cluster)
    for _ in range(3):
        second = cluster.advance()
        sampler.see(second.flows, second.state)
    routers, ports, cards = sampler.take()
    fabric = cluster.fabric
    assert routers.shape == (2, len(fabric.routers)) and cards.shape == (3, len(fabric.endpoints))
    np.testing.assert_allclose(np.nansum(ports, axis=2), routers)
    # What nodes received came over the last ports.
    np.testing.assert_allclose(cards[0].sum(), cards[1].sum(), rtol=1e-9)
    assert not sampler.take()[0].any()


def test_a_run_waits_for_the_file_system_where_its_nodes_are_and_not_at_their_neighbours_on_a_leaf() -> None:
    cluster = next(draw_days(1, 1, fabric="tree")).cluster(3)
    fabric = cluster.fabric
    serves = np.flatnonzero(fabric.endpoints.role == ROLES.index(NodeRole.IO))
    assert 0 < len(serves) < len(fabric.endpoints) / 20
    assert sorted(fabric.links.dst[cluster.places.io] - len(fabric.routers)) == serves.tolist()


@pytest.mark.system("numeric")
@pytest.mark.parametrize("fabric", [name for name in FABRICS if name != "dragonfly"])
def test_on_a_tree_a_planted_user_slows_the_run_and_a_quiet_day_does_not(fabric: str) -> None:
    inside, quiet = draw_days(1, 2, ("victim-inside", "quiet"), fabric)
    truth = Truth(inside, 1000)
    assert truth.felt_s is not None and all(truth.causes(user) for user in truth.planted) and truth.lost_s > 20
    assert Truth(quiet, 1000).felt_s is None
