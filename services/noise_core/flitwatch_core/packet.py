"""Packet engine: virtual cut-through with byte credits per virtual channel, on dragonflies, trees and tori.

The model, its sources and its limits are in docs/adr/0035-packet-engine.md. Arrays over links have the order of the given links, including those to
and from endpoints. Vertices: router r is r, endpoint e is routers + e.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_core import _packet
from flitwatch_core._packet import (
    CHOOSES,
    CHOOSES_ALL_TO_ALL,
    CancelledRun,
    ClassOptions,
    CongestionControl,
    Control,
    EngineFault,
    RoutingChoice,
)

__all__ = [
    "CHOOSES",
    "CHOOSES_ALL_TO_ALL",
    "LONGEST_NS",
    "MOST_BYTES",
    "MOST_THREADS",
    "AdaptiveBias",
    "CancelledRun",
    "ChoiceOptions",
    "Control",
    "Detours",
    "DragonflyMode",
    "EngineFault",
    "EngineKind",
    "Generator",
    "Links",
    "OpKind",
    "Ops",
    "PacketFabric",
    "Result",
    "RoutingChoice",
    "TorusMode",
    "TrafficClass",
    "TreeMode",
    "Workload",
    "build_dragonfly",
    "build_torus",
    "build_tree",
    "flits_of",
]  # fmt: skip

NO_LINK = 2**32 - 1
#: Limits of one workload, in total and per rank: bytes and picoseconds stay within 63 bits.
MOST_BYTES, LONGEST_NS = 2**60, 2**50
#: Limit per run, which has at most as many parts.
MOST_THREADS = 4


class DragonflyMode(IntEnum):
    """Routing modes of a packet on a dragonfly (De Sensi 2019, section II-B; Wang 2018, section III)."""

    MINIMAL = 0
    VALIANT = 1
    ADAPTIVE_0 = 2
    ADAPTIVE_1 = 3
    ADAPTIVE_2 = 4
    ADAPTIVE_3 = 5
    MIN_HASH = 6
    NMIN_HASH = 7
    IN_ORDER = 8


class TreeMode(IntEnum):
    """Routing modes of a packet on a tree: the static table, the least loaded admissible port, or a random admissible port."""

    STATIC = 0
    ADAPTIVE = 1
    RANDOM = 2


class TorusMode(IntEnum):
    """Routing modes of a packet on a torus: dimension order, or dimension order through a random router (Valiant)."""

    DIMENSION_ORDER = 0
    VALIANT = 1


class EngineKind(IntEnum):
    """EAGER is the fast engine. The others are the conventional-event oracle with its two arbitration policies."""

    EAGER = 0
    ORACLE_OLDEST_FIRST = 1
    ORACLE_ROUND_ROBIN = 2


class OpKind(IntEnum):
    """Kind of an operation of a rank."""

    SEND = 0
    RECEIVE = 1
    COMPUTE = 2


def flits_of(payload_bytes: int) -> int:
    """Return the flits of one packet of an Aries NIC: 64-byte packets of a header flit and up to four 16-byte payload flits."""
    return -(-payload_bytes // 64) - (-payload_bytes // 16)


@dataclass(frozen=True)
class Links:
    """Directed links, one per cable and direction, including those to and from endpoints; arrays of length L.

    Attributes
    ----------
    src, dst : vertices
    bandwidth_bps, latency_ns : float
    buffer_bytes : int
        Buffer of one virtual channel at the receiving end. Unused at endpoints, which drain at line rate.
    order : int, optional
        Sort key of a router's ports. Parallel cables of a dragonfly must be adjacent.
    """

    src: ArrayLike
    dst: ArrayLike
    bandwidth_bps: ArrayLike
    latency_ns: ArrayLike
    buffer_bytes: ArrayLike
    order: ArrayLike = ()


@dataclass(frozen=True)
class AdaptiveBias:
    """Cost (waiting time x hops) that UGAL adds to non-minimal candidates, in ns, by mode and by hops taken.

    ADAPTIVE_0 has no bias. It increases towards the destination in ADAPTIVE_1, is low in ADAPTIVE_2 and high in ADAPTIVE_3 (De Sensi 2019, section
    II-B). Cray does not publish the values.
    """

    adaptive_0_ns: tuple[float, float] = (0.0, 0.0)
    adaptive_1_ns: tuple[float, float] = (0.0, 4000.0)
    adaptive_2_ns: tuple[float, float] = (2000.0, 2000.0)
    adaptive_3_ns: tuple[float, float] = (8000.0, 8000.0)

    def flat(self) -> list[float]:
        """Return eight values, mode by mode."""
        return [*self.adaptive_0_ns, *self.adaptive_1_ns, *self.adaptive_2_ns, *self.adaptive_3_ns]


@dataclass(frozen=True)
class PairBackPressure:
    """Slingshot's published congestion control (De Sensi 2020, section II-D): only pairs that send to a congested endpoint are slowed.

    Attributes
    ----------
    threshold_bytes : int
        An endpoint's switch port is congested if more bytes wait for it.
    window_bytes : int
        Bytes in flight that the pairs sending to a congested endpoint share, at least one packet each.
    """

    threshold_bytes: int = 65536
    window_bytes: int = 65536

    def _options(self) -> CongestionControl:
        if self.threshold_bytes < 0 or self.window_bytes < 1:
            raise ValueError("threshold_bytes starts at 0, window_bytes at 1")
        options = CongestionControl()
        options.set_pairs(self.threshold_bytes, self.window_bytes)
        return options


@dataclass(frozen=True)
class Dcqcn:
    """DCQCN (Zhu 2015): switches mark packets by queue length (ECN), receivers notify, senders lower and raise the rate of a pair. Defaults are the
    paper's.

    Credits of the engine act as PFC: no packet is dropped, and a full buffer stops its sender.

    Attributes
    ----------
    kmin_bytes, kmax_bytes, pmax : from kmin on, packets are marked with a probability that grows to pmax at kmax; above kmax, all are marked
    g : weight of a notification in alpha
    additive_bps, hyper_bps : increase of the target rate, after `fast_steps` of the timer or of the bytes, and of both
    cnp_us : least time between two notifications of a pair
    alpha_us, increase_us, increase_bytes : time or bytes after which alpha falls and the rate rises
    """

    kmin_bytes: int = 5_000
    kmax_bytes: int = 200_000
    pmax: float = 0.01
    g: float = 1 / 256
    additive_bps: float = 40e6
    hyper_bps: float = 400e6
    cnp_us: float = 50.0
    alpha_us: float = 55.0
    increase_us: float = 55.0
    increase_bytes: int = 10_000_000
    fast_steps: int = 5

    def _options(self) -> CongestionControl:
        if not (0 <= self.kmin_bytes < self.kmax_bytes and 0 <= self.pmax <= 1 and 0 < self.g <= 1):
            raise ValueError("kmin_bytes is below kmax_bytes, pmax in 0 to 1, g above 0 and at most 1")
        if min(self.additive_bps, self.hyper_bps, self.cnp_us, self.alpha_us, self.increase_us, self.increase_bytes) <= 0:  # fmt: skip
            raise ValueError("rates, times and bytes of DCQCN must be above 0")
        options = CongestionControl()
        options.set_dcqcn(
            self.kmin_bytes, self.kmax_bytes, self.pmax, self.g, self.additive_bps, self.hyper_bps, self.cnp_us,
            self.alpha_us, self.increase_us, self.increase_bytes, self.fast_steps,
        )  # fmt: skip
        return options


@dataclass(frozen=True)
class TrafficClass:
    """Traffic class with its own buffers on every link and a share of each link (docs/adr/0037-packet-engine-models.md).

    Attributes
    ----------
    minimum : float
        Guaranteed share of a link. The unused share of a class is divided among the others in proportion to theirs. A class with 0 gets only unused
        shares.
    maximum : float
        Share that it never exceeds by more than a packet, even on an idle link.
    priority : int
        The highest priority is served first, once every class has its minimum.
    """

    minimum: float = 0.0
    maximum: float = 1.0
    priority: int = 0


@dataclass(frozen=True)
class Ops:
    """Operations of all ranks of all jobs; arrays of length N. `flitwatch_simulation.workloads` has functions that create them.

    Attributes
    ----------
    kind : OpKind
    rank : int
        Into `endpoint_of_rank`.
    match : int
        For a send, the index of its receive; otherwise `NO_LINK` (2**32 - 1).
    amount : int
        Bytes, or nanoseconds of a computation.
    requires_begin, required : int[N + 1], int[M]
        CSR: the operations that must be complete before this one starts.
    endpoint_of_rank, job_of_rank : int[R]
    mode : int, optional
        Routing mode of each send, or CHOOSES; empty for the workload's mode. `chosen_modes` of the result has the chosen modes.
    """

    kind: NDArray[np.uint8]
    rank: NDArray[np.uint32]
    match: NDArray[np.uint32]
    amount: NDArray[np.uint64]
    requires_begin: NDArray[np.uint32]
    required: NDArray[np.uint32]
    endpoint_of_rank: NDArray[np.uint32]
    job_of_rank: NDArray[np.uint8]
    mode: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))


@dataclass(frozen=True)
class Generator:
    """Open-loop traffic of one endpoint: messages to a random peer, or to all peers in turn (`burst`), in every interval.

    A `total_bytes` of 0 means until the jobs end, an `interval_ns` of 0 as fast as the NIC accepts messages.
    """

    endpoint: int
    peers: Sequence[int] | NDArray[np.integer]
    message_bytes: int
    total_bytes: int = 0
    interval_ns: float = 0.0
    poisson: bool = True
    burst: bool = False
    job: int = 0


@dataclass(frozen=True)
class Detours:
    """Time that the operating system takes from every rank (OS noise): one detour per interval, at a random time in it.

    Attributes
    ----------
    interval_ns : float
    duration_ns : float
        Mean of the exponentially distributed length, which is at most half an interval.
    """

    interval_ns: float
    duration_ns: float


@dataclass(frozen=True)
class ChoiceOptions:
    """Algorithm 1 of De Sensi 2019.

    Attributes
    ----------
    latency_factor, stall_factor : float
        Lambda and sigma: expected L and s with high bias, relative to those observed with adaptive routing.
    oldest : int
        Number of observations after which data on the other mode are dropped.
    threshold_bytes : int
        Bytes that messages must add up to before counters are read.
    """

    latency_factor: float = 0.8
    stall_factor: float = 1.5
    oldest: int = 16
    threshold_bytes: int = 4096


@dataclass(frozen=True)
class Workload:
    """Operations, flows and generated traffic of the endpoints.

    Attributes
    ----------
    ops : Ops, optional
    flows : (src, dst, bytes) arrays, optional
        Each source sends its flows one after another.
    flow_job : int
    generators : sequence of Generator
    default_mode : int
        A DragonflyMode, TreeMode or TorusMode.
    eager_bytes : int
        A send up to this size completes when its last byte has left the NIC, a larger one when its last byte has arrived.
    detours : Detours, optional
        Delays of a rank's computations and of the starts of its sends.
    choice : ChoiceOptions
        For ranks whose sends have the mode CHOOSES or CHOOSES_ALL_TO_ALL. Each reads its NIC's counters before a message.
    """

    ops: Ops | None = None
    flows: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None
    flow_job: int = 0
    generators: Sequence[Generator] = ()
    default_mode: int = 0
    eager_bytes: int = 8192
    detours: Detours | None = None
    choice: ChoiceOptions = ChoiceOptions()

    def _check(self) -> None:
        sizes, waits = [float(np.sum(np.asarray(self.flows[2]), dtype=float))] if self.flows is not None else [], 0.0
        sizes += [float(g.total_bytes) for g in self.generators]
        if self.ops is not None:
            computes = self.ops.kind == OpKind.COMPUTE
            sizes.append(float(self.ops.amount[self.ops.kind == OpKind.SEND].sum(dtype=float)))
            waits = np.bincount(self.ops.rank[computes], weights=self.ops.amount[computes]).max(initial=0.0)
        if sum(sizes) > MOST_BYTES:
            raise ValueError("more than 2^60 bytes are sent")
        if waits > LONGEST_NS:
            raise ValueError("a rank's computations take more than 2^50 ns, 13 days")

    def _make_spec(self, seed: int) -> _packet.WorkloadSpec:
        spec = _packet.WorkloadSpec()
        spec.seed, spec.default_mode, spec.eager_bytes = seed, int(self.default_mode), int(self.eager_bytes)
        if self.detours is not None:
            spec.set_detours(self.detours.interval_ns, self.detours.duration_ns)
        c = self.choice
        spec.set_choice(c.latency_factor, c.stall_factor, c.oldest, c.threshold_bytes)
        empty = np.empty(0, np.uint32)
        if self.ops is not None:
            o = self.ops
            spec.set_ops(
                _to_array(o.kind, np.uint8),
                _to_array(o.rank, np.uint32),
                _to_array(o.match, np.uint32),
                _to_array(o.amount, np.uint64),
                _to_array(o.requires_begin, np.uint32),
                _to_array(o.required, np.uint32),
                _to_array(o.mode, np.uint8),
                _to_array(o.endpoint_of_rank, np.uint32),
                _to_array(o.job_of_rank, np.uint8),
            )
        else:
            none = np.empty(0, np.uint8)
            spec.set_ops(none, empty, empty, np.empty(0, np.uint64), np.zeros(1, np.uint32), empty, none, empty, none)
        if self.flows is not None:
            src, dst, size = self.flows
            spec.set_flows(
                _to_array(src, np.uint32), _to_array(dst, np.uint32), _to_array(size, np.uint64), self.flow_job
            )
        # Generators with the same peer list object share one list.
        lists: dict[int, tuple[int, int]] = {}
        parts: list[NDArray[np.uint32]] = []
        used = 0
        rows = []
        for g in self.generators:
            if id(g.peers) not in lists:
                peers = _to_array(g.peers, np.uint32)
                lists[id(g.peers)] = (used, peers.size)
                parts.append(peers)
                used += peers.size
            begin, count = lists[id(g.peers)]
            rows.append(
                (
                    g.endpoint,
                    begin,
                    count,
                    g.message_bytes,
                    g.total_bytes,
                    g.interval_ns * 1000,
                    g.poisson,
                    g.burst,
                    g.job,
                )
            )
        spec.set_generators(rows, np.concatenate(parts) if parts else empty)
        return spec


@dataclass(frozen=True)
class Result:
    """Results of a run. Counters of shape [links, vcs] use VC 0 for links to and from endpoints.

    Attributes
    ----------
    time_s : float
        End of the last operation or flow of the jobs; if there is only generated traffic, of its last byte.
    vc_bytes, vc_packets, vc_flits, vc_stall_ps : [links, vcs]
        With traffic classes, the column is VC x classes + class. Counted at the receiving end. The stall is the sum over packets of the time in the
        receiver's buffer from arrival to departure, beyond cut-through.
    link_bytes, link_wait_ps : [links]
        Bytes sent; time that the link was idle while a packet waited for credit.
    send_ps, send_start_ps : [operations]
        For sends, the time from start to arrival, and the start; 0 for other operations.
    """

    time_s: float
    delivered_bytes: int
    packets: int
    packet_hops: int
    events: int
    conserved: bool
    violations: list[str]
    latency_ns: dict[str, float]
    jobs: list[dict[str, float]]
    cpu_s: float
    wall_s: float
    peak_rss_mb: float
    raw: dict[str, Any]

    @property
    def events_per_hop(self) -> float:
        """Return the number of events per packet and router passed."""
        return self.events / max(self.packet_hops, 1)

    @property
    def hops_per_s(self) -> float:
        """Return packet-router-hops per second of CPU time, over all threads."""
        return self.packet_hops / max(self.cpu_s, 1e-9)

    @property
    def mean_hops(self) -> float:
        """Return the mean number of routers that packets with payload passed."""
        return sum(job["hops"] for job in self.jobs) / max(self.packets, 1)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["raw"][name]
        except KeyError:
            raise AttributeError(name) from None


class PacketFabric:
    """Network with its routing policy, created by `build_dragonfly`, `build_tree` or `build_torus`. It can run any number of times, even from several
    threads."""

    def __init__(self, core: _packet.Fabric, routers: int, endpoints: int, links: int) -> None:
        self._core = core
        self.routers, self.endpoints, self.links = routers, endpoints, links

    def static_table(self) -> NDArray[np.uint32]:
        """Return the link that a tree's static routes take: uint32[endpoint, router], 2**32 - 1 if none."""
        return self._core.static_table()

    def run(
        self,
        workload: Workload,
        *,
        packet_bytes: int = 2048,
        seed: int = 1,
        nic_protocol: bool = False,
        outstanding: int = 1024,
        sampling: bool = False,
        mark_after_ns: float = 0.0,
        engine: EngineKind = EngineKind.EAGER,
        congestion: PairBackPressure | Dcqcn | None = None,
        classes: Sequence[TrafficClass] = (),
        class_of_job: Sequence[int] = (),
        threads: int | None = None,
        control: Control | None = None,
    ) -> Result:
        """Run a workload to its end.

        Parameters
        ----------
        packet_bytes : int
            Payload of a packet, at most 16384 and at most the fabric's largest packet.
        nic_protocol : bool
            Request and response packets with header flits on the wire, and at most `outstanding` requests in flight (Aries NIC).
        sampling : bool
            Sample a link in every packet, including its NIC's link (Taffet 2021, algorithms 1-3). `sample_links` is the length of a packet's path
            in links, and `congested_packets` the true count that samples estimate.
        mark_after_ns : float
            A sampled link counts as congested if the packet waits longer, or for 0 if its queue exceeds its credits (section 2.3.1).
        congestion : PairBackPressure or Dcqcn, optional
            Congestion control at the NICs, by pair of endpoints. Not with the NIC protocol, sampling, generators or the oracle.
        classes, class_of_job : TrafficClass and int, optional
            Traffic classes (at most 16), and the index of each job's class. Not with the NIC protocol, sampling or the oracle. `classes` of the
            result has bytes and latency of each.
        threads : int, optional
            Divide the run over this many threads, by groups of a dragonfly and slabs of other fabrics. The results are the same for any number of
            threads. They differ slightly from those of an undivided run (None), in which credits are known at once. Not with congestion control,
            traffic classes, sampling or the oracle.
        control : Control, optional
            Lets another thread follow and cancel the run.

        Raises
        ------
        ValueError
            The workload does not fit the fabric.
        CancelledRun, EngineFault
        """
        workload._check()
        if not 1 <= packet_bytes <= 16384:
            raise ValueError(f"packet_bytes is {packet_bytes}; expected 1 to 16384")
        jobs = 1 + max(
            [workload.flow_job, *(g.job for g in workload.generators)]
            + ([int(workload.ops.job_of_rank.max(initial=0))] if workload.ops is not None else [])
        )
        if jobs > 255:
            raise ValueError(f"{jobs} jobs; at most 255 run together")
        if threads is not None and not 1 <= threads <= MOST_THREADS:
            raise ValueError(f"threads is {threads}; expected 1 to {MOST_THREADS}, or None")
        spec = workload._make_spec(seed)
        wall, cpu = time.perf_counter(), time.thread_time()
        raw = self._core.simulate(
            spec,
            packet_bytes,
            seed,
            nic_protocol,
            outstanding,
            sampling,
            mark_after_ns,
            jobs,
            int(engine),
            control or Control(),
            CongestionControl() if congestion is None else congestion._options(),
            _class_options(classes, class_of_job),
            threads or 0,
        )
        cpu_s, wall_s = time.thread_time() - cpu + raw["other_cpu_s"], time.perf_counter() - wall
        end_ps = raw["end_ps"] or max((job["end_ps"] for job in raw["jobs"]), default=0)
        return Result(
            time_s=end_ps * 1e-12,
            delivered_bytes=raw["delivered_bytes"],
            packets=raw["packets"],
            packet_hops=raw["packet_hops"],
            events=raw["events"],
            conserved=raw["conserved"],
            violations=list(raw["violations"]),
            latency_ns=dict(raw["latency_ns"]),
            jobs=[dict(job) for job in raw["jobs"]],
            cpu_s=cpu_s,
            wall_s=wall_s,
            peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            raw=raw,
        )


