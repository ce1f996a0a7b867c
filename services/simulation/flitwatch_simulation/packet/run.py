"""One packet-level run as the command line and the task `sim.packet` start it."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest, Cancelled
from flitwatch_simulation.packet.background import background_generators
from flitwatch_simulation.packet.jobs import JobLine, read_jobs
from flitwatch_simulation.packet.link_counters import write_links_csv
from flitwatch_simulation.packet.machine import Machine, build, fabric_of
from flitwatch_simulation.packet.vendor_counters import write_vendor_csv
from flitwatch_simulation.workloads import messages as messages_
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.dag import read_dag, read_dumpi_folder
from flitwatch_simulation.workloads.placement import place
from flitwatch_simulation.workloads.traffic import read_traffic_csv

Report = Callable[[int, int, str], None]
_GIB = 2**30


@dataclass(frozen=True)
class PacketRun:
    """Parameters of `flitwatch sim packet`; names as its options."""

    topology: str
    routing: str
    traffic: str | None
    bytes: int
    packet_bytes: int = 2048
    ranks: int | None = None
    placement: str = "contiguous"
    message_scale: float = 1.0
    background: str = "none"
    jobs: str | tuple[JobLine, ...] | None = None
    seed: int = 1
    nic_protocol: bool = False
    engine: str = "eager"
    links_csv: str | None = None
    vendor_csv: str | None = None


def run(
    parameters: PacketRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> dict[str, Any]:
    """Simulate; returns the object that `flitwatch sim packet --json` prints. The links' counters go to a CSV file.

    Raises
    ------
    BadRequest, BadInput
        For options that do not fit, naming what to do.
    Cancelled
    """
    machine, result = simulate(parameters, report, cancelled)
    path = Path(parameters.links_csv) if parameters.links_csv else Path(tempfile.mkstemp(".csv", "flitwatch-links-")[1])
    try:
        write_links_csv(path, machine, result)
        if parameters.vendor_csv:
            write_vendor_csv(Path(parameters.vendor_csv), machine, result)
    except OSError as unwritable:
        raise BadRequest(f"{unwritable.filename} cannot be written: {unwritable.strerror}") from unwritable
    return {**summary(result), "links_csv": str(path)}


def simulate(
    parameters: PacketRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> tuple[Machine, packet.Result]:
    """Build the machine and its workload, and run them; raises as `run`."""
    if not 64 <= parameters.packet_bytes <= 8192:
        raise BadRequest(f"--packet-bytes is {parameters.packet_bytes}; expected 64 to 8192")
    if parameters.engine not in ENGINES:
        raise BadRequest(f"unknown engine {parameters.engine!r}", advice=f"Use {', '.join(ENGINES)}.")
    machine = build(
        fabric_of(parameters.topology),
        parameters.routing,
        packet_bytes=parameters.packet_bytes,
        nic_protocol=parameters.nic_protocol,
    )
    workload = workload_of(parameters, machine)
    result = execute(
        machine, workload, report=report, cancelled=cancelled, total_bytes=total_bytes(workload), packet_bytes=parameters.packet_bytes,
        seed=parameters.seed, nic_protocol=parameters.nic_protocol, engine=ENGINES[parameters.engine],
    )  # fmt: skip
    return machine, result


def summary(result: packet.Result) -> dict[str, Any]:
    """What a run's answer says of all packets and of each job."""
    return {
        "time_s": result.time_s,
        "delivered_bytes": result.delivered_bytes,
        "packet_hops": result.packet_hops,
        "events_per_hop": result.events_per_hop,
        "hops_per_s_per_core": result.hops_per_s,
        "wall_s": result.wall_s,
        "peak_rss_mb": result.peak_rss_mb,
        "mean_hops": result.mean_hops,
        "conserved": result.conserved,
        "latency_ns": result.latency_ns,
        "simulated": True,
        "non_minimal_share": result.raw["non_minimal"] / max(result.raw["non_minimal"] + result.raw["minimal"], 1),
        "jobs": [
            {"bytes": j["bytes"], "mean_hops": j["hops"] / max(j["packets"], 1), "mean_latency_ns": j["latency_ps"] / max(j["packets"], 1) / 1e3}
            for j in result.jobs
        ],
        **({"violations": result.violations} if result.violations else {}),
    }  # fmt: skip


