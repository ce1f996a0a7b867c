"""Studies of Taffet 2021 at packet level: table 5.1 (routing), the diagnosis of pF3D, and common parts of case studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.diagnosis import CongestionMap, diagnose_congestion
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.studies import published
from flitwatch_research.studies.packet_common import (
    check_names,
    read_number,
    read_string,
    read_whole_number,
    sweep_cases,
)
from flitwatch_research.studies.registry import Cancelled, Parameters, Report
from flitwatch_simulation.packet.engine import execute_workload
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import Messages, in_rounds, to_ops

#: Rows and columns of table 5.1 by our names (another instance of the shuffle, another simulator).
TABLE_51 = (
    {"ftree": "Ftree", "hw-adaptive": "Hardware adaptive routes"},
    {"bisection": "Bisection Shift", "bisection-shuffle": "Bisection Random Shuffle"},
)


class TableFigures(TypedDict):
    """A case of table 5.1: simulated and published milliseconds, latencies, and the largest link load over its lower bound."""

    time_ms: float
    published_ms: float
    conserved: bool
    mean_latency_us: float
    max_latency_us: float
    load_ratio: float


class DiagnosisFigures(TypedDict):
    """A mapping's time, and the roots of congestion found from its packets."""

    time_ms: float
    conserved: bool
    causes: list[str]
    first_root: str | None


