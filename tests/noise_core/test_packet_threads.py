"""One run divided over threads: equal to the last bit for any number of them, and close to the run in one piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.generators import build_hyperx
from flitwatch_domain.local_text import LocalText
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops


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
