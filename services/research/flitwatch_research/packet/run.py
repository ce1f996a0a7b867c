"""One packet-level run, for the command line and the task `sim.packet`."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from flitwatch_core import packet
from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.simulations import Packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.packet.jobs import JobLine
from flitwatch_research.packet.link_counters import LinkStalls, worst_links, write_links_csv, write_vendor_csv
from flitwatch_research.packet.traffic_classes import ClassPlan, NamedClass, class_plan, read_classes
from flitwatch_research.packet.workload import (
    PacketRun,
    TracedWorkload,
    jobs_of,
    workload_of,
)
from flitwatch_routing.traces.read import TraceAccount
from flitwatch_simulation.packet.engine import Report, execute_workload, local_bytes, total_bytes
from flitwatch_simulation.packet.machine import Machine, build_machine

__all__ = ["PacketRun", "run_replicas", "run_simulation", "simulate_packets", "summarise_run"]


CONGESTION_CONTROL: dict[str, packet.PairBackPressure | packet.Dcqcn | None] = {
    "none": None,
    "pairs": packet.PairBackPressure(),
    "dcqcn": packet.Dcqcn(),
}


class PacketJob(TypedDict):
    """Bytes of a job, and mean hops and latency of its packets."""

    bytes: float
    mean_hops: float
    mean_latency_ns: float


class PacketClass(TypedDict):
    """Bytes of all jobs of a traffic class, and the latency of their packets, by quantile."""

    name: str
    bytes: int
    latency_ns: dict[str, float]


class PacketSummary(TypedDict):
    """Summary of a run: all packets, and each job.

    Attributes
    ----------
    time_s : simulated seconds;  wall_s : wall-clock seconds
    packets_of_hops : packets by number of routers
    latency_ns : latency by quantile
    conserved : whether no packets were lost or invented;  violations : present only otherwise
    trace : summary of a replayed trace, with the omitted calls
    classes : figures by traffic class, if there are classes
    """

    time_s: float
    delivered_bytes: int
    local_bytes: int
    packet_hops: int
    events_per_hop: float
    hops_per_s_per_core: float
    wall_s: float
    peak_rss_mb: float
    mean_hops: float
    packets_of_hops: list[int]
    conserved: bool
    latency_ns: dict[str, float]
    simulated: bool
    non_minimal_share: float
    jobs: list[PacketJob]
    violations: NotRequired[list[str]]
    trace: NotRequired[TraceAccount]
    classes: NotRequired[list[PacketClass]]


class PacketReport(PacketSummary):
    """The same with the file of link counters, and the simulated times of replicas if there are several."""

    links_csv: str
    replica_time_s: NotRequired[list[float]]


def run_simulation(
    parameters: PacketRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> PacketReport:
    """Simulate, write the link counters to a CSV file, and return the output of `flitwatch sim packet --json`.

    Raises
    ------
    BadRequest, BadInput
        Options do not fit; the message says what to do.
    Cancelled
    """
    files = [Path(name) for name in (parameters.links_csv, parameters.vendor_csv) if name]
    for path in files:  # fail before hours of work
        _try_to_write(path)
    machine, workload, result = simulate_packets(parameters, report, cancelled)
    links = Path(parameters.links_csv) if parameters.links_csv else _new_file()
    try:
        write_links_csv(
            links, machine, result, [traffic_class.name for traffic_class in read_classes(parameters.traffic_classes)]
        )
        if parameters.vendor_csv:
            write_vendor_csv(Path(parameters.vendor_csv), machine, result)
    except OSError as unwritable:
        raise BadRequest(f"{unwritable.filename} cannot be written: {unwritable.strerror}") from unwritable
    return {**summarise_run(parameters, workload, result), "links_csv": str(links)}


def _try_to_write(path: Path) -> None:
    try:
        existed = path.exists()
        path.open("a").close()
        if not existed:
            path.unlink()
    except (OSError, ValueError) as bad:
        raise BadRequest(f"{path} cannot be written: {getattr(bad, 'strerror', None) or bad}") from bad


def _new_file() -> Path:
    handle, name = tempfile.mkstemp(".csv", "flitwatch-links-")
    os.close(handle)
    return Path(name)


def simulate_packets(
    parameters: PacketRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> tuple[Machine, packet.Workload, packet.Result]:
    """Build the machine and its workload, and run them. Raises the errors of `run_simulation`."""
    if not 64 <= parameters.packet_bytes <= 8192:
        raise BadRequest(f"--packet-bytes is {parameters.packet_bytes}; expected 64 to 8192")
    if parameters.engine not in ENGINES:
        raise BadRequest(f"unknown engine {parameters.engine!r}", advice=f"Use {', '.join(ENGINES)}.")
    machine = build_machine(
        fabric_of(parameters.topology),
        parameters.routing,
        packet_bytes=parameters.packet_bytes,
        nic_protocol=parameters.nic_protocol,
        virtual_lanes=parameters.virtual_lanes,
    )
    workload = workload_of(parameters, machine)
    plan = classes_of(parameters)
    result = execute_workload(
        machine,
        workload,
        report=report,
        cancelled=cancelled,
        total_bytes=total_bytes(workload),
        packet_bytes=parameters.packet_bytes,
        seed=parameters.seed,
        nic_protocol=parameters.nic_protocol,
        engine=ENGINES[parameters.engine],
        congestion=_congestion_control(parameters),
        classes=plan.engine,
        class_of_job=plan.of_job,
        threads=_thread_count(parameters),
    )
    return machine, workload, result


def _congestion_control(parameters: PacketRun) -> packet.PairBackPressure | packet.Dcqcn | None:
    """Return the congestion control of the NICs; raise BadRequest for incompatible options."""
    name = parameters.congestion_control
    if name not in CONGESTION_CONTROL:
        raise BadRequest(f"unknown congestion control {name!r}", advice=f"Use {', '.join(CONGESTION_CONTROL)}.")
    if name != "none" and (parameters.nic_protocol or parameters.background != "none" or parameters.engine != "eager"):
        raise BadRequest(
            f"congestion control {name} requires messages and the eager engine",
            advice="Leave out --nic-protocol, --background and --engine.",
        )
    return CONGESTION_CONTROL[name]


def _thread_count(parameters: PacketRun) -> int | None:
    """Return the number of threads for the run; raise BadRequest if the run cannot be divided."""
    if parameters.threads is None:
        return None
    if not 1 <= parameters.threads <= packet.MOST_THREADS:
        raise BadRequest(f"--threads is {parameters.threads}; expected 1 to {packet.MOST_THREADS}")
    if parameters.engine != "eager" or parameters.congestion_control != "none" or parameters.traffic_classes:
        raise BadRequest(
            "--threads requires the eager engine, without congestion control and traffic classes",
            advice="Leave out --threads, or --engine, --congestion-control and --traffic-class.",
        )
    return parameters.threads


def classes_of(parameters: PacketRun) -> ClassPlan:
    """Return the traffic classes of a run; raise BadRequest for invalid ones."""
    if parameters.jobs is None:
        names = [parameters.job_class]
    elif parameters.job_class is None:
        names = [job.traffic_class for job in jobs_of(parameters)]
    else:
        raise BadRequest("--job-class is the class of --traffic", advice="Give --jobs a column class.")
    if parameters.background != "none":
        names.append(parameters.background_class)
    elif parameters.background_class is not None:
        raise BadRequest("--background-class needs --background", advice="Leave it out, or give a background.")
    plan = class_plan(parameters.traffic_classes, names)
    if plan.classes and (parameters.nic_protocol or parameters.engine != "eager"):
        raise BadRequest(
            "traffic classes require the eager engine, without the NIC protocol",
            advice="Leave out --nic-protocol and --engine.",
        )
    return plan


def summarise_run(parameters: PacketRun, workload: packet.Workload, result: packet.Result) -> PacketSummary:
    """Summarise a run: all packets, and each job."""
    answer: PacketSummary = {
        "time_s": result.time_s,
        "delivered_bytes": result.delivered_bytes,
        "local_bytes": local_bytes(workload),
        "packet_hops": result.packet_hops,
        "events_per_hop": result.events_per_hop,
        "hops_per_s_per_core": result.hops_per_s,
        "wall_s": result.wall_s,
        "peak_rss_mb": result.peak_rss_mb,
        "mean_hops": result.mean_hops,
        "packets_of_hops": result.raw["packets_of_hops"][
            : int(np.flatnonzero(result.raw["packets_of_hops"]).max(initial=0)) + 1
        ].tolist(),
        "conserved": result.conserved,
        "latency_ns": result.latency_ns,
        "simulated": True,
        "non_minimal_share": result.raw["non_minimal"] / max(result.raw["non_minimal"] + result.raw["minimal"], 1),
        "jobs": [
            {
                "bytes": j["bytes"],
                "mean_hops": j["hops"] / max(j["packets"], 1),
                "mean_latency_ns": j["latency_ps"] / max(j["packets"], 1) / 1e3,
            }
            for j in result.jobs
        ],
    }
    if classes := read_classes(parameters.traffic_classes):
        answer["classes"] = [
            {"name": traffic_class.name, "bytes": got["bytes"], "latency_ns": got["latency_ns"]}
            for traffic_class, got in zip(classes, result.raw["classes"], strict=True)
        ]
    if result.violations:
        answer["violations"] = result.violations
    if isinstance(workload, TracedWorkload) and workload.account is not None:
        answer["trace"] = workload.account
    return answer


ENGINES = {
    "eager": packet.EngineKind.EAGER,
    "oracle-oldest": packet.EngineKind.ORACLE_OLDEST_FIRST,
    "oracle-round-robin": packet.EngineKind.ORACLE_ROUND_ROBIN,
}


def run_replicas(
    parameters: PacketRun, replicas: int, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> PacketReport:
    """Run replicas with consecutive seeds, one per core at a time; the first seed's result contains the others' times.

    A run uses one core per thread.
    """
    if replicas == 1:
        return run_simulation(parameters, report, cancelled)
    stop = threading.Event()

    def ended() -> bool:
        return stop.is_set() or (cancelled is not None and cancelled())

    others = [
        replace(parameters, seed=parameters.seed + k, links_csv=None, vendor_csv=None) for k in range(1, replicas)
    ]
    at_once = max(1, (os.cpu_count() or 1) // (parameters.threads or 1))
    with ThreadPoolExecutor(min(replicas, at_once)) as pool:
        whole = pool.submit(run_simulation, parameters, report, ended)
        timed = [pool.submit(_time_s, other, ended) for other in others]
        try:
            first, times = whole.result(), [replica.result() for replica in timed]
        finally:  # an interrupt or a replica's error ends them all
            stop.set()
    return {**first, "replica_time_s": [first["time_s"], *times]}


def _time_s(parameters: PacketRun, cancelled: Callable[[], bool]) -> float:
    return simulate_packets(parameters, None, cancelled)[2].time_s


#: Number of links in the result; only the command's CSV file contains all of them.
WORST_LINKS = 100


class PacketResult(PacketSummary):
    """A run's summary with its seed and the links with the most stalls."""

    seed: int
    worst_links: list[LinkStalls]


def run_packet_task(args: dict[str, Any], context: TaskContext) -> PacketResult:
    """Run with the options of `flitwatch sim packet`. The result is the command's, with `worst_links` instead of the CSV file.

    Raises
    ------
    BadInput, BadRequest
        Options do not fit.
    Cancelled
    """
    request = request_of(args)
    machine, workload, result = simulate_packets(request, context.report, context.cancelled)
    return {
        **summarise_run(request, workload, result),
        "seed": request.seed,
        "worst_links": worst_links(machine, result, WORST_LINKS),
    }


def request_of(args: dict[str, Any]) -> PacketRun:
    """Return a task's arguments as a typed request."""
    options = Packet.of(args)
    fields = options.model_dump(exclude={"jobs", "traffic_classes"})
    jobs = (
        None
        if options.jobs is None
        else tuple(
            JobLine(item.pattern, item.ranks, item.bytes, item.placement, item.traffic_class) for item in options.jobs
        )
    )
    classes = tuple(
        NamedClass(item.name, item.minimum, item.maximum, item.priority) for item in options.traffic_classes
    )
    return PacketRun(**fields, jobs=jobs, traffic_classes=classes)
