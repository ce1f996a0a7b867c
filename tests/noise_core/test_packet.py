"""The packet engine against closed forms, its oracle and conservation laws."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_core import packet
from flitwatch_domain.generators import build_dragonfly, build_hyperx, build_xgft
from flitwatch_domain.secret_file import LocalText
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import in_rounds, to_ops

ROUTINGS = [
    "minimal",
    "valiant",
    "adaptive0",
    "adaptive1",
    "adaptive2",
    "adaptive3",
    "min-hash",
    "nmin-hash",
    "in-order",
]

EAGER, OLDEST, ROUND_ROBIN = packet.EngineKind


@pytest.fixture(scope="module")
def small_dragonfly():
    return build_dragonfly(4, 2, 4, blue_routers=4)


@pytest.fixture(scope="module")
def small_tree():
    return build_xgft(3, [4, 4, 4], [1, 2, 4])


def flows(machine, src, dst, size, **options):
    size = np.broadcast_to(size, np.shape(src))
    workload = packet.Workload(flows=(src, dst, size), default_mode=machine.mode)
    return machine.core.run(workload, **options)


def zero_load_ns(machine, links, size: int) -> float:
    """Cut-through: all propagation and router delays, and the slowest link's serialisation once."""
    delay = 50.0 if machine.fabric.kind == "dragonfly" else 90.0
    bandwidth = machine.fabric.links.bandwidth_bps[links]
    latency = [100.0 if c == "blue" else 20.0 if delay == 50 else 10.0 for c in machine.fabric.links.classes]
    propagation = sum(latency[machine.fabric.links.link_class[link]] for link in links)
    return propagation + delay * (len(links) - 1) + size * 8 / bandwidth.min() * 1e9


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_zero_load_latency_is_the_closed_form(small_dragonfly, small_tree, data):
    fabric, routing = data.draw(st.sampled_from([(small_dragonfly, "minimal"), (small_tree, "ftree")]))
    machine = build_machine(fabric, routing)
    src, dst = data.draw(st.lists(st.integers(0, machine.endpoints - 1), min_size=2, max_size=2, unique=True))
    result = flows(machine, [src], [dst], 2048, seed=data.draw(st.integers(0, 1000)))
    assert result.conserved
    used = np.flatnonzero(result.raw["link_bytes"])
    assert result.latency_ns["max"] == pytest.approx(zero_load_ns(machine, used, 2048), abs=0.01)
    assert result.packet_hops == used.size - 1


def test_uniform_traffic_is_delivered_at_the_offered_rate(small_dragonfly):
    machine = build_machine(small_dragonfly, "minimal")
    everyone = np.arange(machine.endpoints)
    load = 1.0 * 2**30
    generators = [packet.Generator(int(e), everyone, 2048, 16 * 2**20, 2048 / load * 1e9) for e in everyone]
    result = machine.core.run(packet.Workload(generators=generators, default_mode=machine.mode))
    assert result.conserved
    assert result.delivered_bytes / result.time_s / machine.endpoints == pytest.approx(load, rel=0.05)


@pytest.mark.parametrize("ups", [8, 4])
@pytest.mark.parametrize("seed", [3, 8])
def test_uniform_traffic_saturates_an_oversubscribed_tree_at_the_analytic_rate(ups, seed):
    """Per node: the leaf's up links over the share of uniform traffic that leaves its leaf."""
    leaves, nodes = 8, 16
    machine = build_machine(build_xgft(2, [nodes, leaves], [1, ups]), "hw-adaptive")
    everyone = np.arange(machine.endpoints)
    generators = [packet.Generator(int(e), everyone, 2048, 8 * 2**20, 0.0) for e in everyone]
    result = machine.core.run(packet.Workload(generators=generators, default_mode=machine.mode), seed=seed)
    leaving = (machine.endpoints - nodes) / (machine.endpoints - 1)
    analytic = ups * machine.terminal_bytes_per_s / (nodes * leaving)
    assert result.conserved
    assert result.delivered_bytes / result.time_s / machine.endpoints == pytest.approx(analytic, rel=0.05)


def test_one_stream_fills_its_slowest_link(small_tree):
    machine = build_machine(small_tree, "ftree", packet_bytes=4096)
    result = flows(machine, [0], [machine.endpoints - 1], 8_000_000, packet_bytes=4096)
    assert 8_000_000 / result.time_s == pytest.approx(12.5e9, rel=0.01)