def run_table51(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run table 5.1: bisection shift and random shuffle on quartz1 with ftree and hardware-adaptive routes.

    Parameters: seed, topology (quartz1), mbytes (10 per node), packet_bytes (4096).
    """
    check_names(parameters, ("seed", "threads", "topology", "mbytes", "packet_bytes"))
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    size = int(read_number(parameters, "mbytes", 10, 0.1, 100) * 1e6)
    packet_bytes = read_whole_number(parameters, "packet_bytes", 4096, 64, 8192)
    fabric = fabric_of(read_string(parameters, "topology", "quartz1"))

    def compute(case: Parameters, stop: Cancelled) -> list[TableFigures]:
        machine = build_machine(fabric, case["routing"], packet_bytes=packet_bytes)
        messages = patterns.make_pattern(case["pattern"], machine.endpoints, size, seed)
        workload = packet.Workload(ops=to_ops([(messages, np.arange(machine.endpoints))]), default_mode=machine.mode)
        result = execute_workload(machine, workload, cancelled=stop, packet_bytes=packet_bytes, seed=seed)
        return [
            {
                "time_ms": result.time_s * 1e3,
                "published_ms": published.published_value(
                    "taffet2021", "table 5.1", TABLE_51[0][case["routing"]], TABLE_51[1][case["pattern"]]
                ),
                "conserved": result.conserved,
                "mean_latency_us": result.latency_ns["mean"] / 1e3,
                "max_latency_us": result.latency_ns["max"] / 1e3,
                "load_ratio": load_ratio(machine, messages),
            }
        ]

    cases = [{"pattern": p, "routing": r} for p in ("bisection", "bisection-shuffle") for r in ("ftree", "hw-adaptive")]
    answer = sweep_cases("taffet-table5.1", cases, compute, report, cancelled, parameters, seed=seed)
    by_case = {(p["pattern"], p["routing"]): p for p in answer["points"]}
    for pattern in ("bisection", "bisection-shuffle"):
        answer[f"ratio_{pattern}"] = by_case[pattern, "ftree"]["time_ms"] / by_case[pattern, "hw-adaptive"]["time_ms"]
        answer[f"load_ratio_{pattern}"] = by_case[pattern, "ftree"]["load_ratio"]
    return answer


def load_ratio(machine: Machine, messages: Messages) -> float:
    """Return the bytes on the static routes' worst link over the lower bound for any routing (each switch's cut towards its parents)."""
    table = machine.core.static_table()
    links, routers = machine.fabric.links, len(machine.fabric.routers)
    src, dst, size = messages.matrix()
    load = np.zeros(len(links))
    at = np.asarray(machine.fabric.endpoints.router)[src].astype(np.int64)
    goal = np.asarray(links.dst)
    travelling = np.arange(src.size)
    while travelling.size:
        link = table[dst[travelling], at[travelling]].astype(np.int64)
        np.add.at(load, link, size[travelling])
        there = goal[link]
        at[travelling] = there
        travelling = travelling[there < routers]
    best = max(float(load[np.asarray(links.dst) >= routers].max()), float(np.bincount(src, weights=size).max()))
    leaf = np.asarray(machine.fabric.endpoints.router)
    leaving = leaf[src] != leaf[dst]
    up_links = np.bincount(
        np.asarray(links.src)[(np.asarray(links.src) < routers) & (goal < routers)], minlength=routers
    )
    for ends in (src, dst):
        cut = np.bincount(leaf[ends[leaving]], weights=size[leaving], minlength=routers)
        used = cut > 0
        best = max(best, float((cut[used] / up_links[used]).max(initial=0.0)))
    return float(load.max()) / best


def congestion_of(
    machine: Machine, result: packet.Result, job: int, only: NDArray[np.bool_] | None = None
) -> CongestionMap:
    """Return the congestion map of a job: congested fraction from its own packets' samples, use of each link by its own packets (in mean packets).

    only : bool[samples], selection of a phase, for example by tag
    """
    raw, links = result.raw, machine.fabric.links
    own = raw["sample_job"] == job
    own = own if only is None else own & only
    weight = raw["sample_links"][own].astype(float)
    traffic = np.bincount(raw["sample_link"][own], weights=weight, minlength=len(links))
    marked = np.bincount(raw["sample_link"][own], weights=weight * raw["sample_marked"][own], minlength=len(links))
    mean_bytes = result.jobs[job]["bytes"] / max(result.jobs[job]["packets"], 1)
    capacity = np.asarray(links.bandwidth_bps, float) / 8 * result.time_s
    with np.errstate(invalid="ignore", divide="ignore"):
        fraction = np.where(traffic >= 50, marked / traffic, np.nan)
    return CongestionMap(machine.fabric, fraction, traffic * mean_bytes / capacity)


#: 72 leaves with 32 nodes and 16 up links each (2:1 taper), one level of 16 spines (section 2.4).
CASE_STUDY_TREE = "xgft:2;32,72;1,16"


def case_study_machine(parameters: Parameters, least_leaves: int, output_queues: bool = False) -> tuple[Machine, int]:
    """Return the tree named by `topology` with adaptive routing, and its number of leaves; its switches can have output queues.

    Raises
    ------
    BadRequest
        The fabric does not have 32 nodes per leaf switch, or has too few leaves for the study's nodes.
    """
    spec = read_string(parameters, "topology", CASE_STUDY_TREE)
    fabric = fabric_of(spec)
    leaf = np.asarray(fabric.endpoints.router)
    leaves = leaf.size // 32
    if (
        leaves < least_leaves
        or not np.array_equal(leaf, np.repeat(leaf[::32], 32)[: leaf.size])
        or np.unique(leaf).size != leaves
    ):
        raise BadRequest(
            f"{spec} has not at least {least_leaves} leaf switches of 32 nodes each",
            advice=f"Use {CASE_STUDY_TREE} or another xgft:2;32,LEAVES;1,SPINES.",
        )
    return build_machine(fabric, "hw-adaptive", packet_bytes=4096, output_queues=output_queues), leaves


#: Computation of pF3D's round, which the dissertation does not give. It is fitted to one published ratio, the time with incasts over the time alone.
PF3D_COMPUTE_MS = 8.3


@dataclass(frozen=True)
class Pf3d:
    """The case study's machine; a job with an all-to-all in each group of four nodes and its mappings to nodes; the concurrent incasts and their nodes."""

    machine: Machine
    job: Messages
    mappings: dict[str, NDArray[np.int64]]
    incast: Messages
    incast_nodes: NDArray[np.int64]

    @classmethod
    def of(cls, parameters: Parameters, seed: int) -> Pf3d:
        """Build the case from the parameters of `run_pf3d`. Raises the errors of `case_study_machine`."""
        size = int(read_number(parameters, "mbytes", 4, 0.1, 100) * 1e6)
        compute_ns = np.zeros((52, 3), np.int64)
        compute_ns[:, -1] = round(read_number(parameters, "compute_ms", PF3D_COMPUTE_MS, 0.0, 1000.0) * 1e6)
        machine, leaves = case_study_machine(parameters, 12)
        rng = np.random.default_rng(seed)
        # 52 nodes on six leaves: 6, 12, 8, 12, 8 and 6; leaves 1 to 3 also have the receivers of the incasts.
        per_leaf = (6, 12, 8, 12, 8, 6)
        nodes = np.concatenate([32 * leaf + np.arange(count) for leaf, count in enumerate(per_leaf)])
        crowded = np.isin(nodes // 32, (1, 2, 3))
        mappings = {"linear": nodes, "inside-leaves": np.concatenate([nodes[crowded], nodes[~crowded]])}
        receivers = np.array([32 * leaf + 20 + k for leaf in (1, 2, 3) for k in (0, 1)])
        senders = rng.choice(np.arange(32 * 10, 32 * min(leaves, 60)), (6, 4), replace=False)
        group = np.arange(52) // 4
        everyone = np.arange(52)
        rounds = []
        for step in (1, 2, 3):
            to = group * 4 + (everyone + step) % 4
            rounds += [(everyone, to, size // 3)]
        incast_src, incast_dst = np.arange(24), 24 + np.repeat(np.arange(6), 4)
        incast = in_rounds(30, [(incast_src, incast_dst, 12 * size)])
        return cls(
            machine, in_rounds(52, rounds, compute_ns), mappings, incast, np.concatenate([senders.ravel(), receivers])
        )

    def run(
        self,
        mapping: str,
        background: bool,
        seed: int,
        stop: Cancelled | None = None,
        congested_after_ns: float = 0.0,
    ) -> tuple[packet.Result, CongestionMap]:
        """Return the run's result, and the congestion seen by the job's own packets."""
        jobs = [(self.job, self.mappings[mapping])]
        jobs += [(self.incast, self.incast_nodes)] if background else []
        result = execute_workload(
            self.machine,
            packet.Workload(ops=to_ops(jobs), default_mode=self.machine.mode),
            cancelled=stop,
            packet_bytes=4096,
            seed=seed,
            sampling=True,
            mark_after_ns=congested_after_ns,
        )
        return result, congestion_of(self.machine, result, 0)


def run_pf3d(parameters: Parameters, report: Report, cancelled: Cancelled) -> Parameters:
    """Run an approximation of pF3D: all-to-all in groups of four nodes on 52 nodes; alone, with six 4:1 incasts, and remapped inside leaf switches.

    Parameters: seed, mbytes per node (4), compute_ms (8.3: computation at the end of the round), topology (32 nodes per leaf, at least 12 leaves),
    congested_after_ns (0: a link is congested if its queue exceeds its credits, section 2.3.1; above 0: if a packet waits longer than this).
    """
    check_names(parameters, ("seed", "threads", "mbytes", "compute_ms", "topology", "congested_after_ns"))
    congested_after_ns = read_number(parameters, "congested_after_ns", 0.0, 0.0, 1e9)
    seed = read_whole_number(parameters, "seed", 1, 0, 2**63 - 1)
    pf3d = Pf3d.of(parameters, seed)

    def compute(case: Parameters, stop: Cancelled) -> list[DiagnosisFigures]:
        result, congestion = pf3d.run(case["mapping"], case["background"], seed, stop, congested_after_ns)
        time_s = float(result.raw["rank_end_ps"][:52].max()) * 1e-12
        roots = diagnose_congestion(congestion)
        return [
            {
                "time_ms": time_s * 1e3,
                "conserved": result.conserved,
                "causes": sorted({root.cause for root in roots}),
                "first_root": roots[0].vertex if roots else None,
            }
        ]

    cases = [
        {"mapping": "linear", "background": False},
        {"mapping": "linear", "background": True},
        {"mapping": "inside-leaves", "background": True},
    ]
    return sweep_cases("taffet-pf3d", cases, compute, report, cancelled, parameters, seed=seed)
