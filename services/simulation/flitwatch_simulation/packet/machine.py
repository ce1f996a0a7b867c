"""A domain fabric in the packet engine's form, with latencies, buffers and a routing policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric, FabricKind, LinkClass
from flitwatch_domain.generators import dimension_order
from flitwatch_domain.secret_file import local_path

#: One virtual channel's buffer at the receiver: Theta's local and global links and terminals (Wang 2018, section III), 100 Gb/s switches.
_DRAGONFLY_BUFFERS = {LinkClass.BLUE: 16384.0}
_DRAGONFLY_BUFFER, _TREE_BUFFER, _TORUS_BUFFER = 8192, 65536, 8192
#: Propagation: short copper within a group, optical between groups and in a tree. A torus hop takes 105 ns, as in Gemini (Alverson 2010, section IV).
_DRAGONFLY_LATENCIES_NS = {LinkClass.BLUE: 100.0}
_DRAGONFLY_LATENCY_NS, _TREE_LATENCY_NS = 20.0, 10.0
_DRAGONFLY_DELAY_NS, _TREE_DELAY_NS = 50.0, 90.0
_TORUS_LATENCY_NS, _TORUS_DELAY_NS = 20.0, 85.0

DRAGONFLY_ROUTING = {
    "minimal": packet.DragonflyMode.MINIMAL,
    "valiant": packet.DragonflyMode.VALIANT,
    "adaptive0": packet.DragonflyMode.ADAPTIVE_0,
    "adaptive1": packet.DragonflyMode.ADAPTIVE_1,
    "adaptive2": packet.DragonflyMode.ADAPTIVE_2,
    "adaptive3": packet.DragonflyMode.ADAPTIVE_3,
    "min-hash": packet.DragonflyMode.MIN_HASH,
    "nmin-hash": packet.DragonflyMode.NMIN_HASH,
    "in-order": packet.DragonflyMode.IN_ORDER,
}
TREE_ROUTING = {
    "ftree": packet.TreeMode.STATIC,
    "minimal": packet.TreeMode.STATIC,
    "hw-adaptive": packet.TreeMode.ADAPTIVE,
    "valiant": packet.TreeMode.RANDOM,
    "spray": packet.TreeMode.RANDOM,
}
TORUS_ROUTING = {"dor": packet.TorusMode.DIMENSION_ORDER, "valiant": packet.TorusMode.VALIANT}
_HYPERX_ROUTING = {"dor": packet.TreeMode.STATIC}


def routings_of(fabric: Fabric) -> Mapping[str, int]:
    """Return the routings of a fabric, other than lft:FILE for fabrics with switches, as the engine's mode by name."""
    if fabric.kind is FabricKind.DRAGONFLY:
        return DRAGONFLY_ROUTING
    if fabric.kind is FabricKind.TORUS:
        return TORUS_ROUTING
    return _HYPERX_ROUTING if "hyperx" in fabric.attributes else TREE_ROUTING


@dataclass(frozen=True)
class Machine:
    """A fabric with its packet-level engine.

    Attributes
    ----------
    fabric : Fabric
        With one link per cable.
    mode : int
        Routing mode for the routing's name.
    """

    fabric: Fabric
    core: packet.PacketFabric
    mode: int
    routing: str

    @property
    def endpoints(self) -> int:
        return len(self.fabric.endpoints)

    @cached_property
    def terminal_bytes_per_s(self) -> float:
        """Bandwidth of an endpoint's link."""
        links = self.fabric.links
        first = int(np.flatnonzero(links.src >= len(self.fabric.routers))[0])
        return float(links.bandwidth_bps[first]) / 8