def test_incast_shares_the_last_link(small_tree):
    machine = build_machine(small_tree, "hw-adaptive")
    senders = np.arange(16, 24)
    result = flows(machine, senders, np.zeros(8, int), 1_000_000)
    assert 8_000_000 / result.time_s == pytest.approx(12.5e9, rel=0.02)
    assert result.raw["link_wait_ps"].sum() > 0


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("through_router", [False, True])
def test_saturated_dragonfly_neither_deadlocks_nor_loses_anything(small_dragonfly, routing, through_router):
    machine = build_machine(small_dragonfly, routing, through_router=through_router)
    rng = np.random.default_rng(3)
    n = machine.endpoints
    # Adversarial: every group sends all it has to the next one, and a random permutation on top.
    src = np.concatenate([np.arange(n), np.arange(n)])
    dst = np.concatenate([(np.arange(n) + n // 4) % n, rng.permutation(n)])
    keep = src != dst
    result = flows(machine, src[keep], dst[keep], 300_000, seed=5)
    assert result.conserved, result.violations
    assert result.delivered_bytes == 300_000 * keep.sum()
    used_vcs = np.flatnonzero(result.raw["vc_bytes"].sum(axis=0)).max() + 1
    assert used_vcs <= (11 if through_router else 9)
    assert np.array_equal(result.raw["vc_bytes"].sum(axis=1), result.raw["link_bytes"])


@pytest.mark.parametrize("routing", ["ftree", "hw-adaptive", "valiant"])
def test_saturated_tree_neither_deadlocks_nor_loses_anything(small_tree, routing):
    machine = build_machine(small_tree, routing)
    made = patterns.make_pattern("alltoall", machine.endpoints, 600_000)
    result = machine.core.run(
        packet.Workload(ops=to_ops([(made, np.arange(machine.endpoints))]), default_mode=machine.mode)
    )
    assert result.conserved, result.violations
    assert result.delivered_bytes == made.total_bytes


@pytest.mark.parametrize("packet_bytes", [64, 512])
def test_small_packets_keep_every_credit_record(small_dragonfly, packet_bytes):
    machine = build_machine(small_dragonfly, "adaptive1", packet_bytes=packet_bytes)
    n = machine.endpoints
    result = flows(machine, np.arange(n), (np.arange(n) + n // 2) % n, 100_000, packet_bytes=packet_bytes)
    assert result.conserved, result.violations


@pytest.mark.parametrize(
    ("routing", "pattern"),
    [("ftree", "bisection-shuffle"), ("hw-adaptive", "bisection-shuffle"), ("ftree", "alltoall")],
)
def test_tree_agrees_with_the_oracle(small_tree, routing, pattern):
    # Random choices differ between the engines, so means over seeds are compared.
    machine = build_machine(small_tree, routing)
    times, means = {}, {}
    for engine in (EAGER, OLDEST, ROUND_ROBIN):
        results = []
        for seed in range(8 if routing == "hw-adaptive" else 1):
            made = patterns.make_pattern(pattern, machine.endpoints, 2_000_000, seed)
            workload = packet.Workload(ops=to_ops([(made, np.arange(machine.endpoints))]), default_mode=machine.mode)
            results.append(machine.core.run(workload, engine=engine, seed=seed))
        assert all(r.conserved for r in results)
        times[engine] = np.mean([r.time_s for r in results])
        means[engine] = np.mean([r.latency_ns["mean"] for r in results])
    assert times[EAGER] == pytest.approx(times[OLDEST], rel=0.02)
    low, high = sorted([means[OLDEST], means[ROUND_ROBIN]])
    assert 0.95 * low <= means[EAGER] <= 1.05 * high


@pytest.mark.system("numeric")
@pytest.mark.parametrize("routing", ["minimal", "adaptive1"])
def test_dragonfly_agrees_with_the_oracle(small_dragonfly, routing):
    machine = build_machine(small_dragonfly, routing)
    times, means = {}, {}
    for engine in (EAGER, OLDEST, ROUND_ROBIN):
        results = []
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(machine.endpoints)
            results.append(flows(machine, order, np.roll(order, -1), 1_500_000, seed=seed, engine=engine))
        assert all(r.conserved for r in results)
        times[engine] = np.mean([r.time_s for r in results])
        means[engine] = np.mean([r.latency_ns["mean"] for r in results])
    assert times[EAGER] == pytest.approx(times[OLDEST], rel=0.02)
    low, high = sorted([means[OLDEST], means[ROUND_ROBIN]])
    assert 0.95 * low <= means[EAGER] <= 1.05 * high


def test_bias_keeps_packets_on_minimal_paths(small_dragonfly):
    rng = np.random.default_rng(1)
    order = rng.permutation(128)
    share = {}
    for routing in ("adaptive0", "adaptive1", "adaptive2", "adaptive3"):
        raw = flows(build_machine(small_dragonfly, routing), order, np.roll(order, -1), 200_000).raw
        share[routing] = raw["non_minimal"] / (raw["non_minimal"] + raw["minimal"])
    assert share["adaptive0"] > share["adaptive2"] > share["adaptive3"]
    assert share["adaptive0"] > share["adaptive1"]


def test_stale_credits_make_phantom_congestion(small_dragonfly):
    # The same light load, only the credits come back later: queues do not grow, yet more packets leave their minimal path.
    everyone = np.arange(128)
    share, backlog = [], []
    for delay in (0.0, 400.0):
        machine = build_machine(small_dragonfly, "adaptive0", credit_delay_ns=delay)
        generators = [packet.Generator(int(e), everyone, 2048, 200_000, 4000.0) for e in everyone]
        result = machine.core.run(packet.Workload(generators=generators, default_mode=machine.mode))
        share.append(result.raw["non_minimal"] / (result.raw["non_minimal"] + result.raw["minimal"]))
        backlog.append(result.raw["queued"] / result.packet_hops)
    assert share[1] > 1.5 * share[0]
    assert max(backlog) < 0.02


def test_seeds_and_topologies_move_the_result(small_dragonfly):
    ends = []
    for fabric, seed in ((small_dragonfly, 1), (small_dragonfly, 2), (build_dragonfly(4, 2, 4, blue_routers=8), 1)):
        machine = build_machine(fabric, "adaptive0")
        ends.append(flows(machine, np.arange(128), (np.arange(128) + 32) % 128, 100_000, seed=seed).time_s)
    assert len(set(ends)) == 3
    again = flows(
        build_machine(small_dragonfly, "adaptive0"), np.arange(128), (np.arange(128) + 32) % 128, 100_000, seed=1
    )
    assert again.time_s == ends[0]


def test_nic_protocol_counts_requests_and_responses(small_dragonfly):
    machine = build_machine(small_dragonfly, "minimal", packet_bytes=64, nic_protocol=True)
    result = flows(machine, [0], [100], 64_000, packet_bytes=64, nic_protocol=True)
    assert result.conserved, result.violations
    assert result.raw["nic_request_packets"][0] == 1000
    assert result.raw["nic_request_flits"][0] == 5000
    assert result.raw["nic_responses"][0] == 1000
    assert result.packets == 1000
    assert result.packet_hops == pytest.approx(
        2 * 1000 * result.mean_hops, rel=0.01
    )  # the responses' hops are work, but no way of the payload
    assert result.mean_hops <= 6
    # A request-response pair takes at least both ways' propagation.
    assert result.raw["nic_latency_ps"][0] / 1000 / 1e3 > 2 * 100


def test_window_of_outstanding_requests_limits_a_far_stream(small_dragonfly):
    machine = build_machine(small_dragonfly, "minimal", packet_bytes=64, nic_protocol=True)
    times = [
        flows(machine, [0], [100], 64_000, packet_bytes=64, nic_protocol=True, outstanding=window).time_s
        for window in (1, 4, 1024)
    ]
    assert times[0] > 3 * times[1] > 3 * times[2]


def test_a_run_can_be_cancelled(small_dragonfly):
    machine = build_machine(small_dragonfly, "adaptive0")
    control = packet.Control()
    everyone = np.arange(128)
    generators = [packet.Generator(int(e), everyone, 2048, 10**10, 1000.0) for e in everyone]
    timer = threading.Timer(0.2, control.cancel)
    timer.start()
    with pytest.raises(packet.CancelledRun):
        machine.core.run(packet.Workload(generators=generators, default_mode=machine.mode), control=control)
    timer.join()


@pytest.mark.parametrize("mark_after_ns", [0.0, 500.0])
def test_samples_estimate_all_links_from_the_nic_on(small_tree, mark_after_ns):
    machine = build_machine(small_tree, "hw-adaptive")
    made = patterns.make_pattern("permutation", machine.endpoints, 4_000_000, 2)
    ops = to_ops([(made, np.arange(machine.endpoints))])
    result = machine.core.run(
        packet.Workload(ops=ops, default_mode=machine.mode), sampling=True, mark_after_ns=mark_after_ns
    )
    raw = result.raw
    hops = raw["sample_links"].astype(float)
    traffic = np.bincount(raw["sample_link"], weights=hops, minlength=machine.core.links)
    congested = np.bincount(raw["sample_link"], weights=hops * raw["sample_marked"], minlength=machine.core.links)
    exact, waited = raw["vc_packets"].sum(axis=1), raw["congested_packets"]
    busy = exact > 1000
    from_nodes = np.asarray(machine.fabric.links.src) >= len(machine.fabric.routers)
    assert (busy & from_nodes).sum() > 50 and (busy & ~from_nodes).sum() > 50
    # Of N packets on paths of up to 6 links the count's variance is at most 5 N (section 2.3.2).
    assert np.abs((traffic - exact)[busy] / np.sqrt(exact[busy] * 5.0)).max() < 5
    assert np.abs((congested - waited)[busy] / np.sqrt(np.maximum(waited[busy], 1) * 5.0)).max() < 5
    assert waited.sum() > 1000


def test_a_path_is_as_long_as_its_links(small_tree):
    machine = build_machine(small_tree, "ftree")
    leaf = np.asarray(small_tree.endpoints.router)
    near, away = int(np.flatnonzero(leaf == leaf[0])[1]), int(np.flatnonzero(leaf != leaf[0])[-1])
    for goal, links in ((near, 2), (away, 6)):
        raw = flows(machine, [0], [goal], 3_000_000, sampling=True).raw
        assert set(raw["sample_links"].tolist()) == {links}
        assert np.unique(raw["sample_link"]).size == links  # each of them is sampled, the NIC's too


def test_a_link_is_congested_where_its_queue_is_longer_than_its_credits(small_tree):
    machine = build_machine(small_tree, "hw-adaptive")
    links, routers = small_tree.links, len(small_tree.routers)
    alone = flows(machine, [0], [40], 3_000_000, sampling=True).raw
    assert alone["congested_packets"].sum() == 0  # a stream at line rate leaves its credits be
    senders = list(range(0, 32, 4))
    raw = flows(machine, senders, [40] * 8, 3_000_000, sampling=True).raw
    exact = raw["vc_packets"].sum(axis=1)
    share = raw["congested_packets"] / np.maximum(exact, 1)
    into_goal = np.asarray(links.dst) == routers + 40
    from_senders = np.isin(np.asarray(links.src), routers + np.array(senders))
    assert share[into_goal].item() > 0.9  # where eight meet
    assert share[from_senders].min() > 0.5  # and back to the senders' NICs
    after_all = flows(machine, senders, [40] * 8, 3_000_000, sampling=True, mark_after_ns=1e9).raw
    assert after_all["congested_packets"].sum() == 0  # by the other rule no packet waited a second


def test_bad_fabrics_are_refused(small_tree, small_dragonfly):
    from flitwatch_domain.errors import BadRequest

    links = small_tree.links
    unknown = replace(small_tree, links=replace(links, bandwidth_bps=np.full(len(links), np.nan)))
    with pytest.raises(BadRequest, match="bandwidth is unknown"):
        build_machine(unknown, "ftree")
    with pytest.raises(BadRequest, match="does not fit a dragonfly"):
        build_machine(small_dragonfly, "ftree")
    with pytest.raises(BadRequest, match="does not fit a tree"):
        build_machine(small_tree, "adaptive0")


def test_route_tables_that_deadlock_or_do_not_arrive_are_refused(small_tree):
    machine = build_machine(small_tree, "ftree")
    table = machine.core.static_table()
    build_machine(small_tree, "ftree", table=table)
    from flitwatch_domain.errors import BadRequest

    broken = table.copy()
    broken[0, int(small_tree.endpoints.router[20])] = 2**32 - 1
    with pytest.raises(BadRequest, match="no way to endpoint 0"):
        build_machine(small_tree, "ftree", table=broken)


def link_between(fabric, src: int, dst: int) -> int:
    return int(np.flatnonzero((fabric.links.src == src) & (fabric.links.dst == dst))[0])


def test_route_tables_with_a_loop_are_refused(small_tree):
    from flitwatch_domain.errors import BadRequest

    table = build_machine(small_tree, "ftree").core.static_table().copy()
    # The way to endpoint 0 from another leaf goes up, straight down again, and so on for ever.
    leaf = int(small_tree.endpoints.router[60])
    up = int(table[0, leaf])
    above = int(small_tree.links.dst[up])
    table[0, above] = link_between(small_tree, above, leaf)
    with pytest.raises(BadRequest, match="endpoint 0"):
        build_machine(small_tree, "ftree", table=table)


def test_route_tables_whose_channels_wait_in_a_circle_are_refused():
    # Two leaves that pass on what third ones send: every route arrives, but their channels wait for one another in a circle.
    from flitwatch_domain.errors import BadRequest

    fabric = build_xgft(2, [1, 4], [1, 2])
    leaves = [int(r) for r in fabric.endpoints.router]
    spines = [r for r in range(len(fabric.routers)) if r not in leaves]
    table = build_machine(fabric, "ftree").core.static_table().copy()

    def go(endpoint: int, *way: int) -> None:
        for here, there in itertools.pairwise(way):
            table[endpoint, here] = link_between(fabric, here, there)

    a, b, c, d = leaves
    x, y = spines
    go(a, c, x, b, y, a)
    go(a, d, x)
    go(b, c, y, a, x, b)
    go(b, d, y)
    with pytest.raises(BadRequest, match="can deadlock"):
        build_machine(fabric, "ftree", table=table)


def test_lanes_share_the_traffic_and_their_counters_add_up(small_tree):
    machine = build_machine(small_tree, "hw-adaptive", virtual_lanes=3)
    made = patterns.make_pattern("alltoall", machine.endpoints, 300_000)
    ops = to_ops([(made, np.arange(machine.endpoints))])
    result = machine.core.run(packet.Workload(ops=ops, default_mode=machine.mode))
    assert result.conserved, result.violations
    assert np.array_equal(result.raw["vc_bytes"].sum(axis=1), result.raw["link_bytes"])
    switches = np.asarray(small_tree.links.src) < len(small_tree.routers)
    between = switches & (np.asarray(small_tree.links.dst) < len(small_tree.routers))
    lanes = result.raw["vc_packets"][between].sum(axis=0)
    assert lanes.min() > 0.9 * lanes.max()
    assert result.raw["packets_of_hops"].sum() == result.packets
    assert (result.raw["packets_of_hops"] * np.arange(256)).sum() == result.packet_hops


def test_detours_hold_up_a_rank_as_long_as_they_last(small_tree):
    machine = build_machine(small_tree, "ftree")
    ranks, work_ns = 64, 1_000_000
    none = in_rounds(ranks, [(np.arange(ranks), np.arange(ranks), 0)], work_ns)
    ops = to_ops([(none, np.zeros(ranks, np.int64))])
    still = machine.core.run(packet.Workload(ops=ops, default_mode=machine.mode))
    held = machine.core.run(
        packet.Workload(ops=ops, default_mode=machine.mode, detours=packet.Detours(10_000, 1_000)), seed=3
    )
    again = machine.core.run(
        packet.Workload(ops=ops, default_mode=machine.mode, detours=packet.Detours(10_000, 1_000)), seed=3
    )
    extra_ns = (held.raw["rank_end_ps"] - still.raw["rank_end_ps"]) / 1e3
    # A hundred detours of a microsecond on average while it computes, and some in the time that these add.
    assert np.mean(extra_ns) == pytest.approx(100_000 * 10 / 9, rel=0.05)
    assert np.std(extra_ns) > 5_000
    np.testing.assert_array_equal(held.raw["rank_end_ps"], again.raw["rank_end_ps"])
    with pytest.raises(ValueError, match="half"):
        machine.core.run(packet.Workload(ops=ops, detours=packet.Detours(10_000, 6_000)))


def test_ranks_choose_by_what_their_nic_counts_while_the_run_goes_on(small_dragonfly):
    machine = build_machine(small_dragonfly, "adaptive0", packet_bytes=64, nic_protocol=True)
    src, dst = np.zeros(40, np.int64), np.ones(40, np.int64)
    made = in_rounds(2, [([s], [d], 8192) for s, d in zip(src, dst, strict=True)])
    far = int(np.flatnonzero(np.asarray(small_dragonfly.routers.group)[small_dragonfly.endpoints.router] > 0)[0])

    def run(latency_factor, stall_factor, mode=packet.CHOOSES):
        ops = to_ops([(made, np.array([0, far]))], [np.full(40, mode, np.uint8)])
        workload = packet.Workload(ops=ops, choice=packet.ChoiceOptions(latency_factor, stall_factor))
        return machine.core.run(workload, packet_bytes=64, nic_protocol=True)

    adaptive, increasing, bias = (int(packet.DragonflyMode[f"ADAPTIVE_{k}"]) for k in (0, 1, 3))
    worse = run(10.0, 10.0).raw["chosen_modes"][:40]
    assert set(worse.tolist()) == {adaptive}  # high bias is expected to be ten times worse: it stays
    better = run(0.1, 0.1).raw["chosen_modes"][:40]
    assert better[0] == adaptive  # nothing is known before the first message
    assert better[1] == bias  # the second already knows what the first counted
    assert set(run(10.0, 10.0, packet.CHOOSES_ALL_TO_ALL).raw["chosen_modes"][:40].tolist()) == {increasing}
    with pytest.raises(ValueError, match="NIC protocol"):
        machine.core.run(packet.Workload(ops=to_ops([(made, np.array([0, far]))], [np.full(40, 254, np.uint8)])))


# Congestion control at the NICs and packet spraying, against closed forms.


#: Leaves of four nodes, each with a cable to each of four spines: what a leaf takes in is four times what a node does.
LEAVES, NODES = 9, 4

TREE = build_xgft(2, [NODES, LEAVES], [1, 4])

PACKET = 2048


def sends(rows: list[tuple[int, int, int]], mode: packet.TreeMode = packet.TreeMode.RANDOM) -> packet.Workload:
    """All at once: one send and one receive a row (source, destination, bytes)."""
    count = len(rows)
    kinds = np.repeat([packet.OpKind.SEND, packet.OpKind.RECEIVE], count).astype(np.uint8)
    ranks = np.array([row[0] for row in rows] + [row[1] for row in rows], np.uint32)
    match = np.concatenate([np.arange(count, 2 * count), np.full(count, packet.NO_LINK)]).astype(np.uint32)
    amount = np.array([row[2] for row in rows] * 2, np.uint64)
    ends = LEAVES * NODES
    ops = packet.Ops(
        kinds, ranks, match, amount, np.zeros(2 * count + 1, np.uint32), np.zeros(0, np.uint32),
        np.arange(ends, dtype=np.uint32), np.zeros(ends, np.uint8),
    )  # fmt: skip
    return packet.Workload(ops=ops, default_mode=mode)


def times_s(
    rows: list[tuple[int, int, int]], congestion: object = None, routing: str = "spray"
) -> tuple[np.ndarray, packet.Result]:
    machine = build_machine(TREE, routing, packet_bytes=PACKET)
    result = machine.core.run(sends(rows, packet.TreeMode(machine.mode)), packet_bytes=PACKET, congestion=congestion)  # type: ignore[arg-type]
    assert result.conserved, result.violations
    assert result.delivered_bytes == sum(row[2] for row in rows)
    return np.asarray(result.raw["send_ps"])[: len(rows)] / 1e12, result


def line_s(size: int) -> float:
    return size / build_machine(TREE, "ftree", packet_bytes=PACKET).terminal_bytes_per_s


def incast(senders: int, size: int) -> list[tuple[int, int, int]]:
    """One node of each of so many leaves sends to node 0."""
    return [(NODES * leaf, 0, size) for leaf in range(1, senders + 1)]


SIZE = 2_000_000

VICTIM = (NODES + 1, NODES * 5 + 2, SIZE)

BACK_PRESSURE = packet.PairBackPressure(threshold_bytes=16384, window_bytes=65536)


def test_a_pair_alone_has_the_line() -> None:
    for congestion in (None, BACK_PRESSURE, packet.Dcqcn()):
        found, _ = times_s([VICTIM], congestion)
        assert found[0] == pytest.approx(line_s(SIZE), rel=0.01)


def test_back_pressure_by_pair_holds_back_who_congests_and_nobody_else() -> None:
    """Eight send to one: they need eight times the line's time. A pair alongside them that shares links with one of them needs one; without control its packets
    stand among theirs, in buffers that give way at the endpoint's pace."""
    rows = [*incast(8, SIZE), VICTIM]
    without, _ = times_s(rows)
    held, result = times_s(rows, BACK_PRESSURE)
    for found in (without, held):
        assert found[:8].max() == pytest.approx(8 * line_s(SIZE), rel=0.02)
    assert without[8] > 3 * line_s(SIZE)
    assert held[8] == pytest.approx(line_s(SIZE), rel=0.1)
    assert result.latency_ns["p99"] > 0


def test_held_back_pairs_share_evenly() -> None:
    held, _ = times_s(incast(8, SIZE), BACK_PRESSURE)
    assert held.min() == pytest.approx(8 * line_s(SIZE), rel=0.1)


def test_dcqcn_keeps_the_queue_short_and_the_bottleneck_busy() -> None:
    """Two send to one. Without control the queue is all that buffers hold; with it marks begin at kmin, and the bottleneck stays nearly full."""
    size, marks = 20_000_000, packet.Dcqcn(kmin_bytes=5_000, kmax_bytes=100_000, pmax=0.1)
    without, free = times_s(incast(2, size))
    found, result = times_s(incast(2, size), marks)
    assert without.max() == pytest.approx(2 * line_s(size), rel=0.01)
    assert 2 * line_s(size) <= found.max() < 1.5 * 2 * line_s(size)
    assert result.latency_ns["p50"] < 0.5 * free.latency_ns["p50"]


def test_dcqcn_that_never_marks_is_no_control() -> None:
    never = packet.Dcqcn(kmin_bytes=2**30, kmax_bytes=2**31 - 1)
    assert times_s(incast(4, SIZE), never)[0].max() == pytest.approx(times_s(incast(4, SIZE))[0].max(), rel=0.01)


def test_spraying_spreads_each_packet_evenly_over_the_ways_up() -> None:
    """One pair over four spines: packets of a link are binomial with p = 1/4, and by one static way all of them go one way."""
    rows = [(NODES, 0, 4000 * PACKET)]
    up = np.flatnonzero((TREE.links.src == TREE.endpoints.router[NODES]) & (TREE.links.dst < len(TREE.routers)))
    _, sprayed = times_s(rows)
    counts = np.asarray(sprayed.link_bytes)[up] / PACKET
    assert counts.sum() == 4000 and np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)
    _, static = times_s(rows, routing="ftree")
    assert sorted(np.asarray(static.link_bytes)[up] / PACKET) == [0, 0, 0, 4000]


@pytest.mark.parametrize(
    "how", [{"nic_protocol": True}, {"sampling": True}, {"engine": packet.EngineKind.ORACLE_OLDEST_FIRST}]
)
def test_what_control_does_not_go_with_is_refused(how: dict) -> None:
    machine = build_machine(TREE, "ftree", packet_bytes=PACKET)
    with pytest.raises(ValueError, match="congestion control"):
        machine.core.run(sends([VICTIM]), packet_bytes=PACKET, congestion=BACK_PRESSURE, **how)


@pytest.mark.parametrize("wrong", [packet.Dcqcn(kmin_bytes=9, kmax_bytes=9), packet.Dcqcn(g=0), packet.Dcqcn(cnp_us=0), packet.PairBackPressure(window_bytes=0)])  # fmt: skip
def test_parameters_that_cannot_be(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"kmin_bytes|above 0|starts at"):
        build_machine(TREE, "ftree", packet_bytes=PACKET).core.run(
            sends([VICTIM]), packet_bytes=PACKET, congestion=wrong
        )  # type: ignore[arg-type]


# One run divided over threads: equal to the last bit for any number of them, and close to the run in one piece.


def crowded(machine: Machine, size: int, seed: int) -> packet.Workload:
    """Every node sends to a random one and to its opposite, from 1 byte to twice `size`."""
    rng, nodes = np.random.default_rng(seed), machine.endpoints
    src = np.repeat(np.arange(nodes), 2)
    dst = np.stack([rng.permutation(nodes), (np.arange(nodes) + nodes // 2) % nodes], axis=1).ravel()
    keep = src != dst
    size_of = rng.integers(1, 2 * size, keep.sum())
    return packet.Workload(flows=(src[keep], dst[keep], size_of), default_mode=machine.mode)


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def same_for_any_number(machine: Machine, workload: packet.Workload, **options: Any) -> packet.Result:
    """Run with 1, 2 and 3 threads; all that a run leaves behind is compared, but what it took."""
    results = [machine.core.run(workload, threads=n, **options) for n in (1, 2, 3)]
    left = [{key: value for key, value in result.raw.items() if key != "other_cpu_s"} for result in results]
    assert results[0].conserved, results[0].violations
    for other in left[1:]:
        assert [key for key in other if not equal(left[0][key], other[key])] == []
    return results[0]


@pytest.mark.parametrize("routing", ["adaptive2", "minimal"])
def test_theta(routing: str) -> None:
    machine = build_machine(fabric_of("theta"), routing)
    workload = crowded(machine, 20_000, 3)
    divided = same_for_any_number(machine, workload, seed=5)
    whole = machine.core.run(workload, seed=5)
    assert divided.latency_ns["mean"] == pytest.approx(whole.latency_ns["mean"], rel=0.02)
    assert divided.time_s == pytest.approx(whole.time_s, rel=0.1)
    assert divided.packets == whole.packets


@pytest.mark.parametrize("routing", ["hw-adaptive", "ftree"])
def test_quartz1(routing: str) -> None:
    machine = build_machine(fabric_of("quartz1"), routing, packet_bytes=4096)
    made = patterns.make_pattern("bisection-shuffle", machine.endpoints, 30_000, 7)
    workload = packet.Workload(ops=to_ops([(made, np.arange(machine.endpoints))]), default_mode=machine.mode)
    divided = same_for_any_number(machine, workload, packet_bytes=4096)
    whole = machine.core.run(workload, packet_bytes=4096)
    assert divided.time_s == pytest.approx(whole.time_s, rel=0.1)


def test_a_grid_by_dimension_order() -> None:
    machine = build_machine(build_hyperx([4, 3, 3], 2), "dor")
    same_for_any_number(machine, crowded(machine, 30_000, 1))


@pytest.mark.parametrize("routing", ["dor", "valiant"])
def test_a_torus(routing: str) -> None:
    machine = build_machine(fabric_of("torus:6,4,5"), routing)
    workload = crowded(machine, 40_000, 4)
    divided = same_for_any_number(machine, workload)
    assert divided.time_s == pytest.approx(machine.core.run(workload).time_s, rel=0.1)


def test_a_fabric_file(shared) -> None:
    machine = build_machine(
        fabric_of(LocalText(f"file:{shared / 'data/infiniband/selene.storage.txt'}")), "hw-adaptive"
    )
    same_for_any_number(machine, crowded(machine, 100_000, 2))


def test_requests_and_responses_with_background() -> None:
    machine = build_machine(fabric_of("dragonfly:4,2,4,4"), "adaptive1", packet_bytes=64, nic_protocol=True)
    nodes = np.arange(machine.endpoints)
    made = patterns.make_pattern("stencil3d", 64, 3000, 7)
    workload = packet.Workload(
        ops=to_ops([(made, nodes[:64])]),
        generators=[packet.Generator(int(e), nodes, 640, 0, 2000.0, job=1) for e in nodes[64:]],
        default_mode=machine.mode,
        detours=packet.Detours(20e3, 500.0),
    )
    result = same_for_any_number(machine, workload, packet_bytes=64, nic_protocol=True)
    assert result.jobs[1]["packets"] > 0


def test_what_cannot_be_divided_is_refused() -> None:
    machine = build_machine(fabric_of("dragonfly:3,2,4,4"), "minimal")
    workload = crowded(machine, 1000, 1)
    for options, why in (
        ({"sampling": True}, "sampling cannot be divided"),
        ({"congestion": packet.Dcqcn()}, "congestion control cannot be divided"),
        ({"engine": packet.EngineKind.ORACLE_ROUND_ROBIN}, "the oracle cannot be divided"),
        ({"classes": [packet.TrafficClass()], "class_of_job": [0]}, "traffic classes cannot be divided"),
    ):
        with pytest.raises(ValueError, match=why):
            machine.core.run(workload, threads=2, **options)
    with pytest.raises(ValueError, match="threads is 0"):
        machine.core.run(workload, threads=0)