def _class_options(classes: Sequence[TrafficClass], of_job: Sequence[int]) -> ClassOptions:
    options = ClassOptions()
    for traffic_class in classes:
        if traffic_class.priority < 0:
            raise ValueError(f"a traffic class has priority {traffic_class.priority}; priorities start at 0")
        options.add(traffic_class.minimum, traffic_class.maximum, traffic_class.priority)
    options.set_jobs(_to_array(of_job, np.uint8))
    return options


def build_dragonfly(
    routers: int,
    endpoints: int,
    links: Links,
    group: ArrayLike,
    *,
    router_delay_ns: float = 50.0,
    largest_packet_bytes: int = 2048,
    through_router: bool = False,
    bias: AdaptiveBias = AdaptiveBias(),
) -> PacketFabric:
    """Build a dragonfly. `group` is each router's group. Non-minimal paths lead through a random group, or a random router.

    Raises ValueError if a router of a group is more than two hops from another or two groups are not joined.
    """
    core = _packet.dragonfly(
        routers,
        endpoints,
        *_link_arrays(links),
        router_delay_ns,
        largest_packet_bytes,
        _to_array(group, np.int32),
        through_router,
        bias.flat(),
    )
    return PacketFabric(core, routers, endpoints, np.size(links.src))


def build_tree(
    routers: int,
    endpoints: int,
    links: Links,
    level: ArrayLike,
    *,
    table: ArrayLike = (),
    router_delay_ns: float = 90.0,
    largest_packet_bytes: int = 4096,
    virtual_lanes: int = 1,
    output_queues: bool = False,
) -> PacketFabric:
    """Build a tree of switches. `level` is each switch's level (0: leaf). `table` is the link of each (endpoint, router), or empty for d-mod-k.

    With `output_queues`, a packet takes its next link's credit when it enters the port's queue, and returns the credit of its last link then, not
    when it departs (CODES, fattree.c). Adaptive routing and samples count the bytes that wait or lack their credit.

    Raises ValueError if an endpoint is unreachable, or the table's routes do not arrive or can deadlock.
    """
    core = _packet.tree(
        routers,
        endpoints,
        *_link_arrays(links),
        router_delay_ns,
        largest_packet_bytes,
        _to_array(level, np.int32),
        _to_array(np.ravel(table), np.uint32),
        virtual_lanes,
        output_queues,
    )
    return PacketFabric(core, routers, endpoints, np.size(links.src))