def total_bytes(workload: packet.Workload) -> int:
    """Bytes that the jobs will deliver; 0 where only endless background would say so."""
    total = sum(g.total_bytes for g in workload.generators)
    if workload.flows is not None:
        total += int(np.sum(workload.flows[2]))
    if workload.ops is not None:
        total += int(workload.ops.amount[workload.ops.kind == packet.OpKind.SEND].sum())
    return total


ENGINES = {
    "eager": packet.EngineKind.EAGER,
    "oracle-oldest": packet.EngineKind.ORACLE_OLDEST_FIRST,
    "oracle-round-robin": packet.EngineKind.ORACLE_ROUND_ROBIN,
}


def execute(
    machine: Machine, workload: packet.Workload, *, report: Report | None = None, cancelled: Callable[[], bool] | None = None,
    total_bytes: int = 0, **options: Any,
) -> packet.Result:  # fmt: skip
    """Run a workload; while another thread follows it, `report(done, total, message)` is called twice a second."""
    control = packet.Control()
    done = threading.Event()
    divisor, unit = (10**3, "kB") if total_bytes < 10**12 else (10**6, "MB")  # progress is kept as 32-bit integers

    def follow() -> None:
        while not done.wait(0.5):
            if cancelled is not None and cancelled():
                control.cancel()
            if report is not None:
                report(control.delivered_bytes // divisor, total_bytes // divisor, f"{unit} delivered")

    follower = threading.Thread(target=follow, daemon=True)
    if report is not None or cancelled is not None:
        follower.start()
    try:
        return machine.core.run(workload, control=control, **options)
    except packet.CancelledRun as stop:
        raise Cancelled("the packet simulation was cancelled") from stop
    except ValueError as unfit:
        raise BadRequest(f"the workload does not fit the fabric: {unfit}") from unfit
    finally:
        done.set()


def workload_of(parameters: PacketRun, machine: Machine) -> packet.Workload:
    """The workload that the options describe: jobs first, background last."""
    rng = np.random.default_rng(parameters.seed)
    if parameters.bytes < 1:
        raise BadRequest(f"--bytes is {parameters.bytes}; expected at least 1")
    if not 0 < parameters.message_scale <= 1e6:
        raise BadRequest(f"--message-scale is {parameters.message_scale}; expected above 0")
    if parameters.jobs is not None:
        return _several_jobs(parameters, machine, rng)
    if parameters.traffic is None:
        raise BadRequest("no traffic was named", advice="Give --traffic, or --jobs.")
    if parameters.traffic.partition(":")[0] == "uniform":
        return _uniform(parameters, parameters.traffic, machine, rng)
    path = Path(parameters.traffic)
    if parameters.traffic in patterns.PATTERNS:
        ranks = parameters.ranks or machine.endpoints
        made = patterns.make(parameters.traffic, ranks, parameters.bytes, parameters.seed).scaled(
            parameters.message_scale
        )
        endpoints = place(machine.fabric, ranks, parameters.placement, rng)
        ops = messages_.to_ops([(made, endpoints)])
        return _with_background(parameters, machine, packet.Workload(ops=ops, default_mode=machine.mode), endpoints, 1)
    if not path.exists():
        raise BadRequest(
            f"--traffic {parameters.traffic!r} is neither a pattern nor a file",
            advice=f"Patterns: {', '.join(['uniform[:GIB_PER_S]', *sorted(patterns.PATTERNS)])}.",
        )
    if path.suffix.lower() == ".csv":
        src, dst, size = read_traffic_csv(path, machine.endpoints)
        size = np.maximum(1, np.rint(size * parameters.message_scale)).astype(np.int64)
        used = np.union1d(src, dst)
        return _with_background(
            parameters, machine, packet.Workload(flows=(src, dst, size), default_mode=machine.mode), used, 1
        )
    dag = read_dumpi_folder(path) if path.is_dir() else read_dag(path)
    endpoints = place(machine.fabric, dag.ranks, parameters.placement, rng)
    ops = dag.to_ops(endpoints, str(path))
    if parameters.message_scale != 1:
        carries = ops.kind != packet.OpKind.COMPUTE
        ops.amount[carries] = np.maximum(1, np.rint(ops.amount[carries] * parameters.message_scale))
    return _with_background(parameters, machine, packet.Workload(ops=ops, default_mode=machine.mode), endpoints, 1)


def _uniform(parameters: PacketRun, traffic: str, machine: Machine, rng: np.random.Generator) -> packet.Workload:
    """Every packet to a random other rank: Poisson at a load in GiB/s a node, or without one as fast as the NIC takes it."""
    load = _load_of(traffic, "--traffic uniform")
    ranks = parameters.ranks or machine.endpoints
    endpoints = place(machine.fabric, ranks, parameters.placement, rng)
    interval_ns = parameters.packet_bytes / (load * _GIB) * 1e9 if load else 0.0
    total = max(int(parameters.bytes * parameters.message_scale), 1)
    generators = [packet.Generator(int(e), endpoints, parameters.packet_bytes, total, interval_ns) for e in endpoints]
    if parameters.background != "none":
        raise BadRequest(
            "background traffic beside --traffic uniform would be the same thing twice", advice="Use a pattern."
        )
    return packet.Workload(generators=generators, default_mode=machine.mode)


def _load_of(text: str, option: str) -> float | None:
    _, colon, load = text.partition(":")
    if not colon:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", load) or float(load) <= 0:
        raise BadRequest(f"{option}:{load} is no load", advice="Give GiB/s a node, for example uniform:4.")
    return float(load)


def _several_jobs(parameters: PacketRun, machine: Machine, rng: np.random.Generator) -> packet.Workload:
    """Jobs of a CSV file `pattern,ranks,bytes,placement`, placed one after the other."""
    taken = np.empty(0, np.int64)
    made: list[tuple[messages_.Messages, np.ndarray]] = []
    jobs = parameters.jobs if isinstance(parameters.jobs, tuple) else read_jobs(Path(parameters.jobs or ""))
    for job in jobs:
        endpoints = place(machine.fabric, job.ranks, job.placement, rng, taken)
        taken = np.append(taken, endpoints)
        messages = patterns.make(job.pattern, job.ranks, job.bytes_per_rank, parameters.seed + len(made))
        made.append((messages.scaled(parameters.message_scale), endpoints))
    workload = packet.Workload(ops=messages_.to_ops(made), default_mode=machine.mode)
    return _with_background(parameters, machine, workload, taken, len(made))


def _with_background(
    parameters: PacketRun, machine: Machine, workload: packet.Workload, used: np.ndarray, job: int
) -> packet.Workload:
    from dataclasses import replace

    kind = parameters.background.partition(":")[0]
    if kind == "none":
        return workload
    load = _load_of(parameters.background, f"--background {kind}")
    generators = background_generators(machine, kind, load, np.setdiff1d(np.arange(machine.endpoints), used), job)
    return replace(workload, generators=generators)


def run_replicas(
    parameters: PacketRun, threads: int, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> dict[str, Any]:
    """One run, or `threads` of them side by side with consecutive seeds; the first seed's result carries the others' times.

    A single run uses one core: replicas scale, a parallel run of one simulation does not.
    """
    if threads == 1:
        return run(parameters, report, cancelled)
    from concurrent.futures import ThreadPoolExecutor
    from dataclasses import replace

    runs = [
        parameters,
        *(replace(parameters, seed=parameters.seed + k, links_csv=None, vendor_csv=None) for k in range(1, threads)),
    ]
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda one: run(one, report if one is parameters else None, cancelled), runs))
    return {**results[0], "replica_time_s": [one["time_s"] for one in results]}