def build_machine(
    fabric: Fabric,
    routing: str,
    *,
    packet_bytes: int = 2048,
    nic_protocol: bool = False,
    table: NDArray[np.uint32] | None = None,
    through_router: bool = False,
    credit_delay_ns: float = 0.0,
    virtual_lanes: int = 1,
    buffer_bytes: float | None = None,
    output_queues: bool = False,
) -> Machine:
    """Build the engine's fabric.

    Parameters
    ----------
    routing : str
        One of `routings_of`, or lft:FILE.
    table : uint32[endpoint, router], optional
        Links of a tree's static routes (default: d-mod-k).
    virtual_lanes : int
        Number of lanes in a tree; each pair of endpoints uses one.
    buffer_bytes : float, optional
        Buffer of one virtual channel of a dragonfly (default: Wang 2018).
    output_queues : bool
        Switches of a tree have a queue at each output, as in Taffet's simulator (`packet.build_tree`).
    credit_delay_ns : float
        Added to every link's propagation, and thus to both directions of the credit round trip.

    Raises
    ------
    BadRequest
        The routing does not fit the fabric.
    """
    full, routings = _unbundle_links(fabric), routings_of(fabric)
    wire = packet.flits_of(packet_bytes) * 16 if nic_protocol else packet_bytes
    if output_queues and full.kind in (FabricKind.DRAGONFLY, FabricKind.TORUS):
        raise BadRequest("output queues belong to trees", advice="Simulate this machine with its input queues.")
    if full.kind is FabricKind.DRAGONFLY:
        if virtual_lanes != 1:
            raise BadRequest("virtual lanes belong to trees", advice="A dragonfly's virtual channels follow its hops.")
        _check_routing(routing, routings, "a dragonfly")
        buffers = (
            _per_class(full, _DRAGONFLY_BUFFERS, _DRAGONFLY_BUFFER)
            if buffer_bytes is None
            else _per_class(full, {}, buffer_bytes)
        )
        latency = _per_class(full, _DRAGONFLY_LATENCIES_NS, _DRAGONFLY_LATENCY_NS) + credit_delay_ns
        core = _engine_fabric(
            packet.build_dragonfly,
            full,
            latency,
            buffers,
            _dragonfly_order(full),
            full.routers.group,
            router_delay_ns=_DRAGONFLY_DELAY_NS,
            largest_packet_bytes=wire,
            through_router=through_router,
        )
        return Machine(full, core, routings[routing], routing)
    if full.kind is FabricKind.TORUS:
        if virtual_lanes != 1:
            raise BadRequest("virtual lanes belong to trees", advice="A torus has its channels against deadlock.")
        _check_routing(routing, routings, "a torus")
        return Machine(full, _torus_fabric(full, wire, credit_delay_ns), routings[routing], routing)
    dump = local_path(routing, "lft:")
    if dump is not None:
        from flitwatch_simulation.packet.route_files import read_table

        table = read_table(dump, full)
    else:
        _check_routing(routing, routings, "a HyperX" if "hyperx" in full.attributes else "a tree", ["lft:FILE"])
        if routing == "dor":
            table = dimension_order(full)
    core = _engine_fabric(
        packet.build_tree,
        full,
        _per_class(full, {}, _TREE_LATENCY_NS) + credit_delay_ns,
        _per_class(full, {}, _TREE_BUFFER),
        full.links.src_port,
        _switch_levels(full),
        router_delay_ns=_TREE_DELAY_NS,
        largest_packet_bytes=wire,
        table=() if table is None else table,
        virtual_lanes=virtual_lanes,
        output_queues=output_queues,
    )
    return Machine(full, core, routings.get(routing, packet.TreeMode.STATIC), routing)


def _check_routing(routing: str, known: Iterable[str], machine: str, also: Iterable[str] = ()) -> None:
    if routing not in known:
        raise BadRequest(f"routing {routing!r} does not fit {machine}", advice=f"Use {', '.join([*known, *also])}.")


def _torus_fabric(fabric: Fabric, wire: int, credit_delay_ns: float) -> packet.PacketFabric:
    """Return a torus with dimension-order routing that corrects the last coordinate first, as in the flow model."""
    place = np.asarray(fabric.routers.coords, np.int64)[:, ::-1]
    if not place.size or place.min() < 0:
        raise BadRequest(
            f"{fabric.name}: a torus needs the coordinates of all its routers",
            advice="Give them in the fabric's file, or use the flow level with minhop routes.",
        )
    extents = place.max(axis=0) + 1
    return _engine_fabric(
        packet.build_torus,
        fabric,
        _per_class(fabric, {}, _TORUS_LATENCY_NS) + credit_delay_ns,
        _per_class(fabric, {}, _TORUS_BUFFER),
        _torus_order(fabric, place, extents),
        extents,
        place=place,
        router_delay_ns=_TORUS_DELAY_NS,
        largest_packet_bytes=wire,
    )


