"""Workload of one packet-level run, from the options of `flitwatch sim packet`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flitwatch_core import packet
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.secret_file import local_path
from flitwatch_research.packet.background import KINDS, background_generators
from flitwatch_research.packet.jobs import JobLine, read_jobs
from flitwatch_research.packet.traffic import is_traffic_csv, read_traffic_csv
from flitwatch_research.packet.traffic_classes import NamedClass
from flitwatch_routing.matrices import is_matrix, read_matrix
from flitwatch_routing.traces.read import TraceAccount, read_trace, summarise_trace
from flitwatch_simulation.packet.machine import Machine
from flitwatch_simulation.workloads import messages as messages_
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.placement import place_ranks

_GIB = 2**30
#: Plausible loads of a node: from a message per minute to the fastest networks.
_LOADS_GIB_PER_S = (1e-6, 1e4)
_MOST_BYTES = packet.MOST_BYTES


@dataclass(frozen=True)
class PacketRun:
    """Parameters of `flitwatch sim packet`, named like its options.

    Attributes
    ----------
    bytes : int or None
        For a pattern, bytes of each node; for a measured matrix, mean bytes of a rank; other files contain their own.
    threads : int or None
        Number of threads for the run; None: it is not divided
    congestion_control : str
        none, pairs or dcqcn
    traffic_classes : from the command, texts NAME:min=..[,max=..][,priority=..]
    job_class, background_class : class names of the traffic from --traffic, and of the background
    """

    topology: str
    routing: str
    traffic: str | None
    bytes: int | None
    packet_bytes: int = 2048
    ranks: int | None = None
    placement: str = "contiguous"
    message_scale: float = 1.0
    background: str = "none"
    jobs: str | tuple[JobLine, ...] | None = None
    seed: int = 1
    nic_protocol: bool = False
    virtual_lanes: int = 1
    threads: int | None = None
    engine: str = "eager"
    congestion_control: str = "none"
    traffic_classes: tuple[str | NamedClass, ...] = ()
    job_class: str | None = None
    background_class: str | None = None
    links_csv: str | None = None
    vendor_csv: str | None = None


@dataclass(frozen=True)
class TracedWorkload(packet.Workload):
    """A replayed trace, with its summary."""

    account: TraceAccount | None = None


def workload_of(parameters: PacketRun, machine: Machine) -> packet.Workload:
    """Return the workload for the options: jobs first, background last.

    Raises
    ------
    BadRequest, BadInput
        Options do not fit, or files are unreadable or contain no traffic.
    """
    rng = np.random.default_rng(parameters.seed)
    _check_parameters(parameters, machine)
    if parameters.jobs is not None:
        return _several_jobs(parameters, machine, rng)
    if parameters.traffic is None:
        raise BadRequest("no traffic was named", advice="Give --traffic, or --jobs.")
    if parameters.traffic.partition(":")[0] == "uniform":
        return _uniform_workload(parameters, parameters.traffic, machine, rng)
    if parameters.traffic in patterns.PATTERNS:
        ranks = parameters.ranks or machine.endpoints
        endpoints = place_ranks(machine.fabric, ranks, parameters.placement, rng)
        messages = patterns.make_pattern(parameters.traffic, ranks, _bytes_of(parameters), parameters.seed)
        return _one_job(parameters, machine, messages.scaled(parameters.message_scale), endpoints)
    return _of_file(local_path(parameters.traffic), parameters, machine, rng)


def _check_parameters(parameters: PacketRun, machine: Machine) -> None:
    size = 1 if parameters.bytes is None else parameters.bytes
    if size < 1:
        raise BadRequest(f"--bytes is {size}; expected at least 1")
    if not 0 < parameters.message_scale <= 1e6:
        raise BadRequest(f"--message-scale is {parameters.message_scale}; expected above 0, at most 1e6")
    if size * max(parameters.message_scale, 1) * machine.endpoints > _MOST_BYTES:
        raise BadRequest(f"--bytes is {size}: all nodes together would send more than 2^60 bytes", advice="Give less.")


def _bytes_of(parameters: PacketRun) -> int:
    if parameters.bytes is None:
        raise BadRequest(f"--traffic {parameters.traffic} needs --bytes", advice="Give the bytes that each node sends.")
    return parameters.bytes


def _one_job(
    parameters: PacketRun, machine: Machine, made: messages_.Messages, endpoints: np.ndarray
) -> packet.Workload:
    workload = packet.Workload(ops=messages_.to_ops([(made, endpoints)]), default_mode=machine.mode)
    return _with_background(parameters, machine, workload, endpoints, 1)


def _of_file(path: Path | None, parameters: PacketRun, machine: Machine, rng: np.random.Generator) -> packet.Workload:
    if path is None or not path.exists():
        raise BadRequest(
            f"--traffic {parameters.traffic!r} is neither a pattern nor a file",
            advice=f"Patterns: {', '.join(['uniform[:GIB_PER_S]', *sorted(patterns.PATTERNS)])}.",
        )
    if parameters.ranks is not None:
        raise BadRequest(f"{path} defines the number of ranks", advice="Leave --ranks out.")
    if path.is_file() and is_traffic_csv(path):
        return _of_csv(path, parameters, machine)
    if path.is_file() and is_matrix(path):
        ranks, (src, dst, size) = read_matrix(path)
        messages = messages_.in_rounds(ranks, [(src, dst, size)])
        if parameters.bytes is not None:
            messages = messages.per_rank(parameters.bytes)
        endpoints = place_ranks(machine.fabric, ranks, parameters.placement, rng)
        return _one_job(parameters, machine, messages.scaled(parameters.message_scale), endpoints)
    dag = read_trace(path)
    endpoints = place_ranks(machine.fabric, dag.ranks, parameters.placement, rng)
    ops = dag.to_ops(endpoints, str(path))
    if parameters.message_scale != 1:
        carries = (ops.kind != packet.OpKind.COMPUTE) & (ops.amount > 0)
        ops.amount[carries] = np.maximum(1, np.rint(ops.amount[carries] * parameters.message_scale))
    workload = TracedWorkload(ops=ops, default_mode=machine.mode, account=summarise_trace(dag))
    return _with_background(parameters, machine, workload, endpoints, 1)


def _of_csv(path: Path, parameters: PacketRun, machine: Machine) -> packet.Workload:
    if parameters.placement != "contiguous":
        raise BadRequest(f"{path} names endpoints, so --placement has no effect", advice="Leave it out.")
    src, dst, size = read_traffic_csv(path, machine.endpoints)
    if not size.size:
        raise BadInput("there is no traffic", where=str(path), advice="Give at least one line with bytes above 0.")
    size = np.maximum(1, np.rint(size * parameters.message_scale)).astype(np.int64)
    workload = packet.Workload(flows=(src, dst, size), default_mode=machine.mode)
    return _with_background(parameters, machine, workload, np.union1d(src, dst), 1)


def _uniform_workload(
    parameters: PacketRun, traffic: str, machine: Machine, rng: np.random.Generator
) -> packet.Workload:
    """Return packets to random other ranks: Poisson at a load in GiB/s per node, or without a load, as fast as the NIC accepts them."""
    load = _load_of(traffic, "--traffic uniform")
    if parameters.background != "none":
        raise BadRequest("background traffic alongside --traffic uniform would duplicate it", advice="Use a pattern.")
    ranks = parameters.ranks or machine.endpoints
    endpoints = place_ranks(machine.fabric, ranks, parameters.placement, rng)
    interval_ns = parameters.packet_bytes / (load * _GIB) * 1e9 if load else 0.0
    total = max(int(_bytes_of(parameters) * parameters.message_scale), 1)
    if interval_ns * (total / parameters.packet_bytes) > packet.LONGEST_NS:
        raise BadRequest(
            f"--traffic {traffic} would take months for {total} bytes per node", advice="Give a higher load."
        )
    generators = [packet.Generator(int(e), endpoints, parameters.packet_bytes, total, interval_ns) for e in endpoints]
    return packet.Workload(generators=generators, default_mode=machine.mode)


def _load_of(text: str, option: str) -> float | None:
    _, colon, load = text.partition(":")
    if not colon:
        return None
    low, high = _LOADS_GIB_PER_S
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", load, re.ASCII) or not low <= float(load) <= high:
        raise BadRequest(f"{option}:{load} is not a load", advice="Give GiB/s per node, for example uniform:4.")
    return float(load)


def _several_jobs(parameters: PacketRun, machine: Machine, rng: np.random.Generator) -> packet.Workload:
    """Return the jobs of a CSV file `pattern,ranks,bytes,placement`, placed one after the other."""
    if parameters.traffic is not None:
        raise BadRequest("--traffic and --jobs both define the traffic", advice="Give one of them.")
    used_endpoints = np.empty(0, np.int64)
    placed_jobs: list[tuple[messages_.Messages, np.ndarray]] = []
    jobs = jobs_of(parameters)
    if sum(job.ranks * job.bytes_per_rank for job in jobs) * max(parameters.message_scale, 1) > _MOST_BYTES:
        raise BadRequest("the jobs together would send more than 2^60 bytes", advice="Give them fewer.")
    for job in jobs:
        endpoints = place_ranks(machine.fabric, job.ranks, job.placement, rng, used_endpoints)
        used_endpoints = np.append(used_endpoints, endpoints)
        messages = patterns.make_pattern(job.pattern, job.ranks, job.bytes_per_rank, parameters.seed + len(placed_jobs))
        placed_jobs.append((messages.scaled(parameters.message_scale), endpoints))
    workload = packet.Workload(ops=messages_.to_ops(placed_jobs), default_mode=machine.mode)
    return _with_background(parameters, machine, workload, used_endpoints, len(placed_jobs))


def jobs_of(parameters: PacketRun) -> Sequence[JobLine]:
    """Return the jobs from --jobs. Raises the errors of `workload_of`."""
    if isinstance(parameters.jobs, tuple):
        return parameters.jobs
    path = local_path(parameters.jobs or "")
    if path is None:
        raise BadRequest("no jobs were named")
    return read_jobs(path)


def _with_background(
    parameters: PacketRun, machine: Machine, workload: packet.Workload, used: np.ndarray, job: int
) -> packet.Workload:
    kind = parameters.background.partition(":")[0]
    if parameters.background == "none":
        return workload
    if kind not in KINDS:
        raise BadRequest(
            f"unknown background {parameters.background!r}",
            advice="Use none, uniform[:GIB_PER_S] or bursty[:GIB_PER_S].",
        )
    load = _load_of(parameters.background, f"--background {kind}")
    generators = background_generators(machine, kind, load, np.setdiff1d(np.arange(machine.endpoints), used), job)
    return replace(workload, generators=generators)
