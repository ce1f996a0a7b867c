"""Packet-router-hops per second on one core, memory and events per hop: one JSON object per case, with results of other simulators.

    python tests/benchmarks/packet_hops.py [case ...]

Each case runs in a separate process, so that its peak memory is separate. Figures use the CPU time of the simulating thread. The baseline is the
conventional-event oracle on the same workload with a tenth of the bytes (it has no NIC protocol). Results of others were measured elsewhere.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from typing import Any

#: Packet-router-hops per second a core, and memory in MB, of other simulators: measured elsewhere, on another 2-core machine; for comparison only.
MEASURED_ELSEWHERE = {
    "theta": [{"simulator": "CODES, Theta, uniform", "hops_per_s_per_core": 118_000, "memory_mb": 2250}],
    "quartz1": [
        {"simulator": "htsim, fat tree of 3072", "hops_per_s_per_core": 206_000, "memory_mb": 259},
        {"simulator": "SST merlin, fat tree of 1024", "hops_per_s_per_core": 267_000, "memory_mb": 156},
    ],
}
CASES: dict[str, dict[str, Any]] = {
    "theta-ugal-2": {"fabric": "theta", "routing": "adaptive2", "load": 2.0, "packet_bytes": 2048},
    "theta-ugal-4": {"fabric": "theta", "routing": "adaptive2", "load": 4.0, "packet_bytes": 2048},
    "theta-minimal-4": {"fabric": "theta", "routing": "minimal", "load": 4.0, "packet_bytes": 2048},
    "theta-ugal-512": {"fabric": "theta", "routing": "adaptive2", "load": 2.0, "packet_bytes": 512},
    "theta-nic-64": {"fabric": "theta", "routing": "adaptive2", "load": 1.0, "packet_bytes": 64, "nic_protocol": True},
    "quartz1-shuffle-adaptive": {
        "fabric": "quartz1",
        "routing": "hw-adaptive",
        "pattern": "bisection-shuffle",
        "packet_bytes": 4096,
    },
    "quartz1-shift-ftree": {"fabric": "quartz1", "routing": "ftree", "pattern": "bisection", "packet_bytes": 4096},
    "quartz1-shuffle-512": {
        "fabric": "quartz1",
        "routing": "hw-adaptive",
        "pattern": "bisection-shuffle",
        "packet_bytes": 512,
    },
}


def run(name: str) -> dict[str, Any]:
    """Run one case, and its baseline."""
    from flitwatch_core import packet
    from flitwatch_domain.topology_spec import fabric_of
    from flitwatch_simulation.packet.machine import build_machine

    case = CASES[name]
    protocol = case.get("nic_protocol", False)
    machine = build_machine(
        fabric_of(case["fabric"]), case["routing"], packet_bytes=case["packet_bytes"], nic_protocol=protocol
    )
    options = {"packet_bytes": case["packet_bytes"], "seed": 7, "nic_protocol": protocol}
    result = machine.core.run(workload(case, machine, 1.0), **options)
    mine = {
        "case": name,
        **case,
        "hops_per_s_per_core": round(result.hops_per_s),
        "cpu_s": result.cpu_s,
        "wall_s": result.wall_s,
        "packet_hops": result.packet_hops,
        "events_per_hop": result.events_per_hop,
        "peak_rss_mb": result.peak_rss_mb,
        "delivered_bytes": result.delivered_bytes,
        "delivered_bytes_per_wall_s": result.delivered_bytes / result.wall_s,
        "time_s": result.time_s,
        "conserved": result.conserved,
        "latency_ns": result.latency_ns,
        "measured_elsewhere": MEASURED_ELSEWHERE[case["fabric"]],
    }
    if not protocol:
        slow = machine.core.run(workload(case, machine, 0.1), engine=packet.EngineKind.ORACLE_ROUND_ROBIN, **options)
        mine["baseline"] = {
            "engine": "conventional events, a tenth of the bytes",
            "hops_per_s_per_core": round(slow.hops_per_s),
            "events_per_hop": slow.events_per_hop,
            "packet_hops": slow.packet_hops,
            "conserved": slow.conserved,
        }
    return mine


def workload(case: dict[str, Any], machine: Any, share: float) -> Any:
    """What a case sends, times `share`."""
    import numpy as np

    from flitwatch_core import packet
    from flitwatch_simulation.workloads import patterns
    from flitwatch_simulation.workloads.messages import to_ops

    everyone, size = np.arange(machine.endpoints), case["packet_bytes"]
    scale = share * min(1.0, size / 2048)
    if "pattern" in case:
        made = patterns.make_pattern(case["pattern"], machine.endpoints, int(4e6 * scale), 7)
        return packet.Workload(ops=to_ops([(made, everyone)]), default_mode=machine.mode)
    bytes_per_s = case["load"] * 2**30
    total = int(0.5e-3 * bytes_per_s * scale)
    generators = [packet.Generator(int(e), everyone, size, total, size / bytes_per_s * 1e9) for e in everyone]
    return packet.Workload(generators=generators, default_mode=machine.mode)


def main(names: list[str]) -> None:
    """Run the named cases, or all."""
    for name in names or CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(json.dumps(pool.apply(run, (name,))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