def build_torus(
    routers: int,
    endpoints: int,
    links: Links,
    extents: Sequence[int],
    place: ArrayLike,
    *,
    router_delay_ns: float = 50.0,
    largest_packet_bytes: int = 2048,
) -> PacketFabric:
    """Build a torus. `place[router, dimension]` counts from 0. The packets of a pair always use the same one of its cables.

    Packets take the shorter way around each ring, first dimension first, and go up if both ways have the same length. Channels 0 and 1 are before
    and after a ring's dateline (Dally and Seitz 1987), 2 and 3 those of the second half of a Valiant path.

    Raises ValueError if a place is free or used twice, a cable is missing or does not connect neighbours, or a path leads through more than 254
    routers.
    """
    core = _packet.torus(
        routers,
        endpoints,
        *_link_arrays(links),
        router_delay_ns,
        largest_packet_bytes,
        [int(extent) for extent in extents],
        _to_array(np.ravel(place), np.uint32),
    )
    return PacketFabric(core, routers, endpoints, np.size(links.src))


def _link_arrays(links: Links) -> tuple[NDArray[Any], ...]:
    return (
        _to_array(links.src, np.uint32),
        _to_array(links.dst, np.uint32),
        _to_array(links.bandwidth_bps, np.float64),
        _to_array(links.latency_ns, np.float64),
        _to_array(links.buffer_bytes, np.int32),
        _to_array(links.order, np.uint32),
    )


def _to_array(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    return np.ascontiguousarray(values, dtype)
