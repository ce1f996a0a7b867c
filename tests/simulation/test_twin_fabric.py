"""Flows, paths, loads and counters: all traffic into a router leaves it, and counters match the links' traffic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch.commands.up import up
from flitwatch.main import main
from flitwatch_domain.diagnosis import PortWindow, find_roots
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_dragonfly, build_theta, build_xgft
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.counters import FLITS_PER_BYTE, Counters, router_metric_names, tile_columns
from flitwatch_twin.flows import Flows, Pattern, exchange_pattern, incast_pattern, io_pattern
from flitwatch_twin.machine import Machine
from flitwatch_twin.spec import SCENARIOS, load_spec
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


# Specs and the command: what is wrong is said in one line that names file and key.


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_named_scenarios_are_valid(name: str) -> None:
    spec = load_spec(name)
    assert spec.interference and spec.instrumented


def test_the_demo_is_busy_from_the_first_second() -> None:
    cluster = Cluster(load_spec("demo"), 1)
    assert cluster.fabric.simulated and cluster.machine.routers == 4 * 96
    busy = sum(len(job.allocation.nodes) for job in cluster.running.values())
    assert busy > 0.4 * cluster.machine.nodes
    first = cluster.advance()
    assert any(job.run is not None for job in first.started)
    assert first.state.link_bytes.sum() > 0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("fabric: {groups: 0}", r"fabric\.groups: .*greater than or equal to 1"),
        ("nodes: 4", r"nodes: Extra inputs"),
        ("instrumented: [{application: hpl}]", r"instrumented\.0.*no application 'hpl'"),
        ("interference: [{mechanism: noise, nodes: 4}]", r"interference\.0\.mechanism"),
        ("users: {load: 2, count: 0}", r"users\.count|users\.load.*and 1 more"),
        ("[1, 2]", "mapping"),
        ("a: b: c", r"spec\.yaml:1: is not YAML"),
        ("name: 2026-02-30", "of the wrong type"),
        ("name: !!bool maybe", "of the wrong type"),
        ("name: 0x_", "of the wrong type"),
        ("name: 'Bad Name'", "name"),
    ],
)
def test_bad_specs(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=match) as caught:
        load_spec(str(path))
    assert str(path) in str(caught.value)


def test_an_unknown_scenario_lists_the_known() -> None:
    with pytest.raises(BadInput, match="Scenarios: demo, small"):
        load_spec("nowhere")


def test_command_writes_files_and_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "one.yaml"
    spec.write_text("name: one\nfabric: {groups: 1}\nusers: {count: 4, typical_nodes: 8}\nwarm_start_s: 600\n")
    arguments = ["twin", "run", str(spec), "--seconds", "3", "--speed", "0", "--start", "2027-01-15T08:00:00Z"]
    main([*arguments, "--out", str(tmp_path / "out"), "--sets", "full", "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert summary["simulated"] is True and summary["seconds"] == 3 and summary["start"] == 1800000000
    assert summary["records"] == 3 * 96 + 384 * sum((1800000000 + k) % 10 == 0 for k in (1, 2, 3))
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"ldms", "sacct.txt", "sacct.json", "truth.json"}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["demo"], "nowhere to write to"),
        (["demo", "--out", "x", "--start", "yesterday"], "'yesterday' is not a time"),
        (["nowhere", "--out", "x"], "no scenario or file named 'nowhere'"),
        (["demo", "--seconds", "-1", "--out", "x"], "--seconds"),
        (["demo", "--log", "kafka://127.0.0.1:1", "--format", "avro"], "schema registry"),
    ],
)
def test_bad_use_is_one_line(
    arguments: list[str],
    match: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["twin", "run", *arguments])
    assert caught.value.code not in (0, None)
    error = capsys.readouterr().err or "\n".join(caplog.messages) + "\n"
    assert match in error and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_spec_nested_without_end_or_with_no_finite_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text("users: " + "[" * 20_000)
    with pytest.raises(BadInput, match="nested too deeply"):
        load_spec(str(file))
    file.write_text(yaml.safe_dump(SCENARIOS["demo"] | {"node_rate_bytes_per_s": float("inf")}))
    with pytest.raises(BadInput, match=r"node_rate_bytes_per_s: .*finite"):
        load_spec(str(file))


def test_the_platform_does_not_start_with_a_twin_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLITWATCH_HOME", str(tmp_path / "home"))
    found = CliRunner().invoke(up, ["--twin", "nosuch"])
    assert isinstance(found.exception, BadInput)
    assert "no scenario or file named 'nosuch'" in str(found.exception)
    assert not (tmp_path / "home").exists()