def _torus_order(fabric: Fabric, place: NDArray[np.int64], extents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of ports: endpoints first, then up and down each dimension, so that parallel cables are adjacent."""
    links, order = fabric.links, np.zeros(len(fabric.links), np.int64)
    inner = fabric.router_links()
    a, b = place[links.src[inner]], place[links.dst[inner]]
    along = (a != b).argmax(axis=1)
    rows = np.arange(along.size)
    down = (b[rows, along] - a[rows, along]) % extents[along] != 1
    order[inner] = 1 + 2 * along + down
    return order


def _engine_fabric(
    make: Any, fabric: Fabric, latency: NDArray[Any], buffers: NDArray[Any], order: Any, kind: Any, **options: Any
) -> packet.PacketFabric:
    links = fabric.links
    arrays = packet.Links(
        links.src, links.dst, links.bandwidth_bps, latency, buffers, np.asarray(order, np.int64).clip(0)
    )
    try:
        return make(len(fabric.routers), len(fabric.endpoints), arrays, kind, **options)
    except ValueError as unfit:
        raise BadRequest(f"{fabric.name}: {unfit}", advice="Check the fabric and the routing.") from unfit


def _per_class(fabric: Fabric, values: dict[Any, float], default: float) -> NDArray[np.float64]:
    table = np.array([values.get(LinkClass(name), default) for name in fabric.links.classes], float)
    return table[fabric.links.link_class]


def _dragonfly_order(fabric: Fabric) -> NDArray[np.int64]:
    """Return the order of ports: endpoints first, then neighbours in the own group by router, then global cables."""
    links, routers = fabric.links, len(fabric.routers)
    group = np.append(fabric.routers.group, np.full(len(fabric.endpoints), -1))
    same = group[links.src] == group[links.dst]
    terminal = (links.dst >= routers) | (links.src >= routers)
    return np.where(terminal, 0, np.where(same, 1, 1 + routers)) + np.where(terminal, 0, links.dst)


def _switch_levels(fabric: Fabric) -> NDArray[np.int64]:
    """Return the level of each switch; if the importer gives none, its distance from the nearest switch with endpoints.

    In a HyperX the level is the sum of the coordinates, which differs at the ends of every cable; its routes use a table instead of levels.
    """
    if "hyperx" in fabric.attributes:
        return np.asarray(fabric.routers.coords, np.int64).sum(axis=1)
    level = np.asarray(fabric.routers.level, np.int64).copy()
    if level.size and level.min() >= 0:
        return level
    links = fabric.links
    mask = fabric.router_links()
    level[:] = -1
    level[np.unique(fabric.endpoints.router)] = 0
    for step in range(level.size):
        reach = np.unique(links.dst[mask][level[links.src[mask]] == step])
        fresh = reach[level[reach] < 0]
        if not fresh.size:
            break
        level[fresh] = step + 1
    return level


def _unbundle_links(fabric: Fabric) -> Fabric:
    """Return the fabric with one link per cable: bundles (multiplicity above 1) become parallel links."""
    links = fabric.links
    if np.all(links.multiplicity == 1):
        return fabric
    again = np.repeat(np.arange(len(links)), links.multiplicity)
    from dataclasses import replace

    single = replace(
        links,
        src=links.src[again],
        dst=links.dst[again],
        src_port=links.src_port[again],
        dst_port=links.dst_port[again],
        link_class=links.link_class[again],
        bandwidth_bps=links.bandwidth_bps[again],
        multiplicity=np.ones(again.size, np.int32),
    )
    return replace(fabric, links=single)
