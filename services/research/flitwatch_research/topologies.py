"""Topologies from their short text form (SPEC), as used by the command line, tasks and studies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

import numpy as np

from flitwatch_domain import importers
from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.secret_file import local_path
from flitwatch_domain.topology_spec import GENERATED, MACHINES, parse_integers, tree_sizes
from flitwatch_research import core_topology as topology

FORMS = "xgft:h;m1,..;w1,..[;p1,..] | torus:20,20,20 | hyperx:S1,S2;ENDPOINTS[;CABLES] | rails:RAILS,NODES,GROUPS,SPINES | planes:PLANES;h;m1,..;w1,..[;p1,..] | dragonfly:GROUPS,ROWS,COLS[,BLUE_ROUTERS] | theta | edison | cori | slingshot | quartz1 | file:PATH"

#: Limit of links. A link takes about 60 bytes here and in the core: 1.5 GB in total. The largest current machines have half a million cables.
MOST_LINKS = 25_000_000
#: The core numbers a switch's ports in 16 bits; InfiniBand itself in 8.
MOST_PORTS = 65_535


@dataclass(frozen=True)
class NamedTopology:
    """A topology with its text form and default routings.

    Attributes
    ----------
    spec, kind : str
    core : flitwatch_research.core_topology.Topology
    default_routing : tuple of str
        The first suitable one is used by default.
    fabric : Fabric or None
        Names and GUIDs, if the topology was imported or generated as a machine.
    """

    spec: str
    kind: str
    core: topology.Topology
    default_routing: tuple[str, ...]
    fabric: Fabric | None = None


def parse_topology(spec: str) -> NamedTopology:
    """Build the topology for `spec`; `file:PATH` is allowed only in a `LocalText`.

    Raises
    ------
    BadRequest
        The form of the text is unknown, or its sizes are invalid.
    TooCostly
        There are more than `MOST_LINKS` links.
    BadInput
        The file cannot be read as a fabric.
    """
    file = local_path(spec, "file:")
    if file is not None:
        return _read_file(spec, file)
    spec = spec.strip()
    kind, colon, rest = spec.partition(":")
    maker = _MAKERS.get(kind + colon)
    if maker is None:
        raise BadRequest(f"unknown topology {spec!r}", advice=f"Use one of {FORMS}")
    try:
        return maker(spec, rest)
    except ValueError as bad:
        raise BadRequest(f"topology {spec!r}: {bad}", advice=f"Use one of {FORMS}") from bad


def of_fabric(fabric: Fabric, spec: str | None = None) -> NamedTopology:
    """Return a fabric in the core's form: one link per endpoint and direction, one entry per cable.

    Raises
    ------
    BadRequest
        An endpoint has no link, so it is unreachable.
    """
    links, routers = fabric.links, len(fabric.routers)
    terminal = (links.src >= routers) | (links.dst >= routers)
    keep = ~terminal
    ends = np.where(links.src >= routers, links.src - routers, links.dst - routers + len(fabric.endpoints))
    _, first = np.unique(np.where(terminal, ends, -1), return_index=True)
    keep[first] = True  # a NIC behind several processor tiles is one endpoint with one link
    _check_port_count(
        spec or fabric.name, int(max(links.src_port[keep].max(initial=0), links.dst_port[keep].max(initial=0)))
    )
    ports = [np.maximum(side[keep], 0).astype(np.uint16) for side in (links.src_port, links.dst_port)]
    grouped = fabric.kind is FabricKind.DRAGONFLY and bool((fabric.routers.group >= 0).all())
    try:
        core = topology.graph(
            routers,
            len(fabric.endpoints),
            links.src[keep].astype(np.uint32),
            links.dst[keep].astype(np.uint32),
            *ports,
            links.link_class[keep],
            links.multiplicity[keep].astype(np.uint16),
            np.nan_to_num(links.bandwidth_bps[keep], nan=0.0),
            [str(link_class) for link_class in links.classes],
            fabric.routers.group.tolist() if grouped else [],
        )
    except ValueError as bad:
        raise BadRequest(f"fabric {fabric.name!r}: {bad}") from bad
    routing = {FabricKind.DRAGONFLY: ("minimal",), FabricKind.FAT_TREE: ("ftree", "updn")}
    return NamedTopology(spec or fabric.name, str(fabric.kind), core, routing.get(fabric.kind, ("minhop",)), fabric)


def _build_xgft(spec: str, rest: str) -> NamedTopology:
    height, m, w, p = tree_sizes(rest)
    below = [math.prod(w[:level]) * math.prod(m[level:]) for level in range(height)]
    cables = sum(count * up * copies for count, up, copies in zip(below, w, p or [1.0] * height, strict=True))
    _check_link_count(spec, 2 * cables)
    cables_of_pair = [math.ceil(multiplicity) for multiplicity in p or [1.0] * height]
    up = [count * copies for count, copies in zip(w, cables_of_pair, strict=True)]
    down = [count * copies for count, copies in zip(m, cables_of_pair, strict=True)]
    _check_port_count(
        spec, max(below_ports + up_ports for below_ports, up_ports in zip(down, [*up[1:], 0], strict=True))
    )
    even = all(multiplicity.is_integer() for multiplicity in p)
    return NamedTopology(spec, "xgft", topology.xgft(m, w, p), ("dmodk",) if even else ("ftree",))


def _build_torus(spec: str, rest: str) -> NamedTopology:
    dims = parse_integers(rest)
    _check_link_count(spec, math.prod(dims) * (2 * len(dims) + 2))
    # The last extent varies fastest, as in the domain's fabrics.
    return NamedTopology(spec, "torus", topology.torus(dims[::-1]), ("dor",))


def _check_link_count(spec: str, links: float) -> None:
    """Raise TooCostly for too many links before memory is allocated."""
    if links > MOST_LINKS:
        raise TooCostly(
            f"topology {spec[:60]!r} has {links:.3g} links, more than {MOST_LINKS:,}",
            advice="Choose a smaller one.",
        )


def _check_port_count(spec: str, ports: int) -> None:
    """Raise BadRequest for a switch with more ports than 16 bits can number in the core."""
    if ports > MOST_PORTS:
        raise BadRequest(
            f"topology {spec[:60]!r} has a switch with {ports:,} ports, more than {MOST_PORTS:,}",
            advice="Choose smaller switches, or more of them.",
        )


def _read_file(spec: str, path: Path) -> NamedTopology:
    if spec == "file:":
        raise BadRequest("file: names no file", advice="Use file:PATH.")
    return of_fabric(importers.read_fabric(path), spec)


def _build_generated(name: str, spec: str, rest: str) -> NamedTopology:
    return of_fabric(GENERATED[name](rest), spec)


def _build_machine(name: str, spec: str, _: str) -> NamedTopology:
    return of_fabric(MACHINES[name](), spec)


_MAKERS: dict[str, Callable[[str, str], NamedTopology]] = {
    "xgft:": _build_xgft,
    "torus:": _build_torus,
    **{f"{name}:": partial(_build_generated, name) for name in GENERATED},
    **{name: partial(_build_machine, name) for name in MACHINES},
}


class TopologySummary(TypedDict):
    """Sizes and distances of a topology."""

    spec: str
    kind: str
    endpoints: int
    switches: int
    links: int
    mean_hops: float
    diameter: int
    unreachable_pairs: int
    hops: str
    warnings: list[str]


def describe_topology(named: NamedTopology) -> TopologySummary:
    """Return sizes and distances; hops are links from endpoint to endpoint, including both terminal links."""
    mean, diameter, unreachable = topology.hop_summary(named.core)
    return {
        "spec": named.spec,
        "kind": named.kind,
        "endpoints": named.core.endpoints,
        "switches": named.core.routers,
        "links": int(named.core.multiplicity.sum()),
        "mean_hops": mean,
        "diameter": diameter,
        "unreachable_pairs": unreachable,
        "hops": "links from endpoint to endpoint, terminal links included",
        "warnings": list(named.fabric.warnings) if named.fabric is not None else [],
    }
