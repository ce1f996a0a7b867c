"""Flows, paths, loads and counters: what enters a router leaves it, and counters say what links carried."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.diagnosis import PortWindow, find_roots
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_theta, build_xgft
from flitwatch_twin.counters import FLITS_PER_BYTE, Counters, router_metric_names, tile_columns
from flitwatch_twin.flows import Flows, Pattern, exchange_pattern, incast_pattern, io_pattern
from flitwatch_twin.machine import Machine
from flitwatch_twin.stall import waiting
from flitwatch_twin.static_model import StaticPathModel

FABRIC = build_dragonfly(3, io_routers_per_group=2)
MACHINE = Machine.of(FABRIC)
MODEL = StaticPathModel(FABRIC, MACHINE)


def in_and_out(fabric: Fabric, link_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    routers = len(fabric.routers)
    received = np.bincount(fabric.links.dst, link_bytes, fabric.vertices)[:routers]
    sent = np.bincount(fabric.links.src, link_bytes, fabric.vertices)[:routers]
    return received, sent


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(2, 400),
    first=st.integers(0, 500),
    exchange=st.integers(0, 2),
    rate=st.floats(1e6, 2e10),
    seed=st.integers(0, 2**32 - 1),
)
def test_bytes_are_conserved_at_every_router(size: int, first: int, exchange: int, rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    endpoints = MACHINE.node_endpoint[first : first + size]
    patterns = [
        exchange_pattern(endpoints, exchange, rng),
        io_pattern(endpoints, MACHINE.io_endpoint, rng),
        incast_pattern(endpoints, rng),
    ]
    kept = tuple(pattern for pattern in patterns if pattern is not None)
    state = MODEL.step(Flows(kept, np.full(len(kept), rate)), 1.0)
    for pattern in kept:
        MODEL.release(pattern)
    received, sent = in_and_out(FABRIC, state.link_bytes)
    np.testing.assert_allclose(received, sent, rtol=1e-9, atol=1e-3)
    capacity = FABRIC.links.bandwidth_bps / 8
    assert (state.link_bytes <= capacity * 1.000001 * max(1, len(kept))).all()
    offered = sum(rate * share * pattern.share.sum() for pattern, share in zip(kept, state.accepted, strict=True))
    injected = state.link_bytes[FABRIC.links.src >= len(FABRIC.routers)].sum()
    assert injected == pytest.approx(offered, rel=1e-9)


def test_one_flow_takes_a_path_of_at_most_ten_hops_from_end_to_end() -> None:
    pattern = Pattern(np.array([0], np.int32), np.array([1100], np.int32), np.ones(1))
    state = MODEL.step(Flows((pattern,), np.array([1e6])), 1.0)
    between = FABRIC.router_links()
    assert state.link_bytes[between].sum() <= 10 * 1e6
    assert state.link_bytes[FABRIC.of_class("blue")].sum() == pytest.approx(1.25e6)
    assert state.link_bytes[~between].sum() == pytest.approx(2e6)


def test_loads_are_linear_below_capacity_and_waiting_rises() -> None:
    pattern = exchange_pattern(MACHINE.node_endpoint[:200], 1, np.random.default_rng(1))
    assert pattern is not None
    low = MODEL.step(Flows((pattern,), np.array([1e8])), 1.0)
    high = MODEL.step(Flows((pattern,), np.array([3e8])), 1.0)
    np.testing.assert_allclose(high.link_bytes, 3 * low.link_bytes)
    assert (high.link_wait >= low.link_wait).all() and high.link_wait.sum() > low.link_wait.sum()


def test_an_overload_is_slowed_as_a_whole() -> None:
    pattern = incast_pattern(MACHINE.node_endpoint[:100], np.random.default_rng(1))
    assert pattern is not None
    state = MODEL.step(Flows((pattern,), np.array([1e10])), 1.0)
    assert state.accepted[0] < 1
    assert (state.link_bytes <= FABRIC.links.bandwidth_bps / 8 * 1.000001).all()
    assert state.link_utilisation.max() > 1


def test_waiting_is_continuous_and_increasing() -> None:
    utilisation = np.linspace(0, 3, 3001)
    wait = waiting(utilisation)
    assert wait[0] == 0 and (np.diff(wait) > 0).all() and np.diff(wait).max() < 0.05
    assert waiting(np.array([0.5]))[0] == pytest.approx(0.25)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), rate=st.floats(0, 4e9))
def test_counters_grow_and_say_what_links_carried(seed: int, rate: float) -> None:
    counters = Counters(FABRIC, np.random.default_rng(seed))
    pattern = exchange_pattern(MACHINE.node_endpoint[:300], seed % 3, np.random.default_rng(seed))
    assert pattern is not None
    state = MODEL.step(Flows((pattern,), np.array([rate])), 1.0)
    MODEL.release(pattern)
    network, processor, nic = counters.network.copy(), counters.processor.copy(), counters.nic.copy()
    before = counters.router_values()
    counters.update(state)
    after = counters.router_values()
    assert (after >= before).all()
    between = FABRIC.router_links()
    flits = (counters.network[0] - network[0]).sum()
    assert flits == pytest.approx(state.link_bytes[between].sum() * FLITS_PER_BYTE, rel=1e-3, abs=64)
    injected = state.link_bytes[FABRIC.links.src >= len(FABRIC.routers)].sum() * FLITS_PER_BYTE
    assert (counters.processor[0] - processor[0]).sum() == pytest.approx(injected, rel=1e-3, abs=64)
    assert (counters.nic[1] - nic[1]).sum() == pytest.approx(injected, rel=1e-3, abs=64)


def test_every_tile_of_a_link_counts_its_own_link() -> None:
    counters = Counters(FABRIC, np.random.default_rng(0))
    start = counters.network[0].copy()
    pattern = exchange_pattern(MACHINE.node_endpoint[:64], 1, np.random.default_rng(0))
    assert pattern is not None
    state = MODEL.step(Flows((pattern,), np.array([1e9])), 1.0)
    counters.update(state)
    counted = FABRIC.counted_links()[:, :40]
    grown = counters.network[0] - start
    expected = np.where(counted >= 0, state.link_bytes[np.maximum(counted, 0)] * FLITS_PER_BYTE, 0.0)
    np.testing.assert_allclose(grown, expected, rtol=1e-3, atol=8)


def test_quarters_cover_every_column_once() -> None:
    names = router_metric_names()
    parts = np.concatenate([tile_columns((2 * node, 2 * node + 1)) for node in range(4)])
    assert sorted(parts.tolist()) == list(range(len(names)))
    assert {name.split("_")[3] for name in (names[k] for k in tile_columns((4, 5)))} <= {"4", "5"} | {"5"}


def test_real_wiring_of_theta_can_be_simulated() -> None:
    fabric = build_theta(io_routers_per_group=2)
    machine = Machine.of(fabric)
    pattern = exchange_pattern(machine.node_endpoint[::7], 1, np.random.default_rng(0))
    assert pattern is not None
    state = StaticPathModel(fabric, machine).step(Flows((pattern,), np.array([1e8])), 1.0)
    np.testing.assert_allclose(*in_and_out(fabric, state.link_bytes), rtol=1e-9, atol=1e-3)


def test_a_tree_is_refused() -> None:
    with pytest.raises(BadRequest, match="not a dragonfly"):
        Machine.of(build_xgft(2, (4, 4), (1, 2)))


def port_window(model: StaticPathModel, flows: Flows) -> PortWindow:
    """Use and stalls per flit of every link in a second, as the counters of its receiver's tiles tell them."""
    counters = Counters(FABRIC, np.random.default_rng(0))
    before, state = counters.network.copy(), model.step(flows, 1.0)
    counters.update(state)
    flits, stalls, _ = counters.network - before
    table = FABRIC.counted_links()[:, :40]
    there = table >= 0
    ratio = np.full(len(FABRIC.links), np.nan)
    ratio[table[there]] = np.divide(stalls, flits, out=np.zeros_like(stalls), where=flits > 0)[there]
    return PortWindow(FABRIC, state.link_bytes * 8 / (FABRIC.links.bandwidth_bps * FABRIC.links.multiplicity), ratio)


@pytest.mark.parametrize("load", [1.0, 1.5])
def test_what_is_full_stalls_what_leads_to_it_and_is_found_as_a_root(load: float) -> None:
    """Nodes of one group send to another one: its blue cables are full, the links that lead to them stall, and they hardly do themselves."""
    group = FABRIC.routers.group[FABRIC.endpoints.router[MACHINE.node_endpoint]]
    sends, takes = (MACHINE.node_endpoint[group == which][:200] for which in (0, 1))
    pattern = Pattern(np.tile(sends, 4), np.concatenate([np.roll(takes, 50 * k) for k in range(4)]), np.full(800, 0.25))
    unit = MODEL.step(Flows((pattern,), np.array([1e8])), 1.0).link_utilisation
    blue = FABRIC.of_class("blue")
    planted = set(np.flatnonzero(blue & (unit > 0.7 * unit[blue].max())).tolist())
    window = port_window(MODEL, Flows((pattern,), np.array([1e8 * load / unit.max()])))
    named = [root.link for root in find_roots(window).roots]
    assert named and set(named) <= planted
    quiet = port_window(MODEL, Flows((pattern,), np.array([0.3e8 / unit.max()])))
    assert not find_roots(quiet).roots
